"""The few building blocks of every widget: stock ipywidgets with the sheet's classes, and names a screen reader says.

A Kit makes them for one card and knows all of them, so that a card can be routed as a whole and closed without a rest.
Layouts and styles that never change are shared by all cards and stay: each is a message to the page before anything is
seen, and a page that has them draws the next card sooner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as w

from nbtoolkit.notebook.scheduling.gone import close
from nbtoolkit.notebook.text import visible_text
from nbtoolkit.notebook.widgets.style import WIDTHS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["Kit"]

# By class and traits. A page that is loaded later is given them with all others.
_common: dict[Any, Any] = {}

# Labels of a form stand in one column; longer names are clipped by the front end and said whole in the table above.
LABEL_WIDTH = "96px"


class Kit:
    """Makes the widgets of one card."""

    def __init__(self) -> None:
        #: Everything a person can act on or see, in the order made.
        self.widgets: list[Any] = []
        #: The client session of the page from which a message came last.
        self.heard_from: str | None = None
        self._own: list[Any] = []
        self._root: Any = None
        self._shown = False

    @property
    def was_removed(self) -> bool:
        """Whether a page told that it shows the root no more: its output was cleared, or its cell deleted."""
        return self._shown and not self._root._view_count  # noqa: SLF001 - the protocol's own name

    # ------------------------------------------------------------------------------------------------- shared models
    def layout(self, **traits: str) -> Any:
        """A layout with these traits, the same for all cards: for what never changes its layout."""
        return self._model(w.Layout, traits)

    def own_layout(self, **traits: str) -> Any:
        """A layout for one widget, that may be changed."""
        layout = w.Layout(**traits)
        self._own.append(layout)
        return layout

    def _style(self, kind: type[Any], **traits: str) -> Any:
        """A style of the class that this kind of widget wants, shared like layouts."""
        return self._model(kind.class_traits()["style"].klass, traits)

    def _model(self, kind: type[Any], traits: dict[str, str]) -> Any:
        key = (kind, *sorted(traits.items()))
        model = _common.get(key)
        if model is None or model.comm is None:
            # Somebody may have closed all widgets there are.
            model = _common[key] = kind(**traits)
        return model

    def _add(self, widget: Any) -> Any:
        self.widgets.append(widget)
        if hasattr(widget.comm, "on_msg"):
            # The widget's own handler isn't told which page a message comes from.
            widget.comm.on_msg(lambda message: self._hear(widget, message))
        return widget

    def _hear(self, widget: Any, message: Mapping[str, Any]) -> None:
        session = (message.get("header") or {}).get("session")
        self.heard_from = session if isinstance(session, str) else self.heard_from
        widget._handle_msg(message)  # noqa: SLF001 - what ipywidgets itself gives to the comm

    def close_all_but(self, *kept: Any) -> None:
        """Close the other widgets; their layouts and styles stay."""
        for widget in [each for each in reversed(self.widgets) if each not in kept]:
            close(widget)
        self.widgets[:] = kept

    # ------------------------------------------------------------------------------------------------------- widgets
    def html(self, markup: str, classes: str = "", *, layout: Any = None) -> Any:
        """Markup that is safe already."""
        return self._add(
            w.HTML(
                markup,
                layout=layout or self.layout(),
                style=self._style(w.HTML),
                _dom_classes=_classes(classes),
            )
        )

    def box(
        self, classes: str, children: Iterable[Any], *, row: bool = False, layout: Any = None, **traits: Any
    ) -> Any:
        """A column, or a row, of widgets."""
        kind = w.HBox if row else w.VBox
        return self._add(
            kind(tuple(children), layout=layout or self.layout(), _dom_classes=_classes(classes), **traits)
        )

    def root(self, classes: str, children: Iterable[Any]) -> Any:
        """A column that is shown by itself; pages count its views."""
        self._root = self.box(classes, children, _view_count=0)
        self._root.observe(lambda change: setattr(self, "_shown", self._shown or bool(change["new"])), "_view_count")
        return self._root

    def button(
        self,
        label: str,
        about: str,
        width: str,
        act: Callable[[], object],
        classes: str = "",
        tooltip: str | None = None,
    ) -> Any:
        """A button that shows ``label`` and is named ``label about``.

        ipywidgets' buttons take no aria-label, so the second half of the name stands on a second line, which the sheet
        clips; the width must be given, as the clipped line would stretch the button.
        """
        by_class = WIDTHS.get(width)
        button = w.Button(
            description=f"{label}\n{about}",
            tooltip=tooltip,
            layout=self.layout() if by_class else self.layout(width=width),
            style=self._style(w.Button),
            _dom_classes=_classes(f"{classes} {by_class}" if by_class else classes),
        )
        button.on_click(lambda _: act())
        return self._add(button)

    def field(
        self,
        kind: type[Any],
        name: str,
        *,
        unseen: bool = False,
        label_width: str = LABEL_WIDTH,
        classes: str = "",
        layout: Any = None,
        **traits: Any,
    ) -> Any:
        """An input with its name as a label, which ``unseen`` leaves to the screen reader.

        A tooltip or a placeholder names no input; ipywidgets links only a description as a label.
        """
        style = self._style(kind, **({} if unseen else {"description_width": label_width}))
        return self._add(
            kind(
                description=visible_text(name),
                layout=layout or self.layout(width="100%"),
                style=style,
                _dom_classes=_classes(f"{classes} nbtk-unseen" if unseen else classes),
                **traits,
            )
        )

    def close(self) -> None:
        """Close all, the outermost first, so that the page lets it go in one piece."""
        if self._root is not None and self._root.comm is not None:
            # A page that counted on would have no comm to tell it by.
            self._root._view_count = None  # noqa: SLF001 - the protocol's own name
        for widget in reversed(self.widgets):
            close(widget)
        for layout in self._own:
            layout.close()
        self.widgets.clear()
        self._own.clear()


def _classes(text: str) -> tuple[str, ...]:
    return tuple(text.split())
