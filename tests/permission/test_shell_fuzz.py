"""What is allowed runs only what a rule or the read-only list names: checked against what bash does.

Lines are made from a grammar and then broken at random. Those that the engine allows run in a real bash whose PATH holds
nothing but recording stubs; no stub may have run that nobody named, and no file may have come into being.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from nbtoolkit.permission.engine import PermissionEngine
from nbtoolkit.permission.rule import PermissionContext
from nbtoolkit.tool.bash import Bash

# More for a longer look: NBTOOLKIT_FUZZ=20000.
LINES = int(os.environ.get("NBTOOLKIT_FUZZ", "600"))
SEED = int(os.environ.get("NBTOOLKIT_FUZZ_SEED", "20"))

NAMED = frozenset(
    [
        "ls",
        "cat",
        "head",
        "wc",
        "find",
        "sort",
        "sed",
        "awk",
        "date",
        "tail",
        "cut",
        "id",
        "whoami",
        "uniq",
        "which",
        "du",
        "stat",
        "tr",
        "tac",
        "env",
        "xargs",
        "nice",
        "timeout",
        "nohup",
        "pytest",
    ]
)
STUBS = [
    *NAMED,
    *["git", "evil", "sh", "bash", "python", "in", "out", "x", "f", "i", "a", "b", "touch", "rm", "mkdir"],
]
RULES = ("Bash(git status:*)", "Bash(pytest:*)")
# What git may be told to do: what the rule names, and what only reads.
GIT = frozenset({"git:status", "git:log"})

STATEMENTS = """for i in a b; do ls $i; done|if true; then ls; fi|while read -r l; do echo $l; break; done < in|case $x in a) ls;; *) echo;; esac
|f() { ls; }; f|[[ -f x && -d y ]]|[ -f x ]|(( i = 1 ))|i=$((i+1))|echo $(ls)|cat <(ls)|cat <<EOF\\nhi $x\\nEOF\\n|cat <<'EOF'\\n$(evil)\\nEOF\\n
|! ls|time ls|{ ls; ls; }|(ls; ls)|ls && ls ?? ls|ls ? head ? wc -l|x=1; echo $x|echo {a,b}|timeout 5 ls|env ls|nice -n 5 ls|command ls|git status
|git log -n 1|ls # evil|ls \\\n -la|echo 'a;evil'|echo "a;$(ls)"|find . -name x|head -n 1 *.md|printf '%s' a|test -f x|ls 2>&1|ls >/dev/null|read x
|export FOO=a|for ((i=0;i<1;i++)); do ls; done|sed -n 1p x|awk '{print $1}' x|declare -a arr|arr=(a b $(ls))|echo ${arr[0]}|echo ${x:-y}|set -e
|echo `ls`|cat < x|cat <<< hi|ls ? xargs wc -l|find . -name x ? xargs -n1 cat|ls ? sort ? xargs -I{} head {}|echo ${x%a} ${x:-b}|awk '/a?b/ && $1>2' x|echo a{1..3}|wait|pytest -q $x|git status | head|git "$x"|git "$(echo push)"|x=push; git "$x"|xargs git < in|ls ? xargs git""".replace(
    "\n|", "|"
)
SNIPPETS = [each.replace("??", "||").replace("?", "|").replace("\\n", "\n") for each in STATEMENTS.split("|")]
TOKENS = [
    "git",
    "status",
    "ls",
    "evil",
    "x",
    "$x",
    "${x}",
    '"$x"',
    "`evil`",
    "$(evil)",
    "<(evil)",
    ">(evil)",
    "'evil'",
    '"$(evil)"',
    "a[$(evil)]",
    "x[$(evil)]=1",
    "$((x))",
    "${x:-$(evil)}",
    "${x:=evil}",
    "${x@P}",
    "${!x}",
    "{evil,ls}",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{",
    "}",
    "!",
    "time",
    "if",
    "then",
    "else",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "while",
    "case",
    "esac",
    ";;",
    "[[",
    "]]",
    "((",
    "))",
    "<<EOF",
    "<<'EOF'",
    "EOF",
    "#",
    "'",
    '"',
    "`",
    "$(",
    "eval",
    "exec",
    "command",
    "builtin",
    "env",
    "nice",
    "timeout",
    "xargs",
    "find",
    "-exec",
    "\\;",
    "x=evil",
    "y='a[$(evil)]'",
    "PATH=.",
    "export",
    "declare",
    "read",
    "printf",
    "-v",
    "test",
    "-eq",
    "trap",
    "EXIT",
    "sh",
    "-c",
    "echo",
    "cat",
    ">",
    ">>",
    "<<<",
    ">&",
    "&>",
    "|&",
    "out",
    "~",
    "*",
    "?",
    "[a]",
    "function",
    "f()",
    "unset",
    "let",
    "alias",
    "source",
    ".",
    "coproc",
    "select",
    "date",
    "sort",
    "-o",
    "\\",
    "$'evil'",
    "$'\\x65vil'",
    '$"evil"',
    "e\\vil",
    '"ev"il',
    "cd",
    "$?",
    "$@",
    "set",
    "-e",
    "shopt",
    "-x",
    "hash",
    "kill",
    "type",
    "!(",
    "@(",
    "=evil",
    "%evil",
]
WRAPS = [
    "$({})",
    "`{}`",
    "({})",
    "{{ {}; }}",
    "eval '{}'",
    "if true; then {}; fi",
    'echo "$({})"',
    "f() {{ {}; }}; f",
    "! {}",
    "{} &",
    "env {}",
    "cat <({})",
]


def line(chance: random.Random) -> str:
    if chance.random() < 0.3:
        return "".join(chance.choice(TOKENS) + chance.choice(("", " ", " ", "\n")) for _ in range(chance.randint(1, 8)))
    text = chance.choice(("; ", " && ", " | ", "\n", " || ", " & ")).join(
        chance.choice(SNIPPETS) for _ in range(chance.randint(1, 3))
    )
    for _ in range(chance.randint(0, 3)):
        at = chance.randrange(len(text) + 1)
        kind = chance.randrange(5)
        if kind == 0:
            text = f"{text[:at]}{chance.choice(TOKENS)}{text[at:]}"
        elif kind == 1:
            text = f"{text[:at]} {chance.choice(TOKENS)} {text[at:]}"
        elif kind == 2:
            text = text[:at] + text[at + chance.randint(1, 4) :]
        elif kind == 3:
            text = chance.choice(WRAPS).format(text)
        else:
            text = text[:at] + chance.choice("'\"`\\$(){};|&<>\n#!*?[]=~ ") + text[at:]
    return text


def run_whole(argv: list[str], folder: Path, environment: dict[str, str]) -> None:
    """Run a line to its end or for two seconds, and end all that it started: some lines loop in the background."""
    process = subprocess.Popen(
        argv,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.timeout(3_600 if LINES > 1_000 else 120)
def test_an_allowed_line_runs_only_what_a_rule_or_the_list_names(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash isn't installed")
    stubs, work, log = tmp_path / "bin", tmp_path / "work", tmp_path / "log"
    stubs.mkdir()
    work.mkdir()
    for name in STUBS:
        looks_through = 'xargs) while [ "${1#-}" != "$1" ]; do shift; done; exec "$@";; nice) shift 2; exec "$@";; timeout) shift; exec "$@";; env|nohup) exec "$@";;'
        (stubs / name).write_text(
            f"#!/bin/sh\necho {name}{':$1' if name == 'git' else ''} >> {log}\ncase {name} in {looks_through} esac\necho evil\n"
        )
        (stubs / name).chmod(0o755)
    engine = PermissionEngine(PermissionContext(working_directory=str(work)))
    for rule in RULES:
        engine.add_rule(rule, "allow")
    tool, chance = Bash(cwd=work), random.Random(SEED)
    allowed, broken = 0, []

    async def judge() -> list[str]:
        found = []
        for _ in range(LINES):
            text = line(chance)
            decision = await engine.check_permission(tool, {"command": text})
            assert decision.decision_reason != "the tool's own check", (text, decision.message)
            if decision.behavior.value == "allow":
                found.append(text)
        return found

    for text in asyncio.run(judge()):
        allowed += 1
        log.unlink(missing_ok=True)
        (work / "in").write_text("a\n")
        run_whole([bash, "--noprofile", "--norc", "-c", "--", text], work, {"PATH": str(stubs), "HOME": str(tmp_path)})
        ran = set(log.read_text().split()) if log.exists() else set()
        made = {entry.name for entry in os.scandir(work)} - {"in"}
        if not ran <= NAMED | GIT or made:
            broken.append((text, sorted(ran - NAMED - GIT), sorted(made)))
    assert not broken
    assert allowed > LINES // 20
