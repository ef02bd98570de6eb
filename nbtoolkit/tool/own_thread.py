"""A function in a thread of its own, awaited: with the caller's context, and never in the way of the kernel's end."""

from __future__ import annotations

import threading
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

__all__ = ["in_thread"]


async def in_thread(job: Callable[[], Any], name: str) -> Any:
    """Run in a thread of its own, with this context's variables.

    A daemon, unlike asyncio.to_thread's: a function that never ends must not keep the kernel from going.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = copy_context()

    def settle(setter: Callable[[Any], None], value: object) -> None:
        if not future.done():
            setter(value)

    def work() -> None:
        outcome: tuple[Callable[[Any], None], object]
        try:
            result = context.run(job)
        except StopIteration as stop:
            # A future refuses this one, and the waiter would wait for ever.
            error = RuntimeError(f"the tool raised StopIteration({stop.value!r})")
            error.__cause__ = stop
            outcome = (future.set_exception, error)
        except BaseException as error:  # noqa: BLE001 - it is handed to the waiter, whatever it is
            outcome = (future.set_exception, error)
        else:
            outcome = (future.set_result, result)
        try:
            loop.call_soon_threadsafe(settle, *outcome)
        except RuntimeError:
            return  # the loop was closed: nobody waits any more

    threading.Thread(target=work, name=f"nbtoolkit-tool-{name}", daemon=True).start()
    return await future
