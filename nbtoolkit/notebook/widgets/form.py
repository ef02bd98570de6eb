"""A form from any JSON Schema: it gives values, or says what is wrong beside the field.

Used to try a tool, to edit a call that waits, and to answer a server's question. Each kind of value has its field; what
has none is a piece of JSON. A form that nobody touched gives back exactly what it was filled with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nbtoolkit.exception import ToolArgumentsError
from nbtoolkit.notebook.text import visible
from nbtoolkit.notebook.widgets.form_groups import CLASSES, ObjectField, known_paths
from nbtoolkit.notebook.widgets.form_kinds import MISSING, Kind, kind_of, whole
from nbtoolkit.notebook.widgets.form_places import Above, Maker, Place
from nbtoolkit.notebook.widgets.parts import Kit
from nbtoolkit.notebook.widgets.style import SHEET

if TYPE_CHECKING:
    from nbtoolkit.notebook.widgets.form_fields import Field

__all__ = ["Form", "FormError"]

# More names at the top than this that have a value or want one are more easily read as one piece of JSON.
MAX_ARGUMENTS = 40
NAME = "arguments"


class FormError(ValueError):
    """What is wrong: ``faults`` maps a path, as ``rows`` or ``model.kind`` or ``items[0]``, to its line; "" is the whole."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        self.faults = dict(faults)
        super().__init__("; ".join(self.faults.values()))


class Form:
    """Fields for a JSON Schema of type object.

    ``values`` fills them. ``described`` calls them by their titles, for a form that stands alone; ``own_sheet``
    brings the styles, for one outside a card. ``route`` is called with widgets that were made later, on a click. With a
    ``kit`` the widgets are that card's, and go with it.
    """

    def __init__(
        self,
        schema: Mapping[str, Any],
        values: Mapping[str, Any] | None = None,
        *,
        described: bool = False,
        own_sheet: bool = False,
        route: Callable[[list[Any]], object] | None = None,
        kit: Kit | None = None,
    ) -> None:
        self.schema = schema
        self._kit = kit or Kit()
        self._route = route
        before = dict(values or {})
        required = schema.get("required")
        names = {*before, *map(str, required)} if isinstance(required, list) else set(before)
        maker = Maker(self._kit, schema, CLASSES, titled=described, made=self._made)
        if len(names) > MAX_ARGUMENTS:
            self._root: Field = maker.make("JSON", {}, before, Above(), required=True)
        elif kind_of(schema, schema).name == "union" and not isinstance(schema.get("properties"), dict):
            # The whole is one of several objects.
            self._root = maker.make(NAME, schema, before or MISSING, Above(), required=True)
        else:
            self._root = ObjectField(
                Place(maker, NAME, Kind("object", whole(schema, schema)), before, Above(), required=True)
            )
        self._alert = self._kit.html("")
        self._known = len(self._kit.widgets)
        style = [self._kit.html(SHEET, "nbtk-style")] if own_sheet else []
        classes = "nbtk nbtk-form" if own_sheet else "nbtk-form"
        #: The widget to show.
        self.widget = self._kit.box(classes, [*style, self._root.view, self._alert])
        self._known = len(self._kit.widgets)

    @property
    def widgets(self) -> list[Any]:
        """All its widgets, for scheduling.route."""
        return list(self._kit.widgets)

    def read(self, *, check: bool = True) -> dict[str, Any]:
        """The values as they stand, mended and checked by the schema; a FormError with what is wrong.

        Without ``check`` they are given as they stand, for an owner that checks better.
        """
        values = self._root.read()
        slips = {path: said for path, each in known_paths(self._root) if (said := each.fault()) is not None}
        if slips:
            raise FormError(slips)
        if not isinstance(values, dict):
            raise FormError({"": 'the arguments are one JSON object, like {"name": "value"}'})
        if check:
            from nbtoolkit.schema.given import JSONSchemaValidator

            try:
                return JSONSchemaValidator("form", dict(self.schema)).validate(values).json
            except ToolArgumentsError as refused:
                raise FormError(self.by_path(refused.faults)) from None
        return values

    def by_path(self, lines: Iterable[str]) -> dict[str, str]:
        """Lines that begin with a path, each under the path of the innermost field that it is about."""
        paths = sorted((path for path, _ in known_paths(self._root)), key=len, reverse=True)
        found: dict[str, str] = {}
        for line in lines:
            path = next((each for each in paths if line.startswith(each) and line[len(each) :][:1] in set(":.[")), "")
            found[path] = f"{found[path]}; {line}" if path in found else line
        return found

    def show_faults(self, faults: Mapping[str, str] | Iterable[str] = ()) -> None:
        """Put each fault under its field, the rest below, and the cursor into the first; none clears them."""
        placed = dict(faults) if isinstance(faults, Mapping) else self.by_path(faults)
        first: Field | None = None
        for path, each in known_paths(self._root):
            line = placed.pop(path, None)
            if line and path and each.place.maker.titled:
                # A field that is called by its title is told of by it.
                line = each.place.name + line.removeprefix(path) if line.startswith(path) else line
            each.say([line] if line else [])
            first = first or (each if line else None)
        lines = "<br>".join(visible(line) for line in placed.values())
        self._alert.value = f'<div class="nbtk-bad nbtk-fault" role="alert">{lines}</div>' if placed else ""
        if first is not None:
            first.focus()

    def focus(self) -> None:
        """Put the cursor into the first field."""
        next(self._root.inside(), self._root).focus()

    def close(self) -> None:
        """Take its widgets away; those of a card's kit go with the card."""
        self._kit.close()

    def _made(self) -> None:
        new = self._kit.widgets[self._known :]
        self._known = len(self._kit.widgets)
        if self._route is not None and new:
            self._route(new)
