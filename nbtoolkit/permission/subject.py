"""What of a call is judged, one by one: the seam between the engine and those who can read a command or a path.

A tool with ``subjects(tool_input, context)`` takes its call apart: Bash gives one subject for every simple command and
every redirect, Read and Write one for their path. The engine asks each subject three things: does this rule name you,
is there a safety reason, what is your effect; it then walks the same ordered steps for each, and the worst verdict
wins. A tool without ``subjects`` is judged by its arguments, as one subject.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule

__all__ = ["Effect", "Match", "Step", "Subject", "SubjectVerdict"]


class Effect(StrEnum):
    """How far a subject reaches; a column of the table of modes."""

    READ = "read-only"
    """Provably read-only, and within the working directories where it reads files."""
    READ_CLAIMED = "read-only, as its server claims"
    """An MCP server's readOnlyHint, which nobody checked."""
    READ_OUTSIDE = "read-only, outside the working directories"
    EDIT = "an edit inside the working directories"
    """An edit, or mkdir/touch/rm/mv/cp/sed, wholly inside the working directories, its sources too."""
    OTHER = "not read-only"


class Match(Enum):
    """Whether a rule names a subject; UNKNOWN (an argument is missing, say) never allows, and makes a deny rule ask."""

    NO = 0
    UNKNOWN = 1
    YES = 2


class Step(IntEnum):
    """The steps of a judgement, in their one order."""

    DENY_RULES = 1
    TOOL = 2
    SAFETY = 3
    ASK_RULES = 4
    READ_ONLY = 5
    TOOL_ALLOWS = 6
    ALLOW_RULES = 7
    MODE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One thing that a call would do; subclass it and override ``matches``.

    ``tool_names`` are the names under which rules about it are looked up, where they aren't the called tool's own (a
    redirect's are ``Write`` and ``Edit``). ``within`` is the index, among the call's subjects before it, of the command
    whose words name this path: an allow rule for that command covers it. ``own_file`` marks this product's own files, for
    which bypass asks too. ``why`` says what an ordinary question is about, where "no rule allows it" doesn't.
    """

    kind: str
    text: str
    effect: Effect = Effect.OTHER
    safety: str | None = None
    own_file: bool = False
    why: str | None = None
    suggestion: PermissionRule | None = None
    tool_names: tuple[str, ...] | None = None
    within: int | None = None

    def matches(self, rule: PermissionRule, base: str) -> Match:
        """Does ``rule`` name this subject? ``base`` is the folder from which the rule's relative paths are read.

        Called only for rules that have a content (one without names every call of its tool) and whose tool name fits.
        The rule's behaviour decides how widely it is read: deny and ask look through disguises, allow doesn't.
        """
        raise NotImplementedError(f"{type(self).__name__} must say which rules name it ({rule}, {base}).")

    def keys(self, *, wide: bool) -> frozenset[str] | None:  # noqa: ARG002 - subclasses look at it
        """The programs, casefolded, one of which a rule must name to name this subject; None where that can't be said.

        It spares asking ``matches`` a thousand times.
        """
        return None


@dataclass(slots=True)
class SubjectVerdict:
    """What was decided about one subject, by which step and why; ``rule`` is the one that decided, if one did."""

    subject: Subject
    behavior: PermissionBehavior
    reason: str
    step: Step
    rule: PermissionRule | None = None

    @property
    def safety(self) -> bool:
        """Whether the subject is sensitive or destructive, whatever was decided about it."""
        return self.step is Step.SAFETY or self.subject.safety is not None
