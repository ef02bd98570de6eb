"""Who answers when a call asks, and with what.

An approver is any ``async (ApprovalRequest) -> Approval``. ``ask`` is the only way that one is called: whatever it
raises or returns instead of an Approval is a denial, never a permission; a cancellation from outside goes on up.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule

if TYPE_CHECKING:
    from nbtoolkit.permission.engine import Judged, Judgement
    from nbtoolkit.permission.rule import PermissionDecision
    from nbtoolkit.permission.subject import SubjectVerdict
    from nbtoolkit.state import AgentState

__all__ = [
    "Answerer",
    "Approval",
    "ApprovalRequest",
    "Approver",
    "Origin",
    "Scope",
    "allow_all",
    "ask",
    "deny_all",
]

Scope = Literal["call", "cell", "kernel", "project", "user"]
Kind = Literal["allow", "deny", "edit", "respond"]
Answerer = Literal["person", "script", "policy"]
OriginKind = Literal["cell", "agent", "server", "script"]

_SCOPES: tuple[str, ...] = get_args(Scope)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a call came from: a cell, an agent by name, a client of the MCP server, a script."""

    kind: OriginKind
    name: str | None = None
    cell: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """One question: this call, exactly these arguments, and why it asks.

    ``tool_input`` is what will run if the answer allows. ``variables`` holds the objects behind arguments that name
    notebook variables, ``state`` is what the asking conversation has read and switched on.
    """

    id: str
    tool: Judged
    tool_input: dict[str, Any]
    decision: PermissionDecision
    subjects: tuple[SubjectVerdict, ...] = ()
    suggested_rules: tuple[PermissionRule, ...] = ()
    origin: Origin = field(default_factory=lambda: Origin("script"))
    judgement: Judgement | None = None
    variables: Mapping[str, object] = field(default_factory=dict)
    state: AgentState | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Approval:
    """An answer; make one with ``allow``, ``deny``, ``edit`` or ``respond``.

    ``rules`` is empty for an allow that names none: with a scope beyond the call, the suggested rules are meant.
    """

    kind: Kind
    rules: tuple[PermissionRule, ...] = ()
    scope: Scope = "call"
    reason: str | None = None
    tool_input: dict[str, Any] | None = None
    content: Any = None
    by: Answerer = "person"

    @classmethod
    def allow(
        cls,
        rule: PermissionRule | str | Iterable[PermissionRule | str] | None = None,
        scope: Scope = "call",
        *,
        by: Answerer = "person",
    ) -> Approval:
        """Let it run; with a scope beyond the call, and remember ``rule`` (a rule, its text, or several) for so long."""
        if scope not in _SCOPES:
            raise ValueError(f"{scope!r} is no scope. Expected one of {', '.join(_SCOPES)}.")
        several: Iterable[PermissionRule | str]
        several = () if rule is None else (rule,) if isinstance(rule, PermissionRule | str) else rule
        return cls("allow", rules=tuple(_allow_rule(each) for each in several), scope=scope, by=by)

    @classmethod
    def deny(cls, reason: str | None = None, *, by: Answerer = "person") -> Approval:
        """Don't let it run; the model reads the reason."""
        return cls("deny", reason=reason, by=by)

    @classmethod
    def edit(cls, tool_input: Mapping[str, Any], *, by: Answerer = "person") -> Approval:
        """Run it with these arguments instead, once they are validated and judged."""
        return cls("edit", tool_input=dict(tool_input), by=by)

    @classmethod
    def respond(cls, content: Any, *, by: Answerer = "person") -> Approval:
        """Don't run it; this is its result."""
        return cls("respond", content=content, by=by)

    @property
    def rule(self) -> PermissionRule | None:
        """The first rule, where there is one."""
        return self.rules[0] if self.rules else None


def _allow_rule(rule: PermissionRule | str) -> PermissionRule:
    if isinstance(rule, str):
        return PermissionRule.parse(rule, PermissionBehavior.ALLOW)
    if rule.behavior is not PermissionBehavior.ALLOW:
        raise ValueError(f"An approval can only remember allow rules, but {str(rule)!r} is a rule to {rule.behavior}.")
    return rule


Approver: TypeAlias = Callable[[ApprovalRequest], Awaitable[Approval]]


async def ask(approver: Approver, request: ApprovalRequest) -> Approval:
    """Put the question; a failing approver denies, and says so to the model."""
    import asyncio

    try:
        answer: object = await approver(request)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # Nobody asked this task to stop: the approver gave up by itself, and giving up is no permission.
        return Approval.deny("The approval was withdrawn before it was answered.", by="policy")
    except Exception as fault:  # noqa: BLE001 - whatever an approver raises must deny
        return Approval.deny(
            f"Nobody could answer: the approver failed with {type(fault).__name__}: {fault}", by="policy"
        )
    if not isinstance(answer, Approval):
        return Approval.deny(f"Nobody could answer: the approver gave {answer!r:.200}, not an Approval.", by="policy")
    return answer


async def deny_all(request: ApprovalRequest) -> Approval:
    """Deny, since nobody is there to answer."""
    return Approval.deny(f"Nobody is there to answer. {request.decision.message}", by="policy")


async def allow_all(request: ApprovalRequest) -> Approval:
    """Allow every ordinary question once; a safety question stays denied."""
    if request.decision.bypass_immune:
        return Approval.deny(f"Only a person may answer this. {request.decision.message}", by="policy")
    return Approval.allow(by="policy")
