"""The fields of a form that hold one value each: what they show, and the value that they give back.

A field that was left alone gives the very value that came; one without a value is left out. What can't be seen in a text
is written out, so that nothing in a field looks like what it isn't.
"""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from nbtoolkit.notebook.text import one_line, to_json, visible, visible_text
from nbtoolkit.notebook.widgets.form_formats import FORMATS, wrong_format
from nbtoolkit.notebook.widgets.form_kinds import MISSING, same
from nbtoolkit.notebook.widgets.form_places import HINT_LIMIT, Place
from nbtoolkit.redact import keep_secret, redact
from nbtoolkit.schema.fault import path_text
from nbtoolkit.unseen import unseen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtoolkit.notebook.widgets.parts import Kit

__all__ = ["INPUTS", "Field", "pick"]

# A box this high shows a paragraph; the browser lets a person drag it larger.
MAX_TEXT_ROWS = 8
LONG_TEXT = 200


class Field:
    """One field: ``view`` is its widget, ``read`` its value, ``say`` puts what is wrong below it."""

    view: Any
    classes = "nbtk-field"
    #: Behind how many of its widgets the description and what is wrong stand.
    note_at = 1

    def __init__(self, place: Place) -> None:
        self.place = place
        self.kit = place.maker.kit
        self.note = self.kit.html(self._hint, "nbtk-fieldnote")
        widgets = self._widgets()
        at = min(self.note_at, len(widgets))
        self.view = self.kit.box(self.classes, [*widgets[:at], self.note, *widgets[at:]])

    def _widgets(self) -> list[Any]:
        raise NotImplementedError

    def read(self) -> Any:
        """The value, MISSING where it is left out."""
        raise NotImplementedError

    def inside(self) -> Iterator[Field]:
        """The fields that it holds, as they were read last."""
        return iter(())

    def fault(self) -> str | None:
        """What is wrong with what was typed here, that the schema's own check wouldn't say."""
        return None

    def relabel(self, label: str) -> None:
        """Call it so from now on: an item of a list has moved."""
        self.place.label = label
        self._show_name()

    def _show_name(self) -> None:
        """Write the name into the field's widgets."""

    def say(self, faults: list[str]) -> None:
        """Show these below the field, beside what the schema says of it."""
        lines = "<br>".join(visible(one_line(redact(fault), HINT_LIMIT * 2)) for fault in faults)
        alert = f'<div class="nbtk-bad nbtk-fault" role="alert">{lines}</div>' if faults else ""
        self.note.value = self._hint + alert

    @property
    def _hint(self) -> str:
        """What stands below the field, whatever is in it."""
        return self.place.hint

    def focus(self) -> None:
        """Put the cursor where a person would mend it."""


class _Input(Field):
    """A field with one input; ``shown`` is what stands in it while nobody has touched it."""

    input: Any

    def focus(self) -> None:
        self.input.focus()

    def _show_name(self) -> None:
        self.input.description = visible_text(self.place.name)

    def read(self) -> Any:
        return self.place.before if self._untouched() else self._changed()

    def _untouched(self) -> bool:
        return bool(self.input.value == self.shown)

    shown: Any = None

    def _changed(self) -> Any:
        return self.input.value

    def _empty(self) -> Any:
        return None if self.place.kind.nullable else MISSING


class TextField(_Input):
    """A line, or a block, of text."""

    def _widgets(self) -> list[Any]:
        before = self.place.before
        self.shown = "" if before is MISSING or before is None else self._text(before)
        self.input = _line(self.kit, self.place, self.shown)
        return [self.input]

    def _text(self, value: Any) -> str:
        return str(value)

    def _changed(self) -> Any:
        if isinstance(self.input, w.Password):
            keep_secret(self.input.value)
        if self.input.value == "" and (self.place.kind.nullable or not self._may_be_empty()):
            return self._empty()
        return self.input.value

    def _may_be_empty(self) -> bool:
        """Whether a text without letters is a value here; else the field is left out."""
        schema = self.place.kind.schema
        least = schema.get("minLength")
        filled = isinstance(least, int) and least > 0
        return not (filled or schema.get("format") in FORMATS or isinstance(schema.get("enum"), list))

    def fault(self) -> str | None:
        value = self.read()
        schema = self.place.kind.schema
        if self._untouched() or not isinstance(value, str):
            return None
        wrong = wrong_format(value, schema)
        return None if wrong is None else f"{path_text(self.place.path)}: got {to_json(one_line(value, 60))}, {wrong}"


class JsonField(TextField):
    """A value as JSON; what is no JSON stays text, and is left to the schema to refuse."""

    def _text(self, value: Any) -> str:
        long = isinstance(value, dict | list) and len(to_json(value)) > LONG_TEXT
        return written_out(to_json(value, indent=2 if long else None))

    def _changed(self) -> Any:
        text = self.input.value.strip()
        if not text:
            return self._empty()
        try:
            return json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return self.input.value

    def fault(self) -> str | None:
        text = self.input.value.strip()
        if self._untouched() or text[:1] not in {"{", "["}:
            return None
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            return f"{path_text(self.place.path)}: this is no JSON yet: {error.msg} ({where})"
        except RecursionError:
            return f"{path_text(self.place.path)}: this is nested too deeply"
        return None


class QuotedField(JsonField):
    """A text with characters that can't be seen, or that turn what follows: in quotes, with each of them written out."""

    @property
    def _hint(self) -> str:
        return f'{self.place.hint}<div class="nbtk-hint">In quotes, with what can\'t be seen written out.</div>'

    def _text(self, value: Any) -> str:
        return written_out(to_json(value))

    def _changed(self) -> Any:
        made = super()._changed()
        # What was typed without the quotes is the text itself.
        return made if made is None or made is MISSING or isinstance(made, str) else self.input.value

    def fault(self) -> str | None:
        text = self.input.value.strip()
        if not self._untouched() and text[:1] == '"':
            try:
                json.loads(text)
            except json.JSONDecodeError as error:
                return (
                    f"{path_text(self.place.path)}: this is no text in quotes yet: {error.msg} (column {error.colno})"
                )
        return TextField.fault(self)


class NumberField(JsonField):
    """A number, typed."""


class DateField(_Input):
    """A day, picked."""

    def _widgets(self) -> list[Any]:
        before = self.place.before
        self.shown = date.fromisoformat(before) if isinstance(before, str) else None
        self.input = self.kit.field(w.DatePicker, self.place.name, value=self.shown, layout=self.kit.layout())
        return [self.input]

    def _changed(self) -> Any:
        return self._empty() if self.input.value is None else self.input.value.isoformat()


class BooleanField(_Input):
    """A box to tick, for what is yes or no."""

    def _widgets(self) -> list[Any]:
        before, place = self.place.before, self.place
        self.shown = before if isinstance(before, bool) else None
        self.input = self.kit.field(w.Checkbox, place.name, value=bool(self.shown), indent=True)
        return [self.input]

    def read(self) -> Any:
        """Whether it is ticked; a box that nobody touched is a no."""
        return self.input.value


class SearchField(TextField):
    """One of many texts: typed, with those that hold what was typed offered below."""

    def _widgets(self) -> list[Any]:
        place = self.place
        self.shown = place.before if isinstance(place.before, str) else ""
        self.input = self.kit.field(
            w.Combobox, place.name, value=self.shown, placeholder=place.placeholder, continuous_update=False,
            options=[each.value for each in place.kind.variants],
        )  # fmt: skip
        return [self.input]


class ChoiceField(_Input):
    """One of a few values."""

    def _widgets(self) -> list[Any]:
        place = self.place
        self._values = [each.value for each in place.kind.variants]
        labels = [visible_text(each.label) for each in place.kind.variants]
        if place.kind.nullable and None not in self._values:
            self._values, labels = [*self._values, None], [*labels, "null"]
        if place.before is MISSING:
            self._values = [MISSING, *self._values]
            labels = [place.state if place.optional else "choose …", *labels]
        at = next(i for i, each in enumerate(self._values) if each is place.before or _equal(each, place.before))
        self.input = pick(self.kit, place.name, labels, at)
        return [self.input]

    def read(self) -> Any:
        """The value that is picked."""
        return self._values[self.input.value]


class TicksField(Field):
    """Some of a few values, in the schema's order."""

    def _widgets(self) -> list[Any]:
        given = self.place.before
        if given is MISSING and self.place.optional:
            # What a call without it will have.
            given = self.place.kind.schema.get("default")
        given = given if isinstance(given, list) else []
        self._values = [each.value for each in self.place.kind.variants]
        self._before = [any(same(each, one) for one in given) for each in self._values]
        self._boxes = [
            self.kit.field(w.Checkbox, visible_text(each.label), value=on, indent=False, layout=self.kit.layout())
            for each, on in zip(self.place.kind.variants, self._before, strict=True)
        ]
        self._name = self.kit.html("", "nbtk-tickname")
        self._show_name()
        return [self.kit.box("nbtk-ticks", [self._name, *self._boxes], row=True)]

    def _show_name(self) -> None:
        self._name.value = f'<span role="heading" aria-level="5">{visible(self.place.name)}</span>'

    def read(self) -> Any:
        ticked = [box.value for box in self._boxes]
        if ticked == self._before and not (self.place.before is MISSING and self.place.required):
            return self.place.before
        return [value for value, on in zip(self._values, ticked, strict=True) if on]


class ConstField(Field):
    """A value that can't be another."""

    def _widgets(self) -> list[Any]:
        self._fixed = self.kit.html("")
        self._show_name()
        return [self._fixed]

    def _show_name(self) -> None:
        name, shown = visible(self.place.name), visible(self.place.kind.variants[0].label)
        self._fixed.value = f'<div class="nbtk-fixed"><span>{name}</span> <code>{shown}</code></div>'

    def read(self) -> Any:
        before, above = self.place.before, self.place.above.field
        # Many an object is told from others by it alone: who makes one in the form means to say so.
        made_here = above is not None and above.place.before is MISSING
        left_out = self.place.optional and not made_here
        return before if before is not MISSING or left_out else self.place.kind.variants[0].value


def _line(kit: Kit, place: Place, shown: str) -> Any:
    hint = place.placeholder
    if place.kind.schema.get("writeOnly") is True or place.kind.schema.get("format") == "password":
        return kit.field(w.Password, place.name, value=shown, placeholder=hint, continuous_update=False)
    if ("\n" in shown or len(shown) > LONG_TEXT) and place.kind.schema.get("writeOnly") is not True:
        rows = max(2, min(MAX_TEXT_ROWS, shown.count("\n") + 1 + len(shown) // 100))
        return kit.field(w.Textarea, place.name, value=shown, rows=rows, placeholder=hint, continuous_update=False)
    kind = w.Password if place.kind.schema.get("writeOnly") is True else w.Text
    return kit.field(kind, place.name, value=shown, placeholder=hint, continuous_update=False)


def pick(kit: Kit, name: str, labels: list[str], at: int) -> Any:
    """A list to pick from, by number: values of JSON don't tell True from 1."""
    return kit.field(w.Dropdown, name, options=[(label, i) for i, label in enumerate(labels)], value=at)


def _equal(one: Any, other: Any) -> bool:
    return one is not MISSING and other is not MISSING and same(one, other)


def written_out(text: str) -> str:
    """JSON with what can't be seen in its texts as JSON writes it in letters."""
    return unseen().sub(lambda hit: json.dumps(hit[0])[1:-1], text)


def _no_constant(text: str) -> Any:
    raise ValueError(text)


INPUTS: dict[str, type[Field]] = {
    "const": ConstField,
    "choice": ChoiceField,
    "search": SearchField,
    "ticks": TicksField,
    "boolean": BooleanField,
    "text": TextField,
    "date": DateField,
    "number": NumberField,
    "json": JsonField,
    "quoted": QuotedField,
}
