"""The messages that arrive at the main shell while a cell runs there.

It promises: what a waiting person needs (widget messages, a page that connects) is handled now; a line that only answers
a question is answered now; everything else keeps its place and its order, and nothing is lost by an interrupt.

Two ways lead here.  The **filter** stands before the stream's own callback and serves async cells, under the kernel's
loop.  The **pump** reads the socket itself, as a reader of the loop that a sync cell is driving; what it must hold goes
back to the stream's callback before the cell's reply is sent, because an error then aborts what is queued.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any

from nbtoolkit.notebook.scheduling import desk
from nbtoolkit.notebook.scheduling import kernel as kernels
from nbtoolkit.notebook.scheduling.latch import TICK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from nbtoolkit.notebook.scheduling.kernel import Frames, Kernel, Message

# A page that is loaded during the wait can't connect without these.
CONNECTING = frozenset({"kernel_info_request", "comm_info_request"})
# It fetches the widgets' states by this comm before it shows any.
CONTROL = "jupyter.widget.control"
WIDGETS = frozenset({"comm_open", "comm_msg", "comm_close"})
# A console asks these before it sends a line.
CONSOLE = frozenset({"is_complete_request", "history_request"})
# More requests than anybody queues behind one cell.
REMEMBERED = 1000
# The mark on a comm whose messages are wanted whenever a cell runs.
MARK = "_nbtoolkit_wanted"


class Inbox:
    """The main shell's inbound messages, sorted."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.cell: Message | None = None
        self.last_cell: Message = {}
        self.held: deque[Frames] = deque()
        self.queued: dict[str, Message] = {}
        # True while a message is between the socket and the place where it is kept: no moment for an interrupt.
        self.shielded = False
        # Are told of each loop under which a sync cell begins to wait.
        self.on_attach: list[Callable[[asyncio.AbstractEventLoop], None]] = []
        self._loops: dict[asyncio.AbstractEventLoop, asyncio.TimerHandle | None] = {}
        self._turn_due = False
        self._original: Callable[[Frames], Any] = lambda _: None
        self._undo: list[Callable[[], None]] = []

    # -------------------------------------------------------------- the kernel's side
    def install(self) -> None:
        """Put the filter in place and follow the cells' begin and end."""

        def make(original: Callable[[Frames], Any]) -> Callable[[Frames], Any]:
            self._original = original
            return self._filter

        events = kernels.shell().events
        # Not pre_execute and post_execute, which every comm message triggers as well.
        events.register("pre_run_cell", self._cell_begins)
        events.register("post_run_cell", self._cell_ends)
        desk.on_change.append(self._poke)
        self._undo = [
            self.kernel.set_filter(make),
            lambda: events.unregister("pre_run_cell", self._cell_begins),
            lambda: events.unregister("post_run_cell", self._cell_ends),
            lambda: desk.on_change.remove(self._poke),
        ]
        self.cell = self.last_cell = self.kernel.parent()

    def uninstall(self) -> None:
        """Take filter and followers out again."""
        self.release()
        for undo in self._undo:
            with contextlib.suppress(ValueError):
                undo()
        self._undo = []

    def _cell_begins(self, _info: object) -> None:
        if threading.current_thread() is threading.main_thread():  # not a subshell's cell
            self.cell = self.last_cell = self.kernel.parent()
            self._forget_up_to(self.cell)

    def _cell_ends(self, result: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self.cell = None
        self.release()
        if isinstance(getattr(result, "error_in_exec", None), KeyboardInterrupt | asyncio.CancelledError):
            # The stop must also reach what the cell has asked from threads, where no signal arrives.
            for waiter in list(desk.waiting.values()):
                waiter.stopped(self.last_cell)

    def _filter(self, frames: Frames) -> Any:
        self.release()
        peeked = self.kernel.peek(frames)
        if peeked is not None:
            self._arrived(peeked)
            act = self._sort(frames, peeked) if self.cell is not None or desk.alert() else None
            if act is not None:
                act()
                return None
        return self._original(frames)

    def release(self) -> None:
        """Give what is held to the stream's own callback, in order, when the kernel's loop is the running one."""
        if not self.held:
            return
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            return
        if running is self.kernel.loop:
            while self.held:
                self.kernel.give_back(self._original, self.held.popleft())

    # -------------------------------------------------------------- the pump's side
    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read the socket under another loop of the main thread, until `detach`."""
        if loop not in self._loops:
            self._loops[loop] = None
            with contextlib.suppress(NotImplementedError):  # a loop without readers: the tick does it
                loop.add_reader(self.kernel.descriptor, self.drain)
            self._tick(loop)
            for tell in self.on_attach:
                tell(loop)
        self.review()

    @property
    def attached(self) -> asyncio.AbstractEventLoop | None:
        """The loop under which a sync cell waits now, the innermost; None where none does."""
        return next(reversed(list(self._loops)), None)

    def detach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leave the socket to the kernel again."""
        tick = self._loops.pop(loop)
        if tick is not None:
            tick.cancel()
        with contextlib.suppress(NotImplementedError):
            loop.remove_reader(self.kernel.descriptor)
        for outer in self._loops:  # it sleeps since before the descriptor's last news
            outer.call_soon_threadsafe(self.drain)
        if not self._turn_due:
            self._turn_due = True
            self.kernel.loop.call_soon_threadsafe(self._turn)

    def _turn(self) -> None:
        self._turn_due = False
        self.release()
        self.kernel.rearm()

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        self.drain()
        if loop in self._loops:
            self._loops[loop] = loop.call_later(TICK, self._tick, loop)

    def _poke(self) -> None:
        """Look again at what is held; called from any thread."""
        for loop in list(self._loops):
            with contextlib.suppress(RuntimeError):  # it has just closed
                loop.call_soon_threadsafe(self.review)

    def drain(self) -> None:
        """Sort everything that has arrived."""
        with self._shield():
            while (frames := self.kernel.receive()) is not None:
                peeked = self.kernel.peek(frames)
                if peeked is not None:
                    self._arrived(peeked)
                act = self._sort(frames, peeked)
                if act is None:
                    self.held.append(frames)
                else:
                    act()

    def review(self) -> None:
        """Sort what is held once more: a question may wait now that didn't before."""
        self.drain()
        with self._shield():
            for frames in list(self.held):
                act = self._sort(frames, self.kernel.peek(frames))
                index = next((i for i, kept in enumerate(self.held) if kept is frames), None)
                if act is not None and index is not None:  # else a handler's own wait has dealt with it
                    del self.held[index]
                    act()

    @contextlib.contextmanager
    def _shield(self, *, on: bool = True) -> Iterator[None]:
        before, self.shielded = self.shielded, on
        try:
            yield
        finally:
            self.shielded = before

    # -------------------------------------------------------------- sorting
    def behind(self) -> list[Message]:
        """The execute_requests that are queued behind the running cell."""
        return list(self.queued.values())

    def _forget_up_to(self, message: Message) -> None:
        current = message.get("header", {}).get("msg_id")
        if current in self.queued:
            for earlier in list(self.queued):
                del self.queued[earlier]
                if earlier == current:
                    break

    def _arrived(self, peeked: Message) -> None:
        if peeked["header"]["msg_type"] != "execute_request" or self.kernel.content(peeked).get("silent"):
            return  # a silent one shows nothing: front ends' extensions send them
        self.queued[peeked["header"]["msg_id"]] = peeked
        while len(self.queued) > REMEMBERED:
            del self.queued[next(iter(self.queued))]

    def _sort(self, frames: Frames, peeked: Message | None) -> Callable[[], None] | None:
        """What to do with a message out of turn; None when it has to wait for its turn."""
        if peeked is None:
            return None
        kind = peeked["header"]["msg_type"]
        if kind == "execute_request":
            return self._overtaking(frames, peeked) if desk.waiting else None
        if kind in CONNECTING or (desk.alert() and kind in WIDGETS | CONSOLE) or self._marked(kind, peeked):
            return partial(self._handle, frames)
        return None

    def _marked(self, kind: str, peeked: Message) -> bool:
        if kind not in WIDGETS:
            return False
        content = self.kernel.content(peeked)
        comm = self.kernel.comm(content.get("comm_id"))
        target = content.get("target_name") if kind == "comm_open" else getattr(comm, "target_name", None)
        return target == CONTROL or bool(getattr(comm, MARK, False))

    def _handle(self, frames: Frames) -> None:
        asker = desk.latest()
        context = asker.context.copy() if asker is not None else copy_context()
        with self._out_of_turn(frames) as (identities, message):
            context.run(self.kernel.handle, identities, message)

    def _overtaking(self, frames: Frames, peeked: Message) -> Callable[[], None] | None:
        content = self.kernel.content(peeked)
        if content.get("silent"):
            return None
        code = str(content.get("code", ""))
        for handler in list(desk.overtakers):
            bundle = self._asked(handler, code, peeked)
            if bundle is not None:
                return partial(self._answer, frames, bundle)
        for waiter in list(desk.waiting.values()):
            waiter.queued(peeked)
        return None

    def _asked(self, handler: desk.Overtaker, code: str, peeked: Message) -> Mapping[str, Any] | None:
        try:
            with self._shield(on=False):
                return handler(code, peeked)
        except Exception as error:  # noqa: BLE001 - a handler's fault must not lose the message
            self.kernel.log_error("a queued line could not be answered", error)
            return None

    def _answer(self, frames: Frames, bundle: Mapping[str, Any]) -> None:
        kernel = self.kernel
        count = kernel.execution_count
        with self._out_of_turn(frames) as (identities, message):
            self.queued.pop(message["header"]["msg_id"], None)
            kernel.send("execute_input", {"code": message["content"]["code"], "execution_count": count}, message)
            if bundle:
                kernel.send("display_data", {"data": dict(bundle), "metadata": {}, "transient": {}}, message)
            reply = {"status": "ok", "execution_count": count, "user_expressions": {}, "payload": []}
            kernel.reply("execute_reply", reply, identities, message)

    @contextlib.contextmanager
    def _out_of_turn(self, frames: Frames) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Say busy and idle for this message, for a front end throttles a widget until it is idle; then busy again."""
        identities, message = self.kernel.read(frames)
        self.kernel.status("busy", message)
        try:
            with self._shield(on=False):
                yield identities, message
        except Exception as error:  # noqa: BLE001 - as the kernel does
            self.kernel.log_error(f"the handler of {message['header']['msg_type']} failed", error)
        finally:
            self.kernel.status("idle", message)
            if self.cell is not None:
                self.kernel.status("busy", self.cell)


_inbox: Inbox | None = None


def inbox() -> Inbox | None:
    """The main shell's inbox, put in place when first asked for; None without a kernel that can be listened to."""
    global _inbox
    kernel = kernels.kernel()
    if _inbox is not None and kernel is _inbox.kernel:
        return _inbox
    if kernel is None or not kernel.can_listen:
        return None
    _inbox = Inbox(kernel)
    _inbox.install()
    return _inbox


def remove() -> None:
    """Take the inbox out again."""
    global _inbox
    if _inbox is not None:
        _inbox.uninstall()
        _inbox = None
