"""Judging one shell command; the floor is the bash grammar's own parse of it, or a look at each rule's beginning."""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any

from benchmarks.figures import CantError

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = {
    "command": "judge a shell command (floor: its parse by tree-sitter-bash)",
    "pipeline": "judge one of four commands and a redirect",
    "long": "judge a command of 100 KB",
    "rules": "judge a command by 1,000 rules (floor: `startswith` for each)",
}
TARGETS = {"command": "≤ 1 ms", "pipeline": "≤ 1 ms", "long": "≤ 0.2 s", "rules": "≤ 1 ms"}
UNIT = "ms"

COMMANDS = {
    "command": "git commit -m 'step {}'",
    "pipeline": "cd src && grep -rn 'x{}' a.py | sort -k2 | uniq -c > ../out.txt",
    "long": "cat > notes.md <<'EOF'\n" + "a line of a note, as a model writes them\n" * 2_450 + "{}\nEOF",
    "rules": "git commit -m 'step {}'",
}
RULES = 1_000
# A round is long enough for the clock and short enough that other programs disturb few of them.
SECONDS = 0.02


def prepare(subject: Any, case: str, run: Callable[[Any], Any]) -> Callable[[], float]:
    """Time judgements in a row, each of a command that was never seen."""
    return prepared(subject, case, run, RULES if case == "rules" else 0)


def prepared(subject: Any, case: str, run: Callable[[Any], Any], count: int) -> Callable[[], float]:
    """The same by so many rules, of which none is about the command."""
    rules = [f"program{number} run:*" for number in range(count)]
    name = subject.LIBRARIES[0]
    if name == "pydantic":
        judge: Callable[[str], object] = _floor(rules)
    elif name in {"nbtoolkit", "agentscope"}:
        judge = _engine(name, case, run, rules)
    else:
        raise CantError
    number = 0

    def once(count: int) -> float:
        nonlocal number
        texts = [COMMANDS[case].format(number + each) for each in range(count)]
        number += count
        began = time.process_time()
        for text in texts:
            judge(text)
        return (time.process_time() - began) / count

    once(3)
    count = max(1, int(SECONDS / max(once(3), 1e-6)))
    return lambda: once(count)


def _floor(rules: list[str]) -> Callable[[str], object]:
    if rules:
        beginnings = [rule.removesuffix(":*") for rule in rules]
        return lambda text: [rule for rule in beginnings if text.startswith(rule)]
    import tree_sitter
    import tree_sitter_bash

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    return lambda text: parser.parse(text.encode()).root_node.has_error


def _engine(library: str, case: str, run: Callable[[Any], Any], rules: list[str]) -> Callable[[str], object]:
    # Both have the same names in the same places.
    permission: Any = importlib.import_module(f"{library}.permission")
    tools: Any = importlib.import_module(f"{library}.tool")
    engine, tool = permission.PermissionEngine(permission.PermissionContext()), tools.Bash()
    behaviors = [permission.PermissionBehavior(each) for each in ("allow", "ask", "deny")]
    for number, content in enumerate(rules):
        engine.add_rule(
            permission.PermissionRule(
                tool_name="Bash", rule_content=content, behavior=behaviors[number % 3], source="user"
            )
        )
    decision = run(engine.check_permission(tool, {"command": COMMANDS[case].format("first")}))
    assert decision.behavior.value == "ask", decision

    def judge(text: str) -> object:
        # Nothing in a judgement waits; without the loop its cost alone is timed.
        judging = engine.check_permission(tool, {"command": text})
        try:
            judging.send(None)
        except StopIteration as ended:
            return ended.value
        raise AssertionError("a judgement waited")

    return judge
