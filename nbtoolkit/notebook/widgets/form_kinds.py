"""Which kind of field a JSON Schema asks for, given the value that is there already.

The schema may be hostile: references in circles end, branches are bounded, and what no field can carry is a piece of
JSON. Nothing here makes a widget.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from nbtoolkit.notebook.fields import called, resolve, type_words
from nbtoolkit.notebook.text import one_line, sendable, to_json
from nbtoolkit.unseen import unseen

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MISSING", "Kind", "Name", "Variant", "further", "kind_of", "looks_like", "whole"]

# More choices than these are typed, with a search; past the second number the page would feel their weight.
MAX_CHOICES = 40
MAX_SEARCHED = 2_000
MAX_TICKS = 12
MAX_VARIANTS = 12
# More values than this are easier read as one piece of JSON.
MAX_ITEMS = 24
# Of more names than this those that are neither required nor given are added when they are wanted.
MAX_SHOWN = 24
MAX_MERGED = 20
# Unions of one branch and lists of lists may lead back to themselves.
MAX_STEPS = 8
LABEL_LIMIT = 60


class _Missing:
    """No value: the argument is left out."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()

Name = Literal[
    "const", "choice", "search", "ticks", "boolean", "text", "date", "number", "object", "list", "tuple", "union", "json",
    "quoted",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Variant:
    """One way that a union, or one value that a choice, offers."""

    label: str
    value: Any
    """A choice's value, a union's schema."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A field: its name, the schema with references and ``allOf`` put together, and what is to be chosen from."""

    name: Name
    schema: Mapping[str, Any]
    nullable: bool = False
    variants: tuple[Variant, ...] = ()


def kind_of(schema: Any, root: Mapping[str, Any], value: Any = MISSING) -> Kind:
    """The field for this schema; JSON where the value wouldn't survive any other."""
    kind = _declared(whole(schema, root), root)
    if not _carries(kind, value):
        return Kind("json", kind.schema, kind.nullable)
    if kind.name == "search" and any(unseen().search(each.value) for each in kind.variants):
        # What is typed in full must be what is read.
        return Kind("choice", kind.schema, kind.nullable, kind.variants)
    hidden = kind.schema.get("writeOnly") is True or kind.schema.get("format") == "password"
    if kind.name == "text" and isinstance(value, str) and not hidden and unseen().search(value):
        return Kind("quoted", kind.schema, kind.nullable)
    return kind


def whole(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with its reference followed and its ``allOf`` merged."""
    about = _conditional(resolve(schema, root), root)
    parts = about.get("allOf")
    if not isinstance(parts, list):
        return about
    merged: dict[str, Any] = {}
    for part in [_conditional(resolve(each, root), root) for each in parts[:MAX_MERGED]] + [about]:
        for key, value in part.items():
            before = merged.get(key)
            if key == "properties" and isinstance(before, dict) and isinstance(value, dict):
                merged[key] = {**before, **value}
            elif key == "required" and isinstance(before, list) and isinstance(value, list):
                merged[key] = [*before, *value]
            elif key != "allOf":
                merged[key] = value
    return merged


def _conditional(about: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with the names that only some of its values have, which the check then asks for or refuses."""
    known = about.get("properties")
    found: dict[str, Any] = {}
    for part in (about.get("then"), about.get("else"), *_values(about.get("dependentSchemas"))):
        inner = resolve(part, root).get("properties")
        found |= inner if isinstance(inner, dict) else {}
    if not found or not isinstance(known, dict):
        return about
    return {**about, "properties": {**found, **known} if len(found) <= MAX_MERGED else known}


def _values(held: Any) -> list[Any]:
    return list(held.values()) if isinstance(held, dict) else []


def _declared(about: Mapping[str, Any], root: Mapping[str, Any], step: int = 0) -> Kind:
    """The field that the schema asks for, whatever the value."""
    if step > MAX_STEPS:
        return Kind("json", about)
    if isinstance(about.get("enum"), list):
        names = about.get("enumNames")
        names = names if isinstance(names, list) and len(names) == len(about["enum"]) else about["enum"]
        return _choice(about, [Variant(_label(name), each) for each, name in zip(about["enum"], names, strict=True)])
    if "const" in about:
        return Kind("const", about, variants=(Variant(_label(about["const"]), about["const"]),))
    for key in ("anyOf", "oneOf"):
        if isinstance(about.get(key), list) and about[key]:
            branches = about[key][: MAX_VARIANTS * 4]
            wholes = [whole(each, root) for each in branches]
            names = [called(raw, each) for raw, each in zip(branches, wholes, strict=True)]
            return _union(about, wholes, root, step, names)
    types = about.get("type")
    if isinstance(types, list) and types:
        return _union(about, [{**about, "type": each} for each in types], root, step, [""] * len(types))
    return _plain(about, types if isinstance(types, str) else None, root, step)


def _plain(about: Mapping[str, Any], kind: str | None, root: Mapping[str, Any], step: int) -> Kind:
    if kind == "boolean":
        return Kind("boolean", about)
    if kind in {"integer", "number"}:
        return Kind("number", about)
    if kind == "string":
        return Kind("date" if about.get("format") == "date" else "text", about)
    if kind == "array" or (kind is None and isinstance(about.get("items"), dict)):
        return _array(about, root, step)
    if kind == "object" or (kind is None and isinstance(about.get("properties"), dict)):
        properties = about.get("properties")
        return Kind("object" if properties or _is_map(about) else "json", about)
    return Kind("json", about)


def _is_map(about: Mapping[str, Any]) -> bool:
    return further(about) is not None


def further(about: Mapping[str, Any]) -> Any:
    """The schema of names that aren't listed; None where the schema doesn't offer any in so many words."""
    patterns, more = about.get("patternProperties"), about.get("additionalProperties")
    if isinstance(patterns, dict) and patterns:
        # Which of several a new name belongs to is known when it has been typed.
        return next(iter(patterns.values())) if len(patterns) == 1 and not isinstance(more, dict) else {}
    return more if isinstance(more, dict) else {} if more is True else None


def _array(about: Mapping[str, Any], root: Mapping[str, Any], step: int) -> Kind:
    prefix = about.get("prefixItems")
    if isinstance(prefix, list) and 0 < len(prefix) <= MAX_ITEMS:
        return Kind("tuple", about)
    if prefix or isinstance(about.get("items"), list):
        return Kind("json", about)
    inner = _declared(whole(about.get("items"), root), root, step + 1)
    if inner.name == "choice" and not inner.nullable and len(inner.variants) <= MAX_TICKS:
        return Kind("ticks", about, variants=inner.variants)
    return Kind("list", about)


def _union(
    about: Mapping[str, Any],
    branches: list[Mapping[str, Any]],
    root: Mapping[str, Any],
    step: int,
    called_as: list[str],
) -> Kind:
    kept = [i for i, each in enumerate(branches) if each.get("type") != "null" and each.get("const", 0) is not None]
    real, names = [branches[i] for i in kept], [called_as[i] for i in kept]
    nullable = len(real) < len(branches)
    shared = {key: value for key, value in about.items() if key not in {"anyOf", "oneOf", "type"}}
    if not real:
        return Kind("const", about, variants=(Variant("null", None),))
    if len(real) == 1:
        inner = _declared({**shared, **real[0]}, root, step + 1)
        return Kind(inner.name, inner.schema, nullable or inner.nullable, inner.variants)
    if all("const" in each for each in real):
        made = [Variant(_label(each.get("title") or each["const"]), each["const"]) for each in real]
        kind = _choice(about, made)
        return Kind(kind.name, kind.schema, nullable, kind.variants)
    if len(real) > MAX_VARIANTS:
        return Kind("json", about, nullable)
    # What stands beside the branches, such as shared properties, holds for each of them.
    beside = {key: value for key, value in shared.items() if key in {"properties", "required"}}
    variants = []
    for each, name in zip(real, names, strict=True):
        branch = whole({"allOf": [beside, each]}, root) if beside else each
        variants.append(Variant(_variant_label(branch, root, name), branch))
    return Kind("union", about, nullable, _told_apart(variants))


def _told_apart(variants: list[Variant]) -> tuple[Variant, ...]:
    labels = [each.label for each in variants]
    return tuple(
        Variant(f"{each.label} ({i})" if labels.count(each.label) > 1 else each.label, each.value)
        for i, each in enumerate(variants, 1)
    )


def _variant_label(branch: Mapping[str, Any], root: Mapping[str, Any], name: str) -> str:
    properties = branch.get("properties")
    title = branch.get("title")
    if isinstance(title, str) and title.strip():
        return _label(title)
    for key, each in properties.items() if isinstance(properties, dict) else ():
        fixed = resolve(each, root).get("const")
        if isinstance(fixed, str):
            return _label(f"{key} {fixed}")
    return _label(name if name and isinstance(properties, dict) else type_words(branch, root))


def _choice(about: Mapping[str, Any], variants: list[Variant]) -> Kind:
    plain = all(isinstance(each.value, str | int | float | None) for each in variants)
    sound = all(sendable(each.value) for each in variants if isinstance(each.value, str))
    if not variants or len(variants) > MAX_CHOICES or not plain or not sound:
        texts = variants and sound and all(isinstance(each.value, str) for each in variants)
        if not texts:
            return Kind("json", about)
        return Kind("search", about, variants=tuple(variants)) if len(variants) <= MAX_SEARCHED else Kind("text", about)
    return Kind("choice", about, variants=tuple(variants))


def _label(value: Any) -> str:
    text = value if isinstance(value, str) and value.strip() else to_json(value)
    return one_line(text, LABEL_LIMIT)


def _carries(kind: Kind, value: Any) -> bool:
    """Whether the field can show this value and give it back as it is."""
    if value is MISSING or (value is None and kind.nullable):
        return True
    match kind.name:
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "text" | "search":
            return isinstance(value, str) and sendable(value)
        case "date":
            return isinstance(value, str) and _is_date(value)
        case "choice" | "const":
            return any(same(value, each.value) for each in kind.variants)
        case "ticks":
            known = [each.value for each in kind.variants]
            fits = isinstance(value, list) and all(any(same(item, each) for each in known) for item in value)
            return fits and len({to_json(item) for item in value}) == len(value)
        case "list":
            return isinstance(value, list) and len(value) <= MAX_ITEMS
        case "tuple":
            return isinstance(value, list) and len(value) <= len(kind.schema["prefixItems"])
        case "object":
            return (
                isinstance(value, dict)
                and not any(map(unseen().search, value))
                and len(value) <= MAX_SHOWN
                and len(_required(kind.schema)) <= MAX_SHOWN
            )
        case "union":
            return any(looks_like(value, each.value) for each in kind.variants)
        case _:
            return True


def _required(schema: Mapping[str, Any]) -> list[Any]:
    required = schema.get("required")
    return required if isinstance(required, list) else []


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are one, where ``True`` is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def looks_like(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value may belong to this branch of a union, by its type and by what the branch fixes and requires."""
    if "const" in schema:
        return same(value, schema["const"])
    if isinstance(schema.get("enum"), list):
        return any(same(value, each) for each in schema["enum"])
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds] if isinstance(kinds, str) else []
    if kinds and not any(_is_a(value, kind) for kind in kinds):
        return False
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return True
    if not isinstance(value, dict):
        return False
    required = schema.get("required")
    if isinstance(required, list) and not {name for name in required if isinstance(name, str)} <= set(value):
        return False
    fixed = {name: each["const"] for name, each in properties.items() if isinstance(each, dict) and "const" in each}
    return all(same(value[name], each) for name, each in fixed.items() if name in value)


def _is_a(value: Any, kind: Any) -> bool:
    wanted = _TYPES.get(kind) if isinstance(kind, str) else None
    return wanted is None or (isinstance(value, wanted) and (not isinstance(value, bool) or bool in wanted))
