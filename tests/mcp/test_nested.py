"""asyncio.run in a cell, where the extension isn't loaded."""

from __future__ import annotations

import asyncio
import sys
import types
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from nbtoolkit.mcp import nested
from nbtoolkit.tool import FunctionTool, Toolkit
from tests.mcp.support import plain, said, use


@pytest.fixture
def in_a_kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    yield
    nested.undo()


@pytest.mark.usefixtures("in_a_kernel")
def test_a_document_written_for_scripts_runs_in_a_cell() -> None:
    async def cell() -> str:
        client = plain()
        asyncio.run(client.connect())
        heard = said(asyncio.run(use(client, "echo", text="hi")))
        asyncio.run(client.close())
        return heard

    assert asyncio.run(cell()) == "hi"


@pytest.mark.usefixtures("in_a_kernel")
def test_an_error_comes_out_as_it_is() -> None:
    async def fail() -> None:
        raise LookupError("gone")

    async def cell() -> None:
        plain()
        asyncio.run(fail())

    with pytest.raises(LookupError, match="gone"):
        asyncio.run(cell())


@pytest.mark.usefixtures("in_a_kernel")
def test_a_call_of_a_toolkit_runs_too_in_the_cell_and_in_a_thread() -> None:
    def size(x: int) -> int:
        """How far from nothing."""
        return abs(x)

    toolkit = Toolkit([FunctionTool(size, is_read_only=True)])

    async def cell() -> None:
        plain()
        run: Any = asyncio.run
        assert run(toolkit.call("size", x=-3)).value == 3
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: run(toolkit.call("size", x=-4)).value).result(20) == 4

    asyncio.run(cell())


@pytest.mark.usefixtures("in_a_kernel")
def test_it_can_be_taken_back() -> None:
    async def cell() -> None:
        plain()
        assert asyncio.run is not nested._standard
        nested.undo()
        assert asyncio.run is nested._standard

    asyncio.run(cell())


def test_outside_of_kernels_asyncio_run_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)

    async def script() -> None:
        plain()
        assert asyncio.run is nested._standard

    asyncio.run(script())
