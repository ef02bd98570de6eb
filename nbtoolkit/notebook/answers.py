"""Answers given beforehand, as ``%toolkit answers`` writes them: read here, given by the approver where nobody clicks.

An answer is ``allow``, ``always``, ``deny``, ``deny: REASON``, ``edit {json}`` or ``respond: TEXT``. ``RULE -> ANSWER``
answers the calls that the rule covers, every time; one without a rule answers the next call that asks, once. On a line
they are separated by commas, in a cell by line ends; ``#`` begins a comment there.
"""

from __future__ import annotations

from dataclasses import dataclass

from nbtoolkit.notebook.arguments import parse_json_object
from nbtoolkit.notebook.command import CommandError, matching, nearest
from nbtoolkit.permission.approval import Approval
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule

__all__ = ["PlannedAnswer", "parse_answers"]

_VERBS = ("allow", "always", "deny", "edit", "respond")
_EXPECTED = "expected allow, always, deny: REASON, edit {json} or respond: TEXT, maybe after RULE ->"


@dataclass(frozen=True, slots=True)
class PlannedAnswer:
    """One answer, for the calls that ``rule`` covers, or for whatever asks next."""

    approval: Approval
    rule: PermissionRule | None = None

    def __str__(self) -> str:
        """The answer as it is written."""
        approval = self.approval
        text = approval.kind
        if approval.kind == "allow" and approval.scope == "kernel":
            text = "always" + (f": {approval.rule}" if approval.rule else "")  # type: ignore[assignment]
        elif approval.kind == "deny" and approval.reason:
            text = f"deny: {approval.reason}"  # type: ignore[assignment]
        return f"{self.rule} -> {text}" if self.rule else text


def parse_answers(text: str, *, lines: bool) -> list[PlannedAnswer]:
    """The answers in a cell (``lines``) or on a line."""
    if lines:
        kept = (line.strip() for line in text.splitlines())
        return [_answer(line) for line in kept if line and not line.startswith("#")]
    return [_answer(item) for item in _by_commas(text) if item]


def _by_commas(text: str) -> list[str]:
    items, start, i, quote = [], 0, 0, ""
    while i < len(text):
        char = text[i]
        if quote:
            if char == "\\":
                i += 1
            elif char == quote:
                quote = ""
        elif char == '"' or (char == "'" and text[i - 1 : i] in {"", " ", ":"}):
            # An apostrophe inside a word, as in don't, opens nothing.
            quote = char
        elif char in "([{":
            i = (matching(text, i) or i + 1) - 1
        elif char == ",":
            items.append(text[start:i].strip())
            start = i + 1
        i += 1
    if quote:
        raise CommandError(f"a quote {quote} in the answers is never closed")
    return [*items, text[start:].strip()]


def _answer(item: str) -> PlannedAnswer:
    before, words = _rule_and_answer(item)
    rule = None
    if before is not None:
        try:
            rule = PermissionRule.parse(before, PermissionBehavior.ASK)
        except ValueError as error:
            raise CommandError(str(error)) from None
    verb = _verb(words)
    if verb.casefold() not in _VERBS:
        raise CommandError(f"{words!r} is no answer{nearest(verb, _VERBS) or ';'} {_EXPECTED}")
    return PlannedAnswer(_approval(verb.casefold(), words[len(verb) :].strip().removeprefix(":").strip(), item), rule)


def _verb(words: str) -> str:
    return words[: next((i for i, char in enumerate(words) if not char.isalpha()), len(words))]


def _rule_and_answer(item: str) -> tuple[str | None, str]:
    """What stands before and after the arrow; an arrow in a reason or in a rule's parentheses is none."""
    if _verb(item).casefold() in _VERBS:
        return None, item
    i = 0
    while i < len(item):
        if item[i] == "(":
            i = matching(item, i) or i + 1
        elif item.startswith("->", i):
            return item[:i].strip(), item[i + 2 :].strip()
        else:
            i += 1
    return None, item


def _approval(verb: str, text: str, item: str) -> Approval:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    match verb:
        case "allow" if text:
            raise CommandError(f"{item!r}: allow takes nothing after it; {_EXPECTED}")
        case "allow":
            return Approval.allow(by="script")
        case "always":
            try:
                return Approval.allow(text or None, scope="kernel", by="script")
            except ValueError as error:
                raise CommandError(str(error)) from None
        case "deny":
            return Approval.deny(text or None, by="script")
        case "edit":
            return Approval.edit(parse_json_object(text, "after edit"), by="script")
        case _:
            if not text:
                raise CommandError(f"{item!r}: respond needs the result after it, as in respond: 42 rows")
            return Approval.respond(text, by="script")
