"""The notebook's variables as arguments, and results of earlier calls by their number.

Only what a person named in public is offered: no names with an underscore in front, no modules, nothing that IPython
or nbtoolkit put there itself. Who mistypes a name is told of near ones, those first that fit where it stands.
"""

from __future__ import annotations

import difflib
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.command import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["NotebookVariables", "is_of", "is_public", "near_names", "no_variable", "public"]

_IPYTHONS_OWN = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open", "display"})
# Put into the namespace by %load_ext; whatever else a person calls so is theirs.
_OURS = frozenset({("tool", "nbtoolkit.tool.function"), ("toolkit", "nbtoolkit.tool.toolkit")})
# More than these are no hint any more.
MOST_NEAR = 3


def is_public(name: str, value: object) -> bool:
    """Whether a variable is a person's own: no private name, no module, nothing that IPython or nbtoolkit put there."""
    if name.startswith("_") or name in _IPYTHONS_OWN or isinstance(value, ModuleType):
        return False
    home = getattr(value if callable(value) else type(value), "__module__", None)
    return (name, home) not in _OURS


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


def no_variable(
    name: str, variables: Mapping[str, Any], argument: str = "", fits: Callable[[Any], bool] = lambda _: True
) -> CommandError:
    """What is said of a name that isn't in the notebook; its ``fitting`` says it anew, of an argument."""
    near = near_names(name, variables, fits)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    of = f" for {argument!r}" if argument else ""
    error = CommandError(f"the notebook has no variable {name!r}{of}{hint}")
    error.fitting = partial(no_variable, name, variables)
    return error


class NotebookVariables:
    """Looks variables up for tools; see nbtoolkit.schema.VariableResolver."""

    def __init__(self, shell: InteractiveShell, toolkit: Toolkit) -> None:
        self._shell = shell
        self._toolkit = toolkit

    def namespace(self) -> Mapping[str, Any]:
        """The notebook's whole namespace, for hints that name a class of a later cell."""
        names: Mapping[str, Any] = self._shell.user_ns
        return names

    def public(self) -> dict[str, Any]:
        """The variables that tools may be given."""
        hidden = self._shell.user_ns_hidden
        return {
            name: value
            for name, value in public(self._shell.user_ns).items()
            if value is not self._toolkit and not (name in hidden and hidden[name] is value)
        }

    def names(self, kind: type | tuple[type, ...]) -> list[str]:
        """The public names that hold an instance of ``kind``."""
        return [name for name, value in self.public().items() if isinstance(value, kind)]

    def lookup(self, name: str) -> Any:
        """The variable's value; a LookupError where a person has none of that name."""
        try:
            return self.public()[name]
        except KeyError:
            raise LookupError(f"the notebook has no variable {name!r}") from None

    def result(self, number: int) -> Any:
        """What the call of that number returned; a LookupError says which are kept."""
        return self._toolkit.results[number]
