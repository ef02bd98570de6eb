"""Loaded into the kernels under test: the smallest card and approver upon the scheduling API."""

from __future__ import annotations

from typing import Any

from nbtoolkit.notebook import scheduling
from nbtoolkit.notebook.scheduling import Means, NobodyAnswers

VIEW = "application/vnd.jupyter.widget-view+json"
# Long enough for a front end on a busy machine; a test that waits for nobody says less.
ATTEND = 15.0


async def ask(name: str, timeout: float | None = None, attend: float = ATTEND, typing: float = 1.0) -> str:
    """Ask whether `name` may run, by buttons, by input or by policy; says what was decided and how."""
    who = scheduling.presence()
    if who.means is Means.NOBODY:
        return f"{name}: denied, {who.reason}"
    if who.means is Means.WIDGETS:
        try:
            return f"{name}: {await by_buttons(name, timeout, attend)}"
        except NobodyAnswers as nobody:
            reason = str(nobody)
        except TimeoutError:
            return f"{name}: denied, time is up"
    else:
        reason = who.reason
    try:
        line = await scheduling.ask_by_input(f"{name}? ", timeout=typing)
    except (NobodyAnswers, TimeoutError) as nobody:
        return f"{name}: denied, {reason}; {nobody!r}"
    return f"{name}: {'allowed' if line == 'y' else 'denied'} by input"


async def by_buttons(name: str, timeout: float | None, attend: float) -> str:
    """Show two buttons and wait for one of them."""
    import ipywidgets

    def show(_: scheduling.Question, parent: Any) -> None:
        view = {"version_major": 2, "version_minor": 0, "model_id": box.model_id}
        scheduling.publish({VIEW: view, "text/plain": f"[{name}?]"}, parent=parent)

    question = scheduling.Question(show)
    allow = ipywidgets.Button(description=f"Allow {name}")
    deny = ipywidgets.Button(description=f"Deny {name}")
    box = ipywidgets.VBox([allow, deny])
    allow.on_click(lambda _: question.resolve("allowed"))
    deny.on_click(lambda _: question.resolve("denied"))
    scheduling.route([allow, deny, box])
    try:
        return str(await scheduling.pose(question, timeout=timeout, attend=attend))
    finally:
        for widget in (allow, deny, box):
            widget.close()


def ask_sync(name: str, timeout: float | None = None, attend: float = ATTEND, typing: float = 1.0) -> str:
    """Ask from a plain cell."""
    return scheduling.drive(ask(name, timeout, attend, typing))


log: list[str] = []


def line(code: str, parent: Any) -> dict[str, str] | None:
    """Answer `%toolkit pending`, `approve` and `reject` out of turn."""
    words = code.split()
    if words[:1] != ["%toolkit"] or len(words) != 2:
        return None
    if words[1] == "pending":
        return {"text/plain": f"{scheduling.reshow(parent)} pending"}
    verdict = {"approve": "allowed", "reject": "denied"}.get(words[1])
    if verdict is None:
        return None
    return {"text/plain": " ".join(f"{verdict} {q.resolve(verdict)}" for q in scheduling.pending())}


async def tool(seconds: float = 30.0, *, swallow: bool = False) -> str:
    """Run for a while; says in the log how it ended."""
    import asyncio

    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        await asyncio.sleep(0)
        log.append("cleaned up")
        if not swallow:
            raise
        await asyncio.sleep(seconds)
    except KeyboardInterrupt:
        log.append("interrupted")
        raise
    return "ran to its end"


async def blocking_tool(seconds: float = 30.0) -> str:
    """Run synchronous code for a while; says in the log how it ended."""
    import time

    try:
        time.sleep(seconds)  # noqa: ASYNC251 - that is the case
    except KeyboardInterrupt:
        log.append("interrupted")
        raise
    return "ran to its end"


async def stoppable() -> str:
    """Run a tool that has a Stop button."""
    import asyncio

    import ipywidgets

    task = asyncio.ensure_future(tool())
    loop = asyncio.get_running_loop()
    button = ipywidgets.Button(description="Stop")
    button.on_click(lambda _: loop.call_soon_threadsafe(task.cancel))
    scheduling.route([button])
    view = {"version_major": 2, "version_minor": 0, "model_id": button.model_id}
    scheduling.publish({VIEW: view, "text/plain": "[Stop]"})
    try:
        return await task
    except asyncio.CancelledError:
        return "stopped"
    finally:
        button.close()


async def both() -> list[str]:
    """Ask two things at once."""
    import asyncio

    return list(await asyncio.gather(ask("a"), ask("b")))


def threads(*names: str) -> list[str]:
    """Ask from a thread each."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(names)) as pool:
        return list(pool.map(ask_sync, names))


async def in_a_task(fn: Any, *args: Any) -> None:
    """Call a synchronous function in a task of its own."""
    print(fn(*args))


async def nested(fn: Any, *args: Any) -> Any:
    """Call a synchronous function from a coroutine."""
    return fn(*args)


def foreign(coro: Any) -> Any:
    """Run a coroutine as an agent with its own loop does."""
    import asyncio

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(coro)
    finally:
        loop.close()


def resolve_soon() -> None:
    """Answer the first question that waits."""
    import time

    while not scheduling.pending():
        time.sleep(0.01)
    scheduling.pending()[0].resolve("allowed")
