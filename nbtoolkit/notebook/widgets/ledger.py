"""A shell command as a ledger: its parts in order, each with its verdict.

Where operators and parts, joined, are the command itself, it is shown once, broken there. Where that can't hold (loops,
here-documents, commands inside commands) the whole command stands first and its parts below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbtoolkit.notebook.text import count, one_line, settled, to_json, visible
from nbtoolkit.notebook.widgets.highlight import shell
from nbtoolkit.permission.rule import PermissionBehavior
from nbtoolkit.permission.subject import Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.approval import ApprovalRequest
    from nbtoolkit.permission.subject import SubjectVerdict

__all__ = ["command_markup", "parts_markup"]

# What a page can hold and a person could read; past it the command is cut and "Always" isn't offered.
WHOLE_LIMIT = 100_000
PART_LIMIT = 2_000
REASON_LIMIT = 200
# Between two commands nothing else may stand, if the cells are to be the command.
_OPERATORS = frozenset({"", "&&", "||", "|", "|&", ";", "&"})

_ALLOW, _ASK, _DENY = PermissionBehavior.ALLOW, PermissionBehavior.ASK, PermissionBehavior.DENY
_WORDS = {_ALLOW: ("✓ allowed", "nbtk-soft"), _DENY: ("✕ denied", "nbtk-deny")}
_WORSE = {_ALLOW: 0, PermissionBehavior.PASSTHROUGH: 1, _ASK: 1, _DENY: 3}


@dataclass(slots=True)
class _Part:
    """One simple command, with the verdicts on it and on what it reads and writes; ``operator`` is what joins it."""

    text: str
    verdicts: list[SubjectVerdict] = field(default_factory=list)
    operator: str = ""


def command_markup(request: ApprovalRequest, command: str) -> tuple[str, bool, int]:
    """The command with its verdicts, whether all of it is there, and about how many lines that takes."""
    whole = len(command) <= WHOLE_LIMIT
    parts = _taken_apart(request.subjects)
    joined = _joined(command, parts) if whole else None
    lines = len(parts)
    if joined is not None:
        markup = _rows(joined)
    else:
        shown = command if whole else command[:WHOLE_LIMIT]
        markup = f'<pre class="nbtk-code">{shell(shown)}</pre>'
        if not whole:
            markup += f'<p class="nbtk-note">{count(len(command) - WHOLE_LIMIT, "character")} not shown</p>'
        markup += _rows(parts)
        lines += shown.count("\n") + 1 + len(shown) // 100
    if _beside(request):
        sent = visible(to_json(request.tool_input, indent=2)[: WHOLE_LIMIT * 2])
        markup += f'<details><summary>Arguments as sent</summary><pre class="nbtk-code">{sent}</pre></details>'
    return markup, whole, lines


def _beside(request: ApprovalRequest) -> bool:
    """Whether the call has arguments beside the command that aren't their defaults."""
    properties = request.tool.input_schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    defaults = {key: each.get("default") for key, each in known.items() if isinstance(each, dict)}
    sent = {key: value for key, value in request.tool_input.items() if key != "command" and value is not None}
    return any(value != defaults.get(key) for key, value in sent.items())


def parts_markup(subjects: Sequence[SubjectVerdict]) -> str:
    """Several subjects of a call that is no shell command."""
    return _rows([_Part(each.subject.text, [each]) for each in subjects], "Parts of the call, each with its verdict")


def _taken_apart(subjects: Sequence[SubjectVerdict]) -> list[_Part]:
    """The simple commands in order; what one of them names or redirects to belongs to it."""
    parts: list[_Part] = []
    of: dict[int, _Part] = {}
    for i, each in enumerate(subjects):
        subject = each.subject
        owner = of.get(subject.within) if subject.within is not None else None
        if owner is None and parts and subject.kind != "command" and subject.text in parts[-1].text:
            owner = parts[-1]
        if owner is None:
            owner = _Part(subject.text)
            parts.append(owner)
        of[i] = owner
        owner.verdicts.append(each)
    return parts


def _joined(command: str, parts: list[_Part]) -> list[_Part] | None:
    """The parts with the operators between them; None where these aren't all of the command."""
    at = 0
    found: list[_Part] = []
    for part in parts:
        text = part.text.strip()
        start = command.find(text, at) if text else -1
        if start < 0 or "\n" in text or len(text) > PART_LIMIT:
            return None
        operator = "".join(command[at:start].split())
        if operator not in _OPERATORS or (operator and not found):
            return None
        # A line's end joins commands as a semicolon does; said as such, since a row of its own could be overlooked.
        if found and not operator:
            if "\n" not in command[at:start]:
                return None
            operator = "⏎"
        found.append(_Part(text, part.verdicts, operator))
        at = start + len(text)
    left = "".join(command[at:].split())
    if left not in {"", ";", "&"} or not found:
        return None
    if left:
        found.append(_Part("", [], left))
    return found


def _rows(parts: list[_Part], name: str = "Parts of the command, each with its verdict") -> str:
    cells = "".join(
        f'<span class="nbtk-op">{visible(part.operator)}</span>'
        f"<pre>{shell(one_line(part.text, PART_LIMIT))}</pre>"
        f'<span class="nbtk-verdict">{_verdicts(part)}</span>'
        for part in parts
    )
    return f'<div class="nbtk-parts" role="group" aria-label="{name}">{cells}</div>'


def _verdicts(part: _Part) -> str:
    """What was decided about the part: all that isn't allowed, worst first; else that it is."""
    if not part.verdicts:
        return ""
    ranked = sorted(part.verdicts, key=lambda each: -(_WORSE[each.behavior] + _is_danger(each)))
    shown = [each for each in ranked if each.behavior is not _ALLOW] or ranked[:1]
    return "".join(f"<div>{_verdict(each, part)}</div>" for each in shown)


def _is_danger(each: SubjectVerdict) -> bool:
    return each.safety and each.behavior is _ASK


def _verdict(each: SubjectVerdict, part: _Part) -> str:
    word, kind = _WORDS.get(each.behavior, ("! asks", "nbtk-deny") if _is_danger(each) else ("? asks", "nbtk-ask"))
    reason = visible(one_line(settled(each.reason), REASON_LIMIT))
    text = each.subject.text
    other = text.strip() != part.text.strip()
    if each.step is Step.MODE and each.behavior is _ASK and not each.subject.why:
        reason = "no rule allows" if other else "no rule allows it"
    if each.rule is not None:
        reason = f"rule <code>{visible(one_line(str(each.rule), REASON_LIMIT))}</code>"
    said = f'<span class="{kind}">{word}</span> · {reason}'
    if other and settled(text) not in settled(each.reason):
        said += f" <code>{visible(one_line(text, 80))}</code>"
    return said
