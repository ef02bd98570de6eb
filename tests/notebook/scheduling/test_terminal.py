"""A terminal without a kernel: a script and IPython ask by a line of text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pexpect  # type: ignore[import-untyped]
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 30

SCRIPT = """
import asyncio
from nbtoolkit.notebook.scheduling import NobodyAnswers, ask_by_input, drive, presence
print(presence())
for limit in (None, 0.2):
    try: print('got', repr(drive(ask_by_input('first? ', timeout=limit))))
    except TimeoutError: print('time is up')
try: drive(ask_by_input('second? '))
except NobodyAnswers as nobody: print(nobody)
try: drive(ask_by_input('third? '))
except KeyboardInterrupt: print('stopped')
async def asks(): print('got', repr(await ask_by_input('fourth? ')))
asyncio.run(asks())
"""


@pytest.fixture
def terminal() -> Iterator[Any]:
    child: Any = pexpect.spawn(sys.executable, ["-c", SCRIPT], encoding="utf-8", timeout=PATIENCE, echo=False)
    yield child
    child.close(force=True)


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo terminal")
def test_a_script_in_a_terminal_asks_there(terminal: Any) -> None:
    terminal.expect_exact("Presence(means=<Means.INPUT: 'input'>, reason='a terminal without a kernel')")
    terminal.expect_exact("first? ")
    terminal.sendline("yes")
    terminal.expect_exact("got 'yes'")
    terminal.expect_exact("first? ")
    terminal.expect_exact("time is up")
    terminal.expect_exact("second? ")
    terminal.sendeof()
    terminal.expect_exact("the input was closed")
    terminal.expect_exact("third? ")
    terminal.sendintr()
    terminal.expect_exact("stopped")
    terminal.expect_exact("fourth? ")
    terminal.sendline("no")
    terminal.expect_exact("got 'no'")
    terminal.expect(pexpect.EOF)
