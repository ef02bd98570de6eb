"""A question without a kernel: one answer, every waiter, no wait left behind."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from nbtoolkit.notebook.scheduling import Question, ask_by_input, drive, pending, reshow
from nbtoolkit.notebook.scheduling.latch import Latch
from nbtoolkit.notebook.scheduling.people import NobodyAnswers


def test_the_first_answer_counts() -> None:
    question = Question()
    assert not question.resolved
    assert question.resolve("first")
    assert not question.resolve("second")
    assert drive(question.wait()) == "first"


@pytest.mark.parametrize("answer", [None, False, "", 0])
def test_an_answer_may_be_falsy(answer: object) -> None:
    question = Question()
    question.resolve(answer)
    assert question.resolved
    assert drive(question.wait(timeout=5)) is answer


def test_an_answer_from_a_thread_wakes_waiters_on_any_loop() -> None:
    question = Question()
    answers: list[Any] = []
    waiters = [
        threading.Thread(target=lambda: answers.append(asyncio.run(question.wait()))),
        threading.Thread(target=lambda: answers.append(drive(question.wait()))),
    ]
    for waiter in waiters:
        waiter.start()
    while not pending():
        threading.Event().wait(0.001)
    question.resolve("yes")
    for waiter in waiters:
        waiter.join(10)
    assert answers == ["yes", "yes"]
    assert pending() == []


def test_time_up_is_a_timeout_error_and_the_question_waits_no_longer() -> None:
    question = Question()
    with pytest.raises(TimeoutError):
        drive(question.wait(timeout=0.01))
    assert pending() == []


def test_a_cancelled_wait_is_cancelled_and_can_be_taken_up_again() -> None:
    question = Question()

    async def cancelled() -> Any:
        wait = asyncio.ensure_future(question.wait())
        await asyncio.sleep(0)
        assert pending() == [question]
        wait.cancel()
        with pytest.raises(asyncio.CancelledError):
            await wait
        assert pending() == []
        question.resolve("yes")
        return await question.wait()

    assert drive(cancelled()) == "yes"


def test_a_question_can_be_called_off() -> None:
    question = Question()

    async def called_off() -> None:
        asyncio.get_running_loop().call_soon(question.cancel)
        await question.wait()

    with pytest.raises(asyncio.CancelledError):
        drive(called_off())
    assert not question.resolve("too late")


def test_showing_again_shows_those_that_wait() -> None:
    shown: list[tuple[str, Any]] = []
    one, other = (Question(lambda question, parent: shown.append((question.id, parent))) for _ in range(2))

    async def both() -> int:
        with one.open(), other.open():
            reshow({"header": {"msg_id": "1"}}, [one.id])
            return reshow({"header": {"msg_id": "2"}})

    assert drive(both()) == 2
    assert [(one.id, "1"), (one.id, "2"), (other.id, "2")] == [(i, p["header"]["msg_id"]) for i, p in shown]
    assert reshow({}) == 0


def test_input_without_a_terminal_says_so_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(NobodyAnswers, match="no kernel and no terminal"):
        drive(ask_by_input("? "))


def test_a_latch_forgets_a_waiter_whose_loop_is_gone() -> None:
    latch = Latch()

    async def abandon() -> None:
        with pytest.raises(TimeoutError):
            await latch.wait(0)

    asyncio.run(abandon())
    assert latch.set(1)
    assert asyncio.run(latch.wait()) == 1
