"""Every exception that nbtoolkit raises on its own account.

::

    NBToolkitError
    ├── AgentOrientedException          a model can mend it; its text is written for the model
    │   ├── ToolNotFoundError
    │   ├── ToolGroupInactiveError
    │   ├── ToolJSONDecodeError
    │   ├── ToolArgumentsError
    │   ├── ToolInterruptedError
    │   └── SkillNotFoundError
    └── DeveloperOrientedException      a programmer must mend it
        ├── MCPConnectionError          a server can't be reached or has gone; also a ConnectionError
        ├── MCPDefinitionError          a server's tool is another than the one that was looked up
        └── CassetteError               a cassette can't be read, or doesn't fit the calls
            └── CassetteMissError       it holds nothing for this call

Inside the pipeline the first kind becomes a result with state error; the second kind is raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtoolkit.unseen import visible_text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "AgentOrientedException",
    "CassetteError",
    "CassetteMissError",
    "DeveloperOrientedException",
    "MCPConnectionError",
    "MCPDefinitionError",
    "NBToolkitError",
    "SkillNotFoundError",
    "ToolArgumentsError",
    "ToolGroupInactiveError",
    "ToolInterruptedError",
    "ToolJSONDecodeError",
    "ToolNotFoundError",
    "ToolkitWarning",
]


class NBToolkitError(Exception):
    """The root of the tree above."""


class AgentOrientedException(NBToolkitError):  # noqa: N818 - the name is AgentScope's
    """A fault that a model can mend.

    Its text already starts with the class name, as the model is to read it.
    """

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)

    def __str__(self) -> str:
        return f"{type(self).__name__}: {self.message}"


class DeveloperOrientedException(NBToolkitError):  # noqa: N818 - the name is AgentScope's
    """A fault that a programmer must mend."""


class MCPConnectionError(DeveloperOrientedException, ConnectionError):
    """An MCP server can't be reached, or has gone; the text says why and what it wrote last."""


class MCPDefinitionError(DeveloperOrientedException):
    """A server has changed or dropped a tool since it was looked up, so the call was not run."""


class CassetteError(DeveloperOrientedException):
    """A cassette can't be read, or doesn't fit the calls; raised also out of a call that runs."""

    def __init__(self, message: str) -> None:
        # It repeats what stands in the file.
        super().__init__(visible_text(message))

    def _render_traceback_(self) -> list[str]:
        # IPython asks for this in place of a traceback, which would say nothing of what to do.
        return [f"{type(self).__name__}: {self}"]


class CassetteMissError(CassetteError):
    """A cassette holds nothing for this call; the text names the nearest entry and how it differs."""


class ToolNotFoundError(AgentOrientedException):
    """No tool has this name."""


class ToolGroupInactiveError(AgentOrientedException):
    """The tool exists in a group that isn't switched on."""


class ToolJSONDecodeError(AgentOrientedException):
    """The arguments that a model wrote are no JSON object and couldn't be repaired into one."""


class ToolArgumentsError(AgentOrientedException):
    """Arguments that don't fit the tool's schema; ``faults`` holds one line for each."""

    def __init__(self, tool_name: str, faults: Sequence[str]) -> None:
        self.tool_name = tool_name
        self.faults = tuple(faults)
        count = "1 argument is" if len(self.faults) == 1 else f"{len(self.faults)} arguments are"
        lines = "".join(f"\n- {fault}" for fault in self.faults)
        super().__init__(f"{count} wrong for the tool '{tool_name}', so it was not run:{lines}")


class ToolInterruptedError(AgentOrientedException):
    """The call was stopped before it ended."""


class ToolkitWarning(UserWarning):
    """Something is left out or guessed; a notebook shows its text alone, without the place that a file has."""


class SkillNotFoundError(AgentOrientedException):
    """No skill has this name."""
