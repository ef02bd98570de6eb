"""What the engine needs of a tool, and what it says of one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from nbtoolkit.permission.rule import PermissionContext, PermissionDecision, PermissionMode, PermissionRule
    from nbtoolkit.permission.subject import Step, SubjectVerdict

__all__ = ["Judged", "Judgement"]


class Judged(Protocol):
    """What the engine needs of a tool; ToolBase has it.

    A tool may also have ``subjects(tool_input, context) -> Sequence[Subject]``, ``definition_hash`` and, for MCP tools,
    ``trust_annotations``; and override ``check_read_only``, ``match_rule`` and ``generate_suggestions``.
    """

    name: str
    is_read_only: bool
    is_mcp: bool
    mcp_name: str | None

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments; a function's is made when first needed."""
        ...

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
        """What the tool itself says of the call."""
        ...

    async def check_read_only(self, tool_input: dict[str, Any]) -> bool:
        """Whether this very call only reads."""
        ...

    async def match_rule(self, rule_content: str | None, tool_input: dict[str, Any]) -> bool:
        """Whether a rule's content covers the call."""
        ...

    async def generate_suggestions(self, tool_input: dict[str, Any]) -> list[PermissionRule]:
        """Rules that would allow calls like this one."""
        ...


@dataclass(slots=True)
class Judgement:
    """A decision with all that led to it: a verdict for each subject, the step and the rule that decided."""

    tool: Judged
    tool_input: dict[str, Any]
    mode: PermissionMode
    decision: PermissionDecision
    subjects: tuple[SubjectVerdict, ...]
    step: Step
    rule: PermissionRule | None = None
    own: PermissionDecision | None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps in order, each with what it found."""
        from nbtoolkit.permission.explain import steps

        return steps(self)
