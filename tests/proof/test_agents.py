"""Fifty agents at once on one toolkit: asks, denials, edits, stops and cancellations among them, and one log."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest

from nbtoolkit.message import ToolCallBlock, ToolResultState
from nbtoolkit.permission import AdditionalWorkingDirectory
from nbtoolkit.permission.approval import Approval, ApprovalRequest
from nbtoolkit.permission.rule import PermissionMode, PermissionRule
from nbtoolkit.state import AgentState
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.toolkit import Toolkit
from tests.proof.plan import LIMIT, Plan

pytestmark = pytest.mark.timeout(LIMIT)

AGENTS = 50


class Office:
    """One toolkit, what its tools did, and what was meant to become of each call."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.toolkit = Toolkit(
            tools=[
                FunctionTool(self.quick, is_read_only=True),
                FunctionTool(self.slow),
                FunctionTool(self.aside, thread=True),
                FunctionTool(self.alone, is_concurrency_safe=False),
            ]
        )

    def note(self, key: str) -> str:
        with self.lock:
            self.ran[key] += 1
        return key

    def quick(self, key: str) -> str:
        """Only read."""
        return self.note(key)

    async def slow(self, key: str) -> str:
        """Take a moment."""
        self.note(key)
        await asyncio.sleep(0.002)
        return key

    def aside(self, key: str) -> str:
        """Work in a thread."""
        return self.note(key)

    async def alone(self, key: str) -> str:
        """Work alone."""
        self.note(key)
        await asyncio.sleep(0)
        return key


# What may become of a call: the state, the words in the log, and whether it ran.
Fate = tuple[set[str], set[str], set[int]]
BY_ANSWER: dict[str, Fate] = {
    "allow": ({"success"}, {"allowed once"}, {1}),
    "deny": ({"denied"}, {"denied: “not now”"}, {0}),
    "edit": ({"success"}, {"allowed once, edited"}, {1}),
    "respond": ({"success"}, {"answered by you"}, {0}),
    "raise": (
        {"denied"},
        {"denied: “Nobody could answer: the approver failed with ValueError: the approver is broken”"},
        {0},
    ),
}


async def agent(office: Office, number: int, calls: int, plan: Plan, fates: dict[str, Fate]) -> None:
    """One agent with a state and an approver of its own, which makes its calls in random ways."""
    chance = plan.chance(f"agent {number}")
    state = AgentState()
    office.toolkit.engine_for(state).add_rule(PermissionRule.parse("aside", "allow"))
    answers: dict[str, str] = {}
    edited: set[str] = set()

    async def approver(request: ApprovalRequest) -> Approval:
        key = request.tool_input["key"]
        await asyncio.sleep(chance.uniform(0, 0.002))
        answer = answers[key]
        if answer == "raise":
            raise ValueError("the approver is broken")
        if answer == "edit" and key not in edited:
            edited.add(key)
            edited.add(f"{key}+")
            answers[f"{key}+"] = "edit"
            return Approval.edit({"key": f"{key}+"})
        if answer == "respond":
            return Approval.respond("from a person")
        return Approval.deny("not now") if answer == "deny" else Approval.allow()

    async def one(key: str) -> None:
        name = chance.choice(["quick", "slow", "aside", "alone"])
        answer = answers[key] = chance.choice([*BY_ANSWER])
        way = chance.choice(["plain", "plain", "stop", "cancel"])
        call = office.toolkit.call_tool(
            ToolCallBlock(id=key, name=name, input=f'{{"key": "{key}"}}'), state=state, approver=approver
        )
        asked = name in {"slow", "alone"}
        states, words, ran = (
            BY_ANSWER[answer] if asked else ({"success"}, {"allowed as read-only", "allowed by aside"}, {1})
        )
        if way != "plain":
            # It may strike at any moment, also before or after all of it.
            states = states | {"interrupted"}
            words = words | {"not run", "not answered", "edited", "allowed once"}
            ran = ran | {0, 1}
        fates[key] = (states, words, ran)
        task = asyncio.ensure_future(call.complete())
        if way == "plain":
            await task
            return
        await asyncio.sleep(chance.uniform(0, 0.004))
        if way == "stop":
            call.cancel()
            await task
        else:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    for first in range(0, calls, 4):
        together = [one(f"{number}-{each}") for each in range(first, min(first + 4, calls))]
        await asyncio.gather(*together)


def test_fifty_agents_share_a_toolkit_and_each_call_is_in_the_log_once_with_what_was_decided(plan: Plan) -> None:
    calls = plan.pick(8, 200)
    office = Office()
    office.toolkit.log.maxlen = AGENTS * calls
    fates: dict[str, Fate] = {}

    async def all_of_them() -> None:
        await asyncio.gather(*(agent(office, number, calls, plan, fates) for number in range(AGENTS)))
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(all_of_them())
    log = list(office.toolkit.log)
    # A task that is cancelled before its first step never was a call.
    begun = {entry.id for entry in log}
    assert len(begun) == len(log)
    assert all("interrupted" in fates[key][0] for key in fates.keys() - begun)
    assert sorted(entry.number for entry in log) == list(range(1, len(log) + 1))
    wrong: list[Any] = []
    for entry in log:
        states, words, times = fates[entry.id]
        did = office.ran[entry.id] + office.ran[f"{entry.id}+"]
        if entry.state.value not in states or entry.words not in words or did not in times:
            wrong.append((entry, did, states, words, times))
        if did and entry.approval is None and entry.behavior is None:
            wrong.append((entry, "ran without a decision"))
    assert wrong == [], wrong[:3]
    assert max(office.ran.values()) == 1
    plan.count("calls of 50 agents at once on one toolkit", len(log))
    for state, number in Counter(entry.state for entry in log).items():
        assert state is not ToolResultState.RUNNING
        plan.count(f"calls of 50 agents at once on one toolkit, {state.value}", number)


def test_agents_with_states_of_their_own_do_not_share_their_rules_or_folders() -> None:
    """One agent's context allows what another's doesn't."""
    office = Office()
    open_one, shut = AgentState(), AgentState()
    open_one.permission_context.mode = PermissionMode.BYPASS
    shut.permission_context.working_directories["/tmp"] = AdditionalWorkingDirectory(path="/tmp", source="test")
    shut.permission_context.mode = PermissionMode.DONT_ASK

    async def both() -> list[str]:
        calls = [
            office.toolkit.call_tool(ToolCallBlock(id=str(n), name="slow", input='{"key": "k"}'), state=state)
            for n, state in enumerate([open_one, shut] * 20)
        ]
        return [response.state.value for response in await asyncio.gather(*(call.complete() for call in calls))]

    assert asyncio.run(both()) == ["success", "denied"] * 20
