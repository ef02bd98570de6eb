"""Forms of random schemas: filled from a valid value they give back that value, and it passes the check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from nbtoolkit.notebook.widgets.form import Form
from nbtoolkit.notebook.widgets.form_fields import DateField, TextField
from nbtoolkit.notebook.widgets.form_groups import known_paths
from nbtoolkit.notebook.widgets.form_kinds import MISSING

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NAMES = st.one_of(st.sampled_from(["kind", "a", "b c", "x.y", "[0]", "$ref", "<b>", "ü", ""]), TEXTS)
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-99, 99), st.floats(-9, 9, allow_nan=False), TEXTS)
ANY = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3))
ABOUT = st.fixed_dictionaries({}, optional={"title": TEXTS, "description": TEXTS, "default": ANY})


class Made(NamedTuple):
    """A schema, and what gives values that it takes."""

    schema: Any
    values: SearchStrategy[Any]


@st.composite
def leaf(draw: DrawFn) -> Made:
    about: dict[str, Any] = draw(ABOUT)
    match draw(
        st.sampled_from(["text", "long", "day", "secret", "whole", "number", "yes", "enum", "const", "any", "null"])
    ):
        case "text":
            low = draw(st.integers(0, 3))
            texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=low, max_size=20)
            return Made({"type": "string", "minLength": low, "maxLength": 20, **about}, texts)
        case "long":
            return Made({"type": "string", **about}, st.builds(lambda a, n: (a + "\n") * n, TEXTS, st.integers(0, 40)))
        case "day":
            return Made({"type": "string", "format": "date", **about}, st.dates().map(str))
        case "secret":
            return Made({"type": "string", "format": "password", **about}, TEXTS)
        case "whole":
            step = draw(st.integers(1, 4))
            values = st.integers(-5, 5).map(lambda n: n * step)
            return Made({"type": "integer", "minimum": -20, "maximum": 20, "multipleOf": step, **about}, values)
        case "number":
            return Made(
                {"type": "number", "exclusiveMinimum": -10, **about}, st.floats(-9, 1e300) | st.integers(-9, 2**70)
            )
        case "yes":
            return Made({"type": "boolean", **about}, st.booleans())
        case "enum":
            of = draw(st.lists(ANY, min_size=1, max_size=60, unique_by=repr))
            return Made({"enum": of, **about}, st.sampled_from(of))
        case "const":
            value = draw(ANY)
            return Made({"const": value, **about}, st.just(value))
        case "null":
            return Made({"type": ["string", "null"], **about}, st.none() | TEXTS)
        case _:
            return Made(draw(st.sampled_from([True, {}, about])), ANY)


@st.composite
def group(draw: DrawFn, inner: SearchStrategy[Made]) -> Made:
    about: dict[str, Any] = draw(ABOUT)
    match draw(st.sampled_from(["object", "map", "list", "set", "tuple", "union", "nullable", "all", "ref"])):
        case "object":
            parts = draw(st.dictionaries(NAMES, inner, max_size=5))
            return objects(draw, parts, about)
        case "map":
            part = draw(inner)
            return Made({"type": "object", "additionalProperties": part.schema, **about},
                        st.dictionaries(NAMES, part.values, max_size=4))  # fmt: skip
        case "list":
            part = draw(inner)
            return Made({"type": "array", "items": part.schema, **about}, st.lists(part.values, max_size=30))
        case "set":
            of = draw(st.lists(TEXTS, min_size=1, max_size=14, unique=True))
            return Made({"type": "array", "items": {"enum": of}, "uniqueItems": True, **about},
                        st.lists(st.sampled_from(of), unique=True))  # fmt: skip
        case "tuple":
            several = draw(st.lists(inner, min_size=1, max_size=3))
            return Made({"type": "array", "prefixItems": [each.schema for each in several], "items": False, **about},
                        st.tuples(*(each.values for each in several)).map(list))  # fmt: skip
        case "union":
            several = draw(st.lists(inner, min_size=2, max_size=4))
            return Made({"anyOf": [each.schema for each in several], **about},
                        st.one_of([each.values for each in several]))  # fmt: skip
        case "nullable":
            part = draw(inner)
            return Made({"anyOf": [part.schema, {"type": "null"}], **about}, st.none() | part.values)
        case "all":
            part = objects(draw, draw(st.dictionaries(NAMES, inner, max_size=3)), {})
            return Made({"allOf": [part.schema, {"type": "object"}], **about}, part.values)
        case _:
            return Made({"$ref": "#/$defs/Tree", **about}, TREES)


def objects(draw: DrawFn, parts: dict[str, Made], about: dict[str, Any]) -> Made:
    required = [name for name in parts if draw(st.booleans())]
    schema = {"type": "object", "properties": {name: each.schema for name, each in parts.items()}, "required": required}
    values = st.fixed_dictionaries(
        {name: parts[name].values for name in required},
        optional={name: each.values for name, each in parts.items() if name not in required},
    )
    return Made({**schema, **about}, values)


TREE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    "required": ["name"],
}
TREES = st.recursive(
    st.fixed_dictionaries({"name": TEXTS}),
    lambda inner: st.fixed_dictionaries({"name": TEXTS, "kids": st.lists(inner, max_size=2)}),
)
SCHEMAS = st.recursive(leaf(), group, max_leaves=12)


@st.composite
def filled(draw: DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    made = objects(draw, draw(st.dictionaries(NAMES, SCHEMAS, max_size=5)), {"$defs": {"Tree": TREE}})
    return made.schema, draw(made.values)


# Widgets make shrinking a matter of minutes; a failing example of these is small enough to read.
@settings(
    max_examples=40,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(filled())
def test_a_form_of_any_schema_gives_back_the_valid_value_that_it_was_filled_with(
    made: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    schema, value = made
    is_valid = Draft202012Validator(schema).is_valid
    assert is_valid(value), "the test's own"
    form = Form(schema, value)
    try:
        assert repr(form.read(check=False)) == repr(value)
        # Read with the check, what was left out has its default.
        read = form.read()
        assert set(read) >= set(value)
        assert is_valid(read)
        # Each input that has a value says it in full: typed anew it is the same.
        for _, field in known_paths(form._root):
            before = field.place.before
            if isinstance(field, TextField | DateField) and before is not MISSING and before not in (None, ""):
                assert repr(field._changed()) == repr(before), field.place.kind
    finally:
        for widget in form.widgets:
            widget.close()
        form.close()
