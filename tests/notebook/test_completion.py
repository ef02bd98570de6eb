"""Tab behind the magic, asked as JupyterLab asks it: the kernel's completer with a cell and a position."""

from __future__ import annotations

import warnings
from enum import Enum
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from nbtoolkit import hooks
from nbtoolkit.notebook import magics
from nbtoolkit.permission.rule import PermissionMode
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.group import ToolGroup
from nbtoolkit.tool.toolkit import Toolkit

if TYPE_CHECKING:
    from collections.abc import Iterator


class Island(Enum):
    TORGERSEN = "Torgersen"
    DREAM = "Dream Island"


def count_rows(species: Literal["Adelie", "Gentoo"], island: Island, dry_run: bool = False, limit: int = 10) -> int:
    """Count rows."""
    return limit


def clear_rows(path: str) -> None:
    """Clear rows."""


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    toolkit = Toolkit(
        [FunctionTool(count_rows), FunctionTool(clear_rows)], tool_groups=[ToolGroup("reports", "Reports.")]
    )
    toolkit.add_rule("clear_rows(path=data/**)", "deny")
    InteractiveShell.clear_instance()
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    shell.user_ns.update(rows=[1], row_limit=3)
    magics.register(shell, lambda: toolkit)
    yield shell
    magics.unregister(shell)
    InteractiveShell.clear_instance()


def offered(shell: InteractiveShell, code: str, *, ours: bool = True) -> list[str]:
    """What each completion would make of the line that ends with the cursor; IPython's own ones count without `ours`."""
    with provisionalcompleter(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(shell.Completer.completions(code, len(code)))
    last = code.rpartition("\n")[2]
    shift = len(code) - len(last)
    return [last[: each.start - shift] + each.text for each in found if not ours or each._origin == "nbtoolkit"]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("%toolkit sch", ["%toolkit schema"]),
        ("%toolkit mc", ["%toolkit mcp"]),
        ("%toolkit mcp re", ["%toolkit mcp resources", "%toolkit mcp restart", "%toolkit mcp remove"]),
        ("%%toolkit to", ["%%toolkit tool"]),
        ("%toolkit to", []),
        ("%toolkit call cou", ["%toolkit call count_rows"]),
        (
            "%toolkit call count_rows ",
            [f"%toolkit call count_rows {n}=" for n in ("species", "island", "dry_run", "limit")],
        ),
        ("%toolkit call count_rows species=Adelie is", ["%toolkit call count_rows species=Adelie island="]),
        ("%toolkit call count_rows species=", [f"%toolkit call count_rows species={v}" for v in ("Adelie", "Gentoo")]),
        ("%toolkit call count_rows species=g", ["%toolkit call count_rows species=Gentoo"]),
        ("%toolkit call count_rows island=D", []),
        ('%toolkit call count_rows island="D', ['%toolkit call count_rows island="Dream Island"']),
        ("%toolkit call count_rows dry_run=t", ["%toolkit call count_rows dry_run=true"]),
        (
            "%toolkit call count_rows limit=$row",
            [f"%toolkit call count_rows limit=${v}" for v in ("row_limit", "rows")],
        ),
        ("%toolkit why clear_rows ", ["%toolkit why clear_rows path="]),
        ("%toolkit schema count_rows --f", ["%toolkit schema count_rows --format"]),
        ("%toolkit schema count_rows --format an", ["%toolkit schema count_rows --format anthropic"]),
        ("%toolkit schema count_rows --format=an", ["%toolkit schema count_rows --format=anthropic"]),
        ("%toolkit activate ", ["%toolkit activate reports"]),
        ("%%toolkit tool --group re", ["%%toolkit tool --group reports"]),
        ("%%toolkit tool --re", ["%%toolkit tool --read-only"]),
        ("%toolkit deny cl", ["%toolkit deny clear_rows"]),
        ("%toolkit forget c", ["%toolkit forget clear_rows(path=data/**)"]),
        ("%toolkit rules ", ["%toolkit rules accept", "%toolkit rules reload"]),
        ("%toolkit help sche", ["%toolkit help schema"]),
        ("%toolkit help mcp a", ["%toolkit help mcp add"]),
        ("%toolkit answers al", ["%toolkit answers allow", "%toolkit answers always"]),
        ("r = %toolkit call cou", ["r = %toolkit call count_rows"]),
        ("%time %toolkit call cou", ["%time %toolkit call count_rows"]),
        ("x = 1\nfor i in range(3):\n    %toolkit call cou", ["    %toolkit call count_rows"]),
    ],
)
def test_tab_completes_the_word_at_the_cursor(shell: InteractiveShell, typed: str, expected: list[str]) -> None:
    assert offered(shell, typed) == expected


def test_tab_offers_every_subcommand_and_mode(shell: InteractiveShell) -> None:
    assert {"%toolkit call", "%toolkit mcp", "%toolkit log"} <= set(offered(shell, "%toolkit "))
    assert offered(shell, "%toolkit mode ") == [f"%toolkit mode {mode}" for mode in PermissionMode]


def test_tab_offers_the_notebooks_names_for_an_expression(shell: InteractiveShell) -> None:
    assert {"%toolkit add rows", "%toolkit add row_limit"} <= set(offered(shell, "%toolkit add row"))


def test_tab_offers_what_fits_the_argument_first(shell: InteractiveShell) -> None:
    assert offered(shell, "%toolkit call count_rows limit=$ro") == [
        "%toolkit call count_rows limit=$row_limit", "%toolkit call count_rows limit=$rows",
    ]  # fmt: skip


def test_tab_offers_the_ids_of_what_waits(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [SimpleNamespace(id="a1"), SimpleNamespace(id="b2")]
    monkeypatch.setattr(hooks, "default_approver", SimpleNamespace(pending=lambda: calls))
    assert offered(shell, "%toolkit approve ") == ["%toolkit approve a1", "%toolkit approve b2"]
    assert offered(shell, "%toolkit reject b") == ["%toolkit reject b2"]
    monkeypatch.setattr(hooks, "default_approver", None)
    assert offered(shell, "%toolkit approve ") == ["%toolkit approve "]


@pytest.mark.parametrize("line", ["deactivate ", "undo ", "undo ro", "call ro", "call count_rows ro", "mcp tools ro"])
def test_where_nothing_fits_tab_leaves_the_word_and_offers_no_python(shell: InteractiveShell, line: str) -> None:
    assert offered(shell, f"%toolkit {line}", ours=False) == [f"%toolkit {line}"]


@pytest.mark.parametrize("line", ["add ro", "call count_rows limit=ro"])
def test_where_python_may_stand_its_names_are_offered(shell: InteractiveShell, line: str) -> None:
    assert any(each.endswith("row_limit") for each in offered(shell, f"%toolkit {line}", ours=False))


def test_tab_elsewhere_is_as_it_was(shell: InteractiveShell) -> None:
    assert "row_limit" in offered(shell, "row_l", ours=False)
    assert "    row_limit" in offered(shell, "%%toolkit call count_rows\n    row_l", ours=False)


def test_tab_in_the_terminal_and_in_old_front_ends_completes_too(shell: InteractiveShell) -> None:
    with pytest.warns(PendingDeprecationWarning):
        text, matches = shell.complete("", "%toolkit call count_rows species=G", 34)
    assert (text, matches) == ("G", ["Gentoo"])


def test_an_open_quote_or_bracket_never_raises(shell: InteractiveShell) -> None:
    for typed in (
        '%toolkit call count_rows species="',
        "%toolkit call {",
        "%toolkit allow Bash(git ",
        "%toolkit frob x",
    ):
        offered(shell, typed)
