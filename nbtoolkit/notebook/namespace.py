"""The notebook's variables as arguments, and results of earlier calls by their number.

Only what a person named in public is offered: no names with an underscore in front, no modules, nothing that IPython
put there itself.
"""

from __future__ import annotations

import difflib
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["IPYTHONS_OWN", "NotebookVariables"]

IPYTHONS_OWN = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open", "display"})


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
            for name, value in self._shell.user_ns.items()
            if not name.startswith("_")
            and name not in IPYTHONS_OWN
            and not isinstance(value, ModuleType)
            and value is not self._toolkit
            and not (name in hidden and hidden[name] is value)
        }

    def names(self, kind: type | tuple[type, ...]) -> list[str]:
        """The public names that hold an instance of ``kind``."""
        return [name for name, value in self.public().items() if isinstance(value, kind)]

    def lookup(self, name: str) -> Any:
        """The variable's value; a LookupError proposes near names."""
        public = self.public()
        try:
            return public[name]
        except KeyError:
            close = difflib.get_close_matches(name, public, n=3)
            hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
            raise LookupError(f"the notebook has no variable {name!r}{hint}") from None

    def result(self, number: int) -> Any:
        """What the call of that number returned; a LookupError says which are kept."""
        return self._toolkit.results[number]
