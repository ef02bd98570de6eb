"""A line of the magic becomes a command, arguments and answers, without a shell."""

from __future__ import annotations

from typing import Any

import pytest

from nbtoolkit.notebook.arguments import parse_arguments
from nbtoolkit.notebook.command import Command, CommandError, Option, Spec, parse, split
from nbtoolkit.notebook.grammar import SPECS
from nbtoolkit.permission.planned import AnswersError, PlannedAnswer, parse_answers


def texts(line: str) -> list[str]:
    return [word.text for word in split(line)]


def read(line: str, body: str | None = None) -> Command:
    return parse(line, body, SPECS)


def fault(line: str, body: str | None = None) -> str:
    with pytest.raises(CommandError) as caught:
        read(line, body)
    return str(caught.value)


# ------------------------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("  a   b ", ["a", "b"]),
        ("""a 'b c' "d \\"e\\" f" """, ["a", "b c", 'd "e" f']),
        ("a\\ b c", ["a b", "c"]),
        ("--name=''", ["--name="]),
        ('text="x y"z', ["text=x yz"]),
        ("path=it\\'s", ["path=it's"]),
    ],
)
def test_a_line_splits_like_a_shells(line: str, words: list[str]) -> None:
    assert texts(line) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('f where={"a": [1, 2], "b": "} x"} n=1', ["f", 'where={"a": [1, 2], "b": "} x"}', "n=1"]),
        ('f {"a": 1, "b": "c d"}', ["f", '{"a": 1, "b": "c d"}']),
        ('f tags=["a b", "c"]', ["f", 'tags=["a b", "c"]']),
    ],
)
def test_json_keeps_its_quotes_and_blanks(line: str, words: list[str]) -> None:
    assert texts(line) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Bash(git status:*) x", ["Bash(git status:*)", "x"]),
        (
            'load_table(path=data/**, limit<=1000) Bash(echo "a b")',
            ["load_table(path=data/**, limit<=1000)", 'Bash(echo "a b")'],
        ),
        ("mcp__time x", ["mcp__time", "x"]),
    ],
)
def test_a_rule_keeps_what_is_in_its_parentheses(line: str, words: list[str]) -> None:
    assert texts(line) == words


@pytest.mark.parametrize("line", ["pattern=[ab]*.csv", "pattern={a,b}/*.csv", "q=[1,", "echo :)", "a(b c"])
def test_brackets_that_are_no_json_split_like_everything_else(line: str) -> None:
    assert texts(line) == line.split()


def test_a_quote_that_is_never_closed_is_said() -> None:
    with pytest.raises(CommandError, match="quote \" before 'abc' is never closed"):
        split('x="abc')
    assert [word.text for word in split('x="abc', unfinished=True)] == ["x=abc"]


# -------------------------------------------------------------------------------------------------------------- lines


def test_a_command_holds_its_words_options_and_body() -> None:
    command = read('grant Write(out/**) --calls 3 "Bash(ls)"', "print(1)\n")
    assert command.name == "grant"
    assert [word.text for word in command.words] == ["Write(out/**)", "Bash(ls)"]
    assert command.option("--calls") == "3"
    assert command.body == "print(1)\n"


def test_the_bare_line_is_the_panel() -> None:
    assert read("").name == ""


def test_options_are_written_with_a_blank_or_an_equals_sign_anywhere() -> None:
    assert read("schema --format=mcp f").option("--format") == "mcp"
    assert read("schema f --format mcp").option("--format") == "mcp"


def test_an_option_that_takes_several_ends_at_the_next_option() -> None:
    command = read("mcp add fs npx -y server --enable read write --timeout 5 --header A=b --header C=d")
    assert [word.text for word in command.words] == ["fs", "npx", "-y", "server"]
    assert [word.text for word in command.options["--enable"]] == ["read", "write"]
    assert [word.text for word in command.options["--header"]] == ["A=b", "C=d"]


def test_behind_two_dashes_every_option_is_the_commands_own() -> None:
    command = read("mcp add fs --timeout 5 npx -- server --timeout 9")
    assert [word.text for word in command.words] == ["fs", "npx", "server", "--timeout", "9"]
    assert command.option("--timeout") == "5"


def test_an_expression_is_kept_as_it_was_typed() -> None:
    assert read('add  [f, Bash(cwd="a  b")]  --group g').rest == '[f, Bash(cwd="a  b")]'
    assert read("add --group g lambda x:  x").rest == "lambda x:  x"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("shema f", "%toolkit has no subcommand 'shema'; did you mean 'schema'? %toolkit help lists them all"),
        ("frobnicate", "%toolkit has no subcommand 'frobnicate'; %toolkit help lists them all"),
        ("mcp", "expected %toolkit mcp add | import | list | tools | resources | prompts | log | restart | remove"),
        (
            "mcp lst",
            "%toolkit mcp has no 'lst'; did you mean 'list'? expected %toolkit mcp add | import | list | tools | resources | prompts | log | restart | remove",
        ),
        ("schema", "expected %toolkit schema NAME [--format openai|openai_responses|anthropic|gemini|mcp]"),
        ("list all", "'all' is too much; expected %toolkit list"),
        ('call f text="', 'the quote " at the end is never closed'),
        ("allow f # for now", "'#' is too much (a magic's line takes no comment); expected %toolkit allow RULE …"),
        ("add f --grup x", "%toolkit add has no option '--grup'; did you mean '--group'?"),
        ("list # see", "'#' is too much (a magic's line takes no comment); expected %toolkit list"),
        ("list | head", "'|' is too much (a magic's line is no shell's); expected %toolkit list"),
        ("list; x = 1", "'list;' is no subcommand: a magic's line takes no ; and what follows it goes below"),
        ("schema f --formt mcp", "%toolkit schema has no option '--formt'; did you mean '--format'?"),
        ("list --all", "%toolkit list has no option '--all'; it takes no options"),
        ("reject --reason", "--reason expects TEXT after it, as in %toolkit reject [ID] [--reason TEXT]"),
        ("approve --always=yes", "--always takes no value, but got 'yes'"),
        (
            "grant Bash",
            "%toolkit grant works on a cell: write %%toolkit grant RULE … with two %, and the code below it",
        ),
    ],
)
def test_a_mistake_is_one_line_that_says_what_was_expected(line: str, said: str) -> None:
    assert fault(line) == said


def test_a_cell_below_a_line_that_takes_none_is_said() -> None:
    assert fault("list", "print(1)") == "%%toolkit list takes no cell below it; write %toolkit list"
    assert fault("chat hello").endswith("write %%toolkit chat with two %, and the prompt below it")
    assert fault("", "print(1)") == "%%toolkit takes no cell below it; write %toolkit"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("--help", []),
        ("-h", []),
        ("?", []),
        ("log --help", ["log"]),
        ("mcp add -h", ["mcp", "add"]),
        ("call -h", ["call"]),
    ],
)
def test_help_may_be_asked_for_as_elsewhere(line: str, name: list[str]) -> None:
    command = read(line)
    assert command.name == "help"
    assert [word.text for word in command.words] == name


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("ls", "list"), ("tools", "list"), ("servers", "mcp list"), ("run f", "call"), ("rm f", "remove"),
     ("enable g", "activate"), ("history", "log"), ("describe f", "schema"), ("explain f", "why"), ("permissions", "rules")],
)  # fmt: skip
def test_words_of_other_tools_are_told_ours(typed: str, meant: str) -> None:
    word = typed.split(maxsplit=1)[0]
    assert fault(typed) == f"%toolkit has no subcommand {word!r}; did you mean {meant!r}? %toolkit help lists them all"


def test_no_word_of_other_tools_is_a_subcommand_itself_or_stands_for_two() -> None:
    words = [word for spec in SPECS.values() for word in spec.also]
    assert len(words) == len(set(words))
    assert not {name.partition(" ")[0] for name in SPECS} & set(words)


def test_an_error_shows_one_line_in_place_of_a_traceback() -> None:
    assert CommandError("two\nlines")._render_traceback_() == ["CommandError: two lines"]


def test_every_subcommand_says_what_it_does_and_every_example_is_understood() -> None:
    for spec in SPECS.values():
        assert spec.does.endswith(".")
        if spec.example:
            assert read(spec.example, "x" if spec.body == "must" else None).spec is spec


# ---------------------------------------------------------------------------------------------------------- arguments

SCHEMA = {
    "type": "object",
    "properties": {
        "zip": {"type": "string"},
        "limit": {"type": "integer"},
        "ratio": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "where": {"$ref": "#/$defs/Where"},
        "any": {},
        "species": {"enum": ["Adelie", "Gentoo"]},
    },
    "$defs": {"Where": {"type": "object", "properties": {"a": {"type": "integer"}}}},
}


def arguments(line: str, body: str | None = None, **variables: Any) -> dict[str, Any]:
    def evaluate(source: str) -> Any:
        return eval(source, {}, variables)

    command = read(f"call f {line}", body)
    return parse_arguments("f", command.words[1:], command.body, SCHEMA, evaluate)


def free(line: str, others: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"limit": {"type": "integer"}}, "additionalProperties": others}

    def nothing(source: str) -> Any:
        raise AssertionError(source)

    return parse_arguments("f", read(f"call f {line}").words[1:], None, schema, nothing)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({"type": "string"}, {"limit": 5, "limits": "7"}),
        ({"type": "integer"}, {"limit": 5, "limits": 7}),
        (True, {"limit": 5, "limits": 7}),
    ],
)
def test_a_name_that_is_not_listed_is_read_by_the_schema_for_such_names(others: Any, expected: dict[str, Any]) -> None:
    assert free("limit=5 limits=7", others) == expected
    with pytest.raises(CommandError, match="'x'; f takes limit, any other name"):
        free("limit=5 x", others)


@pytest.mark.parametrize("others", [None, False])
def test_a_slip_in_a_name_is_said_where_no_other_names_are_taken(others: Any) -> None:
    with pytest.raises(CommandError, match="f has no argument 'limits'; did you mean 'limit'"):
        free("limits=7", others)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("limit=5 ratio=0.5 any=true", {"limit": 5, "ratio": 0.5, "any": True}),
        ("limit=many", {"limit": "many"}),
        ("any=01234 where={a}", {"any": "01234", "where": {"x": 1}}),
        ('where={"a": 1}', {"where": {"a": 1}}),
        ("""where='{"a": 1}'""", {"where": {"a": 1}}),
        ('any=["a", {"b": null}]', {"any": ["a", {"b": None}]}),
        ("any=a=b", {"any": "a=b"}),
        ("any=", {"any": ""}),
        ("any=NaN", {"any": "NaN"}),
        ('{"limit": 5, "any": "a=b"}', {"limit": 5, "any": "a=b"}),
        ("", {}),
    ],
)
def test_values_are_json_where_they_parse_as_json(line: str, expected: dict[str, Any]) -> None:
    assert arguments(line, a={"x": 1}) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("zip=12345", {"zip": "12345"}),
        ("zip=true", {"zip": "true"}),
        ('zip={"a": 1}', {"zip": '{"a": 1}'}),
        ("""zip='"12345"'""", {"zip": "12345"}),
        ("note=7", {"note": "7"}),
        ("note=null", {"note": None}),
        ("species=Gentoo", {"species": "Gentoo"}),
    ],
)
def test_where_the_schema_wants_a_text_a_number_stays_a_text(line: str, expected: dict[str, Any]) -> None:
    assert arguments(line) == expected


def test_a_whole_value_may_be_a_variable_or_an_expression() -> None:
    assert arguments("limit=$n any={[x * 2 for x in xs]}", n=3, xs=[1, 2]) == {"limit": 3, "any": [2, 4]}
    assert arguments("$kwargs", kwargs={"limit": 2}) == {"limit": 2}
    assert arguments("{dict(limit=n)}", n=4) == {"limit": 4}


def test_quotes_and_longer_text_keep_dollars_and_braces() -> None:
    expected = {"zip": "$n", "any": "{x}{{n}}${n}", "note": "out/{a,b}/$x"}
    assert arguments("""zip='$n' any="{x}{{n}}${n}" note=out/{a,b}/$x""", n=3) == expected
    assert arguments("any={'echo {n}'} note={f'echo {n}'}", n=3) == {"any": "echo {n}", "note": "echo 3"}
    # A shell's own names, a builtin's, a function's: none is a variable that somebody wants in there.
    assert arguments("""any="awk '{print} {f}'" note="for n in a; do echo $n; done" """, n=3, f=len)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('any="echo {n}"', "write any={f'echo {n}'} for its value, or any={'echo {n}'} to have it as it stands"),
        ("any='{n}'", "{n} inside longer text is no variable here; write any={f'{n}'} for its value"),
        ("note=out/{n}.csv", "write note={f'out/{n}.csv'} for its value"),
        ("note=out/$n.csv", "$n inside longer text is no variable here; write note={f'out/{n}.csv'} for its value"),
        ('any="{n:03d} of {m}"', "write any={f'…{n:03d}…'} for its value"),
        ('any="{d[0]} {d.real}"', "{d[0]} inside longer text"),
    ],
)
def test_a_variable_inside_longer_text_is_told_how_it_gets_in(line: str, said: str) -> None:
    with pytest.raises(CommandError) as refused:
        arguments(line, n=3, m=4, d=[1])
    assert said in str(refused.value)


def test_an_object_that_json_can_not_carry_goes_by_its_name_where_the_tool_takes_a_name() -> None:
    class Frame:
        pass

    assert arguments("zip=$sales", sales=Frame()) == {"zip": "sales"}
    with pytest.raises(CommandError, match=r"limit=\$sales is a Frame, which JSON can't carry"):
        arguments("limit=$sales", sales=Frame())


def test_json_below_the_line_joins_what_is_on_it() -> None:
    assert arguments("limit=1", '{"any": [1]}') == {"limit": 1, "any": [1]}


@pytest.mark.parametrize(
    ("line", "body", "said"),
    [
        ("Gentoo", None, "expected key=value, but got 'Gentoo'; f takes zip, limit, ratio, note, where, any, species"),
        (
            "limit=1 Gentoo",
            None,
            "expected key=value, but got 'Gentoo'; f takes zip, limit, ratio, note, where, any, species",
        ),
        ("limt=1", None, "f has no argument 'limt'; did you mean 'limit'?"),
        ("limit=1 limit=2", None, "the argument 'limit' is given twice"),
        ("limit=1", '{"limit": 2}', "the argument 'limit' is given on the line and in the JSON below it"),
        ("", '{"limit": 2,\n oops}', "expected a JSON object below %%toolkit call f, but line 2, column 2 is wrong:"),
        ("", "[1]", """expected a JSON object below %%toolkit call f, like {"limit": 5}, but got '[1]'"""),
        ("$n", None, "$n is an int; expected a dict of arguments; f takes zip"),
        ('{"limit": 1} x=2', None, "'x=2' is too much: expected one JSON object, or key=value words"),
    ],
)
def test_wrong_arguments_are_one_line(line: str, body: str | None, said: str) -> None:
    with pytest.raises(CommandError) as caught:
        arguments(line, body, n=5)
    assert str(caught.value).startswith(said)


# ------------------------------------------------------------------------------------------------------------ answers


def answers(text: str, *, lines: bool = False) -> list[tuple[str | None, str, str, Any]]:
    return [
        (
            None if planned.rule is None else str(planned.rule),
            planned.approval.kind,
            planned.approval.scope,
            planned.approval.reason or planned.approval.tool_input or planned.approval.content,
        )
        for planned in parse_answers(text, lines=lines)
    ]


def test_answers_on_a_line_are_separated_by_commas() -> None:
    assert answers('allow, deny "not today, please", deny: don\'t, always') == [
        (None, "allow", "call", None),
        (None, "deny", "call", "not today, please"),
        (None, "deny", "call", "don't"),
        (None, "allow", "kernel", None),
    ]


def test_an_answer_may_be_for_the_calls_that_a_rule_covers() -> None:
    assert answers('write_summary -> allow, drop(table=x, n=[1, 2]) -> deny: no, edit {"a": [1, 2]}') == [
        ("write_summary", "allow", "call", None),
        ("drop(table=x, n=[1, 2])", "deny", "call", "no"),
        (None, "edit", "call", {"a": [1, 2]}),
    ]


def test_answers_in_a_cell_stand_one_a_line() -> None:
    cell = """
    # the first call
    allow
    deny: no, not now -> later
    drop(path=a->b) -> respond: 42 rows
    Deny
    """
    assert answers(cell, lines=True) == [
        (None, "allow", "call", None),
        (None, "deny", "call", "no, not now -> later"),
        ("drop(path=a->b)", "respond", "call", "42 rows"),
        (None, "deny", "call", None),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("alow", "'alow' is no answer; did you mean 'allow'? expected allow, always,"),
        ("yes", "'yes' is no answer; expected allow, always,"),
        ("allow 3", "'allow 3': allow takes nothing after it;"),
        ("respond", "'respond': respond needs the result after it"),
        ("edit 5", "expected a JSON object after edit"),
        ('deny "x', 'a quote " in the answers is never closed'),
        ("(x -> allow", "The rule '(x' doesn't start with a tool's name"),
    ],
)
def test_a_wrong_answer_is_one_line(text: str, said: str) -> None:
    with pytest.raises(AnswersError) as caught:
        parse_answers(text, lines=False)
    assert str(caught.value).startswith(said)


def test_a_planned_answer_reads_as_it_was_written() -> None:
    text = "drop(a=1) -> deny: no, always, always: f(x=1), allow"
    assert ", ".join(map(str, parse_answers(text, lines=False))) == text


def test_a_planned_answer_says_that_a_script_gave_it() -> None:
    assert {planned.approval.by for planned in parse_answers("allow, deny, always, respond: x", lines=False)} == {
        "script"
    }
    assert isinstance(parse_answers("allow", lines=False)[0], PlannedAnswer)


def test_specs_are_values() -> None:
    assert Spec("x", "", "Y.", (Option("--a", "N", many=True),)).usage == "%toolkit x [--a N …]"


def test_an_error_shows_characters_that_would_hide_or_turn_its_text() -> None:
    error = CommandError("no \x1b[31mred\u202e or\ud800\n half")
    assert str(error) == "no ⟨U+001B⟩[31mred⟨U+202E⟩ or⟨U+D800⟩ half"
