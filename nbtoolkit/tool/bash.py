"""Bash: one command line, judged part by part, its output streamed, all that it starts ended with it."""

from __future__ import annotations

import os
import re
import shutil
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from nbtoolkit.message import TextBlock, ToolResultState, new_id
from nbtoolkit.permission.command_subject import CommandSubject, allows_all, names_all, pattern_fault
from nbtoolkit.permission.git_quiet import only_reads, quiet_git
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision, PermissionRule
from nbtoolkit.permission.sensitive import DANGEROUS_DIRECTORIES, DANGEROUS_FILES, Places, roots
from nbtoolkit.permission.shell_judge import judge_line
from nbtoolkit.permission.subject import Match
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.content import goes_by
from nbtoolkit.tool.faults import FileFault
from nbtoolkit.tool.process import Drawn, Ended, run_streaming
from nbtoolkit.tool.progress import Reports
from nbtoolkit.tool.result import ToolChunk
from nbtoolkit.tool.texts import as_written, check_whole

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from nbtoolkit.permission.subject import Subject
    from nbtoolkit.tool.base import ToolMiddlewareBase

__all__ = ["Bash"]

DEFAULT_TIMEOUT = 120_000
LONGEST_TIMEOUT = 600_000
# What a model gets of a long output: its beginning as it comes, its end when it is there.
HEAD = 20_000
# Linux takes no longer argument.
LONGEST_COMMAND = 131_071
TAIL = 10_000

# Read by bash before the first command, or changing what a command's words mean.
_NEVER = (
    "BASH_ENV",
    "ENV",
    "CDPATH",
    "GLOBIGNORE",
    "PROMPT_COMMAND",
    "PS4",
    "SHELLOPTS",
    "BASHOPTS",
    "POSIXLY_CORRECT",
)

_BASH_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "minLength": 1, "description": "The command line."},
        "timeout": {
            "type": "integer",
            "minimum": 1,
            "maximum": LONGEST_TIMEOUT,
            "default": DEFAULT_TIMEOUT,
            "description": "Milliseconds after which the command and all it started are ended.",
        },
        "description": {"type": "string", "description": "What the command does, in five to ten words."},
    },
    "required": ["command"],
    "additionalProperties": False,
}


# Where the command of the call under way was judged: its relative paths mean other files elsewhere. Each call runs in a
# task with a context of its own.
_NOTHING: tuple[object, str, str] = (None, "", "")
_judged: ContextVar[tuple[object, str, str]] = ContextVar("nbtoolkit_judged_command", default=_NOTHING)


class Bash(ToolBase):
    """Runs a bash command line in the notebook's folder."""

    name = "Bash"
    description = (
        "Run a command line in bash and return its output and exit code. There is no terminal and no input, and nothing "
        "that it starts outlives the call. "
        "Each call starts in the notebook's folder; use absolute paths, or `cd folder && command`. "
        "Use Read, Write, Edit, Glob and Grep for files rather than cat, sed, find and grep."
    )
    input_schema = _BASH_INPUT
    is_concurrency_safe = False
    dangerous_files = DANGEROUS_FILES
    dangerous_directories = DANGEROUS_DIRECTORIES

    def __init__(
        self,
        dangerous_files: Sequence[str] | None = None,
        dangerous_directories: Sequence[str] | None = None,
        middlewares: list[ToolMiddlewareBase] | None = None,
        *,
        cwd: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(middlewares)
        if dangerous_files is not None:
            self.dangerous_files = list(dangerous_files)
        if dangerous_directories is not None:
            self.dangerous_directories = list(dangerous_directories)
        self.cwd = None if cwd is None else os.fspath(cwd)
        self._places = Places(dangerous_files, dangerous_directories)

    # ------------------------------------------------------------------------------------------------- judging
    def subjects(self, tool_input: dict[str, Any], context: PermissionContext) -> list[Subject]:
        """Each simple command, each path that it names, each redirect."""
        folder = self._folder()
        _judged.set((self, tool_input["command"], os.path.realpath(folder)))
        return judge_line(
            tool_input["command"], cwd=folder, folders=roots(context), places=self._places, base=context.base
        )

    async def check_permissions(
        self,
        tool_input: dict[str, Any],  # noqa: ARG002 - the contract's signature
        context: PermissionContext,  # noqa: ARG002
    ) -> PermissionDecision:
        """No opinion: the subjects say it all."""
        return PermissionDecision(PermissionBehavior.PASSTHROUGH, "")

    async def check_read_only(self, tool_input: dict[str, Any]) -> bool:
        """Whether every part provably only reads, within the folder that the command starts in."""
        return only_reads(self._parts(tool_input["command"]))

    async def match_rule(self, rule_content: str | None, tool_input: dict[str, Any]) -> bool:
        """Whether an allow rule with this content covers every command of the line."""
        if rule_content is None:
            return True
        rule = PermissionRule(tool_name=self.name, rule_content=rule_content, behavior=PermissionBehavior.ALLOW)
        folder = self._folder()
        parts = judge_line(tool_input["command"], cwd=folder, folders=(folder,), places=self._places, base=folder)
        return all(
            isinstance(each, CommandSubject) and each.matches(rule, folder) is Match.YES
            for each in parts
            if each.within is None
        )

    async def generate_suggestions(self, tool_input: dict[str, Any]) -> list[PermissionRule]:
        """A rule for each command that isn't read-only."""
        folder = self._folder()
        parts = judge_line(tool_input["command"], cwd=folder, folders=(folder,), places=self._places, base=folder)
        return list(dict.fromkeys(each.suggestion for each in parts if each.suggestion is not None))

    def rule_fault(self, rule: PermissionRule) -> str | None:
        """Why a rule's content can never match."""
        content = (rule.rule_content or "").strip()
        if rule.behavior is PermissionBehavior.ALLOW and content in ("*", ":*"):
            return "a star alone allows nothing; write Bash for every command"
        inner = content.removesuffix(":*")
        if rule.behavior is PermissionBehavior.ALLOW and any(
            sign in inner for sign in ("&&", "||", ";", "|", "`", "$(")
        ):
            return "commands are judged one by one, so a rule names one simple command"
        return pattern_fault(content)

    def rule_covers(self, general: PermissionRule, special: PermissionRule) -> bool:
        """Whether a rule names all that another one names."""
        if general.behavior is PermissionBehavior.ALLOW:
            return allows_all(general, special, self._parts)
        return names_all(general.rule_content or "", special.rule_content or "")

    # ------------------------------------------------------------------------------------------------- running
    def _folder(self) -> str:
        if self.cwd is not None:
            return os.path.abspath(os.path.expanduser(self.cwd))  # noqa: PTH100, PTH111
        try:
            return os.getcwd()  # noqa: PTH109
        except OSError:
            return "/"

    def _moved(self, command: str, folder: str) -> str | None:
        """Why a command doesn't run where it was judged; a run uses the judgement up."""
        tool, judged, then = _judged.get()
        if tool is not self or judged != command:
            return None
        _judged.set(_NOTHING)
        now = os.path.realpath(folder)
        return None if now == then else f"it was judged in the folder {then!r}, but would run in {now!r}. Call again."

    def _parts(self, command: str) -> list[Subject]:
        folder = self._folder()
        return judge_line(command, cwd=folder, folders=(folder,), places=self._places, base=folder)

    def _environment(self, command: str) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if k not in _NEVER and not k.startswith("BASH_FUNC_")}
        env["TERM"] = "dumb"
        # Else what a script prints comes when it has ended: Python keeps it back where there is no terminal.
        env.setdefault("PYTHONUNBUFFERED", "1")
        quiet_git(env, self._parts(command))
        return env

    def call(
        self,
        command: str,
        timeout: int = DEFAULT_TIMEOUT,
        description: str | None = None,  # noqa: ARG002
    ) -> AsyncGenerator[ToolChunk, None]:
        """Run the command, giving its output as it comes; a bar that it draws is reported as progress."""
        return self._run(command, timeout, Reports(self.name), as_written())

    async def _run(self, command: str, timeout: int, reports: Reports, written: str) -> AsyncGenerator[ToolChunk, None]:
        shell = shutil.which("bash")
        folder = self._folder()
        fault = _fault(command, folder, shell, written) or self._moved(command, folder)
        if fault is not None or shell is None:
            yield ToolChunk.of(f"The command was not run: {fault}", ToolResultState.ERROR)
            return
        from nbtoolkit.mcp import guardian
        from nbtoolkit.mcp.process import ensure_guardian, tell_guardian

        mark = (guardian.MARK, f"{guardian.owner_mark()}#command.{new_id()}")
        groups: list[int] = []

        def started(group: int) -> None:
            # It ends the command where this process is killed.
            ensure_guardian()
            groups.append(group)
            tell_guardian(f"+{group}")

        block, output = new_id(), _Output()
        argv = [shell, "--noprofile", "--norc", "-c", "--", command]
        limit = min(max(timeout, 1), LONGEST_TIMEOUT) / 1000
        environment = self._environment(command)
        process = run_streaming(argv, cwd=folder, env=environment, timeout=limit, mark=mark, started=started)
        end: Ended | None = None
        try:
            async for piece in process:
                if isinstance(piece, Ended):
                    end = piece
                elif isinstance(piece, Drawn):
                    _report(piece, reports)
                elif shown := output.add(piece):
                    yield ToolChunk(content=[TextBlock(id=block, text=shown)], is_last=False)
                elif passing := goes_by(piece, output.size):
                    yield ToolChunk(is_last=False, metadata=passing)
        finally:
            await process.aclose()
            reports.end()
            for group in groups:
                tell_guardian(f"-{group}")
        assert end is not None
        notes, fine = _ending(end, limit)
        text = output.rest()
        if notes:
            text += output.newline() + "\n".join(notes)
        elif not output.size:
            text = "[no output, exit code 0]"
        yield ToolChunk(
            content=[TextBlock(id=block, text=text)] if text else [],
            state=ToolResultState.SUCCESS if fine else ToolResultState.ERROR,
            metadata={"exit_code": end.code, "timed_out": end.timed_out, "characters": output.size},
        )


def _ending(end: Ended, limit: float) -> tuple[list[str], bool]:
    """What is to be said of how a command ended, and whether it ended well."""
    notes: list[str] = []
    if end.timed_out:
        notes.append(f"[timed out after {limit:g} s; the command and all it started were ended]")
    elif end.code is None:
        notes.append("[ended together with the process that watches over it, so its exit code isn't known]")
    elif end.code:
        notes.append(f"[exit code {end.code}]" if end.code > 0 else f"[ended by signal {-end.code}]")
    fine = not notes
    if end.left:
        many = "1 process" if end.left == 1 else f"{end.left} processes"
        notes.append(f"[{many} of the command can't be ended by this user and still run]")
    return notes, fine


# What tqdm, pip, wget, keras and others draw.
_PERCENT = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d+)?) ?%")
_OF = re.compile(r"(?<![\d./])(\d{1,12}) ?/ ?(\d{1,12})(?![\d./])")


def _report(line: str, reports: Reports) -> None:
    """Tell how far a bar is, where its line says so."""
    if found := _PERCENT.search(line):
        done, total = float(found[1]), 100.0
    elif found := _OF.search(line):
        done, total = float(found[1]), float(found[2])
    else:
        return
    if done <= total:
        reports.report({"progress": done, "total": total, "message": line[:200]})


def _fault(command: str, folder: str, shell: str | None, written: str) -> str | None:
    """Why a command can't be run at all, and what to do about it."""
    if shell is None:
        return "bash wasn't found on this computer. Install it, or use the other tools."
    if not os.path.isdir(folder):  # noqa: PTH112
        return f"the folder {folder!r} doesn't exist. Make it, or start Bash in another one."
    if "\0" in command:
        return (
            "it holds a NUL character, which no program can be given. Leave it out, or write it as $'\\x00' to printf."
        )
    try:
        size = len(os.fsencode(command))
        check_whole(command, written)
    except (UnicodeEncodeError, FileFault):
        return "it holds half of a surrogate pair, which is no character. Leave it out."
    if size > LONGEST_COMMAND:
        return f"it is {size:,} bytes long, and the system takes {LONGEST_COMMAND:,}. Write it to a file and run that with bash."
    return None


class _Output:
    """What the model gets of an output: head, and tail once it is known."""

    def __init__(self) -> None:
        self.size = 0
        self._shown = 0
        self._tail = ""
        self._last = "\n"

    def add(self, text: str) -> str:
        """Take text in; what is to be shown now."""
        self.size += len(text)
        if text:
            self._last = text[-1]
        room = HEAD - self._shown
        head = text[:room] if room > 0 else ""
        self._shown += len(head)
        rest = text[len(head) :]
        if rest:
            self._tail = (self._tail + rest)[-TAIL:]
        return head

    def rest(self) -> str:
        """What wasn't shown yet, its middle left out where it is long."""
        left_out = self.size - self._shown - len(self._tail)
        if left_out <= 0:
            return self._tail
        return f"\n[… {left_out:,} characters left out …]\n{self._tail}"

    def newline(self) -> str:
        return "" if self._last == "\n" else "\n"
