"""The subcommands about questions that wait: see them, answer them, plan the answers; also while a cell waits.

``pending``, ``approve`` and ``reject`` overtake: a queued cell that is one of them, and nothing else, is answered at
once, since in the queue it would wait for the very question that it is about.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.notebook import tables
from nbtoolkit.notebook.actions import action
from nbtoolkit.notebook.command import Command, CommandError, parse
from nbtoolkit.notebook.grammar import SPECS
from nbtoolkit.notebook.session import Session, mistakes
from nbtoolkit.notebook.text import count
from nbtoolkit.permission.planned import parse_answers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbtoolkit.notebook.approver import InlineApprover, PendingCall

__all__ = ["overtaking"]

_ALONE = re.compile(r"\s*%toolkit[ \t]+((?:pending|approve|reject)\b[^\n]*)\s*")


def _approver() -> InlineApprover:
    from nbtoolkit.notebook.approver import InlineApprover

    approver = hooks.default_approver
    if not isinstance(approver, InlineApprover):
        raise CommandError("no calls wait in this notebook: %load_ext nbtoolkit puts their questions here")
    return approver


@action("pending")
def pending(session: Session, command: Command) -> None:  # noqa: ARG001 - every action takes both
    """Show the waiting calls and their cards."""
    bundle = _pending(_approver(), None)
    if bundle:
        session.show(bundle)


def _pending(approver: InlineApprover, parent: Mapping[str, Any] | None) -> Mapping[str, str]:
    waiting = approver.pending()
    if not waiting:
        return tables.message("No call waits for an answer.")
    said = approver.announce(parent)
    approver.show_again(parent)
    return {} if said else tables.message("; ".join(call.waits for call in waiting))


@action("approve", "reject")
def answer(session: Session, command: Command) -> None:
    """Answer a waiting call."""
    session.show(_answer(_approver(), command, session.evaluate))


def _answer(approver: InlineApprover, command: Command, evaluate: Callable[[str], Any] | None) -> Mapping[str, str]:
    call_id = command.words[0].text if command.words else None
    call: PendingCall
    with mistakes():
        if command.name == "approve":
            call = approver.approve(call_id, always=command.has("--always"))
            return tables.message(f"Allowed{' always' if command.has('--always') else ''}: {call.title}")
        call = approver.reject(call_id, command.option("--reason", evaluate))
        return tables.message(f"Denied: {call.title}")


@action("answers")
def answers(session: Session, command: Command) -> None:
    """Plan the answers for runs without a person; alone, list them."""
    planned = _approver().answers
    if command.rest.strip() == "clear" and command.body is None:
        planned.clear()
        session.say("No answers are planned.")
        return
    if command.rest.strip() == "check" and command.body is None:
        with mistakes():
            planned.check()
        session.say("The planned answers fit the calls.")
        return
    if not command.rest and command.body is None:
        listed = ", ".join(map(str, planned))
        session.say(f"Planned for runs without a person: {listed}" if listed else "No answers are planned.")
        return
    with mistakes():
        made = parse_answers(command.rest, lines=False) if command.rest else []
        if command.body is not None:
            made += parse_answers(command.body, lines=True)
    planned.set(made)
    # The same line with and without a person, so that saved outputs agree.
    session.say(f"{count(len(made), 'answer')} planned for runs without a person.")


def overtaking(code: str, parent: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a queued cell shows that may overtake the waiting one; None for any other cell."""
    match = _ALONE.fullmatch(code)
    if match is None:
        return None
    try:
        command = parse(match[1], None, SPECS)
        approver = _approver()
        if command.name == "pending":
            return _pending(approver, parent)
        # No expression is evaluated here: the namespace is the waiting cell's.
        return _answer(approver, command, None)
    except CommandError as error:
        return tables.message(f"{type(error).__name__}: {error}")
