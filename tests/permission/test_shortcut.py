"""The engine's short way for plain reading calls comes to what all the steps come to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nbtoolkit.permission.engine import Judgement, PermissionEngine
from nbtoolkit.permission.rule import (
    PermissionBehavior,
    PermissionContext,
    PermissionDecision,
    PermissionMode,
    PermissionRule,
)
from nbtoolkit.tool.base import ToolBase


class Reader(ToolBase):
    name = "reader"
    description = "Read."
    input_schema: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}  # noqa: RUF012
    is_read_only = True

    def __init__(self, own: PermissionDecision | None) -> None:
        super().__init__()
        self.own = own
        self.asked = 0

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
        self.asked += 1
        if self.own is None:
            raise RuntimeError("broken check")
        return self.own


def judged(tool: Reader, mode: PermissionMode, path: str, *rules: PermissionRule) -> Judgement:
    engine = PermissionEngine(PermissionContext(mode=mode))
    for rule in rules:
        engine.add_rule(rule)
    return asyncio.run(engine.judge(tool, {"path": path}))


# It names no call of the reader, but where there are deny rules the steps are all walked.
ELSEWHERE = PermissionRule(tool_name="other", behavior=PermissionBehavior.DENY)
OWN = [
    PermissionDecision(behavior, "Says so.", updated_input=updated, bypass_immune=immune)
    for behavior in PermissionBehavior
    for updated in (None, {"path": "b"})
    for immune in (False, True)
]


@pytest.mark.parametrize("own", [*OWN, None])
@pytest.mark.parametrize("mode", list(PermissionMode))
@pytest.mark.parametrize("path", ["a", "nbtoolkit.toml"])
def test_the_short_way_and_the_long_one_agree(own: PermissionDecision | None, mode: PermissionMode, path: str) -> None:
    tool = Reader(own)
    short, long = judged(tool, mode, path), judged(tool, mode, path, ELSEWHERE)
    assert (short.decision, short.subjects, short.step, short.rule, short.own, short.mode) == (
        long.decision,
        long.subjects,
        long.step,
        long.rule,
        long.own,
        long.mode,
    )
    assert tool.asked == 2, "the tool's own check is asked once for a call"


@pytest.mark.parametrize("behavior", [PermissionBehavior.DENY, PermissionBehavior.ASK])
def test_a_rule_about_the_reader_is_never_passed_over(behavior: PermissionBehavior) -> None:
    rule = PermissionRule(tool_name="reader", behavior=behavior)
    allows = Reader(PermissionDecision(PermissionBehavior.ALLOW, "Only reads."))
    assert judged(allows, PermissionMode.DEFAULT, "a", rule).decision.behavior is behavior
