"""What a field of a form is about, and which field is made for it: the place of each value in the schema.

A form has a budget of fields; past it, and past the depth at which a person still sees where a field belongs, a value is
one piece of JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtoolkit.notebook.fields import type_words
from nbtoolkit.notebook.text import one_line, to_json, visible, visible_text
from nbtoolkit.notebook.widgets.form_formats import FORMATS
from nbtoolkit.notebook.widgets.form_kinds import MAX_SHOWN, MISSING, Kind, Variant, kind_of
from nbtoolkit.redact import redact, redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbtoolkit.notebook.widgets.form_fields import Field
    from nbtoolkit.notebook.widgets.parts import Kit
    from nbtoolkit.schema.fault import Path

__all__ = ["HINT_LIMIT", "Above", "Maker", "Place", "legend"]

# More fields than this cost the page more than they give; the rest is JSON.
MAX_FIELDS = 60
# Deeper than this nobody sees where a field belongs.
MAX_DEPTH = 5
NAME_LIMIT = 60
HINT_LIMIT = 300
LEFT_OUT = "left out"


@dataclass(slots=True)
class Maker:
    """Makes the fields of one form, and counts them."""

    kit: Kit
    root: Mapping[str, Any]
    #: The field of each kind; "later" is one that a person may ask for.
    classes: Mapping[str, type[Field]]
    #: Calls fields by the schema's titles, for a form that stands alone.
    titled: bool = False
    #: Is told of fields that were made after the form was shown.
    made: Callable[[], object] = lambda: None
    left: int = MAX_FIELDS

    def make(self, label: str, schema: Any, value: Any, above: Above, *, required: bool) -> Field:
        """The field for a value, with all that it holds."""
        self.left -= 1
        kind = kind_of(schema, self.root, value)
        place = Place(self, label, kind, value, above, required=required)
        if self._too_much(kind, value, len(place.path)):
            place.kind = Kind("json", kind.schema, kind.nullable)
        elif kind.name in {"object", "tuple", "union"} and (value is None or (value is MISSING and not required)):
            return self.classes["later"](place)
        elif kind.name == "boolean" and (kind.nullable or not required) and not isinstance(value, bool):
            # A box can't say that it is left out.
            place.kind = Kind("choice", kind.schema, kind.nullable, (Variant("yes", True), Variant("no", False)))
        return self.classes[place.kind.name](place)

    def _too_much(self, kind: Kind, value: Any, depth: int) -> bool:
        if kind.name not in {"object", "list", "tuple", "union"}:
            return False
        properties = kind.schema.get("properties")
        # Of many names those that may be left out are made when they are asked for.
        held = min(len(properties), MAX_SHOWN) if kind.name == "object" and isinstance(properties, dict) else 1
        held = max(held, len(value)) if isinstance(value, list | dict) else held
        return held > self.left or depth > MAX_DEPTH


class Above(NamedTuple):
    """The field that holds another, and under which name or number; None where both stand for the same value."""

    field: Field | None = None
    step: str | int | None = None


@dataclass(slots=True)
class Place:
    """Where a field stands and what it is about."""

    maker: Maker
    label: str
    kind: Kind
    before: Any
    above: Above
    required: bool

    @property
    def path(self) -> Path:
        """The names and numbers that lead to it."""
        field, step = self.above
        path = () if field is None else field.place.path
        return path if step is None else (*path, step)

    @property
    def name(self) -> str:
        """What a person calls it."""
        title = self.kind.schema.get("title")
        if self.maker.titled and isinstance(title, str) and title.strip() and isinstance(self.above.step, str):
            return visible_text(one_line(title, NAME_LIMIT))
        return visible_text(one_line(self.label, NAME_LIMIT))

    def item(self, number: int) -> str:
        """What a value in it is called, as faults call it too."""
        return f"{self.name if self.maker.titled else self.label}[{number}]"

    @property
    def optional(self) -> bool:
        """Whether it may be left out."""
        return not self.required

    @property
    def state(self) -> str:
        """What stands where no value is: that it is left out, and what it then is."""
        default = self.kind.schema.get("default", MISSING)
        if default is MISSING:
            return LEFT_OUT
        return visible_text(one_line(f"{LEFT_OUT}, default {to_json(redacted(default))}", NAME_LIMIT))

    @property
    def hint(self) -> str:
        """What the schema says of the field, as markup."""
        text = self.kind.schema.get("description")
        shown = one_line(redact(text), HINT_LIMIT) if isinstance(text, str) else ""
        return f'<div class="nbtk-hint">{visible(shown)}</div>' if shown else ""

    @property
    def words(self) -> str:
        """Its type, and what it is where nothing is given."""
        words = type_words(self.kind.schema, self.maker.root)
        default = self.kind.schema.get("default", MISSING)
        if default is MISSING or self.before is not MISSING:
            return words
        return visible_text(one_line(f"{words}, default {to_json(redacted(default))}", NAME_LIMIT * 2))

    @property
    def placeholder(self) -> str:
        """What stands in an empty field: an example, or its type, and what empty means."""
        if self.before is None and self.kind.nullable:
            return "null"
        shape = self.kind.schema.get("format")
        words = FORMATS.get(shape if isinstance(shape, str) else "") or type_words(self.kind.schema, self.maker.root)
        default = self.kind.schema.get("default", MISSING)
        if default is not MISSING:
            return visible_text(one_line(f"{words}, default {to_json(redacted(default))}", NAME_LIMIT * 2))
        state = "" if self.required else f", {LEFT_OUT} where empty"
        return visible_text(one_line(words, NAME_LIMIT)) + state


def legend(place: Place) -> str:
    """The line above several inputs: the name and the type."""
    words = type_words(place.kind.schema, place.maker.root)
    shown = f'<b>{visible(place.name)}</b> <span class="nbtk-soft">{visible(words)}</span>'
    return f'<div class="nbtk-legend" role="heading" aria-level="5">{shown}</div>'
