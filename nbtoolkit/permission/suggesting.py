"""Which rules a question suggests: those that together allow this very call the next time, and hold no secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtoolkit.permission.arguments import suggest_rules
from nbtoolkit.permission.rule import PermissionBehavior

if TYPE_CHECKING:
    from nbtoolkit.permission.lookup import Call
    from nbtoolkit.permission.rule import PermissionRule
    from nbtoolkit.permission.subject import SubjectVerdict

__all__ = ["suggestions"]

ALLOW = PermissionBehavior.ALLOW


async def suggestions(
    asking: list[SubjectVerdict], verdicts: tuple[SubjectVerdict, ...], call: Call
) -> list[PermissionRule]:
    """The rules for what asks among a call's verdicts; none where they wouldn't be enough, or would tell a secret."""
    found = await _suggested(asking, verdicts, call)
    return [] if _tell_a_secret(found) else found


async def _suggested(
    asking: list[SubjectVerdict], verdicts: tuple[SubjectVerdict, ...], call: Call
) -> list[PermissionRule]:
    own, tool = call.own, call.tool
    if own is not None and own.suggested_rules:
        return list(own.suggested_rules)
    if call.plain:
        if call.traits.own_suggestions:
            suggested = await tool.generate_suggestions(call.tool_input)
        else:
            suggested = suggest_rules(tool.name, call.tool_input, call.base, tool.input_schema)
        if call.own_matches is not None:
            return [each for each in suggested if await tool.match_rule(each.rule_content, call.tool_input)]
        subject = asking[0].subject
        return [each for each in suggested if call.allows(each, subject)]
    found: dict[PermissionRule, None] = {}
    for verdict in asking:
        subject = verdict.subject
        around = None if subject.within is None else verdicts[subject.within]
        if around is not None and around.behavior is not ALLOW and around.subject.suggestion is not None:
            # What allows the command allows the path that it names.
            continue
        if subject.suggestion is None:
            # This part would ask again, whatever was allowed of the others.
            return []
        found[subject.suggestion] = None
    return list(found)


def _tell_a_secret(rules: list[PermissionRule]) -> bool:
    """Whether a rule holds what must not be written into a file, or shown for as long as a kernel runs."""
    # Loaded when first asked about: its patterns cost as much as all else here.
    from nbtoolkit.redact import Redactor

    hide = Redactor()
    return any(hide.spans(str(rule)) for rule in rules)
