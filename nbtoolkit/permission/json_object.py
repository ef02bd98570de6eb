"""A JSON object as a person writes it, on a magic's line, below it, or in a planned answer."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["json_object", "no_constant"]


def json_object(text: str, where: str) -> dict[str, Any]:
    """The object; ValueError with the place where it stops being one, ``where`` being the words behind "object"."""
    try:
        value = json.loads(text, parse_constant=no_constant)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"expected a JSON object {where}, but line {error.lineno}, column {error.colno} is wrong: {error.msg}"
        ) from None
    except ValueError as error:
        raise ValueError(f"expected a JSON object {where}, but {error}") from None
    if not isinstance(value, dict):
        wrong = f'expected a JSON object {where}, like {{"limit": 5}}, but got {text.strip()[:60]!r}'
        raise ValueError(wrong)  # noqa: TRY004 - one kind for all that may be wrong with a text
    return value


def no_constant(name: str) -> Any:
    """Refuse NaN and the infinities, which Python's reader takes."""
    raise ValueError(f"{name} is no JSON")
