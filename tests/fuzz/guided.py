"""Inputs that grow by what they reach: atheris, beside the random ones of the tests. Not a test; somebody runs it.

``python tests/fuzz/guided.py json|shell|rules CORPUS -max_total_time=300`` in an environment with atheris, from the
repository's folder; ``CORPUS`` is a folder for what it finds on its way. It ends at an error that none documents, at what
is allowed though no rule allows it, and at ten seconds for one input.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]

sys.path.insert(0, str(Path(__file__).parents[2]))

with atheris.instrument_imports(include=["nbtoolkit", "json_repair"]):
    import json_repair  # noqa: F401
    import tomlkit  # noqa: F401

    from nbtoolkit.exception import ToolJSONDecodeError
    from nbtoolkit.permission.engine import PermissionEngine
    from nbtoolkit.permission.grants import Grants
    from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext
    from nbtoolkit.permission.store import Store
    from nbtoolkit.schema.repair import parse_arguments
    from nbtoolkit.tool.bash import Bash
    from nbtoolkit.tool.function import FunctionTool

# Words that bytes alone would take long to find.
WORDS = {
    "json": [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        '"',
        "'",
        "\\\\",
        "\\u12",
        "```json",
        "null",
        "true",
        "NaN",
        "//",
        "/*",
        "*/",
        '{"a":',
        "}{",
        "\\n",
    ],
    "shell": [
        "git",
        "status",
        "ls",
        "find",
        "-exec",
        "xargs",
        "sed",
        "-n",
        "$(",
        "`",
        "<(",
        ">(",
        "<<",
        "EOF",
        "${",
        "$((",
        "&&",
        "||",
        "|",
        ";",
        "&",
        ">",
        ">>",
        "env",
        "bash",
        "-c",
        "eval",
        "x=",
        "if",
        "then",
        "fi",
        "for",
        "do",
        "done",
        "case",
        "esac",
        "function",
        "coproc",
        "[[",
        "]]",
        "{",
        "}",
        "(",
        ")",
        "!",
        "*",
        "?",
        "'",
        '"',
    ],
    "rules": [
        "allow",
        "ask",
        "deny",
        "=",
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        "mode",
        "bypass",
        "Bash(",
        ":*)",
        "working_directories",
        "mcp_servers",
        "command",
        "rule",
        "definition",
        "sha256:",
        "#",
        "\\n",
    ],
}
SEEDS = {
    "json": [
        '{"a": 1, "b": [true, null, "x"]}',
        "{'a': 1,}",
        '```json\n{"a": "b"}\n```',
        '{"a": "x" // y\n}',
        '[{"a": 1}]',
    ],
    "shell": [
        "git status && ls -la | head -n 5",
        "find . -name '*.py' | xargs wc -l",
        "for i in a b; do echo $i; done",
        "cat <<EOF\nhi $x\nEOF",
        "sed -n '1,5p' x > out",
        'if [[ -f x ]]; then echo "$(ls)"; fi',
    ],
    "rules": [
        'mode = "accept_edits"\nallow = ["Bash(git status:*)", {rule = "load(a<=3)", definition = "sha256:abc"}]\n',
        'deny = ["Read(*.pem)"]\nworking_directories = ["../x"]\n[mcp_servers.files]\ncommand = "x"\nargs = ["--all"]\n',
    ],
}


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape" if data[:1] == b"\xff" else "replace")


def a_models_text(data: bytes) -> None:
    text = text_of(data)
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = None
    try:
        parsed, mended = parse_arguments("tool", text)
    except ToolJSONDecodeError as error:
        str(error).encode("utf-8", "surrogatepass")
        return
    assert isinstance(parsed, dict)
    json.dumps(parsed).encode()
    if isinstance(told, dict) and not mended:
        assert json.dumps(parsed) == json.dumps(told)


FOLDER = Path(tempfile.mkdtemp(prefix="nbtoolkit-guided-"))
NOTHING = PermissionEngine(PermissionContext(working_directory=str(FOLDER)))
RULED = PermissionEngine(PermissionContext(working_directory=str(FOLDER)))
RULED.add_rule("Bash(git status:*)", "allow")
BASH = Bash(cwd=FOLDER)
LOOP = asyncio.new_event_loop()
# What no rule here names, and no list of what only reads.
NEVER = ("rm", "git push", "evil", "python", "bash", "sh", "curl", "touch")


def a_line(data: bytes) -> None:
    command = text_of(data)
    plain = LOOP.run_until_complete(NOTHING.check_permission(BASH, {"command": command}))
    ruled = LOOP.run_until_complete(RULED.check_permission(BASH, {"command": command}))
    assert plain.decision_reason != "the tool's own check", plain.message
    # A rule that allows takes nothing away, and what it adds is its own.
    if plain.behavior is PermissionBehavior.ALLOW:
        assert ruled.behavior is PermissionBehavior.ALLOW
    elif ruled.behavior is PermissionBehavior.ALLOW:
        assert "git" in command
        assert "status" in command
    for each in NEVER:
        for joined in (f"{command}\n{each} x", f"{each} x\n{command}"):
            # Alone it is asked about; beside any line that is a whole one it is too.
            if plain.behavior is PermissionBehavior.ALLOW and "<<" not in command and "\\" not in command:
                beside = LOOP.run_until_complete(RULED.check_permission(BASH, {"command": joined}))
                open_ended = any(mark in command for mark in "'\"`#(){}[]") or command.rstrip().endswith(
                    ("&&", "|", "&")
                )
                assert open_ended or beside.behavior is not PermissionBehavior.ALLOW, joined


def tool(a: int) -> int:
    """Work."""
    return a


SAMPLE = FunctionTool(tool, name="load")
(FOLDER / ".git").mkdir()


def a_file_of_rules(data: bytes) -> None:
    (FOLDER / "nbtoolkit.toml").write_bytes(data)
    grants = Grants()
    store = Store(grants, FOLDER, user=FOLDER / "home" / "nbtoolkit.toml")
    for problem in store.load():
        str(problem).encode("utf-8", "surrogatepass")
    assert [rule for rule in grants if rule.behavior is PermissionBehavior.ALLOW] == []
    decision = LOOP.run_until_complete(PermissionEngine(PermissionContext(), grants).check_permission(SAMPLE, {"a": 1}))
    assert decision.behavior is not PermissionBehavior.ALLOW


TARGETS: dict[str, Any] = {"json": a_models_text, "shell": a_line, "rules": a_file_of_rules}


def main() -> None:
    kind, corpus, *options = sys.argv[1:]
    Path(corpus).mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[kind]):
        (Path(corpus) / f"seed-{number}").write_text(seed, "utf-8")
    words = FOLDER / "words"
    quoted = [word.replace("\\n", "\n") for word in WORDS[kind]]
    words.write_text(
        "".join('"' + "".join(f"\\x{byte:02x}" for byte in word.encode()) + '"\n' for word in quoted if word), "utf-8"
    )
    atheris.Setup([sys.argv[0], corpus, f"-dict={words}", "-timeout=10", "-max_len=400", *options], TARGETS[kind])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
