"""Callables of every form: names, parameters, hints that are strings, registration's errors, and binding."""

from __future__ import annotations

import enum
import functools
import json
import re
import subprocess
import sys
import types
import typing
import warnings
from typing import TYPE_CHECKING, Annotated, Any, Required, TypedDict, Unpack

import jsonschema
import pytest
import typing_extensions as te
from pydantic import BaseModel, ConfigDict, Field, PlainValidator, RootModel, WithJsonSchema

from nbtoolkit.exception import DeveloperOrientedException, ToolArgumentsError
from nbtoolkit.schema import Signature, set_variable_resolver
from nbtoolkit.tool import ParamsBase

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from somewhere import Unreachable  # type: ignore[import-not-found]


def call(tool: Callable[..., Any], arguments: dict[str, Any], **options: Any) -> Any:
    args, kwargs = Signature(tool, **options).validate(arguments).bind()
    return tool(*args, **kwargs)


# ------------------------------------------------------------------------------------------------ forms of callables


class Shop:
    """A shop of things.

    Args:
        thing: What to buy.
    """

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix

    def __call__(self, thing: str) -> str:
        return self.prefix + thing

    def bound(self, a: int) -> int:
        """Take an int."""
        return a

    @classmethod
    def of_class(cls, a: int) -> str:
        return f"{cls.__name__}{a}"

    @staticmethod
    def static(a: int) -> int:
        return a


def plain(a: int, b: str = "b") -> tuple[int, str]:
    """Do it."""
    return a, b


def doubled(func: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs), func(*args, **kwargs)

    return wrapper


@doubled
def decorated(a: int) -> int:
    """Say it twice.

    Args:
        a: The a.
    """
    return a


async def coroutine(a: int) -> int:
    return a


def generator(a: int) -> Iterator[int]:
    yield a


async def asynchronous_generator(a: int) -> AsyncIterator[int]:
    yield a


@typing.overload
def overloaded(a: int) -> int: ...
@typing.overload
def overloaded(a: str) -> str: ...
def overloaded(a: int | str) -> int | str:
    return a


def updated(func: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
    made = functools.partial(func, **fixed)
    functools.update_wrapper(made, func)
    return made


@pytest.mark.parametrize(
    ("tool", "name", "properties", "description"),
    [
        (plain, "plain", ["a", "b"], "Do it."),
        (Shop().bound, "bound", ["a"], "Take an int."),
        (Shop.of_class, "of_class", ["a"], ""),
        (Shop.static, "static", ["a"], ""),
        (Shop("x"), "Shop", ["thing"], "A shop of things."),
        (functools.partial(plain, b="fixed"), "plain", ["a"], "Do it."),
        (functools.partial(plain, 1), "plain", ["b"], "Do it."),
        (functools.partial(Shop("x"), thing="y"), "Shop", [], "A shop of things."),
        (updated(plain, a=1), "plain", ["b"], "Do it."),
        (decorated, "decorated", ["a"], "Say it twice."),
        (coroutine, "coroutine", ["a"], ""),
        (generator, "generator", ["a"], ""),
        (asynchronous_generator, "asynchronous_generator", ["a"], ""),
        (overloaded, "overloaded", ["a"], ""),
        (Shop, "Shop", ["prefix"], "A shop of things."),
    ],
)
def test_a_callable_of_any_form_has_its_name_parameters_and_description(
    tool: Callable[..., Any], name: str, properties: list[str], description: str
) -> None:
    signature = Signature(tool)
    assert signature.name == name
    assert list(signature.input_schema["properties"]) == properties
    assert signature.description == description


def test_what_a_call_binds_is_what_the_callable_takes() -> None:
    assert call(Shop("x"), {"thing": "y"}) == "xy"
    assert call(Shop.of_class, {"a": 1}) == "Shop1"
    assert call(decorated, {"a": 1}) == (1, 1)
    assert call(functools.partial(plain, b="fixed"), {"a": 2}) == (2, "fixed")
    assert call(functools.partial(plain, 1), {"b": "x"}) == (1, "x")
    assert call(lambda x=1: x, {"x": [2]}, name="echo", input_schema={"type": "object"}) == [2]


def test_a_callable_object_is_described_by_its_class_and_its_parameters_by_either_docstring() -> None:
    assert Signature(Shop()).input_schema["properties"]["thing"]["description"] == "What to buy."


def test_what_partial_fixes_by_name_cannot_be_undone_and_need_not_be_json() -> None:
    def query(sql: str, connection: object, limit: int = 5) -> Any:
        return connection, limit

    signature = Signature(functools.partial(query, connection=sys.stdout))
    assert list(signature.input_schema["properties"]) == ["sql", "limit"]
    with pytest.raises(ToolArgumentsError, match="connection: unexpected"):
        signature.validate({"sql": "", "connection": 1})


def test_every_kind_of_parameter_is_bound_to_its_place() -> None:
    def tool(a: int, /, b: int = 2, *args: float, c: str = "c", **rest: int) -> Any:
        return a, b, args, c, rest

    schema = Signature(tool).input_schema
    assert schema["required"] == ["a"]
    assert schema["additionalProperties"] == {"type": "integer"}
    assert schema["properties"]["args"] == {"type": "array", "items": {"type": "number"}}
    assert call(tool, {"a": 1}) == (1, 2, (), "c", {})
    assert call(tool, {"a": 1, "args": [1, 2]}) == (1, 2, (1.0, 2.0), "c", {})
    assert call(tool, {"a": 1, "b": 3, "args": [1], "c": "d", "z": 9, "y": 8}) == (1, 3, (1.0,), "d", {"z": 9, "y": 8})
    with pytest.raises(ToolArgumentsError, match='z: got "many", expected integer'):
        call(tool, {"a": 1, "z": "many"})
    assert Signature(tool).validate({"a": 1, "z": "5"}).json == {"a": 1, "b": 2, "c": "c", "z": 5}


def test_nothing_hides_from_the_rules_in_the_arguments_that_any_keyword_takes() -> None:
    def tool(a: int, _agent_state: str = "", d: Annotated[str, Field(alias="D")] = "d", **rest: str) -> Any:
        return a, _agent_state, d, rest

    signature = Signature(functools.partial(tool, fixed="safe"))
    assert signature.validate({"a": 1, "z": "seen"}).json == {"a": 1, "D": "d", "z": "seen"}
    # The field's inner name, a parameter that no model sees, one that has another name in JSON, a fixed one.
    for name, sent in (("**", {"z": "evil"}), ("_agent_state", "evil"), ("d", "evil"), ("fixed", "evil")):
        with pytest.raises(ToolArgumentsError, match=rf"{re.escape(name)}\"?: (unexpected|got)"):
            signature.validate({"a": 1, name: sent})

    def loose(a: int, **rest: Any) -> Any:
        return a, rest

    with pytest.raises(ToolArgumentsError, match="unexpected"):
        Signature(loose).validate({"a": 1, "**": {"z": "evil"}})
    assert call(loose, {"a": 1, "rest": "fine"}) == (1, {"rest": "fine"})


def test_what_a_model_takes_beside_its_fields_reaches_no_parameter() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        a: int = Field(alias="A")

    def tool(a: int, limit: int = 3, **rest: Any) -> Any:
        return a, limit, rest

    assert call(tool, {"A": 1, "z": 2}, input_schema=Open) == (1, 3, {"z": 2})
    for name in ("a", "limit", "_agent_state"):
        with pytest.raises(ToolArgumentsError, match=f"{name}: unexpected"):
            Signature(tool, input_schema=Open).validate({"A": 1, name: 9})


def test_positional_only_parameters_before_one_that_is_given_get_their_own_defaults() -> None:
    marker = object()

    def tool(a: object = marker, b: int = 2, /) -> Any:
        return a, b

    assert call(tool, {"b": 3}) == (marker, 3)
    assert call(tool, {}) == (marker, 2)


class Keywords(TypedDict, total=False):
    a: Required[int]
    b: str


class ExtendedKeywords(te.TypedDict):
    a: int


def test_unpacked_typed_dicts_give_one_parameter_per_field() -> None:
    def tool(q: str, **rest: Unpack[Keywords]) -> Any:
        return q, rest

    def extended(**rest: te.Unpack[ExtendedKeywords]) -> Any:
        return rest

    schema = Signature(tool).input_schema
    assert (list(schema["properties"]), schema["required"]) == (["q", "a", "b"], ["q", "a"])
    assert schema["additionalProperties"] is False
    assert call(tool, {"q": "x", "a": 1}) == ("x", {"a": 1})
    assert call(extended, {"a": 1}) == {"a": 1}


def test_parameters_with_names_that_break_pydantic_models_work() -> None:
    def tool(
        _x: int,
        class_: int,
        schema: int,
        model_config: int,
        copy: int,
        json: int,
        self: int,
        cls: int,
        value: int,
        __y: int = 1,
    ) -> Any:
        return locals()

    names = ["_x", "class_", "schema", "model_config", "copy", "json", "self", "cls", "value", "__y"]
    sent = {name: number for number, name in enumerate(names)}
    assert call(tool, sent) == sent


def test_hidden_parameters_stay_out_and_are_injected_by_place() -> None:
    def tool(_agent_state: Any, a: int, *rest: int, session: Any = None) -> Any:
        return _agent_state, a, rest, session

    signature = Signature(tool, hidden=("session", "absent"))
    assert signature.hidden == {"_agent_state", "session"}
    assert list(signature.input_schema["properties"]) == ["a", "rest"]
    arguments = signature.validate({"a": 1, "rest": [2]})
    args, kwargs = arguments.bind({"_agent_state": "S", "session": "T"})
    assert tool(*args, **kwargs) == ("S", 1, (2,), "T")
    with pytest.raises(ToolArgumentsError, match="_agent_state: unexpected"):
        signature.validate({"a": 1, "_agent_state": 1})


def test_bind_gives_new_containers_each_time() -> None:
    arguments = Signature(plain).validate({"a": 1})
    first, second = arguments.bind(), arguments.bind()
    first[1]["b"] = "changed"
    assert second == arguments.bind() == ([], {"a": 1})


# ------------------------------------------------------------------------------------------------------ registration


@pytest.mark.parametrize(
    ("name", "proposed"),
    [("my tool", "my_tool"), ("a.b", "a_b"), ("", "tool"), ("x" * 65, "x" * 64), ("查询", "tool"), ("a\n", "a")],
)
def test_a_name_that_providers_refuse_is_a_value_error_that_proposes_one(name: str, proposed: str) -> None:
    with pytest.raises(ValueError, match="refused by LLM providers") as caught:
        Signature(plain, name=name)
    assert repr(name) in str(caught.value)
    assert f"name={proposed!r}" in str(caught.value)


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ValueError, match="name="):
        Signature(lambda: None)
    assert Signature(lambda: None, name="nothing").name == "nothing"


def test_parameters_without_a_hint_accept_anything_and_are_named_in_one_warning() -> None:
    def tool(x, y: int, *rest, **more): ...  # type: ignore[no-untyped-def]

    with pytest.warns(UserWarning, match="no type hint for 'x', '\\*rest', '\\*\\*more'") as caught:
        signature = Signature(tool)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert signature.input_schema["properties"]["x"] == {}
    assert signature.input_schema["additionalProperties"] is True
    assert signature.validate({"x": {"any": [1]}, "y": 1, "z": None}).bind()[1] == {
        "x": {"any": [1]},
        "y": 1,
        "z": None,
    }


class Connection:
    pass


def test_what_json_cannot_carry_is_refused_at_registration_with_every_name_and_the_ways_out() -> None:
    def tool(a: int, connection: Connection, then: typing.Callable[[int], int], kind: type[int]) -> None: ...

    with pytest.raises(DeveloperOrientedException) as caught:
        Signature(tool)
    text = str(caught.value)
    for part in (
        "tool:",
        "'connection': Connection",
        "'then': Callable[[int], int]",
        "'kind'",
        "%load_ext nbtoolkit",
        "partial(",
    ):
        assert part in text


class Opaque(enum.Enum):
    THING = object()


class Endless(typing.TypedDict):
    inner: list[Endless]


@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        (dict[tuple[int, int], int], r"dict\[tuple\[int, int\], int\] \(keys of objects in JSON are texts\)"),
        (Opaque, r"Opaque \(JSON has nothing for the value of Opaque.THING\)"),
        pytest.param(
            Endless,
            r"Endless \(before Python 3.12 a TypedDict that refers to itself must be typing_extensions.TypedDict\)",
            marks=pytest.mark.skipif(sys.version_info >= (3, 12), reason="it is supported from Python 3.12 on"),
        ),
    ],
)
def test_what_no_text_could_mean_is_refused_with_the_reason(hint: Any, reason: str) -> None:
    def tool(shape: Any) -> None: ...

    tool.__annotations__["shape"] = hint
    with pytest.raises(DeveloperOrientedException, match=f"JSON can't carry the parameter 'shape': {reason}"):
        Signature(tool)


def test_a_model_with_a_field_that_json_cannot_carry_is_refused_at_registration() -> None:
    class Holder(BaseModel):
        then: typing.Callable[[int], int]

    def tool(holder: Holder) -> None: ...

    with pytest.raises(DeveloperOrientedException, match="'holder': Holder"):
        Signature(tool)


def opened(name: str) -> Connection:
    made = Connection()
    made.name = name  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize("hint", [[int], {"a": int}, (int, str), 5], ids=repr)
def test_a_value_in_the_place_of_a_type_is_refused_with_the_parameters_name(hint: Any) -> None:
    def tool(shape: Any) -> None: ...

    tool.__annotations__["shape"] = hint
    with pytest.raises(DeveloperOrientedException, match=rf"the parameter 'shape': {re.escape(repr(hint))} is no type"):
        Signature(tool)


def test_what_a_decorator_takes_may_be_anything() -> None:
    parameters: Any = typing.ParamSpec("parameters")  # type: ignore[misc]

    def tool(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    tool.__annotations__.update(args=parameters.args, kwargs=parameters.kwargs)
    assert call(tool, {"args": [1], "b": "c"}) == ((1,), {"b": "c"})


def test_a_function_that_is_chosen_by_its_first_argument_gets_it_by_position() -> None:
    @functools.singledispatch
    def tool(x: int | str, y: int = 2) -> Any:
        return "any", x, y

    @tool.register
    def _(x: str, y: int = 2) -> Any:
        return "text", x, y

    assert call(tool, {"x": 1}) == ("any", 1, 2)
    assert call(tool, {"x": "a", "y": 3}) == ("text", "a", 3)
    assert call(functools.partial(tool, y=5), {"x": "a"}) == ("text", "a", 5)

    class Of:
        @functools.singledispatchmethod
        def method(self, x: int | str) -> Any:
            return "any", x

        @method.register
        def _(self, x: str) -> Any:
            return "text", x

    assert call(Of().method, {"x": 1}) == ("any", 1)
    assert call(Of().method, {"x": "a"}) == ("text", "a")


class Outer:
    Numbers = list[int]

    class Inner(BaseModel):
        """A class of the class."""

        size: int

    @staticmethod
    def still(self: int, cls: str) -> Any:  # noqa: PLW0211 - that is what is tested
        return self, cls

    def method(self, numbers: Numbers, inner: Inner) -> Any:
        return numbers, inner

    def list(self) -> None: ...


def test_a_static_method_may_call_its_parameters_self_and_cls() -> None:
    assert call(Outer.still, {"self": 1, "cls": "a"}) == (1, "a")
    with pytest.raises(DeveloperOrientedException, match="method without its object"):
        Signature(Outer.method)


@pytest.mark.parametrize("tool", [Outer().method, functools.partial(Outer().method)], ids=["method", "partial"])
def test_hints_find_what_stands_in_the_class_of_the_method(tool: Any) -> None:
    numbers, inner = call(tool, {"numbers": ["1"], "inner": {"size": 2}})
    assert (numbers, inner) == ([1], Outer.Inner(size=2))


def test_a_class_whose_hint_says_how_json_becomes_one_needs_no_notebook() -> None:
    def tool(
        connection: typing.Annotated[Connection, PlainValidator(opened), WithJsonSchema({"type": "string"})],
        kinds: typing.Annotated[list[int], {"unhashable": []}] = [],  # noqa: B006
    ) -> Any: ...

    signature = Signature(tool)
    assert signature.input_schema["properties"]["connection"] == {"type": "string"}
    assert signature.validate({"connection": "db", "kinds": [1]}).bind()[1]["connection"].name == "db"


def test_a_model_that_waits_for_a_later_cell_is_judged_when_that_has_run() -> None:
    cells = in_main(
        "from pydantic import BaseModel\nclass Page(BaseModel):\n    rows: list[Row]\n"
        "def tool(page: Page, n: int = 1) -> None: ..."
    )
    signature = Signature(cells["tool"])
    with pytest.warns(UserWarning, match="the hint of 'page' can't be resolved"):
        assert signature.input_schema["properties"]["page"] == {}
    exec("class Row(BaseModel):\n    a: int = 1\nPage.model_rebuild(_types_namespace=globals())", cells)
    assert signature.input_schema["properties"]["page"] == {"$ref": "#/$defs/Page"}
    assert signature.validate({"page": {"rows": [{}]}}).json == {"page": {"rows": [{"a": 1}]}, "n": 1}


def test_what_cannot_be_a_tool_is_refused_with_the_reason() -> None:
    things: list[Any] = [5, "print", vars(Shop)["of_class"]]
    for thing in things:
        with pytest.raises(DeveloperOrientedException, match="can't be called"):
            Signature(thing, name="x")
    with pytest.raises(DeveloperOrientedException, match="method without its object"):
        Signature(Shop.bound)
    with pytest.raises(DeveloperOrientedException, match="no readable signature"):
        Signature(type, name="x")


def test_registration_builds_neither_schema_nor_docstring(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("nbtoolkit.schema.core.ParametersValidator", refuse)
    monkeypatch.setattr("nbtoolkit.schema.docstring.parse_docstring", refuse)
    Signature(plain)


def test_the_schema_is_built_once() -> None:
    signature = Signature(plain)
    assert signature.input_schema is signature.input_schema


def test_importing_the_schema_package_loads_no_library_that_only_some_calls_need() -> None:
    code = (
        "import sys, nbtoolkit.schema\n"
        "print([m for m in ('jsonschema', 'json_repair', 'docstring_parser', 'IPython', 'mcp', 'numpy') if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


# ------------------------------------------------------------------------------------------------ hints as strings


def in_main(source: str) -> dict[str, Any]:
    """Run a cell's source in a namespace that is __main__'s."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile("from __future__ import annotations\n" + source, "<cell>", "exec"), namespace)
    return namespace


def test_a_class_of_a_later_cell_is_found_when_the_tool_is_first_used() -> None:
    cells = in_main("def tool(row: Row, rows: list[Row], n: int) -> None: ...")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        signature = Signature(cells["tool"])
    exec("from pydantic import BaseModel\nclass Row(BaseModel):\n    a: int = 1", cells)
    assert signature.input_schema["properties"]["row"] == {"$ref": "#/$defs/Row"}
    assert signature.validate({"row": {}, "rows": [{"a": 2}], "n": 1}).bind()[1]["rows"][0].a == 2


def test_a_hint_that_stays_unknown_accepts_anything_is_warned_of_once_and_found_as_soon_as_it_exists() -> None:
    cells = in_main("def tool(row: Row, n: int) -> None: ...")
    signature = Signature(cells["tool"])
    with pytest.warns(UserWarning, match="the hint of 'row' can't be resolved .*'Row' is not defined"):
        assert signature.input_schema["properties"] == {"row": {}, "n": {"type": "integer"}}
    assert signature.validate({"row": "anything", "n": 1}).json == {"row": "anything", "n": 1}
    with pytest.raises(ToolArgumentsError, match="n: got"):
        signature.validate({"row": 1, "n": "x"})
    cells["Row"] = int
    with pytest.raises(ToolArgumentsError, match="row: got"):
        signature.validate({"row": "x", "n": 1})
    assert signature.input_schema["properties"]["row"] == {"type": "integer"}


def test_a_name_that_exists_only_for_type_checkers_costs_its_own_parameter_alone() -> None:
    def tool(a: Unreachable, b: int, c: list[int] | None = None) -> None: ...

    signature = Signature(tool)
    with pytest.warns(UserWarning, match="'a'"):
        assert signature.input_schema["properties"]["b"] == {"type": "integer"}


def test_hints_find_classes_of_the_enclosing_function_and_of_closures() -> None:
    class Local(BaseModel):
        a: int

    def tool(row: Local) -> int:
        return row.a

    assert call(tool, {"row": {"a": 3}}) == 3

    def make() -> Callable[..., Any]:
        class Inner(BaseModel):
            a: int

        def inner(row: Inner) -> Any:
            return Inner, row

        return inner

    assert call(make(), {"row": {"a": 3}})[1].a == 3


def test_the_notebooks_namespace_serves_functions_of_main() -> None:
    class Resolver:
        def lookup(self, name: str) -> Any:
            raise LookupError

        def names(self, kind: type) -> list[str]:
            return []

        def namespace(self) -> dict[str, Any]:
            return {"Row": int}

        def result(self, number: int) -> Any:
            raise LookupError

    cells = in_main("def tool(row: Row) -> None: ...")
    set_variable_resolver(Resolver())
    try:
        assert Signature(cells["tool"]).input_schema["properties"]["row"] == {"type": "integer"}
    finally:
        set_variable_resolver(None)


def test_a_quoted_hint_inside_another_is_resolved_too() -> None:
    def tool(rows: Any) -> None: ...

    tool.__annotations__["rows"] = list["Keywords"]
    assert Signature(tool).input_schema["properties"]["rows"]["items"] == {"$ref": "#/$defs/Keywords"}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is Python 3.12's")
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_type_aliases_and_type_parameters_of_python_3_12_work(future: str) -> None:
    cell: dict[str, Any] = {"__name__": "__main__"}
    source = (
        "type Name = str\ntype Json = dict[str, Json] | int\n"
        "def tool[T: int, *Ts](name: Name, tree: Json, number: T, items: list[T]) -> T: ..."
    )
    exec(compile(future + source, "<cell>", "exec", dont_inherit=True), cell)
    signature = Signature(cell["tool"])
    jsonschema.Draft202012Validator.check_schema(signature.input_schema)
    sent = {"name": "n", "tree": {"a": {"b": 1}}, "number": 1, "items": [2]}
    assert signature.validate(sent).bind()[1] == sent
    with pytest.raises(ToolArgumentsError, match="number: got"):
        signature.validate({**sent, "number": "x"})


# --------------------------------------------------------------------------------------------- docstrings and schemas


@typing.overload
def either(x: int, y: str = ...) -> int: ...
@typing.overload
def either(x: list[str]) -> list[str]: ...
def either(x, y="a"):  # type: ignore[no-untyped-def]
    """Take one or the other."""
    return x


def test_overloads_give_the_hints_that_the_function_itself_lacks() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        signature = Signature(either)
    properties = signature.input_schema["properties"]
    assert properties["x"] == {"anyOf": [{"type": "integer"}, {"items": {"type": "string"}, "type": "array"}]}
    assert properties["y"] == {"type": "string", "default": "a"}
    assert call(either, {"x": 3}) == 3
    assert call(either, {"x": ["a"]}) == ["a"]
    with pytest.raises(ToolArgumentsError, match="x: got null, expected integer or array of string"):
        call(either, {"x": None})


def test_descriptions_come_from_the_docstring_unless_the_hint_has_its_own() -> None:
    def tool(x: int, y: typing.Annotated[int, Field(description="mine")], **more: Unpack[Keywords]) -> None:
        """Do it.

        Args:
            x (str): The x.
            y: Not this.
            b: Of the keywords.
        """

    properties = Signature(tool).input_schema["properties"]
    assert properties["x"] == {"type": "integer", "description": "The x."}
    assert properties["y"]["description"] == "mine"
    assert properties["b"]["description"] == "Of the keywords."
    assert Signature(tool, description="Other").description == "Other"


class Query(BaseModel):
    text: str
    limit: int = Field(5, ge=1)


def test_a_text_beside_the_type_describes_the_parameter() -> None:
    def tool(
        a: Annotated[int, "How many."],
        b: Annotated[str, te.Doc("Which one.")],
        c: Annotated[str, "Not this.", Field(description="But this.")],
        d: Annotated[int, 5] = 1,
    ) -> None:
        """Do it.

        Args:
            a: Not this either.
            d: From the docstring.
        """

    properties = Signature(tool).input_schema["properties"]
    told = {name: node["description"] for name, node in properties.items()}
    assert told == {"a": "How many.", "b": "Which one.", "c": "But this.", "d": "From the docstring."}


def test_a_model_given_as_the_schema_hands_its_fields_to_the_function() -> None:
    def tool(text: Any, limit: Any) -> Any:
        return text, limit

    signature = Signature(tool, input_schema=Query)
    assert signature.input_schema == {
        "type": "object",
        "properties": {"text": {"type": "string"}, "limit": {"type": "integer", "default": 5, "minimum": 1}},
        "required": ["text"],
    }
    arguments = signature.validate({"text": "x"})
    assert arguments.json == {"text": "x", "limit": 5}
    assert tool(**arguments.bind()[1]) == ("x", 5)
    with pytest.raises(ToolArgumentsError, match="limit: got 0, expected integer"):
        signature.validate({"text": "x", "limit": 0})


class Twig(BaseModel):
    a: int
    kids: list[Twig] = []


class TwigParams(ParamsBase):
    """A twig."""

    a: int
    kids: list[TwigParams] = Field(default_factory=list)


def test_a_recursive_model_given_as_the_schema_is_an_object_at_first_sight() -> None:
    def grow(a: int, kids: list[Twig]) -> Any:
        return a, kids

    signature = Signature(grow, input_schema=Twig)
    schema = signature.input_schema
    assert (schema["type"], schema["required"]) == ("object", ["a"])
    assert schema["properties"]["kids"]["items"] == {"$ref": "#/$defs/Twig"}
    jsonschema.Draft202012Validator(schema).validate({"a": 1, "kids": [{"a": 2}]})
    call = signature.validate({"a": 1, "kids": [{"a": "2"}]})
    assert call.json == {"a": 1, "kids": [{"a": 2, "kids": []}]}
    assert grow(**call.bind()[1]) == (1, [Twig(a=2)])
    with pytest.raises(ToolArgumentsError, match=r"kids\[0\].kids\[0\].a: missing, expected integer"):
        signature.validate({"a": 1, "kids": [{"a": 2, "kids": [{}]}]})


def test_params_base_gives_a_recursive_model_as_an_object_too() -> None:
    schema = TwigParams.model_json_schema()
    assert (schema["type"], schema["description"]) == ("object", "A twig.")
    assert not schema.keys() & {"$ref", "title"}
    jsonschema.Draft202012Validator(schema).validate({"a": 1, "kids": [{"a": 2}]})


def test_a_model_that_gives_no_schema_is_refused_when_the_tool_is_made() -> None:
    class Odd(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        thing: types.SimpleNamespace

    class Listed(RootModel[list[int]]):
        pass

    def use(thing: Any, **rest: Any) -> None: ...

    with pytest.raises(DeveloperOrientedException, match="input_schema=Odd has no JSON schema"):
        Signature(use, input_schema=Odd)
    with pytest.raises(DeveloperOrientedException, match="input_schema=Listed isn't an object"):
        Signature(use, input_schema=Listed)


def test_a_model_given_as_the_schema_may_wait_for_a_class_of_a_later_cell() -> None:
    cell: dict[str, Any] = {"BaseModel": BaseModel, "__name__": "later"}
    exec("class Early(BaseModel):\n    late: 'Late'", cell)

    def use(late: Any) -> Any:
        return late

    signature = Signature(use, input_schema=cell["Early"])
    exec("class Late(BaseModel):\n    n: int", cell)
    cell["Early"].model_rebuild(_types_namespace=cell)
    assert signature.validate({"late": {"n": 1}}).bind()[1]["late"].n == 1


def test_a_schema_whose_arguments_the_function_does_not_take_is_refused() -> None:
    def tool(text: str) -> None: ...

    with pytest.raises(DeveloperOrientedException, match="'limit'"):
        Signature(tool, input_schema=Query)
    with pytest.raises(DeveloperOrientedException, match="'other'"):
        Signature(tool, input_schema={"type": "object", "required": ["other"]})
    for kind in ("array", "nope"):
        with pytest.raises(DeveloperOrientedException, match=f"must be of type object.*got '{kind}'"):
            Signature(tool, input_schema={"type": kind})
    with pytest.raises(DeveloperOrientedException, match="must be a dict or a pydantic model"):
        Signature(tool, input_schema=[1])  # type: ignore[arg-type]
    with pytest.raises(DeveloperOrientedException, match="isn't an object"):
        Signature(lambda root: root, name="x", input_schema=RootModel[list[int]]).input_schema  # noqa: B018


def test_a_dict_given_as_the_schema_is_shown_as_it_is_and_checked_beside_the_hints() -> None:
    given = {
        "type": "object",
        "properties": {"a": {"type": "integer", "maximum": 5, "default": 2}, "when": {"type": "string"}},
        "required": ["when"],
        "additionalProperties": False,
    }

    def tool(when: types.SimpleNamespace | str, a: int, verbose: bool = False) -> Any: ...

    tool.__annotations__["when"] = __import__("datetime").date
    signature = Signature(tool, input_schema=given)
    assert signature.input_schema == given
    with pytest.raises(TypeError, match="this schema is shared"):
        signature.input_schema["properties"]["a"]["maximum"] = 100
    arguments = signature.validate({"when": "2024-01-02", "a": "3"})
    assert arguments.json == {"when": "2024-01-02", "a": 3}
    assert arguments.mended == ('a: "3" read as 3',)
    assert arguments.bind()[1]["when"].year == 2024
    assert signature.validate({"when": "2024-01-02"}).json == {"when": "2024-01-02", "a": 2}
    for bad in ({"when": "2024-01-02", "a": 6}, {"when": "soon"}, {"when": "2024-01-02", "verbose": True}):
        with pytest.raises(ToolArgumentsError):
            signature.validate(bad)


def test_recursive_models_keep_references_that_resolve() -> None:
    schema = Signature(recursive).input_schema
    jsonschema.Draft202012Validator(schema).validate({"tree": {"children": [{"children": []}]}})
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate({"tree": {"children": [1]}})
    json.dumps(schema)


class Branch(BaseModel):
    children: list[Branch] = []


def recursive(tree: Branch) -> None: ...


def test_a_star_before_a_tuple_says_of_what_kind_each_argument_is() -> None:
    def paired(*args: *tuple[int, str]) -> str:
        """Pair."""
        return repr(args)

    signature = Signature(paired)
    (node,) = signature.input_schema["properties"].values()
    assert node == {
        "type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2
    }  # fmt: skip
    args, kwargs = signature.validate({"args": [1, "a"]}).bind()
    assert paired(*args, **kwargs) == "(1, 'a')"
    with pytest.raises(ToolArgumentsError, match=r"args\[0\]: got \"a\", expected integer"):
        signature.validate({"args": ["a", 1]})
