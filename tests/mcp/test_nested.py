"""asyncio.run in a cell, where the extension isn't loaded."""

from __future__ import annotations

import asyncio
import sys
import types
from collections.abc import Iterator

import pytest

from nbtoolkit.mcp import nested
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
