"""What the file tools share: a path that is judged by where it leads, and the run bound to just that place."""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from nbtoolkit.permission import pattern
from nbtoolkit.permission.path_subject import PathSubject, path_subject
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision, PermissionRule
from nbtoolkit.permission.sensitive import DANGEROUS_DIRECTORIES, DANGEROUS_FILES, Places, roots
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.disk import FileChange, FileFault
from nbtoolkit.tool.result import ToolChunk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nbtoolkit.permission.sensitive import Access
    from nbtoolkit.permission.subject import Subject
    from nbtoolkit.tool.base import ToolMiddlewareBase

__all__ = [
    "LARGEST_EDITABLE",
    "FileChange",
    "FileFault",
    "FileTool",
    "failed",
    "here",
    "notebook_fault",
    "own_notebook",
]

# Text files beyond this aren't edited: nobody reviews such a change, and it is held in memory three times.
LARGEST_EDITABLE = 20 * 1024 * 1024


def _session_notebook() -> str | None:
    """The notebook that a Jupyter server says this kernel belongs to."""
    name = os.environ.get("JPY_SESSION_NAME", "")
    return name if name.endswith(".ipynb") else None


# A front end that knows better replaces it.
own_notebook: Callable[[], str | None] = _session_notebook


def here() -> str:
    """The folder that relative paths start from: the notebook's."""
    try:
        return os.getcwd()  # noqa: PTH109 - asked on every judgement
    except OSError:
        return "/"


# Where the paths of the call under way led when they were judged. Each call runs in a task with a context of its own, so
# another call with the same path, judged while this one waits for its answer, doesn't take its place.
_Judged = tuple[object, "Mapping[str, str]"]
_NOTHING: _Judged = (None, {})
_judged: ContextVar[_Judged] = ContextVar("nbtoolkit_judged_path", default=_NOTHING)


class FileTool(ToolBase):
    """A tool about one path: judged by where the path leads, and run on just that place."""

    access: Access = "read"
    path_argument = "file_path"
    is_state_injected = True
    dangerous_files = DANGEROUS_FILES
    dangerous_directories = DANGEROUS_DIRECTORIES

    def __init__(
        self,
        dangerous_files: Sequence[str] | None = None,
        dangerous_directories: Sequence[str] | None = None,
        middlewares: list[ToolMiddlewareBase] | None = None,
    ) -> None:
        super().__init__(middlewares)
        if dangerous_files is not None:
            self.dangerous_files = list(dangerous_files)
        if dangerous_directories is not None:
            self.dangerous_directories = list(dangerous_directories)
        self._places = Places(dangerous_files, dangerous_directories)

    # ------------------------------------------------------------------------------------------------- judging
    def subjects(self, tool_input: dict[str, Any], context: PermissionContext) -> list[Subject]:
        """The one path, resolved; what was judged is what ``located`` gives later."""
        given = tool_input.get(self.path_argument) or "."
        subject = self._subject(given, roots(context), context.base)
        _judged.set(_NOTHING)
        self._bind(given, subject)
        return [subject]

    def _bind(self, given: str, subject: PathSubject) -> None:
        """Note where a path led when it was judged."""
        tool, known = _judged.get()
        place = subject.resolved[0] if subject.resolved else ""
        _judged.set((self, {**(known if tool is self else {}), given: place}))

    def _subject(self, given: str, folders: Sequence[str], base: str) -> PathSubject:
        writes = self.access == "write"
        return path_subject(
            given,
            self.access,
            bases=(here(),),
            folders=folders,
            places=self._places,
            tool_names=("Write", "Edit") if writes else ("Read",),
            allow_names=(self.name,),
            base=base,
            tool=self.name,
        )

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:  # noqa: ARG002
        """No opinion beyond the path's, but the notebook that this kernel belongs to is never written."""
        if self.access == "write":
            fault = notebook_fault(tool_input.get(self.path_argument) or "")
            if fault is not None:
                return PermissionDecision(PermissionBehavior.DENY, fault, "the open notebook")
        return PermissionDecision(PermissionBehavior.PASSTHROUGH, "")

    async def check_read_only(self, tool_input: dict[str, Any]) -> bool:  # noqa: ARG002 - the path doesn't matter
        """Whether the tool only reads."""
        return self.access == "read"

    async def match_rule(self, rule_content: str | None, tool_input: dict[str, Any]) -> bool:
        """Whether an allow rule with this content names the path."""
        if rule_content is None:
            return True
        rule = PermissionRule(tool_name=self.name, rule_content=rule_content, behavior=PermissionBehavior.ALLOW)
        return (
            self._subject(tool_input.get(self.path_argument) or ".", (here(),), here()).matches(rule, here()).value == 2
        )

    async def generate_suggestions(self, tool_input: dict[str, Any]) -> list[PermissionRule]:
        """The folder that the path lies in."""
        suggestion = self._subject(tool_input.get(self.path_argument) or ".", (), here()).suggestion
        return [] if suggestion is None else [suggestion]

    # ------------------------------------------------------------------------------------------------- running
    def located(self, given: str, *, look: bool = False) -> str:
        """The real path behind a given one; a FileFault where it leads elsewhere than when it was judged.

        A run uses the judgement up, so that a later one without a judgement isn't held to it; a mere ``look`` doesn't.
        """
        found = pattern.resolve(given, here())
        if found is None:
            raise FileFault(f"{given!r:.200} is no path. Expected the path of a file, as text.")
        tool, known = _judged.get()
        if tool is not self or given not in known:
            return found[0]
        judged = known[given]
        if not look:
            _judged.set((self, {path: place for path, place in known.items() if path != given}))
        if judged and judged != found[0]:
            raise FileFault(
                f"{given!r} leads to {found[0]!r} now, but led to {judged!r} when it was judged. Nothing was done; call again."
            )
        return found[0]


def notebook_fault(given: str) -> str | None:
    """Why a path must not be written: it is the notebook that is open over this kernel."""
    name = own_notebook()
    if not name or not given:
        return None
    mine, found = pattern.resolve(name, here()), pattern.resolve(given, here())
    if mine is None or found is None or mine[0] != found[0]:
        return None
    return (
        f"{given!r} is the notebook that this kernel belongs to. It is open in a front end, which would overwrite the change "
        "or lose the person's own; ask the person to edit the cell."
    )


def failed(fault: Exception) -> ToolChunk:
    """A fault as the result that the model reads."""
    from nbtoolkit.message import ToolResultState

    return ToolChunk.of(str(fault), ToolResultState.ERROR)
