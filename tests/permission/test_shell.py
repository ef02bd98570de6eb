"""What the reader makes of shell lines: words, operators, substitutions, and what it refuses to be sure of."""

from __future__ import annotations

import pytest

from nbtoolkit.permission.shell import read_line
from nbtoolkit.permission.shell_values import Variables


def words(line: str) -> list[list[str | None]]:
    """The static words of each command."""
    return [[word.static for word in command.words] for command in read_line(line).commands if command.words]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("git status", [["git", "status"]]),
        ("a && b || c; d & e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a | b |& c", [["a"], ["b"], ["c"]]),
        ("(a; b) && { c; d; }", [["a"], ["b"], ["c"], ["d"]]),
        ("a $(b $(c))", [["a", None], ["b", None], ["c"]]),
        ("a `b`", [["a", None], ["b"]]),
        ("a <(b) >(c)", [["a", None, None], ["b"], ["c"]]),
        ('a "$(b)"', [["a", None], ["b"]]),
        ("a '$(b)'", [["a", "$(b)"]]),
        (r"a\ b c\;d", [["a b", "c;d"]]),
        (r"a $'b\x63\n\'d'", [["a", "bc\n'd"]]),
        ("'a'\"b\"c\\d", [["abcd"]]),
        ("a{b,c}d{e,f}", [["abde", "abdf", "acde", "acdf"]]),
        ("a {1..3} {c..a} {01..03}", [["a", "1", "2", "3", "c", "b", "a", "01", "02", "03"]]),
        ("a {b} {c,d {,e}", [["a", "{b}", "{c,d", "", "e"]]),
        ("a '{b,c}' \\{d,e}", [["a", "{b,c}", "{d,e}"]]),
        ("a \\\nb", [["a", "b"]]),
        ("a # b\nc", [["a"], ["c"]]),
        ("a b#c", [["a", "b#c"]]),
        ("for i in x y; do a $i; done", [["a", None]]),
        ("while a; do b; done; until c; do d; done", [["a"], ["b"], ["c"], ["d"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("case x in a|b) c;; (d) e;; esac", [["c"], ["e"]]),
        ("f() { a; }; function g { b; }", [["a"], ["b"]]),
        ("cat <<E\n$(a)\nE\nb", [["cat"], ["a"], ["b"]]),
        ("cat <<'E'\n$(a)\nE\nb", [["cat"], ["b"]]),
        ("cat <<-E | b\n\tx\n\tE\n", [["cat"], ["b"]]),
        ("a ${x:-$(b)}", [["a", None], ["b"]]),
        ("a $((1 + $(b)))", [["a", None], ["b"]]),
        ("time -p a; ! b", [["a"], ["b"]]),
        ("x=1 y=$(a) b", [["b"], ["a"]]),
        ("arr=(a $(b)); c", [["b"], ["c"]]),
    ],
)
def test_a_line_is_read_into_its_commands(line: str, expected: list[list[str | None]]) -> None:
    assert read_line(line).problems == []
    assert words(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        'a "b',
        "a 'b",
        "a $(b",
        "a `b",
        "a `b \\` c`",
        "a ${b",
        "a )",
        "if a",
        "for i in x; do a",
        "case x in",
        "a &&",
        "a | | b",
        "a;; b",
        "cat <<E\nx",
        "a\r\nb",
        "a\x00b",
        "a\x1b[0m",
        "a \u202ex",
        "a\u00a0b",
        "coproc a",
        "a {fd}>x",
        "${!x}",
        "${x@P}",
        'a $"b"',
        "a $'\\xff'",
        "a !(b)",
        "x[$(a)]=1",
        "a (b)",
        "((",
        "a \\",
    ],
)
def test_what_isnt_sure_is_a_problem_with_a_reason(line: str) -> None:
    assert read_line(line).problems


def test_redirects_keep_their_operator_and_target() -> None:
    command = read_line("a >b 2>>c <d &>e >|f 2>&1 <<<g >&h").commands[0]
    assert [(each.operator, each.target and each.target.static, each.writes) for each in command.redirects] == [
        (">", "b", True),
        (">>", "c", True),
        ("<", "d", False),
        ("&>", "e", True),
        (">|", "f", True),
        (">&", "h", True),
    ]


def test_a_variable_has_every_value_that_the_line_gives_it() -> None:
    line = read_line("x=a; for y in b c; do x=$y; done; cmd $x")
    values = Variables(line).argument(line.commands[-1].words[1]).values
    assert {value.text for value in values} == {"a", "b", "c"}


@pytest.mark.parametrize("setter", ["read x", "x=$(a)", "mapfile x", "printf -v x a", "x=a b", "x[0]+=a", ": ${x:=a}"])
def test_a_variable_that_a_command_sets_is_unknown(setter: str) -> None:
    line = read_line(f"x=a; {setter}; cmd $x")
    assert not Variables(line).argument(line.commands[-1].words[-1]).known


@pytest.mark.parametrize(
    "line",
    [
        "ls a; " * 17_000,
        "(" * 50_000,
        "echo $(" * 20_000,
        "$((" * 30_000,
        "echo {" + "a,{" * 30_000,
        "echo " + "{a,b}" * 20_000,
        "cat <<E\n" + "$x\n" * 30_000 + "E",
        "echo " + "$x" * 40_000,
        "`" * 90_000,
    ],
)
def test_a_line_that_nobody_can_read_is_given_up_and_not_followed(line: str) -> None:
    read = read_line(line[:100_000])
    assert read.problems
    assert len(read.commands) <= 302


def test_both_readers_must_see_the_same_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    from nbtoolkit.permission import shell

    monkeypatch.setattr(shell, "_grammar_agrees", lambda source, line: False)
    shell._read.cache_clear()
    try:
        assert read_line("echo a different line").problems == ["two readings of its grammar differ"]
    finally:
        shell._read.cache_clear()
