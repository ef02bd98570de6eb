"""How many inputs are tried, and the counts at the end: a short slice in each run, the long form by NBTOOLKIT_PROOF=long."""

from __future__ import annotations

import faulthandler
import time
from typing import TYPE_CHECKING

import pytest

from tests.fuzz import support

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the long form its time; a single input has its own limit there."""
    if support.LONG:
        for item in items:
            if item.path.parent == support.HERE:
                item.add_marker(pytest.mark.timeout(support.LONG_LIMIT))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many inputs each test took."""
    if support.COUNTS and support.LONG:
        terminalreporter.section("inputs fuzzed")
        for name, number in sorted(support.COUNTS.items()):
            terminalreporter.write_line(f"{number:>10,}  {name}")
        terminalreporter.write_line(f"{sum(support.COUNTS.values()):>10,}  in all")


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Refuse connections and look-ups of names, and keep what was tried."""
    import socket

    tried: list[object] = []

    def refuse(*args: object, **_: object) -> object:
        tried.append(args)
        raise OSError("no test of hostile input may reach out")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    return tried


@pytest.fixture
def clock() -> Iterator[None]:
    """Bound a test of a single large input: minutes instead of milliseconds is a hang."""
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < support.HANG


# The shell with a toolkit that the magics' own tests use.
from tests.notebook.test_magics import desk  # noqa: E402, F401
