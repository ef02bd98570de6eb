"""``%toolkit log``, and looking for calls in the log: by words, tool, state, and what was decided."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nbtoolkit import atomic
from nbtoolkit.message import ToolResultState
from nbtoolkit.notebook import render
from nbtoolkit.notebook.actions import action, number_of
from nbtoolkit.notebook.command import CommandError
from nbtoolkit.notebook.recorder import again
from nbtoolkit.notebook.session import mistakes, one_of
from nbtoolkit.notebook.tables import MAX_CALLS
from nbtoolkit.notebook.text import count
from nbtoolkit.redact import Redactor
from nbtoolkit.tool.journal import line_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtoolkit.notebook.command import Command
    from nbtoolkit.notebook.session import Session
    from nbtoolkit.tool.log import LogEntry

__all__ = ["STATES", "Filter", "decided_by", "jsonl"]

STATES = tuple(state.value for state in ToolResultState if state is not ToolResultState.RUNNING)

_BY = {"person": "you", "script": "a planned answer", "policy": "nobody there", "": ""}


def decided_by(entry: LogEntry) -> str:
    """Who had the last word, for a person."""
    if entry.approval is not None:
        return _BY.get(entry.decided_by, entry.decided_by)
    reason = entry.reason or ""
    return "a rule" if reason.startswith("Rule: ") else reason.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Filter:
    """What an entry must be like; an empty one takes all."""

    tools: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()
    decided: str = ""
    words: tuple[str, ...] = field(default=())

    @classmethod
    def of_words(cls, words: Iterable[str]) -> Filter:
        """Each word must be found somewhere: in the tool, the arguments, the decision, or as the state."""
        return cls(words=tuple(word.casefold() for word in words))

    def takes(self, entry: LogEntry) -> bool:
        """Whether an entry is one of these."""
        if self.tools and entry.tool not in self.tools:
            return False
        if self.states and entry.state.value not in self.states:
            return False
        if self.decided and self.decided.casefold() not in entry.words.casefold():
            return False
        if not self.words:
            return True
        text = f"{entry.tool}\n{entry.words}\n{entry.state.value}\n{decided_by(entry)}\n{entry.tool_input}".casefold()
        return all(word in text for word in self.words)


def jsonl(entries: Iterable[LogEntry]) -> str:
    """Calls as JSON lines, without secrets."""
    hide = Redactor()
    return "".join(line_of(hide.value(entry.to_dict())) for entry in entries)


@action("log")
def show_log(session: Session, command: Command) -> None:
    """The calls so far or some of them, or one call's record."""
    if command.words:
        if command.options:
            raise CommandError(f"{command.words[0].text!r} is one call, and options choose among all of them")
        with mistakes():
            entry = session.toolkit.log[number_of(session, command)]
        session.show(again(entry))
        return
    kept = command.option("--keep", session.evaluate)
    if kept is not None or command.has("--durable"):
        _keep(session, command, kept)
        return
    wanted = _filter(session, command)
    log = session.toolkit.log
    hits = [entry for entry in log if wanted.takes(entry)]
    last = command.option("--last", session.evaluate)
    if last is not None:
        if not (last.isdecimal() and int(last)):
            raise CommandError(f"--last expects a number of calls, 1 or more, but got {last!r}")
        hits = sorted(hits, key=lambda each: each.number)[-int(last) :]
    path = command.option("--jsonl", session.evaluate)
    if path is None:
        most = MAX_CALLS if last is None else len(hits)
        session.show(render.log_table(hits, of=len(log), gone=_gone(session), most=max(most, 1)))
        return
    with mistakes():
        atomic.replace(os.path.expanduser(path), jsonl(hits).encode())  # noqa: PTH111 - no error without a home
    session.say(f"{count(len(hits), 'call')} written to {path}, one a line.")


def _gone(session: Session) -> str:
    """What the log and the results behind it no longer hold."""
    return "; ".join(each for each in (session.toolkit.log.told, session.toolkit.results.told) if each)


def _keep(session: Session, command: Command, path: str | None) -> None:
    if path is None or len(command.options) > 1 + command.has("--durable"):
        raise CommandError("--keep PATH takes --durable beside it and nothing else; --keep off ends it")
    with mistakes():
        journal = session.toolkit.log.keep(
            None if path == "off" else os.path.expanduser(path),  # noqa: PTH111 - no error without a home
            durable=command.has("--durable"),
        )
    if journal is None:
        session.say("Calls are written to no file.")
        return
    waits = ", and nothing runs before the disk has its line" if journal.durable else ""
    session.say(f"Each call is written to {path} as it is decided and as it ends{waits}.")


def _filter(session: Session, command: Command) -> Filter:
    states = [one_of(word.text, STATES, "state") for word in command.options.get("--state", ())]
    known = [*(tool.name for _, tool in session.tools()), *(entry.tool for entry in session.toolkit.log)]
    tools = [one_of(word.text, known, "tool") for word in command.options.get("--tool", ())]
    decided = command.option("--decided", session.evaluate) or ""
    return Filter(frozenset(tools), frozenset(states), decided)
