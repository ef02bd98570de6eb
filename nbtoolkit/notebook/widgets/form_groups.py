"""The fields of a form that hold others: objects, lists, unions, and what a person may ask for.

Parts that nobody may ever want (an optional object, the other branches of a union, a schema inside itself) are made when
they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as w

from nbtoolkit.notebook.fields import type_words
from nbtoolkit.notebook.text import visible, visible_text
from nbtoolkit.notebook.widgets.form_fields import INPUTS, LEFT_OUT, Above, Field, legend, pick
from nbtoolkit.notebook.widgets.form_kinds import MAX_ITEMS, MISSING, looks_like
from nbtoolkit.schema.fault import path_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["CLASSES", "ObjectField", "known_paths"]


class _Group(Field):
    """A field that holds others, under a line that names them."""

    classes = "nbtk-group"


class ObjectField(_Group):
    """Names with a field each, and further names where the schema lets them be added."""

    def _widgets(self) -> list[Any]:
        place = self.place
        schema, before = place.kind.schema, place.before if isinstance(place.before, dict) else {}
        properties = schema.get("properties")
        self._known: Mapping[str, Any] = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        self._required = set(map(str, required)) if isinstance(required, list) else set()
        more = schema.get("additionalProperties")
        self._more: Any = more if isinstance(more, dict) else {}
        self._fields: dict[str, Field] = {}
        self._rows: list[tuple[Any, Field, Any]] = []
        names = dict.fromkeys([*before, *self._known])
        held = []
        for name in names:
            made = self._make(name, before.get(name, MISSING))
            self._fields[name] = made
            held.append(made.view)
        self._held = self.kit.box("nbtk-inside" if place.path else "nbtk-fields", held)
        parts = [legend(self.kit, place)] if place.path else []
        parts.append(self._held)
        if isinstance(more, dict) or more is True:
            parts.append(self.kit.button("Add a name", place.name or "arguments", "7.2em", self._add, "nbtk-quiet"))
        return parts

    def _make(self, name: str, value: Any) -> Field:
        schema = self._known.get(name, self._more)
        return self.place.maker.make(name, schema, value, Above(self, name), required=name in self._required)

    def _add(self) -> None:
        place = self.place
        if len(self._fields) + len(self._rows) >= MAX_ITEMS or place.maker.left <= 0:
            return
        number = len(self._rows) + 1
        key = self.kit.field(w.Text, f"new name {number}", placeholder="its name")
        value = place.maker.make("value", self._more, MISSING, Above(self, f"new {number}"), required=True)
        row = self.kit.box("nbtk-inside", [key, value.view])
        self._rows.append((key, value, row))
        self._held.children = (*self._held.children, row)
        place.maker.made()
        key.focus()

    def read(self) -> Any:
        """The names that have a value."""
        values = {name: each.read() for name, each in self._fields.items()}
        for key, each, _ in self._rows:
            if key.value.strip():
                each.place.above = Above(self, key.value.strip())
                values[key.value.strip()] = each.read()
        return {name: value for name, value in values.items() if value is not MISSING}

    def inside(self) -> Iterator[Field]:
        """The fields of the names."""
        yield from self._fields.values()
        yield from (each for _, each, _ in self._rows)


class ListField(_Group):
    """Items in order, each to be changed or taken out, and more to be added."""

    def _widgets(self) -> list[Any]:
        place = self.place
        self._items: list[tuple[Field, Any]] = []
        self._read: list[Field] = []
        self._touched = False
        self._made = 0
        self._held = self.kit.box("nbtk-inside", [])
        for value in place.before if isinstance(place.before, list) else ():
            self._append(value)
        self._held.children = tuple(row for _, row in self._items)
        add = self.kit.button("Add one", f"to {place.name}", "5.6em", self._add, "nbtk-quiet")
        words = visible(type_words(place.kind.schema, place.maker.root))
        named = f'<span role="heading" aria-level="5">{visible(place.name)}</span> {words}'
        head = self.kit.html(f'<div class="nbtk-fixed">{named}</div>')
        return [self.kit.box("nbtk-later", [head, add], row=True), self._held]

    def _append(self, value: Any) -> Field:
        place = self.place
        self._made += 1
        label = f"{place.name} {self._made}"
        item = place.maker.make(label, place.kind.schema.get("items"), value, Above(self, self._made), required=True)
        out = self.kit.button("Remove", label, "5em", lambda: self._remove(item), "nbtk-quiet")
        self._items.append((item, self.kit.box("nbtk-item-row", [item.view, out], row=True)))
        return item

    def _add(self) -> None:
        if len(self._items) >= MAX_ITEMS or self.place.maker.left <= 0:
            self.say([f"{self.place.name}: more than these are given as JSON"])
            return
        self._touched = True
        item = self._append(MISSING)
        self._held.children = tuple(row for _, row in self._items)
        self.place.maker.made()
        item.focus()

    def _remove(self, item: Field) -> None:
        self._touched = True
        self._items = [each for each in self._items if each[0] is not item]
        self._held.children = tuple(row for _, row in self._items)

    def read(self) -> Any:
        values: list[Any] = []
        self._read = []
        for item, _ in self._items:
            item.place.above = Above(self, len(values))
            value = item.read()
            if value is not MISSING:
                values.append(value)
                self._read.append(item)
        if not self._touched and not values and not isinstance(self.place.before, list) and self.place.optional:
            return self.place.before
        return values

    def inside(self) -> Iterator[Field]:
        yield from self._read


class UnionField(_Group):
    """A list to say which kind of value it is, and that kind's own field."""

    def _widgets(self) -> list[Any]:
        place = self.place
        variants = place.kind.variants
        at = next((i for i, each in enumerate(variants) if looks_like(place.before, each.value)), 0)
        self._fields: dict[int, Field] = {}
        self._picked = at
        self._pick = pick(self.kit, f"{place.name}, kind", [visible_text(each.label) for each in variants], at)
        self._pick.observe(lambda change: self._choose(change["new"]), "value")
        self._held = self.kit.box("nbtk-inside", [self._variant(at, place.before).view])
        return [self._pick, self._held]

    def _variant(self, at: int, value: Any) -> Field:
        made = self._fields.get(at)
        if made is None:
            schema = self.place.kind.variants[at].value
            made = self.place.maker.make(self.place.label, schema, value, Above(self), required=True)
            self._fields[at] = made
        return made

    def _choose(self, at: int) -> None:
        self._picked = at
        self._held.children = (self._variant(at, MISSING).view,)
        self.place.maker.made()

    def read(self) -> Any:
        return self._fields[self._picked].read()

    def inside(self) -> Iterator[Field]:
        yield self._fields[self._picked]

    def focus(self) -> None:
        self._pick.focus()


class LaterField(_Group):
    """Something larger that isn't there: a button makes it, another leaves it out again."""

    def _widgets(self) -> list[Any]:
        self._field: Field | None = None
        self._on = False
        name = self.place.name
        state = "null" if self.place.before is None else LEFT_OUT
        said = self.kit.html(f'<div class="nbtk-fixed"><span>{visible(name)}</span> {visible(state)}</div>')
        give = self.kit.button("Fill in", name, "4.6em", lambda: self._turn(on=True), "nbtk-quiet")
        self._drop: Any = None
        self._off = self.kit.box("nbtk-later", [said, give], row=True)
        self._held = self.kit.box("", [self._off])
        return [self._held]

    def _turn(self, *, on: bool) -> None:
        place = self.place
        self._on = on
        if self._field is None:
            schema = {key: each for key, each in place.kind.schema.items() if key != "default"}
            value = place.kind.schema.get("default", MISSING)
            value = MISSING if value is None else value
            self._field = place.maker.make(place.label, schema, value, Above(self), required=True)
            words = "Make it null" if place.before is None else "Leave out"
            self._drop = self.kit.button(words, place.name, "7.4em", lambda: self._turn(on=False), "nbtk-quiet")
        self._held.children = (self._field.view, self._drop) if on else (self._off,)
        place.maker.made()
        if on:
            next(self._field.inside(), self._field).focus()

    def read(self) -> Any:
        """What was filled in; else what was there before."""
        return self._field.read() if self._on and self._field is not None else self.place.before

    def inside(self) -> Iterator[Field]:
        """What was filled in."""
        if self._on and self._field is not None:
            yield self._field


def known_paths(root: Field) -> Iterator[tuple[str, Field]]:
    """Each field that is shown, by its path in words; fields inside others after them."""
    yield path_text(root.place.path), root
    for each in root.inside():
        yield from known_paths(each)


CLASSES: dict[str, type[Field]] = {
    **INPUTS,
    "object": ObjectField,
    "list": ListField,
    "union": UnionField,
    "later": LaterField,
}
