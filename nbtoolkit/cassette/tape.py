"""What a recording and a replay share: starting, stopping, and which runs they leave alone."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

from nbtoolkit.cassette.places import Places
from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.mcp import taping
from nbtoolkit.mcp.tool import MCPTool
from nbtoolkit.permission.sensitive import protect
from nbtoolkit.redact import Redactor
from nbtoolkit.skill import SkillViewer
from nbtoolkit.tool.group import ResetTools

if TYPE_CHECKING:
    from types import TracebackType

    from nbtoolkit.cassette.file import Cassette, Entry
    from nbtoolkit.cassette.player import Replay
    from nbtoolkit.cassette.recorder import Recording
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["Tape", "place_of", "runs_itself"]

# Their runs change what the conversation has switched on or read, here.
_OWN = (ResetTools, SkillViewer)


def runs_itself(tool: ToolBase) -> bool:
    """Whether a run is no matter of the tape: it concerns this process alone, or is taped at its server."""
    return isinstance(tool, (*_OWN, MCPTool))


def place_of(tool: Any) -> tuple[str, str]:
    """Under which name a tool's runs are kept, and on which server."""
    return (tool.server_tool_name, tool.mcp_name or "") if isinstance(tool, MCPTool) else (str(tool.name), "")


class Tape:
    """A cassette in use by one toolkit; use it as a context manager, or ``stop`` it."""

    verb = ""
    doing = ""

    def __init__(self, toolkit: Toolkit, cassette: Cassette) -> None:
        self.toolkit = toolkit
        self.cassette = cassette
        self.places = Places()
        self.lock = threading.RLock()
        self.running = False
        # The entries of the questions under way, by the call's id.
        self.asked: dict[str, Entry] = {}

    def __repr__(self) -> str:
        state = "" if self.running else ", stopped"
        return f"<{type(self).__name__} of {self.cassette.name!r}: {len(self.cassette.entries)} entries{state}>"

    def _start(self, this: Recording | Replay) -> None:
        """Put it between the toolkit and its tools; another tape of the same toolkit is stopped."""
        if self.toolkit.tape is not None:
            self.toolkit.tape.stop()
        if taping.tape is not None:
            raise DeveloperOrientedException(
                f"another toolkit is using a cassette: {taping.tape!r}. Stop it first; servers are shared by all "
                "toolkits, so one cassette is used at a time."
            )
        protect(str(self.cassette.path))
        self.toolkit.tape = taping.tape = this
        self.running = True

    def stop(self) -> None:
        """Take it out; stopping twice is fine."""
        self.running = False
        if self.toolkit.tape is self:
            self.toolkit.tape = None
            # Each toolkit's tape is the process's.
            taping.tape = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def canonical(self, arguments: Any) -> Any:
        """Arguments as a cassette keeps and compares them: without secrets and without this machine's folders."""
        return self.places.leave_all(Redactor().value(arguments))
