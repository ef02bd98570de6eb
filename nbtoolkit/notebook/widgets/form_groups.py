"""The fields of a form that hold others: objects, lists, unions, and what a person may ask for.

Parts that nobody may ever want (an optional object, the other branches of a union, a schema inside itself) are made when
they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as w

from nbtoolkit.notebook.text import count, one_line, visible, visible_text
from nbtoolkit.notebook.widgets.form_fields import INPUTS, Field, pick
from nbtoolkit.notebook.widgets.form_kinds import MAX_ITEMS, MAX_SHOWN, MISSING, further, looks_like
from nbtoolkit.notebook.widgets.form_places import Above, legend
from nbtoolkit.schema.fault import path_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["CLASSES", "ObjectField", "known_paths"]


class _Group(Field):
    """A field that holds others, under a line that names them."""

    classes = "nbtk-group"

    def focus(self) -> None:
        """Put the cursor into the first field that it holds."""
        first = next(self.inside(), None)
        if first is not None:
            first.focus()


class ObjectField(_Group):
    """Names with a field each, and further names where the schema lets them be added.

    Of very many names those that are required or given stand there, and the others are picked from a list.
    """

    def _widgets(self) -> list[Any]:
        place = self.place
        schema, before = place.kind.schema, place.before if isinstance(place.before, dict) else {}
        properties = schema.get("properties")
        self._known: Mapping[str, Any] = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        self._required = set(map(str, required)) if isinstance(required, list) else set()
        more = further(schema)
        self._more: Any = {} if more is None else more
        self._fields: dict[str, Field] = {}
        self._rows: list[tuple[Any, Field, Any]] = []
        names = dict.fromkeys([*before, *self._known])
        room = MAX_SHOWN - sum(name in before or name in self._required for name in names)
        self._rest: list[str] = []
        held = []
        for name in names:
            if name not in before and name not in self._required:
                room -= 1
                if room < 0:
                    self._rest.append(name)
                    continue
            made = self._make(name, before.get(name, MISSING))
            self._fields[name] = made
            held.append(made.view)
        self._held = self.kit.box("nbtk-inside" if place.path else "nbtk-fields", held)
        self._legend = self.kit.html("") if place.path else None
        self._show_name()
        parts = [self._legend, self._held] if self._legend is not None else [self._held]
        if self._rest:
            parts.append(self._chooser())
        if more is not None:
            parts.append(self.kit.button("Add a name", place.name or "arguments", "7.2em", self._add, "nbtk-quiet"))
        return parts

    def _show_name(self) -> None:
        if self._legend is not None:
            self._legend.value = legend(self.place)

    def _make(self, name: str, value: Any) -> Field:
        schema = self._known.get(name, self._more)
        return self.place.maker.make(name, schema, value, Above(self, name), required=name in self._required)

    def _chooser(self) -> Any:
        """A search among the names that may be left out."""
        about = f"of {self.place.name}" if self.place.path else "of the arguments"
        self._search = self.kit.field(
            w.Combobox, "more", options=self._rest, ensure_option=False, continuous_update=False,
            placeholder=f"{count(len(self._rest), 'more name')}, left out: type to find one",
        )  # fmt: skip
        give = self.kit.button("Fill in", about, "4.6em", self._give, "nbtk-quiet")
        return self.kit.box("nbtk-later", [self._search, give], row=True)

    def _give(self) -> None:
        name = self._search.value
        if name not in self._rest:
            self.say([f"{visible_text(one_line(name, 60)) or 'nothing'}: no such name is left"])
            return
        self.say([])
        self._rest = [each for each in self._rest if each != name]
        # It was asked for: a field, not another button to press.
        made = self.place.maker.make(name, self._known[name], MISSING, Above(self, name), required=False)
        self._fields[name] = made
        self._held.children = (*self._held.children, made.view)
        self._search.value = ""
        self._search.options = self._rest
        self._search.placeholder = f"{count(len(self._rest), 'more name')}, left out: type to find one"
        self.place.maker.made()
        made.focus()

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
        yield from (each for key, each, _ in self._rows if key.value.strip())


class ListField(_Group):
    """Items in order, each to be changed or taken out, and more to be added; each is called by its place."""

    def _widgets(self) -> list[Any]:
        place = self.place
        self._items: list[tuple[Field, Any, Any]] = []
        self._read: list[Field] = []
        self._touched = False
        self._held = self.kit.box("nbtk-inside", [])
        for value in place.before if isinstance(place.before, list) else ():
            self._append(value)
        self._held.children = tuple(row for _, row, _ in self._items)
        self._plus = self.kit.button("Add one", "", "5.6em", self._add, "nbtk-quiet")
        self._head = self.kit.html("")
        self._show_name()
        return [self.kit.box("nbtk-later", [self._head, self._plus], row=True), self._held]

    def _show_name(self) -> None:
        place = self.place
        words = visible(place.words)
        named = f'<span role="heading" aria-level="5">{visible(place.name)}</span> {words}'
        self._head.value = f'<div class="nbtk-fixed">{named}</div>'
        self._plus.description = f"Add one\nto {place.name}"
        for number, (item, _, out) in enumerate(self._items):
            item.place.above = Above(self, number)
            label = place.item(number)
            if item.place.label != label:
                item.relabel(label)
            out.description = f"Remove\n{item.place.name}"

    def _append(self, value: Any) -> Field:
        place, number = self.place, len(self._items)
        label = place.item(number)
        item = place.maker.make(label, place.kind.schema.get("items"), value, Above(self, number), required=True)
        out = self.kit.button("Remove", item.place.name, "5em", lambda: self._remove(item), "nbtk-quiet")
        self._items.append((item, self.kit.box("nbtk-item-row", [item.view, out], row=True), out))
        return item

    def _add(self) -> None:
        if len(self._items) >= MAX_ITEMS or self.place.maker.left <= 0:
            self.say([f"{self.place.name}: more than these are given as JSON"])
            return
        self._touched = True
        item = self._append(MISSING)
        self._held.children = tuple(row for _, row, _ in self._items)
        self.place.maker.made()
        item.focus()

    def _remove(self, item: Field) -> None:
        self._touched = True
        self._items = [each for each in self._items if each[0] is not item]
        self._held.children = tuple(row for _, row, _ in self._items)
        self._show_name()

    def read(self) -> Any:
        values: list[Any] = []
        self._read = []
        for item, _, _ in self._items:
            item.place.above = Above(self, len(values))
            value = item.read()
            if value is not MISSING:
                values.append(value)
                self._read.append(item)
        before = self.place.before
        if not self._touched and not values and (before is None or (before is MISSING and self.place.optional)):
            return before
        return values

    def inside(self) -> Iterator[Field]:
        yield from self._read


class TupleField(_Group):
    """A list whose every place has a kind of its own."""

    def _widgets(self) -> list[Any]:
        place = self.place
        before = place.before if isinstance(place.before, list) else []
        self._fields: list[Field] = []
        for number, schema in enumerate(place.kind.schema["prefixItems"]):
            value = before[number] if number < len(before) else MISSING
            label = place.item(number)
            self._fields.append(place.maker.make(label, schema, value, Above(self, number), required=True))
        self._legend = self.kit.html("")
        self._show_name()
        return [self._legend, self.kit.box("nbtk-inside", [each.view for each in self._fields])]

    def _show_name(self) -> None:
        self._legend.value = legend(self.place)
        for number, each in enumerate(self._fields):
            each.relabel(self.place.item(number))

    def read(self) -> Any:
        values = [each.read() for each in self._fields]
        while values and values[-1] is MISSING:
            values.pop()
        if not values and not isinstance(self.place.before, list) and self.place.optional:
            return self.place.before
        # A hole in the middle has no JSON but null, and is told where null won't do.
        return [None if value is MISSING else value for value in values]

    def inside(self) -> Iterator[Field]:
        yield from self._fields


class UnionField(_Group):
    """A list to say which kind of value it is, and that kind's own field."""

    def _widgets(self) -> list[Any]:
        place = self.place
        variants = place.kind.variants
        at = next((i for i, each in enumerate(variants) if looks_like(place.before, each.value)), 0)
        self._fields: dict[int, Field] = {}
        self._picked = at
        self._pick = pick(self.kit, "", [visible_text(each.label) for each in variants], at)
        self._pick.observe(lambda change: self._choose(change["new"]), "value")
        self._held = self.kit.box("nbtk-inside", [self._variant(at, place.before).view])
        self._show_name()
        return [self._pick, self._held]

    def _show_name(self) -> None:
        self._pick.description = visible_text(f"{self.place.name}, kind")
        for each in self._fields.values():
            each.relabel(self.place.label)

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
        self._said = self.kit.html("")
        self._fill = self.kit.button("Fill in", "", "4.6em", lambda: self._turn(on=True), "nbtk-quiet")
        self._drop: Any = None
        self._show_name()
        self._off = self.kit.box("nbtk-later", [self._said, self._fill], row=True)
        self._held = self.kit.box("", [self._off])
        return [self._held]

    def _show_name(self) -> None:
        name, words = self.place.name, self._words()
        self._said.value = f'<div class="nbtk-fixed"><span>{visible(name)}</span> {visible(words[0])}</div>'
        self._fill.description = f"Fill in\n{name}"
        if self._drop is not None:
            self._drop.description = f"{words[1]}\n{name}"
        if self._field is not None:
            self._field.relabel(self.place.label)

    def _words(self) -> tuple[str, str]:
        return ("null", "Make it null") if self.place.before is None else (self.place.state, "Leave out")

    def _turn(self, *, on: bool) -> None:
        place = self.place
        self._on = on
        if self._field is None:
            schema = {key: each for key, each in place.kind.schema.items() if key != "default"}
            value = place.kind.schema.get("default", MISSING)
            value = MISSING if value is None else value
            self._field = place.maker.make(place.label, schema, value, Above(self), required=True)
            self._drop = self.kit.button(
                self._words()[1], place.name, "7.4em", lambda: self._turn(on=False), "nbtk-quiet"
            )
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
    "tuple": TupleField,
    "union": UnionField,
    "later": LaterField,
}
