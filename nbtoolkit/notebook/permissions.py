"""The subcommands that say what may run: modes, rules, grants, and what becomes of the files of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtoolkit.notebook import render, scheduling, tables
from nbtoolkit.notebook.actions import action, joined, texts_of
from nbtoolkit.notebook.command import CommandError, nearest
from nbtoolkit.notebook.session import Session, mistakes, one_of
from nbtoolkit.notebook.text import one_line
from nbtoolkit.permission.rule import PermissionBehavior, PermissionMode

if TYPE_CHECKING:
    from nbtoolkit.notebook.command import Command
    from nbtoolkit.permission.report import RuleFault
    from nbtoolkit.permission.store import Store

__all__ = ["withheld"]

# Of what a file asks for: a person reads so much of it here, and more of it in the file.
WITHHELD, WITHHELD_LINE = 40, 160

MODES = {
    PermissionMode.DEFAULT: "read-only calls run, others ask",
    PermissionMode.ACCEPT_EDITS: "read-only calls and edits inside the working directories run, others ask",
    PermissionMode.EXPLORE: "read-only calls run, others are denied",
    PermissionMode.BYPASS: "all calls run that no rule denies or asks about",
    PermissionMode.DONT_ASK: "read-only calls and what rules allow run, others are denied without asking",
}


@action("mode")
def mode(session: Session, command: Command) -> None:
    """Show or set the mode."""
    if command.words:
        wanted = command.words[0].expand(session.evaluate)
        spelled = wanted.casefold().replace("-", "_")
        session.toolkit.mode = PermissionMode(
            spelled if spelled in list(PermissionMode) else one_of(wanted, list(PermissionMode), "mode")
        )
    now = session.toolkit.mode
    session.say(f"Mode {now}: {MODES[now]}.")


@action("allow", "ask", "deny")
def add_rules(session: Session, command: Command) -> None:
    """Add rules."""
    with mistakes():
        rules = [
            session.toolkit.add_rule(text, PermissionBehavior(command.name)) for text in texts_of(session, command)
        ]
    faults = [fault for fault in _rule_faults(session) if fault.rule in rules]
    session.show(joined(render.rules_table(rules), *(tables.message(str(fault)) for fault in faults)))


def _rule_faults(session: Session) -> list[RuleFault]:
    return session.toolkit.engine.report([tool for _, tool in session.tools()])


@action("rules")
def rules(session: Session, command: Command) -> None:
    """Show the rules; the files' are read anew, or the project's accepted, where that is asked for."""
    toolkit = session.toolkit
    notes: list[str] = []
    if command.words:
        wanted = command.words[0].text
        if wanted not in {"reload", "accept"}:
            hint = nearest(wanted, ["reload", "accept"])
            raise CommandError(f"expected %toolkit rules, rules reload or rules accept, but got {wanted!r}{hint}")
        store = toolkit.engine.store
        if store is None:
            raise CommandError("no files of rules are in use here")
        if wanted == "accept":
            if scheduling.presence().means is not scheduling.Means.WIDGETS:
                raise CommandError("only a person in front of a notebook can accept a project's file, and none is here")
            with mistakes():
                # What was read last, and withheld by name, is what is accepted; a file that changed since is not.
                note = store.accept(store.project_digest)
            notes += [note] if note else []
        else:
            notes += [str(problem) for problem in store.load()]
        store.apply(toolkit.state.permission_context)
        notes += withheld(store)
    notes += [str(fault) for fault in _rule_faults(session)]
    session.show(joined(render.rules_table(toolkit.rules), *map(tables.message, notes)))


def withheld(store: Store) -> list[str]:
    """What the project's file doesn't get yet, and how it would."""
    held = store.withheld
    if not held:
        return []
    asked = "; ".join(one_line(each, WITHHELD_LINE) for each in held[:WITHHELD])
    if len(held) > WITHHELD:
        asked += f"; and {len(held) - WITHHELD:,} more in the file"
    return [f"{store.project_path.name} asks for: {asked}. None of it holds before %toolkit rules accept."]


@action("forget")
def forget(session: Session, command: Command) -> None:
    """Take rules out."""
    known = [str(rule) for rule in session.toolkit.rules]
    texts = [one_of(text, known, "rule") for text in texts_of(session, command)]
    for text in texts:
        with mistakes():
            session.toolkit.remove_rule(text)
    session.say(f"Forgot {', '.join(texts)}.")


@action("grant")
def grant(session: Session, command: Command) -> None:
    """Run the cell under rules that end with it."""
    __tracebackhide__ = True
    calls = command.option("--calls", session.evaluate)
    if calls is not None and not (calls.isdecimal() and int(calls)):
        raise CommandError(f"--calls expects a number of calls, 1 or more, but got {calls!r}")
    with mistakes():
        granted = session.toolkit.grant(*texts_of(session, command), calls=None if calls is None else int(calls))
    with granted:
        session.run(command.body or "")
