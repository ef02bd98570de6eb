"""The form, without a page: the field for each kind of schema, the values it gives, and where it says what is wrong."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import ipywidgets as w
import pytest
from ipywidgets.widgets import widget as registry

from nbtoolkit.notebook.widgets.form import Form, FormError
from nbtoolkit.unseen import unseen, visible_text
from tests.notebook.asking import HOSTILE, Markup, models


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Any:
    before = set(registry._instances)
    yield
    for model in [each for key, each in registry._instances.items() if key not in before]:
        model.close()


def shown(form: Form) -> list[Any]:
    """The widgets on the page, in tab order."""
    found: list[Any] = []

    def walk(widget: Any) -> None:
        found.append(widget)
        for child in getattr(widget, "children", ()):
            walk(child)

    walk(form.widget)
    return found


def field(form: Form, name: str) -> Any:
    inputs = [each for each in shown(form) if hasattr(each, "description") and not isinstance(each, w.Button)]
    return next(each for each in inputs if each.description == name)


def press(form: Form, label: str) -> None:
    buttons = [each for each in shown(form) if isinstance(each, w.Button)]
    next(each for each in buttons if each.description.replace("\n", " ") == label).click()


def text(form: Form) -> str:
    return Markup("".join(each.value for each in shown(form) if isinstance(each, w.HTML))).text


def of(properties: dict[str, Any], values: dict[str, Any] | None = None, **more: Any) -> Form:
    options = {key: more.pop(key) for key in ("described", "route") if key in more}
    return Form({"type": "object", "properties": properties, **more}, values, **options)


def faults(form: Form) -> dict[str, str]:
    with pytest.raises(FormError) as raised:
        form.read()
    return raised.value.faults


NODE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "child": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
        "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    },
    "required": ["name"],
}


# ------------------------------------------------------------------------------------------------- one value each
@pytest.mark.parametrize(
    ("schema", "kind", "typed", "value"),
    [
        ({"type": "string"}, w.Text, "a", "a"),
        ({"type": "integer", "maximum": 9}, w.Text, "7", 7),
        ({"type": "number"}, w.Text, "0.5", 0.5),
        ({"type": "boolean"}, w.Dropdown, 1, True),
        ({"enum": ["x", "y"]}, w.Dropdown, 2, "y"),
        ({"enum": [1, True, None]}, w.Dropdown, 2, True),
        ({"oneOf": [{"const": "a", "title": "Apple"}, {"const": "b", "title": "Pear"}]}, w.Dropdown, 1, "a"),
        ({"type": "string", "format": "date"}, w.DatePicker, date(2026, 6, 30), "2026-06-30"),
        ({"type": "string", "format": "date-time"}, w.Text, "2026-06-30T14:00:00Z", "2026-06-30T14:00:00Z"),
        ({"type": ["integer", "null"]}, w.Text, "3", 3),
        ({}, w.Text, '{"a": [1]}', {"a": [1]}),
        ({}, w.Text, "no json", "no json"),
    ],
)
def test_each_kind_of_schema_has_its_field_and_gives_its_value(
    schema: dict[str, Any], kind: type[Any], typed: Any, value: Any
) -> None:
    form = of({"it": schema})
    assert form.read() == {}
    made = field(form, "it")
    assert isinstance(made, kind)
    made.value = typed
    read = form.read()["it"]
    assert read == value
    assert type(read) is type(value)


def test_a_required_yes_or_no_is_a_box_to_tick() -> None:
    form = of({"loud": {"type": "boolean"}}, required=["loud"])
    assert form.read() == {"loud": False}
    field(form, "loud").value = True
    assert form.read() == {"loud": True}


def test_several_of_a_few_values_are_ticked() -> None:
    form = of({"of": {"type": "array", "items": {"enum": ["p", "q", "r"]}}}, {"of": ["r", "p"]})
    assert form.read() == {"of": ["r", "p"]}
    field(form, "q").value = True
    field(form, "p").value = False
    assert form.read() == {"of": ["q", "r"]}


def test_what_is_fixed_is_shown_and_given_where_it_is_required() -> None:
    form = of({"kind": {"const": "csv"}, "other": {"const": 1}}, required=["kind"])
    assert "kind csv" in text(form)
    assert form.read() == {"kind": "csv"}


def test_an_emptied_number_is_left_out_and_an_emptied_nullable_one_is_null() -> None:
    form = of({"a": {"type": "integer"}, "b": {"type": ["integer", "null"]}}, {"a": 1, "b": 2})
    field(form, "a").value = field(form, "b").value = ""
    assert form.read() == {"b": None}


def test_a_form_nobody_touched_gives_back_what_it_was_filled_with() -> None:
    values = {
        "s": "a\nb",
        "n": 1.0,
        "d": "2026-06-30",
        "odd": "30.6.2026",
        "u": ["x"],
        "node": {"name": "", "child": {"name": "b", "extra": [1, {"z": None}]}, "kids": []},
        "map": {"k": 1},
        "tuple": [1, "a"],
        "more": {"deep": [[1], [2]]},
    }
    properties = {
        "s": {"type": "string"},
        "n": {"type": "number"},
        "d": {"type": "string", "format": "date"},
        "odd": {"type": "string", "format": "date"},
        "u": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]},
        "node": {"$ref": "#/$defs/Node"},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "tuple": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
    }
    form = of(properties, values, **{"$defs": {"Node": NODE}})
    assert form.read(check=False) == values
    assert form.read(check=False)["n"] is values["n"]


# ----------------------------------------------------------------------------------------------- what holds others
TURNED = "gnp.\u202eexe\u2066 \U000e0041"


def test_what_can_not_be_seen_in_a_text_is_written_out_in_its_field() -> None:
    about = {"properties": {"path": {"type": "string"}, "rest": {"type": "array", "items": {}}}, "type": "object"}
    values = {"path": TURNED, "rest": [TURNED], "odd": {TURNED: TURNED}, "password": "a"}
    form = Form(about, values)
    typed = [each.value for each in shown(form) if isinstance(each, w.Text | w.Textarea)]
    assert len(typed) == 4
    assert not any(unseen().search(each) for each in typed)
    assert "In quotes, with what can't be seen written out." in text(form)
    assert form.read() == values
    path = field(form, "path")
    assert path.value == '"gnp.\\u202eexe\\u2066 \\udb40\\udc41"'
    for said, read in (
        ('"gnp.exe"', "gnp.exe"),
        ("gnp.exe", "gnp.exe"),
        ("5", "5"),
        ("{", "{"),
        ('"\\u202e"', "\u202e"),
    ):
        path.value = said
        assert form.read()["path"] == read
    path.value = '"gnp'
    assert "this is no text in quotes yet" in faults(form)["path"]


def test_a_choice_that_can_not_be_seen_is_no_word_to_type() -> None:
    many = [f"choice {n}" for n in range(50)]
    form = of({"plain": {"enum": many}, "turned": {"enum": [*many, TURNED]}}, {"plain": many[0], "turned": TURNED})
    assert isinstance(field(form, "plain"), w.Combobox)
    turned = field(form, "turned")
    assert isinstance(turned, w.Dropdown)
    assert turned.options[turned.value][0] == visible_text(TURNED)
    assert form.read() == {"plain": many[0], "turned": TURNED}


def test_an_optional_object_is_made_when_it_is_asked_for_and_can_be_left_out_again() -> None:
    new: list[Any] = []
    form = of({"node": {"$ref": "#/$defs/Node"}}, **{"$defs": {"Node": NODE}}, route=new.extend)
    assert form.read() == {}
    press(form, "Fill in node")
    assert new
    field(form, "name").value = "top"
    press(form, "Fill in child")
    next(each for each in shown(form) if getattr(each, "description", "") == "name" and not each.value).value = "below"
    assert form.read() == {"node": {"name": "top", "child": {"name": "below"}}}
    press(form, "Leave out node")
    assert form.read() == {}


def test_items_are_added_changed_and_taken_out() -> None:
    form = of({"tags": {"type": "array", "items": {"type": "string"}}}, {"tags": ["a", "b"]})
    field(form, "tags[1]").value = "c"
    press(form, "Remove tags[0]")
    press(form, "Add one to tags")
    assert form.read() == {"tags": ["c"]}
    field(form, "tags[1]").value = "d"
    assert form.read() == {"tags": ["c", "d"]}
    press(form, "Remove tags[0]")
    press(form, "Remove tags[0]")
    assert form.read() == {"tags": []}


def test_a_union_lets_one_choose_and_keeps_what_was_typed_in_each() -> None:
    cat = {"type": "object", "properties": {"pet": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["pet"]}
    dog = {"type": "object", "properties": {"pet": {"const": "dog"}, "tricks": {"type": "string"}}, "required": ["pet"]}
    form = of({"one": {"oneOf": [cat, dog]}}, {"one": {"pet": "dog", "tricks": "sit"}})
    pick = field(form, "one, kind")
    assert [label for label, _ in pick.options] == ["pet cat", "pet dog"]
    assert pick.value == 1
    pick.value = 0
    field(form, "lives").value = "9"
    assert form.read() == {"one": {"pet": "cat", "lives": 9}}
    pick.value = 1
    assert form.read() == {"one": {"pet": "dog", "tricks": "sit"}}


def test_names_are_added_where_the_schema_lets_them() -> None:
    form = of({}, {"a": 1}, additionalProperties={"type": "integer"})
    press(form, "Add a name arguments")
    field(form, "new name 1").value = "b"
    field(form, "value").value = "2"
    assert form.read() == {"a": 1, "b": 2}


def test_schemas_put_together_by_all_of_are_one_form() -> None:
    base = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    form = of({"it": {"allOf": [base, {"properties": {"b": {"type": "integer"}}}]}}, {"it": {"a": "x"}})
    field(form, "b").value = "2"
    assert form.read() == {"it": {"a": "x", "b": 2}}


def test_descriptions_are_shown_and_titles_where_the_form_stands_alone() -> None:
    about = {"who": {"type": "string", "title": "Your name", "description": "As in the passport."}}
    assert field(of(about, described=True), "Your name")
    assert "As in the passport." in text(of(about, described=True))
    assert field(of(about), "who")
    assert "As in the passport." in text(of(about))


# ----------------------------------------------------------------------------------------------------- what is wrong
def test_what_is_wrong_stands_under_the_innermost_field_it_is_about() -> None:
    form = of(
        {
            "rows": {"type": "integer", "maximum": 100},
            "node": {"$ref": "#/$defs/Node"},
            "tags": {"type": "array", "items": {"type": "string", "minLength": 2}},
        },
        {"rows": 700, "node": {"name": "a", "kids": [{"name": [1, 2]}]}, "tags": ["ok", "x"]},
        **{"$defs": {"Node": NODE}},
        required=["rows", "gone"],
    )
    found = faults(form)
    assert set(found) == {"rows", "node.kids[0].name", "tags[1]", ""}
    assert found["rows"] == "rows: got 700, expected integer (≤ 100)"
    form.show_faults(found)
    alerts = [each for each in shown(form) if isinstance(each, w.HTML) and 'role="alert"' in each.value]
    assert [Markup(each.value).text for each in alerts] == [
        found[key] for key in ("rows", "node.kids[0].name", "tags[1]", "")
    ]
    assert shown(form).index(alerts[0]) == shown(form).index(field(form, "rows")) + 1
    form.show_faults()
    assert not any('role="alert"' in each.value for each in shown(form) if isinstance(each, w.HTML))


def test_an_item_that_moved_up_is_told_by_its_new_place() -> None:
    form = of({"tags": {"type": "array", "items": {"type": "string", "minLength": 2}}}, {"tags": ["ok", "no", "x"]})
    press(form, "Remove tags[0]")
    found = faults(form)
    assert set(found) == {"tags[1]"}
    form.show_faults(found)
    (alert,) = (each for each in shown(form) if isinstance(each, w.HTML) and 'role="alert"' in each.value)
    assert shown(form).index(alert) == shown(form).index(field(form, "tags[1]")) + 1


def test_what_is_empty_but_required_is_missing() -> None:
    form = of({"a": {"type": "string"}, "n": {"type": "integer"}}, required=["a", "n"])
    assert set(faults(form)) == {"a", "n"}


def test_plain_slips_are_mended_as_a_models_are() -> None:
    form = of({"n": {"type": "integer"}}, {"n": "5"})
    assert form.read() == {"n": 5}


def test_json_that_is_no_object_is_refused_where_there_are_too_many_names() -> None:
    form = Form({"type": "object", "properties": {}}, {f"a{i}": i for i in range(50)})
    field(form, "JSON").value = "[1]"
    assert "one JSON object" in faults(form)[""]


def test_items_are_called_as_their_faults_call_them_also_when_they_moved() -> None:
    street = {"type": "object", "properties": {"street": {"type": "string"}, "ways": {"type": "array", "items": {}}}}
    form = of({"many": {"type": "array", "items": street}}, {"many": [{"street": "a"}, {"street": [5], "ways": [1]}]})
    assert "many[1] object" in text(form)
    found = faults(form)
    assert set(found) == {"many[1].street"}
    press(form, "Remove many[0]")
    assert "many[0] object" in text(form)
    assert "many[1]" not in text(form)
    assert set(faults(form)) == {"many[0].street"}
    press(form, "Remove ways[0]")
    assert form.read(check=False) == {"many": [{"street": [5], "ways": []}]}


def test_where_titles_are_shown_faults_use_them() -> None:
    about = {"who": {"type": "array", "title": "Guests", "items": {"type": "string", "minLength": 2}}}
    form = of(about, {"who": ["ok", "x"]}, described=True)
    form.show_faults(faults(form))
    (alert,) = (each for each in shown(form) if isinstance(each, w.HTML) and 'role="alert"' in each.value)
    assert Markup(alert.value).text.startswith('Guests[1]: got "x"')
    assert field(form, "Guests[1]")


@pytest.mark.parametrize(
    ("schema", "typed", "said"),
    [
        ({"format": "email"}, "nobody", 'it: got "nobody", expected email, like name@example.org'),
        ({"format": "date-time"}, "30.6.2026", "expected date-time, like 2026-06-30T14:00:00Z"),
        ({"format": "time"}, "noon", "expected time, like 14:00:00"),
        ({"format": "uri"}, "example org", "expected uri, like https://example.org/page"),
        ({"format": "uuid"}, "1234", "expected uuid, like"),
        ({"format": "ipv4"}, "1.2.3", "expected ipv4, like 192.0.2.1"),
        ({"format": "duration"}, "two days", "expected duration, like P1DT2H"),
        ({"format": "regex"}, "a(", "expected a regular expression (missing )"),
        ({"contentEncoding": "base64"}, "a?b", "expected base64"),
    ],
)
def test_a_text_that_is_none_of_its_format_is_told_beside_the_field(
    schema: dict[str, Any], typed: str, said: str
) -> None:
    form = of({"it": {"type": "string", **schema}})
    field(form, "it").value = typed
    with pytest.raises(FormError) as raised:
        form.read(check=False)
    assert said in raised.value.faults["it"]
    # What came so is left as it came.
    assert of({"it": {"type": "string", **schema}}, {"it": typed}).read() == {"it": typed}
    # Emptied again it is left out, since nothing is no such text.
    field(form, "it").value = " "
    field(form, "it").value = ""
    assert form.read() == {}


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("date-time", "2026-06-30 14:00"), ("date-time", "2026-06-30T14:00:00.5+02:00"), ("time", "14:00"),
        ("email", "a+b@c.de"), ("uri", "file:///tmp/x"), ("uri", "mailto:a@b"), ("duration", "PT1.5S"), ("ipv6", "::1"),
        ("uuid", "3F1C2A9E0B7D4C559A516C1F5D2B8E10"), ("color", "anything"), ("path", "~/x y"),
    ],
)  # fmt: skip
def test_what_a_reader_of_the_format_takes_may_stand(name: str, typed: str) -> None:
    form = of({"it": {"type": "string", "format": name}})
    field(form, "it").value = typed
    assert form.read() == {"it": typed}


def test_half_a_piece_of_json_is_told_where_it_breaks() -> None:
    form = of({"it": {"type": "array", "items": [{}]}, "any": {}})
    field(form, "it").value = "[1, 2"
    assert faults(form)["it"].startswith("it: this is no JSON yet: Expecting ',' delimiter (line 1, column 6)")
    field(form, "it").value = "[1, 2]"
    field(form, "any").value = "just a text"
    assert form.read() == {"it": [1, 2], "any": "just a text"}


def test_a_masked_text_is_typed_unseen() -> None:
    form = of({"a": {"type": "string", "format": "password"}, "b": {"type": "string", "writeOnly": True}})
    assert {type(field(form, name)) for name in "ab"} == {w.Password}


def test_one_of_a_thousand_values_is_searched_for() -> None:
    form = of({"of": {"enum": [f"city {n}" for n in range(1_000)]}})
    search = field(form, "of")
    assert isinstance(search, w.Combobox)
    assert len(search.options) == 1_000
    assert form.read() == {}
    search.value = "city 77"
    assert form.read() == {"of": "city 77"}
    search.value = "city"
    assert 'of: got "city", expected' in faults(form)["of"]


def test_of_two_hundred_names_those_that_are_wanted_get_a_field() -> None:
    properties = {f"p{n:03}": {"type": "integer"} for n in range(200)}
    form = of(properties, {"p150": 1}, required=["p199"])
    names = [each.description for each in shown(form) if isinstance(each, w.Text) and each.description != "more"]
    assert len(names) == 24
    assert {"p150", "p199", "p000"} <= set(names)
    field(form, "p199").value = "2"
    more = field(form, "more")
    more.value = "p123"
    press(form, "Fill in of the arguments")
    field(form, "p123").value = "3"
    assert form.read() == {"p150": 1, "p199": 2, "p123": 3}
    assert "p123" not in more.options
    more.value = "p999"
    press(form, "Fill in of the arguments")
    assert "p999: no such name is left" in text(form)
    field(form, "p123").value = "x"
    assert 'p123: got "x", expected integer' in faults(form)["p123"]


def test_a_list_that_came_as_null_stays_null_until_it_is_filled() -> None:
    form = of(
        {"of": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}},
        {"of": None},
        required=["of"],
    )
    assert form.read() == {"of": None}
    press(form, "Add one to of")
    field(form, "of[0]").value = "3"
    assert form.read() == {"of": [3]}


def test_a_list_that_is_left_out_says_its_default() -> None:
    rates = {"type": "array", "items": {"type": "number"}, "default": [0.5, 2]}
    assert "rates list of numbers, default [0.5, 2]" in text(of({"rates": rates}))
    assert "default" not in text(of({"rates": rates}, {"rates": [1]}))


def test_each_place_of_a_tuple_has_its_own_field() -> None:
    pair = {"type": "array", "prefixItems": [{"type": "integer"}, {"enum": ["a", "b"]}], "minItems": 2, "items": False}
    form = of({"pair": pair}, required=["pair"])
    assert "pair[0]" in faults(form) or "pair" in faults(form)
    field(form, "pair[0]").value = "1"
    field(form, "pair[1]").value = 2
    assert form.read() == {"pair": [1, "b"]}
    field(form, "pair[0]").value = "x"
    assert 'pair[0]: got "x", expected integer' in faults(form)["pair[0]"]


def test_what_a_group_is_for_stands_below_its_name() -> None:
    about = {"many": {"type": "array", "description": "Where to.", "items": {"type": "string"}},
             "node": {"$ref": "#/$defs/Node", "description": "Which one."}}  # fmt: skip
    form = of(about, {"many": ["a"], "node": {"name": "n"}}, **{"$defs": {"Node": NODE}})
    said = [Markup(each.value).text for each in shown(form) if isinstance(each, w.HTML) and each.value]
    assert said[0] == "many list of strings"
    assert said[1] == "Where to."
    assert "Which one." in said[said.index("node object") + 1]
    at = [
        index for index, each in enumerate(shown(form)) if getattr(each, "value", "") and "Where to." in str(each.value)
    ]
    assert at[0] < shown(form).index(field(form, "many[0]"))


def test_the_branch_that_is_chosen_says_which_it_is() -> None:
    cat = {"type": "object", "properties": {"kind": {"const": "cat", "default": "cat"}, "lives": {"type": "integer"}}}
    dog = {"type": "object", "properties": {"kind": {"const": "dog", "default": "dog"}, "tricks": {"type": "string"}}}
    form = of({"pet": {"oneOf": [cat, dog]}}, required=["pet"])
    assert form.read(check=False) == {"pet": {"kind": "cat"}}
    field(form, "pet, kind").value = 1
    assert form.read(check=False) == {"pet": {"kind": "dog"}}
    # One that came without it keeps doing so.
    assert of({"pet": {"oneOf": [cat, dog]}}, {"pet": {"lives": 3}}).read(check=False) == {"pet": {"lives": 3}}


def test_a_schema_that_is_one_of_several_objects_lets_one_choose() -> None:
    near = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    far = {
        "type": "object",
        "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
        "required": ["lat", "lon"],
    }
    schema = {"type": "object", "oneOf": [near, far]}
    form = Form(schema)
    field(form, "city").value = "Ulm"
    assert form.read() == {"city": "Ulm"}
    field(form, "arguments, kind").value = 1
    field(form, "lat").value = "48.4"
    found = faults(form)
    assert list(found) == ["the arguments"]
    field(form, "lon").value = "10"
    assert form.read() == {"lat": 48.4, "lon": 10}
    assert Form(schema, {"lat": 1, "lon": 2}).read() == {"lat": 1, "lon": 2}


def test_branches_are_called_by_their_title_what_tells_them_apart_or_their_reference() -> None:
    plain = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    kind = {"type": "object", "properties": {"kind": {"const": "cat"}}}
    either = {"oneOf": [{"$ref": "#/$defs/Plain"}, {"title": "A title", **plain}, kind, {"type": "string"}]}
    form = of({"it": either}, {"it": "x"}, **{"$defs": {"Plain": plain}})
    assert [label for label, _ in field(form, "it, kind").options] == ["Plain", "A title", "kind cat", "string"]


def test_what_is_left_out_shows_what_it_then_is() -> None:
    form = of(
        {
            "size": {"enum": ["S", "M"], "default": "M"},
            "loud": {"type": "boolean", "default": True},
            "sizes": {"type": "array", "items": {"enum": ["S", "M"]}, "default": ["M"]},
            "pair": {"type": "array", "prefixItems": [{}, {}], "default": [1, 2]},
            "rows": {"type": "integer", "default": 5},
        }
    )
    assert [field(form, name).options[0][0] for name in ("size", "loud")] == [
        'left out, default "M"', "left out, default true",
    ]  # fmt: skip
    assert field(form, "rows").placeholder == "integer, default 5"
    assert "pair left out, default [1, 2]" in text(form)
    assert (field(form, "S").value, field(form, "M").value) == (False, True)
    assert form.read(check=False) == {}
    field(form, "M").value = False
    assert form.read(check=False) == {"sizes": []}


def test_names_of_a_pattern_are_added() -> None:
    form = of({"env": {"type": "object", "patternProperties": {"^X_": {"type": "integer"}}, "additionalProperties": False}},
              {"env": {}})  # fmt: skip
    press(form, "Add a name env")
    field(form, "new name 1").value = "X_1"
    field(form, "value").value = "7"
    assert form.read() == {"env": {"X_1": 7}}
    field(form, "new name 1").value = "Y"
    assert "env.Y" in faults(form) or "env" in faults(form)


def test_names_that_only_some_values_have_can_be_filled_in() -> None:
    schema: dict[str, Any] = {
        "if": {"properties": {"kind": {"const": "card"}}},
        "then": {"properties": {"number": {"type": "string"}}, "required": ["number"]},
    }
    form = of({"kind": {"enum": ["card", "cash"]}}, {"kind": "card"}, **schema)
    assert "number" in "".join(faults(form).values())
    field(form, "number").value = "4711"
    assert form.read() == {"kind": "card", "number": "4711"}


# ------------------------------------------------------------------------------------------------- hostile schemas
CIRCLES: dict[str, Any] = {
    "List": {"type": "array", "items": {"$ref": "#/$defs/List"}},
    "Self": {"$ref": "#/$defs/Self"},
    "Any": {"anyOf": [{"$ref": "#/$defs/Any"}]},
    "All": {"allOf": [{"$ref": "#/$defs/All"}]},
    "Wide": {
        "type": "object",
        "properties": {f"p{i}": {"$ref": "#/$defs/Wide"} for i in range(20)},
        "required": [f"p{i}" for i in range(20)],
    },
    "Union": {"anyOf": [{"$ref": "#/$defs/Union"}, {"type": "array", "items": {"$ref": "#/$defs/Union"}}]},
}


@pytest.mark.parametrize("name", CIRCLES)
def test_a_schema_in_circles_makes_a_bounded_form(name: str) -> None:
    form = of({"it": {"$ref": f"#/$defs/{name}"}}, **{"$defs": CIRCLES}, required=["it"])
    assert len(form.widgets) < 500
    form.read(check=False)


@pytest.mark.parametrize(
    "odd",
    [None, True, 3, [], "x", {"type": 5}, {"type": []}, {"enum": []}, {"anyOf": []}, {"anyOf": [3]}, {"allOf": [3]},
     {"properties": 3}, {"items": 3}, {"required": 3}, {"$ref": 5}, {"$ref": "http://far"}, {"enum": [[1], {}]},
     {"type": "object", "properties": {"x": 3}, "required": "x"}, {"title": 5, "description": 5, "default": {}},
     {"type": "array", "prefixItems": 5, "default": "no list"}, {"type": "object", "default": "no object"}],
)  # fmt: skip
def test_any_json_may_stand_where_a_schema_should(odd: Any) -> None:
    values: dict[str, Any]
    for values in ({}, {"it": 5}, {"it": None}, {"it": {"a": [1]}}, {"it": [{}]}):
        form = of({"it": odd}, values, described=True)
        assert form.read(check=False) == values
        form.show_faults(["it: wrong"])


def test_foreign_words_in_a_schema_are_inert_and_can_be_sent() -> None:
    half = "\ud800"
    about = {"title": HOSTILE, "description": HOSTILE + half, "default": HOSTILE}
    properties = {
        HOSTILE: {"type": "string", **about},
        half: {"enum": [HOSTILE, "b"], **about},
        "c": {"oneOf": [{"const": 1, "title": HOSTILE}, {"const": 2}]},
        "d": {"type": "object", "properties": {HOSTILE: {"type": "boolean"}}, **about},
        "e": {"type": "array", "items": {"type": "string"}, **about},
        "f": {"const": HOSTILE},
    }
    form = of(properties, {"e": [HOSTILE], "d": {}}, described=True)
    form.show_faults([f"{HOSTILE}: {HOSTILE}", "c: wrong"])
    for widget in form.widgets:
        json.dumps(widget.get_state(), ensure_ascii=False, default=repr).encode()
    page = Markup("".join(each.value for each in shown(form) if isinstance(each, w.HTML)))
    assert not {"script", "img"} & page.tags
    assert "\u202e" not in page.text


def test_closing_leaves_no_model_behind() -> None:
    before = models()
    form = Form({"type": "object", "properties": {"tags": {"type": "array"}}}, own_sheet=True)
    press(form, "Add one to tags")
    form.close()
    assert models() == before
