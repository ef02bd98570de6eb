"""A shell command through Bash, by the clock; the floor is `asyncio.create_subprocess_shell` and its output read."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from benchmarks.figures import CantError

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = {
    "short": "Bash: `echo` (floor: `asyncio.create_subprocess_shell`)",
    "long": "Bash: a command that writes 1 MB",
}
TARGETS = {"short": "–", "long": "–"}
UNIT = "ms"
COMMANDS = {"short": "echo done", "long": "head -c 1000000 /dev/zero | tr '\\0' 'x'; echo done"}
TIMES = 5


def prepare(subject: Any, case: str, run: Callable[[Any], Any]) -> Callable[[], float]:
    """Time whole calls, several in a row."""
    if subject.LIBRARIES[0] not in {"pydantic", "nbtoolkit", "agentscope"}:
        raise CantError
    once = {"pydantic": _bare, "nbtoolkit": _ours, "agentscope": _theirs}[subject.LIBRARIES[0]]
    run(once(COMMANDS[case]))

    async def several() -> None:
        for _ in range(TIMES):
            await once(COMMANDS[case])

    def timed() -> float:
        began = time.perf_counter()
        run(several())
        return (time.perf_counter() - began) / TIMES

    return timed


async def _bare(command: str) -> None:
    process = await asyncio.create_subprocess_shell(
        command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    assert out.endswith(b"done\n")


async def _ours(command: str) -> None:
    from nbtoolkit.permission import PermissionMode
    from nbtoolkit.tool import Bash, Toolkit

    if not _kept:
        _kept.append(Toolkit(tools=[Bash()]))
        _kept[0].mode = PermissionMode.BYPASS
    answer = await _kept[0].call("Bash", command=command)
    assert answer.text.endswith("done\n"), answer.text[-200:]


async def _theirs(command: str) -> None:
    from agentscope import tool  # type: ignore[import-not-found,unused-ignore]

    text = ""
    given = await tool.Bash()(command=command)
    async for chunk in given:
        text += "".join(getattr(block, "text", "") for block in chunk.content)
    assert "done" in text or "truncated" in text, text[-200:]


# The toolkit of this process.
_kept: list[Any] = []
