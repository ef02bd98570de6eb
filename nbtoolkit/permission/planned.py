"""Answers where nobody clicks: those that were planned, then the policy of ``NBTOOLKIT_ASK``, else a denial.

An answer is ``allow``, ``always``, ``deny``, ``deny: REASON``, ``edit {json}`` or ``respond: TEXT``. ``RULE -> ANSWER``
answers the calls that the rule covers, every time; one without a rule answers the next call that asks, once. On a line
they are separated by commas, in a cell or a file by line ends; ``#`` begins a comment there.

It promises that nothing is allowed by accident: a safety question is allowed only by an answer that names the call, and
a policy that can't be read denies. A question without an answer is a denial that says which answer was expected; an
answer that nothing asked for is told by ``check``, of a script's file when Python ends.
"""

from __future__ import annotations

import atexit
import difflib
import json
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.permission.approval import Approval, allow_all
from nbtoolkit.permission.brackets import matching
from nbtoolkit.permission.json_object import json_object
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule
from nbtoolkit.permission.subject import Match

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtoolkit.permission.approval import ApprovalRequest

__all__ = ["POLICY", "Answers", "AnswersError", "PlannedAnswer", "expected", "parse_answers", "policy_answer", "refuse"]

POLICY = "NBTOOLKIT_ASK"

_VERBS = ("allow", "always", "deny", "edit", "respond")
_EXPECTED = "expected allow, always, deny: REASON, edit {json} or respond: TEXT, maybe after RULE ->"
# How many questions without an answer are told by name.
MAX_MISSING = 100


class AnswersError(DeveloperOrientedException, ValueError):
    """Planned answers that can't be read, or that don't fit the questions."""


@dataclass(frozen=True, slots=True)
class PlannedAnswer:
    """One answer, for the calls that ``rule`` covers, or for whatever asks next."""

    approval: Approval
    rule: PermissionRule | None = None

    def __str__(self) -> str:
        """The answer as it is written."""
        approval = self.approval
        text: str = approval.kind
        if approval.kind == "allow" and approval.scope == "kernel":
            text = "always" + (f": {approval.rule}" if approval.rule else "")
        elif approval.kind == "deny" and approval.reason:
            text = f"deny: {approval.reason}"
        elif approval.kind == "edit":
            text = f"edit {json.dumps(approval.tool_input, ensure_ascii=False)}"
        elif approval.kind == "respond":
            text = f"respond: {approval.content}"
        return f"{self.rule} -> {text}" if self.rule else text


# ------------------------------------------------------------------------------------------------------------ giving


class Answers:
    """Planned answers: those with a rule hold for every call that it covers, the others answer one call each, in order."""

    def __init__(self, planned: Iterable[PlannedAnswer] = ()) -> None:
        self.set(planned)

    def __len__(self) -> int:
        return len(self._planned)

    def __iter__(self) -> Iterator[PlannedAnswer]:
        return iter(tuple(self._planned))

    def set(self, planned: Iterable[PlannedAnswer]) -> None:
        """Put these in the place of all that was planned, and begin to count anew."""
        self._planned = list(planned)
        self.count = len(self._planned)
        self._used: set[int] = set()
        #: Whether somebody clicked instead, so that what was left over is no fault.
        self.left_to_a_person = False
        #: The answers that were expected and not there, as they would be written.
        self.missing: list[str] = []

    def extend(self, planned: Iterable[PlannedAnswer]) -> None:
        """Put these after what is planned."""
        self._planned += planned
        self.count = len(self._planned)

    def clear(self) -> None:
        """Plan nothing."""
        self.set(())

    async def answer(self, request: ApprovalRequest) -> Approval | None:
        """The answer to this call; None where nothing was planned for it."""
        for planned in self._planned:
            if planned.rule is not None and await _covers(planned, planned.rule, request):
                self._used.add(id(planned))
                return _named(planned.approval, request)
        for i, planned in enumerate(self._planned):
            if planned.rule is None:
                del self._planned[i]
                return _unnamed(planned.approval, request)
        return None

    def miss(self, request: ApprovalRequest) -> None:
        """Note that this call asked and got no answer."""
        if len(self.missing) < MAX_MISSING:
            self.missing.append(expected(request))

    @property
    def unused(self) -> list[PlannedAnswer]:
        """What nothing has asked for so far."""
        return [planned for planned in self._planned if planned.rule is None or id(planned) not in self._used]

    def faults(self) -> list[str]:
        """What doesn't fit: answers that nothing asked for, and questions that had none."""
        unused = [] if self.left_to_a_person else self.unused
        return [f"nothing asked for {str(planned)!r}" for planned in unused] + [
            f"there was no answer such as {line!r}" for line in self.missing
        ]

    def check(self) -> None:
        """Raise AnswersError unless every answer was asked for and every question answered, here or by a script.

        What is left over in a script is no fault of this notebook: others may share it.
        """
        faults = self.faults()
        for name, answers in _scripts.items():
            faults += [f"{POLICY}=script:{name} has no answer such as {line!r}" for line in answers.missing]
        if faults:
            raise AnswersError("the planned answers don't fit the calls: " + "; ".join(faults))


def expected(request: ApprovalRequest) -> str:
    """A planned answer that would cover this call, as it is written."""
    mine = [rule for rule in request.suggested_rules if rule.tool_name == request.tool.name]
    rule = str(mine[0]) if len(mine) == 1 and not request.decision.bypass_immune else request.tool.name
    return f"{rule} -> allow"


def _named(approval: Approval, request: ApprovalRequest) -> Approval:
    # A rule never silences a safety question, so "always" can only mean this once.
    return replace(approval, scope="call", rules=()) if request.decision.bypass_immune else approval


def _unnamed(approval: Approval, request: ApprovalRequest) -> Approval:
    if request.decision.bypass_immune and approval.kind == "allow":
        return Approval.deny(
            f"A safety question needs a planned answer that names the call, as in {request.tool.name} -> allow.",
            by="policy",
        )
    return approval


async def _covers(planned: PlannedAnswer, rule: PermissionRule, request: ApprovalRequest) -> bool:
    """Whether a planned answer's rule covers a call: every part that asks to allow it, any part to refuse it."""
    tool = request.tool
    if rule.tool_name not in {tool.name, f"mcp__{tool.mcp_name}" if tool.mcp_name else tool.name}:
        return False
    if rule.rule_content is None:
        return True
    refuses = planned.approval.kind == "deny"
    asking = [each.subject for each in request.subjects if each.behavior is not PermissionBehavior.ALLOW]
    if not asking or all(each.kind == "call" for each in asking):
        return await tool.match_rule(rule.rule_content, request.tool_input)
    read = rule.model_copy(update={"behavior": PermissionBehavior.DENY if refuses else PermissionBehavior.ALLOW})
    base = rule.base or str(Path.cwd())
    hits = [each.subject.matches(read, base) is Match.YES for each in request.subjects]
    asks = [each.behavior is not PermissionBehavior.ALLOW for each in request.subjects]
    if refuses:
        return any(hit and ask for hit, ask in zip(hits, asks, strict=True))
    for i, each in enumerate(request.subjects):
        # As with a rule: a command that is allowed is allowed with the ordinary paths in its words.
        within = each.subject.within if each.subject.safety is None else None
        hits[i] = hits[i] or (within is not None and within < i and hits[within])
    return all(hit or not ask for hit, ask in zip(hits, asks, strict=True))


# ------------------------------------------------------------------------------------------------------------ policy


async def policy_answer(request: ApprovalRequest) -> Approval | None:
    """What ``NBTOOLKIT_ASK`` says: ``deny``, ``allow``, or the answers in ``script:FILE``; None where it is not set."""
    policy = os.environ.get(POLICY, "").strip()
    if not policy:
        return None
    if policy == "allow":
        return await allow_all(request)
    if policy.startswith("script:"):
        return await _scripted(policy.removeprefix("script:").strip(), request)
    if policy == "replay":
        return Approval.deny("NBTOOLKIT_ASK is replay, but no cassette answers this call.", by="policy")
    if policy == "deny":
        return Approval.deny(f"Nobody is asked, since NBTOOLKIT_ASK is deny. {request.decision.message}", by="policy")
    return Approval.deny(f"NBTOOLKIT_ASK is {policy!r}; expected deny, allow, script:FILE or replay.", by="policy")


async def refuse(request: ApprovalRequest) -> Approval:
    """What answers in code that brings no approver: the policy, or nobody."""
    return await policy_answer(request) or Approval.deny(
        f"Nobody is there to answer. Give the toolkit an approver, or set {POLICY}.", by="policy"
    )


_scripts: dict[str, Answers] = {}


async def _scripted(name: str, request: ApprovalRequest) -> Approval:
    try:
        answers = _read(name)
    except (OSError, UnicodeDecodeError, AnswersError) as fault:
        return Approval.deny(f"NBTOOLKIT_ASK names the answers in {name!r}, which can't be read: {fault}", by="policy")
    answer = await answers.answer(request)
    if answer is None:
        answers.miss(request)
        return Approval.deny(
            f"The answers in {name!r} have none for this call, such as {expected(request)}", by="policy"
        )
    return answer


def _read(name: str) -> Answers:
    """The answers in a file, which goes on where it stood: those in order are used up."""
    if name not in _scripts:
        from nbtoolkit.permission.sensitive import protect

        path = Path(name).expanduser()
        text = path.read_text(encoding="utf-8")
        # What is allowed stands in it, so nothing but the person may change it.
        protect(str(path))
        if not _scripts:
            atexit.register(_tell)
        _scripts[name] = Answers(parse_answers(text, lines=True))
    return _scripts[name]


def _tell() -> None:
    """Say when Python ends what of a script's answers didn't fit; it is too late to fail by then."""
    for name, answers in _scripts.items():
        for fault in answers.faults():
            print(f"nbtoolkit: {POLICY}=script:{name}: {fault}", file=sys.stderr)  # noqa: T201 - the one place left


# ----------------------------------------------------------------------------------------------------------- reading


def parse_answers(text: str, *, lines: bool) -> list[PlannedAnswer]:
    """The answers in a cell or file (``lines``), or on a line; AnswersError says what is wrong with one."""
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
        raise AnswersError(f"a quote {quote} in the answers is never closed")
    return [*items, text[start:].strip()]


def _answer(item: str) -> PlannedAnswer:
    before, words = _rule_and_answer(item)
    rule = None
    if before is not None:
        try:
            rule = PermissionRule.parse(before, PermissionBehavior.ASK)
        except ValueError as error:
            raise AnswersError(str(error)) from None
    verb = _verb(words)
    if verb.casefold() not in _VERBS:
        near = difflib.get_close_matches(verb.casefold(), _VERBS, n=1, cutoff=0.55)
        hint = f"; did you mean {near[0]!r}?" if near else ";"
        raise AnswersError(f"{words!r} is no answer{hint} {_EXPECTED}")
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
            raise AnswersError(f"{item!r}: allow takes nothing after it; {_EXPECTED}")
        case "allow":
            return Approval.allow(by="script")
        case "always":
            try:
                return Approval.allow(text or None, scope="kernel", by="script")
            except ValueError as error:
                raise AnswersError(str(error)) from None
        case "deny":
            return Approval.deny(text or None, by="script")
        case "edit":
            return Approval.edit(_object(text), by="script")
        case _:
            if not text:
                raise AnswersError(f"{item!r}: respond needs the result after it, as in respond: 42 rows")
            return Approval.respond(text, by="script")


def _object(text: str) -> dict[str, Any]:
    try:
        return json_object(text, "after edit")
    except ValueError as error:
        raise AnswersError(str(error)) from None
