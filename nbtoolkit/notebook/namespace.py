"""The notebook's variables as arguments, and results of earlier calls by their number.

Only what a person named in public is offered; see nbtoolkit.notebook.names.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.command import CommandError
from nbtoolkit.notebook.names import near_names, public

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["NotebookVariables", "no_variable"]


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
