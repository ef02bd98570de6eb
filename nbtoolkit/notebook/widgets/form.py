"""The fields by which a person edits a call's arguments.

One field for each argument, its kind taken from the schema: a box to tick, a list to pick from, a line or a block of
text, JSON for everything else, also for a text that no field can carry as it is. A field that was left alone gives the
very value that came. Its values are checked by whoever owns the tool; ``show`` puts what is wrong under the field it is
about.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from nbtoolkit.notebook.fields import resolve
from nbtoolkit.notebook.text import sendable, to_json, visible, visible_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nbtoolkit.notebook.widgets.parts import Kit

__all__ = ["ArgumentsForm", "FormError"]

# More fields than this are more easily read as one piece of JSON, and cost the page more than they give.
MAX_FIELDS = 12
MAX_CHOICES = 30
# A box this high shows a paragraph; the browser lets a person drag it larger.
MAX_TEXT_ROWS = 8

_MISSING = object()
# What a field reads as where nothing is in it and nothing was: the argument is left out.
_FIELD = re.compile(r"""^['"`]?([\w.\-]+)""")


class FormError(ValueError):
    """What is wrong, a line for each fault; a line begins with the name of the argument it is about."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


@dataclass(slots=True)
class _Field:
    name: str
    kind: str
    before: Any
    widget: Any
    alert: Any
    shown: Any

    def read(self) -> Any:
        value = self.widget.value
        if value == self.shown:
            return self.before
        if self.kind in {"boolean", "choice"}:
            return value
        if value == "" and not isinstance(self.before, str):
            return self.before
        if self.kind == "text":
            return value
        try:
            return json.loads(value)
        except ValueError:
            # Its owner says what was expected, in better words than a JSON parser.
            return value


class ArgumentsForm:
    """Fields for the arguments of one call; ``view`` holds the widgets in order."""

    def __init__(self, kit: Kit, schema: Mapping[str, Any], tool_input: Mapping[str, Any]) -> None:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        names = list(dict.fromkeys([*tool_input, *properties]))
        self._fields: list[_Field] = []
        self._whole: Any = None
        self._before = tool_input
        self._shown = ""
        self._alert = kit.html("")
        if len(names) > MAX_FIELDS or not names:
            self._shown = text = to_json(dict(tool_input), indent=2)
            self._whole = kit.field(w.Textarea, "JSON", value=text, rows=_rows(text), continuous_update=False)
            self.view: list[Any] = [self._whole, self._alert]
            return
        for name in names:
            about = resolve(properties.get(name), schema)
            self._fields.append(_make(kit, name, about, tool_input.get(name, _MISSING)))
        self.view = [part for each in self._fields for part in (each.widget, each.alert)] + [self._alert]

    def read(self) -> dict[str, Any]:
        """The arguments as they stand; FormError where they are no object at all."""
        if self._whole is not None:
            if self._whole.value == self._shown:
                return dict(self._before)
            try:
                value = json.loads(self._whole.value)
            except ValueError as fault:
                raise FormError([f"this is no JSON ({fault})"]) from None
            if not isinstance(value, dict):
                raise FormError([f"the arguments are one JSON object, not {to_json(value)[:40]}"])
            return value
        values = {field.name: field.read() for field in self._fields}
        return {name: value for name, value in values.items() if value is not _MISSING}

    def show(self, faults: Iterable[str]) -> None:
        """Put each fault under its field, the rest below; none clears them."""
        left = list(faults)
        for field in self._fields:
            mine = [fault for fault in left if _about(fault) == field.name]
            left = [fault for fault in left if fault not in mine]
            _say(field.alert, mine)
        _say(self._alert, left)


def _about(fault: str) -> str:
    hit = _FIELD.match(fault)
    return hit[1].split(".")[0] if hit else ""


def _say(alert: Any, faults: list[str]) -> None:
    lines = "<br>".join(visible(fault) for fault in faults)
    alert.value = f'<div class="nbtk-bad nbtk-fault" role="alert">{lines}</div>' if faults else ""


def _rows(text: str) -> int:
    return max(1, min(MAX_TEXT_ROWS, text.count("\n") + 1 + len(text) // 100))


def _make(kit: Kit, name: str, about: Mapping[str, Any], before: Any) -> _Field:
    alert = kit.html("")
    kind = about.get("type")
    choices = about.get("enum")
    if kind == "boolean" and isinstance(before, bool):
        box = kit.field(w.Checkbox, name, value=before, indent=True)
        return _Field(name, "boolean", before, box, alert, before)
    if isinstance(choices, list) and before in choices and len(choices) <= MAX_CHOICES and _plain(choices):
        pick = kit.field(w.Dropdown, name, options=[(visible_text(str(each)), each) for each in choices], value=before)
        return _Field(name, "choice", before, pick, alert, before)
    plain = isinstance(before, str) and sendable(before)
    textual = plain or ((before is None or before is _MISSING) and _takes_text(about))
    shown = "" if before is _MISSING or before is None else before if plain else to_json(before)
    hint = "left out" if before is _MISSING else "null" if before is None else ""
    if "\n" in shown or len(shown) > 200:
        line = kit.field(w.Textarea, name, value=shown, rows=_rows(shown), continuous_update=False)
    else:
        line = kit.field(w.Text, name, value=shown, placeholder=hint, continuous_update=False)
    return _Field(name, "text" if textual else "json", before, line, alert, shown)


def _plain(choices: list[Any]) -> bool:
    return all(isinstance(each, str | int | float) for each in choices)


def _takes_text(about: Mapping[str, Any]) -> bool:
    kinds = [about.get("type"), *(each.get("type") for each in about.get("anyOf") or () if isinstance(each, dict))]
    return "string" in kinds or "string" in (kinds[0] if isinstance(kinds[0], list) else ())
