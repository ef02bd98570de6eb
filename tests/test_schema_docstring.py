"""Docstrings in each style, the traps of each, and a whole library's as a check against a known parser."""

from __future__ import annotations

import inspect

import docstring_parser
import numpy as np
import pytest

from nbtoolkit.schema.docstring import parse_docstring

GOOGLE = """Do it.

Long text: with a colon.

Args:
    x, y (float): Both.
    *args: More.
    **options: Kept: whole.
    z: First line
        continues here.

        A second paragraph.
    w (dict[str, (int)], optional): The w. Defaults to {}.
    bare
    naïve (int): Ünï.

Keyword Args:
    k: The k.

Note:
    A note.

Returns:
    str: What it gives.
"""

NUMPY = """Do it.

Parameters
----------
x, y : float
    Both.
z : {'a', 'b'}, optional
    Text.

    - bullet: one
*args
    More.
**options : dict
    Kept.
w: int
    No space.

Other Parameters
---
o : int
    Short underline.

Returns
-------
float
    What it gives.
"""

SPHINX = """Do it.

:param int x: The x
   continues.
:param y: Why: not.
:type y: int
:keyword k: The k.
:returns: What it gives.
"""

EPYDOC = """Do it.

@param x: The x
  continues.
@type x: int
@keyword k: The k.
@return: What it gives.
"""


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        (
            GOOGLE,
            {
                "x": "Both.",
                "y": "Both.",
                "args": "More.",
                "options": "Kept: whole.",
                "z": "First line continues here.\n\nA second paragraph.",
                "w": "The w. Defaults to {}.",
                "naïve": "Ünï.",
                "k": "The k.",
            },
        ),
        (
            NUMPY,
            {
                "x": "Both.",
                "y": "Both.",
                "z": "Text.\n\n- bullet: one",
                "args": "More.",
                "options": "Kept.",
                "w": "No space.",
                "o": "Short underline.",
            },
        ),
        (SPHINX, {"x": "The x continues.", "y": "Why: not.", "k": "The k."}),
        (EPYDOC, {"x": "The x continues.", "k": "The k."}),
        (
            "Do it.\n\nParameters:\n- `x` (int): The x\n  goes on.\n- y: The y.\n",
            {"x": "The x goes on.", "y": "The y."},
        ),
        ("做。\n\n参数:\n    城市：名字\n", {"城市": "名字"}),
        ("Do it.\n\nArgs:\n    x (int): The x.\n:param y: The y.", {"x": "The x.", "y": "The y."}),
        ("Args:\n        x: The x.\n        y: The y.\n    ", {"x": "The x.", "y": "The y."}),
    ],
)
def test_each_style_gives_every_parameter_its_text(text: str, parameters: dict[str, str]) -> None:
    assert parse_docstring(text).parameters == parameters


@pytest.mark.parametrize(
    ("text", "description"),
    [
        (GOOGLE, "Do it.\n\nLong text: with a colon.\n\nNote:\n    A note.\n\nReturns:\n    str: What it gives."),
        (NUMPY, "Do it.\n\nReturns\n-------\nfloat\n    What it gives."),
        (SPHINX, "Do it.\n\n:returns: What it gives."),
        (EPYDOC, "Do it.\n\n@return: What it gives."),
        ("Just text.\n\nArgs:\nwithout a block", "Just text.\n\nArgs:\nwithout a block"),
        ("Parameters matter: see below.", "Parameters matter: see below."),
        ("", ""),
        (None, ""),
    ],
)
def test_the_description_keeps_all_text_but_the_parts_about_parameters(text: str | None, description: str) -> None:
    assert parse_docstring(text).description == description


def test_numpys_own_docstrings_give_the_parameters_that_the_well_known_parser_finds() -> None:
    compared = 0
    for name in sorted(dir(np)):
        function = getattr(np, name)
        if not callable(function) or inspect.isclass(function) or not function.__doc__:
            continue
        known = docstring_parser.parse(function.__doc__, docstring_parser.DocstringStyle.NUMPYDOC)
        # Its known faults: names on one line stay one name, and it keeps the stars.
        expected = {
            part.split("(")[0].strip().lstrip("*")
            for param in known.params
            if param.args[0] in ("param", "other_param") and param.description
            for part in param.arg_name.split(",")
        } - {"..."}
        found = parse_docstring(function.__doc__)
        assert expected <= found.parameters.keys(), name
        assert "Parameters\n---" not in found.description, name
        compared += 1
    assert compared > 100
