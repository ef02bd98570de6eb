"""A tool of every kind that the engine tells apart, and short ways to judge a call of one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from nbtoolkit.permission import own_files
from nbtoolkit.permission.engine import Judgement, PermissionEngine
from nbtoolkit.permission.rule import (
    PermissionBehavior,
    PermissionContext,
    PermissionDecision,
    PermissionMode,
    PermissionRule,
)
from nbtoolkit.permission.subject import Match, Subject
from nbtoolkit.tool.base import ToolBase

# How long one example takes says more about the machine than about the code.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def no_own_files_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cassettes and answers of other tests are own files wherever they lie."""
    monkeypatch.setattr(own_files, "_protected", {})
    monkeypatch.setattr(own_files, "_protected_names", set())


ASK = PermissionDecision(PermissionBehavior.ASK, "")


class FakeTool(ToolBase):
    """A tool that says what it is told to say, and counts how often it was asked."""

    description = "A tool."

    def __init__(
        self,
        name: str = "load_table",
        *,
        own: PermissionDecision = ASK,
        read_only: bool = False,
        server: str | None = None,
        trust: bool = False,
        definition: str = "sha256:one",
        arguments: Iterable[str] = ("path", "limit"),
    ) -> None:
        super().__init__()
        self.name = name
        self.own = own
        self.is_read_only = read_only
        self.is_mcp = server is not None
        self.mcp_name = server
        self.trust_annotations = trust
        self.definition = definition
        self.input_schema = {"type": "object", "properties": {each: {} for each in arguments}}
        self.asked = 0

    @property
    def definition_hash(self) -> str:
        return self.definition

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
        self.asked += 1
        return self.own


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Subject):
    """A subject that a rule names by its exact text."""

    def matches(self, rule: PermissionRule, base: str) -> Match:
        return Match.YES if rule.rule_content == self.text else Match.NO


class Parted(FakeTool):
    """A tool whose calls consist of these parts."""

    def __init__(self, parts: Sequence[Subject], name: str = "Bash", **options: Any) -> None:
        own = options.pop("own", PermissionDecision(PermissionBehavior.PASSTHROUGH, ""))
        super().__init__(name, own=own, **options)
        self.parts = parts

    def subjects(self, tool_input: dict[str, Any], context: PermissionContext) -> Sequence[Subject]:
        return self.parts


@dataclass
class Bench:
    """An engine with rules and a mode, and short ways to ask it."""

    mode: str = "default"
    rules: Sequence[str] = ()
    context: PermissionContext = field(default_factory=PermissionContext)

    def __post_init__(self) -> None:
        self.context.mode = PermissionMode(self.mode)
        self.engine = PermissionEngine(self.context)
        for each in self.rules:
            behavior, _, text = each.partition(" ")
            self.engine.add_rule(text, behavior)

    def judge(self, tool: ToolBase, **tool_input: Any) -> Judgement:
        return asyncio.run(self.engine.judge(tool, tool_input))

    def verdict(self, tool: ToolBase, **tool_input: Any) -> str:
        return self.judge(tool, **tool_input).decision.behavior.value


@pytest.fixture
def bench() -> Callable[..., Bench]:
    """Make an engine: ``bench("explore", "deny load_table")``."""
    return lambda mode="default", *rules, **options: Bench(mode, rules, **options)


@pytest.fixture
def tool() -> type[FakeTool]:
    """The class of tools without parts."""
    return FakeTool


@pytest.fixture
def parted() -> type[Parted]:
    """The class of tools whose calls consist of parts."""
    return Parted


@pytest.fixture
def part() -> type[Part]:
    """The class of parts."""
    return Part


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that the process is in, with a home of its own."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / ".config"))
    monkeypatch.chdir(folder)
    return folder
