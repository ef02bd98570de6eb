"""``%%toolkit chat``, and how any conversation looks in a notebook: what the model says as it comes, then as a record.

The record is a display of its own: fixed text and safe markup, without a name or time that would differ from run to run.
A model's words are foreign: escaped, and of Markdown only what needs no link and no picture is drawn.
"""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook import scheduling, tables
from nbtoolkit.notebook.actions import action
from nbtoolkit.notebook.command import CommandError
from nbtoolkit.notebook.pending import Slot
from nbtoolkit.notebook.recorder import show
from nbtoolkit.notebook.session import mistakes, result_is_used
from nbtoolkit.notebook.text import CODE, box, pre, safe, table, tidy, visible_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtoolkit.notebook.command import Command
    from nbtoolkit.notebook.session import Session
    from nbtoolkit.notebook.tables import Bundle
    from nbtoolkit.notebook.widgets.saying import Saying

__all__ = ["NotebookView", "said"]

# Seconds: as often as an eye can see.
EVERY = 0.1
VIEW = "application/vnd.jupyter.widget-view+json"

_FENCE = re.compile(r"^```[^\n`]*\n(.*?)(?:^```[ \t]*$|\Z)", flags=re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"#{1,6}[ \t]+(.+)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+")
_RULE = re.compile(r"[\s|:-]+")
_CODE = re.compile(r"`([^`\n]+)`")
_STRONG = re.compile(r"\*\*([^*\n]+)\*\*")


# ------------------------------------------------------------------------------------------------------------ the magic


@action("chat")
def chat(session: Session, command: Command) -> Any:
    """Send the cell below to a model."""
    __tracebackhide__ = True
    conversation = session.toolkit.chat
    if command.has("--new"):
        conversation.reset()
    prompt = (command.body or "").strip()
    if not prompt:
        raise CommandError("the cell below %%toolkit chat is empty; write what the model is to be told")
    options: dict[str, Any] = {
        "model": command.option("--model", session.evaluate),
        "system": command.option("--system", session.evaluate),
        "provider": command.option("--provider", session.evaluate),
        "base_url": command.option("--base-url", session.evaluate),
    }
    for name, kind in (("calls", int), ("seconds", float), ("tokens", int)):
        given = command.option(f"--{name}", session.evaluate)
        if given is not None:
            options[name] = _number(f"--{name}", given, kind)
    try:
        with mistakes():
            answer = session.toolkit.chat_sync(prompt, **options)
    except ImportError as error:
        raise CommandError(str(error)) from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] in {"openai", "anthropic"}:
            where = f" ({error.__cause__})" if error.__cause__ is not None else ""
            raise CommandError(f"the model's endpoint refused: {error}{where}") from None
        raise
    session.keep(answer)
    return answer if result_is_used() else None


def _number(option: str, given: str, kind: type[int | float]) -> int | float:
    try:
        return kind(given)
    except ValueError:
        raise CommandError(f"{option} expects a number, but got {given!r}") from None


# ------------------------------------------------------------------------------------------------------------- the view


class NotebookView:
    """One prompt's place under its cell: a live display with Stop while a person is there, records in any case."""

    def __init__(self) -> None:
        self._place = scheduling.origin()
        self._stop: Callable[[], None] = lambda: None
        self._said: list[str] = []
        self._live: Saying | None = None
        self._display_id: str | None = None
        self._count = 0
        self._drawn = 0.0
        self._drawing: asyncio.TimerHandle | None = None
        self._listening = ExitStack()

    def opened(self, stop: Callable[[], None]) -> None:
        """Keep what Stop does."""
        self._stop = stop

    def asking(self, model: str) -> None:
        """Show that a model was asked, where somebody can look and stop it."""
        self._said.clear()
        if not self._place.in_kernel or scheduling.presence().means is not scheduling.Means.WIDGETS:
            return
        from nbtoolkit.notebook.widgets.saying import Saying

        self._listening.enter_context(scheduling.listening())
        self._live = live = Saying(model, self._stop)
        scheduling.route(live.widgets)
        self._count += 1
        self._display_id = f"nbtoolkit-chat-{id(self):x}-{self._count}"
        shown = {"version_major": 2, "version_minor": 0, "model_id": live.view.model_id}
        bundle = {VIEW: shown, "text/plain": "(a model is answering)"}
        scheduling.publish(bundle, parent=self._place.parent, display_id=self._display_id)

    def text(self, piece: str) -> None:
        """Show more of what it says, soon: many pieces come in the time that an eye needs for one."""
        self._said.append(piece)
        if self._live is None or self._drawing is not None:
            return
        wait = EVERY - (time.monotonic() - self._drawn)
        if wait <= 0:
            self._draw()
        else:
            self._drawing = asyncio.get_running_loop().call_later(wait, self._draw)

    def _draw(self) -> None:
        self._drawing = None
        self._drawn = time.monotonic()
        if self._live is not None:
            self._live.update(markup("".join(self._said)))

    def paused(self) -> None:
        """Leave what it said as a record, and take the live display away right after."""
        text = "".join(self._said).strip()
        display_id, self._display_id = self._display_id, None
        if text:
            show(said(text), self._place, None if display_id is None else Slot(display_id))
        elif display_id is not None:
            scheduling.publish({}, parent=self._place.parent, display_id=display_id, update=True)
        if self._drawing is not None:
            self._drawing.cancel()
            self._drawing = None
        live, self._live = self._live, None
        if live is not None:
            live.close()
        self._listening.close()
        self._said.clear()

    def closed(self, note: str) -> None:
        """Say what ended it, where that wasn't the model."""
        self.paused()
        if note:
            show(tables.message(f"Ended: {note}."), self._place)


def said(text: str) -> Bundle:
    """What a model said, as a record."""
    return {"text/plain": visible_text(tidy(text)), "text/html": box(markup(text))}


def markup(text: str) -> str:
    """A model's Markdown as HTML that stands without styles: paragraphs, headings, lists, code, bold; no links, no more."""
    parts: list[str] = []
    at = 0
    text = tidy(text)
    for fence in _FENCE.finditer(text):
        parts += _prose(text[at : fence.start()])
        parts.append(pre(fence[1].rstrip("\n")))
        at = fence.end()
    return "".join(parts + _prose(text[at:]))


def _prose(text: str) -> list[str]:
    return [_block(block) for block in re.split(r"\n\s*\n", text.strip("\n")) if block.strip()]


def _block(block: str) -> str:
    lines = block.strip("\n").split("\n")
    heading = _HEADING.fullmatch(lines[0])
    if heading and len(lines) == 1:
        return f'<p style="margin:4px 0"><b>{_inline(heading[1])}</b></p>'
    if any(line.lstrip().startswith("|") for line in lines):
        return _table(lines) or pre(block)
    items: list[str] = []
    before: list[str] = []
    for line in lines:
        if _ITEM.match(line):
            items.append(line)
        elif items:
            items[-1] += f"\n{line}"
        else:
            before.append(line)
    made = f'<p style="margin:4px 0;white-space:pre-wrap">{_inline(chr(10).join(before))}</p>' if before else ""
    if items:
        kind = "ol" if items[0].lstrip()[:1].isdigit() else "ul"
        rows = "".join(f"<li>{_inline(_ITEM.sub('', item, count=1))}</li>" for item in items)
        made += f'<{kind} style="margin:4px 0;padding-left:24px">{rows}</{kind}>'
    return made


def _table(lines: list[str]) -> str | None:
    """A table of Markdown; None where it isn't one yet, as while it comes."""
    rows = [[_inline(cell.strip()) for cell in line.strip().strip("|").split("|")] for line in lines]
    if len(rows) < 3 or not _RULE.fullmatch(lines[1]) or any(len(row) != len(rows[0]) for row in rows):
        return None
    return table(rows[0], rows[2:])


def _inline(text: str) -> str:
    """Escaped first, so that nothing of the model's is markup."""
    escaped = safe(text)
    pieces = re.split(r"(`[^`\n]+`)", escaped)
    return "".join(
        f'<code style="{CODE}">{piece[1:-1]}</code>' if _CODE.fullmatch(piece) else _STRONG.sub(r"<b>\1</b>", piece)
        for piece in pieces
    )
