"""The subcommands that record and replay, and that write the log down.

What they say is the same on every machine: paths as they were typed, and counts.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nbtoolkit import atomic
from nbtoolkit.notebook import serving, tables
from nbtoolkit.notebook.actions import action
from nbtoolkit.notebook.command import CommandError
from nbtoolkit.notebook.exports import FORMATS, export
from nbtoolkit.notebook.session import Session, mistakes, one_of
from nbtoolkit.notebook.text import box, count, pre, visible_text

if TYPE_CHECKING:
    from nbtoolkit.cassette.player import Replay
    from nbtoolkit.cassette.recorder import Recording
    from nbtoolkit.notebook.command import Command

__all__: list[str] = []

# How many entries that nothing asked for are named.
NAMED = 5


def _path(session: Session, command: Command) -> str:
    return command.words[0].expand(session.evaluate)


@action("record")
def record(session: Session, command: Command) -> None:
    """Begin to keep what calls do."""
    path, update = _path(session, command), command.has("--update")
    with mistakes():
        session.toolkit.record(path, update=update)
    session.say(f"Recording in {path}{', in place of the same calls there' if update else ''}.")


@action("replay")
def replay(session: Session, command: Command) -> None:
    """Begin to give what was kept."""
    path = _path(session, command)
    with mistakes():
        tape = session.toolkit.replay(path)
    session.say(f"Replaying {path}, {count(len(tape.cassette.entries), 'entry', 'entries')}: nothing really runs.")


@action("stop")
def stop(session: Session, command: Command) -> None:  # noqa: ARG001 - every action takes both
    """End recording, replaying and serving."""
    tape = session.toolkit.tape
    served = serving.stop()
    if served:
        session.say(serving.STOPPED)
    if tape is None:
        if not served:
            raise CommandError(
                "nothing is recorded, replayed or served; begin with %toolkit record PATH, replay PATH or serve"
            )
        return
    with mistakes():
        tape.stop()
    session.show(tables.message(_told(tape)))


def _told(tape: Recording | Replay) -> str:
    entries = count(len(tape.cassette.entries), "entry", "entries")
    text = f"{tape.verb} {tape.cassette.name}, {entries}."
    unused = [f"{entry.kind} {entry.name} (line {entry.line})" for entry in tape.cassette.unused]
    if tape.verb == "Recorded" or not unused:
        return text
    more = f" and {len(unused) - NAMED} more" if len(unused) > NAMED else ""
    return f"{text} Never asked for: {', '.join(unused[:NAMED])}{more}."


@action("export")
def export_log(session: Session, command: Command) -> None:
    """Write the log down, in a file or here."""
    form = one_of(command.words[0].expand(session.evaluate), FORMATS, "format of the log")
    with mistakes():
        text = export(session.toolkit.log, form)
        if len(command.words) == 1:
            session.show({"text/plain": visible_text(text), "text/html": box(pre(text))})
            return
        path = command.words[1].expand(session.evaluate)
        atomic.replace(os.path.expanduser(path), text.encode("utf-8", "replace"))  # noqa: PTH111 - no error without a home
    session.say(f"Wrote {count(len(session.toolkit.log), 'call')} to {path}.")
