"""What is typed there also runs."""

from __future__ import annotations

import asyncio

from tests.typing import decorator


def test_what_type_checkers_are_told_is_so() -> None:
    asyncio.run(decorator.calls())
    decorator.plainly()
    assert decorator.toolkit.call_sync("elsewhere", n=1).state.value == "denied"
