"""Imports point one way: a module may import its own layer and those below it, wherever in the file the import stands."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
# Lowest first. A name stands for the module and all below it, unless a longer name claims that.
LAYERS: list[set[str]] = [
    {"atomic", "exception", "faces", "unseen", "loops", "redact"},
    {"permission.rule", "permission.conditions"},
    {"message"},
    {"state"},
    {"schema", "permission", "tool.base", "tool.result", "tool.content", "tool.options", "tool.progress"},
    {
        "tool.process",
        "tool.children",
        "tool.nursery",
        "tool.screen",
        "tool.diffs",
        "tool.faults",
        "tool.disk",
        "tool.texts",
        "tool.cells",
        "tool.files",
        "tool.documents",
        "tool.document_worker",
        "tool.globbing",
        "tool.engine",
        "tool.engine_matcher",
        "tool.engine_talk",
        "tool.engine_ripgrep",
        "tool.engine_python",
    },
    {"skill", "mcp", "tool.bash", "tool.read", "tool.write", "tool.edit", "tool.search"},
    {"tool", "cassette", "hooks", "pytest_plugin"},
    {"agents"},
    {"notebook", "cli", "__main__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
# Only these may use the lazy faces of packages, which hide the layer of what they give.
ABOVE_THE_FACES = RANK["agents"]
# Imports for annotations alone that point upwards: (from, to), each an exception with a reason beside it.
TYPES_FROM_ABOVE: set[tuple[str, str]] = set()
# Methods that people look for on the toolkit and that only open a door to what lies above it: (from, to).
DOORS = {("tool.toolkit", "agents.running"), ("tool.toolkit", "agents.chat"), ("tool.making", "agents.foreign")}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "nbtoolkit").with_suffix("").parts)


# A package's face is lazy and exempt.
MODULES = {module_name(path): path for path in (ROOT / "nbtoolkit").rglob("*.py") if path.name != "__init__.py"}


def rank(module: str) -> int | None:
    name = module
    while name and name not in RANK:
        name = name.rpartition(".")[0]
    return RANK.get(name)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def imports(node: ast.AST, typing_only: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield what a file imports from nbtoolkit, as dotted names, and whether only type checkers see it."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        for child in ast.iter_child_nodes(node):
            in_else = isinstance(node, ast.If) and child in node.orelse
            yield from imports(child, typing_only or (is_type_checking(node) and not in_else))
        return
    for name in names:
        if name.partition(".")[0] == "nbtoolkit":
            yield name.partition(".")[2], typing_only


def module_of(imported: str) -> str | None:
    """Return the module that `imported` is or lies in; None for a package's face."""
    for candidate in (imported, imported.rpartition(".")[0]):
        if candidate in MODULES:
            return candidate
    return None


def is_face(imported: str) -> bool:
    package = ROOT.joinpath("nbtoolkit", *imported.split(".")[:-1])
    return (package / "__init__.py").exists()


def test_every_module_has_a_layer() -> None:
    assert MODULES
    assert [name for name in MODULES if rank(name) is None] == []


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_imports_its_own_layer_and_lower_ones_only(module: str) -> None:
    own = rank(module)
    assert own is not None
    wrong = []
    for imported, typing_only in imports(ast.parse(MODULES[module].read_text("utf-8"))):
        target = module_of(imported)
        if target is None:
            if not is_face(imported):
                wrong.append(f"{module} imports nbtoolkit.{imported}, which does not exist")
            elif own < ABOVE_THE_FACES and not typing_only:
                wrong.append(f"{module} imports nbtoolkit.{imported} from a package's face: name the module instead")
            continue
        above = rank(target)
        if (module, target) in DOORS:
            continue
        if above is not None and above > own and not (typing_only and (module, target) in TYPES_FROM_ABOVE):
            wrong.append(f"{module} imports {target} from a higher layer{' (for types)' if typing_only else ''}")
    assert wrong == []


def test_each_exception_for_types_is_still_needed() -> None:
    used = {
        (module, target)
        for module, path in MODULES.items()
        for imported, typing_only in imports(ast.parse(path.read_text("utf-8")))
        if typing_only and (target := module_of(imported))
    }
    assert used >= TYPES_FROM_ABOVE
