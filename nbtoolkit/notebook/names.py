"""Which variables are a person's own, and which of them a text may mean.

Never a private name, a module, or what IPython or nbtoolkit put into the namespace. Who mistypes a name is told of near
ones, those first that fit where it stands.
"""

from __future__ import annotations

import builtins
import difflib
import re
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["is_of", "is_public", "left_alone", "near_names", "public"]

_IPYTHONS_OWN = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open", "display"})
# Put into the namespace by %load_ext; whatever else a person calls so is theirs.
_OURS = frozenset({("tool", "nbtoolkit.tool.decorator"), ("toolkit", "nbtoolkit.tool.toolkit")})
# More than these are no hint any more.
MOST_NEAR = 3
# As IPython expands them on other magics' lines: {name}, {name.field}, {name[0]}, {name:format}. A shell's ${name} isn't.
_BRACES = re.compile(r"(?<![$\\{])\{([^\W\d]\w*)(?:\.[\w.]+|\[[^\]{}]*\])*(?:![rsa])?(?::[^\s{}]*)?\}(?!\})")
_DOLLAR = re.compile(r"(?<![\w$\\])\$([^\W\d]\w*)")


def is_public(name: str, value: object) -> bool:
    """Whether a variable is a person's own: no private name, no module, nothing that IPython or nbtoolkit put there."""
    if name.startswith("_") or name in _IPYTHONS_OWN or isinstance(value, ModuleType):
        return False
    home = getattr(value if callable(value) else type(value), "__module__", None)
    # What hints are written with is imported, and no value.
    return (name, home) not in _OURS and home != "typing"


def public(variables: Mapping[str, Any]) -> dict[str, Any]:
    """The variables that are a person's own."""
    return {name: value for name, value in variables.items() if is_public(name, value)}


def is_of(value: object, kind: str) -> bool:
    """Whether a value is of the class of this name, or of one that descends from it."""
    # A library's own name of the class may be longer than the schema's.
    wanted = kind.rpartition(".")[2]
    return any(each.__name__ == wanted for each in type(value).__mro__)


def near_names(name: str, variables: Mapping[str, Any], fits: Callable[[Any], bool] = lambda _: True) -> list[str]:
    """The person's variables whose names are like this one; where some of them fit, those alone."""
    own = public(variables)
    folded: dict[str, str] = {}
    for each in own:
        folded.setdefault(each.casefold(), each)
    close = difflib.get_close_matches(name.casefold(), folded, n=MOST_NEAR * 4)
    names = [folded[each] for each in close]
    return ([each for each in names if fits(own[each])] or names)[:MOST_NEAR]


def left_alone(text: str, evaluate: Callable[[str], Any], *, dollar: bool = False) -> tuple[str, str] | None:
    """A ``{name}``, or with ``dollar`` a ``$name``, of a variable inside a longer text: as written, and as an f-string.

    Such text stays as it is where it is read; its writer most likely meant the value.
    """
    for pattern in (_BRACES, _DOLLAR) if dollar else (_BRACES,):
        hit = next((hit for hit in pattern.finditer(text) if _is_variable(hit[1], evaluate)), None)
        if hit is not None:
            inside = hit[0] if pattern is _BRACES else f"{{{hit[1]}}}"
            shown = text if len(text) <= 60 and text.count("{") <= 1 else f"…{hit[0]}…"
            return hit[0], "f" + repr(shown.replace(hit[0], inside))
    return None


def _is_variable(name: str, evaluate: Callable[[str], Any]) -> bool:
    try:
        value = evaluate(name)
    except Exception:  # noqa: BLE001 - no such variable, then
        return False
    return is_public(name, value) and not callable(value) and getattr(builtins, name, None) is not value
