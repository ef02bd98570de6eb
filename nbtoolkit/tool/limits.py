"""What each provider takes of a tool's name and schema, and a schema made to fit, with a note of every change.

A fitted schema is only what a model is told. What it sends is checked against the tool's own schema all the same, so a
constraint that a provider doesn't know is moved to the description and still holds.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

__all__ = ["LIMITS", "STRICT", "Fitted", "Limits", "SchemaNote", "fit", "sent_name"]

_COMBINATORS = frozenset({"anyOf", "oneOf", "allOf", "not", "enum"})
# They tell a reader something, and constrain nothing.
_ANNOTATIONS = frozenset(
    {"title", "examples", "example", "$schema", "$id", "$comment", "$anchor", "deprecated", "readOnly", "writeOnly"}
)
_PLAIN_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}  # as OpenAI documents
)
LONG_ENUM = 250
_CORE = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$ref", "$defs", "description"}
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one provider takes. ``keywords`` None means every keyword of JSON Schema."""

    provider: str
    keywords: frozenset[str] | None = None
    formats: frozenset[str] | None = None
    root_refuses: frozenset[str] = frozenset()
    tool_name: re.Pattern[str] | None = None
    property_name: re.Pattern[str] | None = None
    needs_properties: bool = False
    bare_refs: bool = False
    closed: bool = False
    all_required: bool = False
    recursion: bool = True
    max_depth: int | None = None
    max_properties: int | None = None
    max_choices: int | None = None
    # The letters of all values of one enum, where it has more than LONG_ENUM.
    max_enum_chars: int | None = None
    max_tools: int | None = None


_OPENAI = Limits("OpenAI", root_refuses=_COMBINATORS, needs_properties=True, max_tools=128)
# developers.openai.com: "Structured outputs", supported schemas and limits of nesting and size.
_OPENAI_STRICT = Limits(
    "OpenAI's strict mode",
    keywords=_CORE
    | {"title", "const", "pattern", "format", "minItems", "maxItems"}
    | {"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    formats=_PLAIN_FORMATS,
    root_refuses=_COMBINATORS,
    needs_properties=True,
    bare_refs=True,
    closed=True,
    all_required=True,
    max_depth=10,
    max_properties=5000,
    max_choices=1000,
    max_enum_chars=15_000,
    max_tools=128,
)

LIMITS: dict[str, Limits] = {
    "openai": _OPENAI,
    "openai_responses": _OPENAI,
    "anthropic": Limits(
        "Anthropic",
        root_refuses=frozenset({"anyOf", "oneOf", "allOf"}),
        property_name=re.compile(r"[a-zA-Z0-9_.-]{1,64}\Z"),
    ),
    # ai.google.dev: the JSON Schema that parametersJsonSchema takes.
    "gemini": Limits(
        "Gemini",
        keywords=_CORE
        | {"$id", "$anchor", "format", "title", "prefixItems", "minItems", "maxItems", "minimum", "maximum"}
        | {"oneOf", "default", "propertyOrdering"},
        tool_name=re.compile(r"[a-zA-Z_]"),
        bare_refs=True,
        max_tools=512,
    ),
    "mcp": Limits("MCP"),
}
STRICT: dict[str, Limits] = {
    "openai": _OPENAI_STRICT,
    "openai_responses": _OPENAI_STRICT,
    # platform.claude.com: "Structured outputs", JSON Schema limitations.
    "anthropic": Limits(
        "Anthropic's strict mode",
        keywords=_CORE | {"title", "const", "allOf", "default", "format"},
        formats=_PLAIN_FORMATS | {"uri"},
        root_refuses=frozenset({"anyOf", "oneOf", "allOf"}),
        property_name=re.compile(r"[a-zA-Z0-9_.-]{1,64}\Z"),
        closed=True,
        recursion=False,
    ),
}


@dataclass(frozen=True, slots=True)
class SchemaNote:
    """One change that a provider's limits made necessary: of which tool, where in its schema, and what."""

    tool: str
    where: str
    text: str

    def __str__(self) -> str:
        place = f"{self.tool}, {self.where}" if self.where else self.tool
        return f"{place}: {self.text}"


@dataclass(frozen=True, slots=True)
class Fitted:
    """A tool as it is sent. ``renamed`` maps a sent argument's name to the tool's own."""

    name: str
    parameters: dict[str, Any]
    strict: bool = False
    notes: tuple[SchemaNote, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)


class _Unfit(Exception):  # noqa: N818 - it never leaves this module
    """A schema that strict mode can't take, and why."""


def sent_name(name: str, limits: Limits) -> str:
    """The tool's name as this provider takes it; the names themselves are checked when a tool is made."""
    return name if limits.tool_name is None or limits.tool_name.match(name) else f"_{name}"


def fit(name: str, parameters: dict[str, Any], format: str, *, strict: bool = False) -> Fitted:  # noqa: A002
    """The tool's name and parameters as the provider of that format takes them; what fits already is given back."""
    limits = STRICT[format] if strict else LIMITS[format]
    fitting = _Fitting(name, limits)
    try:
        fitted = fitting.root(parameters)
    except (_Unfit, RecursionError) as reason:
        why = str(reason) or "its schema is nested too deeply"
        plain = fit(name, parameters, format)
        note = SchemaNote(name, "", f"sent without strict, since {why}")
        return Fitted(plain.name, plain.parameters, False, (note, *plain.notes), plain.renamed)
    sent = sent_name(name, limits)
    if sent != name:
        fitting.note("", f"sent as {sent!r}: {limits.provider} takes names that begin with a letter or _")
    return Fitted(sent, fitted, strict, tuple(fitting.notes), fitting.renamed)


class _Fitting:
    def __init__(self, tool: str, limits: Limits) -> None:
        self.tool = tool
        self.limits = limits
        self.notes: list[SchemaNote] = []
        self.renamed: dict[str, str] = {}
        self._definitions: dict[str, Any] = {}
        self._properties = 0
        self._choices = 0

    def note(self, where: str, text: str) -> None:
        self.notes.append(SchemaNote(self.tool, where, text))

    # ------------------------------------------------------------------ the whole
    def root(self, parameters: dict[str, Any]) -> dict[str, Any]:
        limits = self.limits
        schema = dict(parameters)
        definitions = self._definitions = schema.get("$defs") or {}
        if "$ref" in schema and (target := self._target(schema["$ref"])) is not None:
            del schema["$ref"]
            schema = {**target, **schema}
            self.note("", "the reference that was the whole schema was resolved")
        for keyword in sorted(limits.root_refuses & schema.keys()):
            del schema[keyword]
            self.note("", f"{keyword} left out at the top, where {limits.provider} takes none; a call is held to it")
        if limits.needs_properties and "properties" not in schema:
            schema["properties"] = {}
        schema.setdefault("type", "object")
        if limits.property_name is not None:
            schema = self._rename(schema, limits.property_name)
        if limits.keywords is not None:
            if not limits.recursion and _is_recursive(definitions):
                raise _Unfit("its schema refers to itself")
            fitted = self.node({k: v for k, v in schema.items() if k != "$defs"}, "", 1)
            if definitions:
                # Each is counted from its own root, as the provider does.
                fitted["$defs"] = {key: self.node(each, f"$defs.{key}", 1) for key, each in definitions.items()}
            if limits.max_properties is not None and self._properties > limits.max_properties:
                raise _Unfit(f"it has {self._properties} properties, more than {limits.max_properties}")
            if limits.max_choices is not None and self._choices > limits.max_choices:
                raise _Unfit(f"it has {self._choices} values to choose from, more than {limits.max_choices}")
            schema = fitted
        return parameters if schema == parameters else schema

    def _target(self, reference: str) -> dict[str, Any] | None:
        name = reference.removeprefix("#/$defs/")
        target = self._definitions.get(name)
        return target if isinstance(target, dict) else None

    def _rename(self, schema: dict[str, Any], allowed: re.Pattern[str]) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        if all(allowed.match(name) for name in properties):
            return schema
        sent: dict[str, str] = {}
        for name in properties:
            mapped = name
            if not allowed.match(name):
                mapped = re.sub(r"[^a-zA-Z0-9_.-]", "_", name)[:60] or "_"
                if set(mapped) == {"_"}:
                    mapped = "argument"
                base, count = mapped, 1
                while mapped in properties or mapped in sent.values():
                    count += 1
                    mapped = f"{base}_{count}"
                self.renamed[mapped] = name
                self.note(name, f"sent as {mapped!r}: {self.limits.provider} takes letters, digits, _ . - in it")
            sent[name] = mapped
        told = {
            mapped: _described(properties[name], f"called {name}") if mapped != name else properties[name]
            for name, mapped in sent.items()
        }
        required = [sent.get(name, name) for name in schema.get("required", ())]
        return {**schema, "properties": told, **({"required": required} if "required" in schema else {})}

    # ------------------------------------------------------------------ one node
    def node(self, schema: Any, where: str, depth: int) -> dict[str, Any]:
        if not isinstance(schema, dict):
            if self.limits.closed:
                raise _Unfit(f"{where or 'it'} may be anything")
            return {}
        schema = self._rewritten(schema, where)
        kept: dict[str, Any] = {}
        lost: dict[str, Any] = {}
        for keyword, value in schema.items():
            if not self._takes(keyword, value):
                lost[keyword] = value
            elif keyword == "properties":
                kept[keyword] = self._children(value, schema, where, depth)
            elif keyword in {"items", "additionalProperties"} and isinstance(value, dict):
                kept[keyword] = self.node(value, f"{where}[]" if keyword == "items" else f"{where}.*", depth + 1)
            elif keyword in {"anyOf", "allOf", "oneOf", "prefixItems"}:
                kept[keyword] = [self.node(each, where, depth) for each in value]
            else:
                if keyword == "enum" and isinstance(value, list):
                    self._count_choices(value, where)
                kept[keyword] = value
        if self.limits.closed:
            self._close(kept, where, depth)
        self._tell(kept, lost, where)
        if self.limits.bare_refs and "$ref" in kept and len(kept) > 1:
            # A reference stands alone there; what is said beside it stays beside a choice of one.
            kept["anyOf"] = [{"$ref": kept.pop("$ref")}]
        return kept

    def _count_choices(self, values: list[Any], where: str) -> None:
        self._choices += len(values)
        most = self.limits.max_enum_chars
        size = sum(len(each) for each in values if isinstance(each, str)) if len(values) > LONG_ENUM else 0
        if most is not None and size > most:
            raise _Unfit(f"the {len(values)} values of {where or 'it'} have {size} characters, more than {most}")

    def _takes(self, keyword: str, value: Any) -> bool:
        limits = self.limits
        if limits.keywords is not None and keyword not in limits.keywords:
            return False
        return keyword != "format" or limits.formats is None or value in limits.formats

    def _rewritten(self, schema: dict[str, Any], where: str) -> dict[str, Any]:
        """The same said with keywords that the provider knows, where there are such."""
        known = self.limits.keywords or frozenset()
        if "const" in schema and "const" not in known:
            schema = {**schema, "enum": [schema["const"]]}
            del schema["const"]
        if "oneOf" in schema and "oneOf" not in known and "anyOf" not in schema:
            schema = {**schema, "anyOf": schema["oneOf"]}
            schema.pop("discriminator", None)
            del schema["oneOf"]
            self.note(where, "oneOf sent as anyOf")
        if "allOf" in schema and "allOf" not in known:
            schema = self._merged(schema, where)
        return schema

    def _merged(self, schema: dict[str, Any], where: str) -> dict[str, Any]:
        parts = [self._target(each["$ref"]) or each if "$ref" in each else each for each in schema["allOf"]]
        own = {key: value for key, value in schema.items() if key != "allOf"}
        merged: dict[str, Any] = {}
        for part in (*parts, own):
            for key, value in part.items():
                if key == "properties":
                    merged[key] = {**merged.get(key, {}), **value}
                elif key == "required":
                    merged[key] = [*merged.get(key, ()), *(each for each in value if each not in merged.get(key, ()))]
                else:
                    merged[key] = value
        self.note(where, "allOf sent as one schema made of its parts")
        return merged

    def _children(self, properties: dict[str, Any], schema: dict[str, Any], where: str, depth: int) -> dict[str, Any]:
        self._properties += len(properties)
        if self.limits.max_depth is not None and depth > self.limits.max_depth:
            raise _Unfit(f"it is nested deeper than {self.limits.max_depth} levels, at {where}")
        required = schema.get("required", ())
        made: dict[str, Any] = {}
        for name, value in properties.items():
            place = f"{where}.{name}" if where else name
            child = self.node(value, place, depth + 1)
            if self.limits.all_required and name not in required:
                child = _or_null(child)
                self.note(place, "required, with null for what is left out")
            made[name] = child
        return made

    def _close(self, kept: dict[str, Any], where: str, depth: int) -> None:
        if not kept.keys() & {"type", "anyOf", "allOf", "$ref", "enum", "const"}:
            raise _Unfit(f"{where or 'it'} may be anything")
        if "$ref" in kept and not kept["$ref"].startswith("#/$defs/") and kept["$ref"] != "#":
            raise _Unfit(f"{where} refers to {kept['$ref']}")
        if kept.get("type") == "array" and not kept.get("items"):
            raise _Unfit(f"the items of {where} may be anything")
        if kept.get("type") != "object":
            return
        extra = kept.get("additionalProperties", not (kept.get("properties") or depth == 1))
        if extra is not False:
            raise _Unfit(f"{where or 'it'} takes keys that aren't known beforehand")
        kept["additionalProperties"] = False
        kept.setdefault("properties", {})
        if self.limits.all_required:
            kept["required"] = list(kept["properties"])

    def _tell(self, kept: dict[str, Any], lost: dict[str, Any], where: str) -> None:
        said = []
        for keyword, value in lost.items():
            if keyword in _ANNOTATIONS or (keyword == "default" and value is None):
                continue
            said.append(f"{keyword}: {json.dumps(value, ensure_ascii=False, default=str)}")
            self.note(where, f"{keyword} moved to the description, since {self.limits.provider} doesn't take it")
        if said:
            kept["description"] = _with_text(kept.get("description"), ", ".join(said))


def _with_text(description: str | None, said: str) -> str:
    return f"{description} ({said})" if description else f"({said})"


def _described(schema: Any, said: str) -> dict[str, Any]:
    schema = schema if isinstance(schema, dict) else {}
    return {**schema, "description": _with_text(schema.get("description"), said)}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, with null beside it."""
    kind = schema.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return schema
    if "anyOf" in schema:
        if any(each.get("type") == "null" for each in schema["anyOf"]):
            return schema
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    inner = dict(schema)
    outer = {"description": inner.pop("description")} if "description" in inner else {}
    return {"anyOf": [inner, {"type": "null"}], **outer}


def _references(value: Any) -> set[str]:
    if isinstance(value, dict):
        found = {value["$ref"].removeprefix("#/$defs/")} if isinstance(value.get("$ref"), str) else set()
        return found.union(*(_references(each) for each in value.values()))
    if isinstance(value, list):
        return set().union(*(_references(each) for each in value))
    return set()


def _is_recursive(definitions: dict[str, Any]) -> bool:
    direct = {name: _references(schema) for name, schema in definitions.items()}
    for start, first in direct.items():
        seen: set[str] = set()
        waiting = list(first)
        while waiting:
            name = waiting.pop()
            if name == start:
                return True
            if name not in seen:
                seen.add(name)
                waiting += direct.get(name, ())
    return False
