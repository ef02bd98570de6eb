"""What every subject is given: a documented function of five parameters, sync and async, and a call of it."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

__all__ = ["ARGUMENTS", "RESULT", "TEXT", "chunks", "copies", "load", "load_async"]

TEXT = '{"path": "data/sales.csv", "limit": 5, "ratio": 0.25, "kind": "inner", "tags": ["new", "checked"]}'
ARGUMENTS = {"path": "data/sales.csv", "limit": 5, "ratio": 0.25, "kind": "inner", "tags": ["new", "checked"]}
RESULT = {"path": "data/sales.csv", "rows": 5, "tags": ["new", "checked"]}


def load(
    path: str,
    limit: int = 10,
    ratio: float = 0.5,
    kind: Literal["inner", "outer"] = "inner",
    tags: list[str] | None = None,
) -> dict[str, Any]:
    """Load a table from disk.

    The table is read row by row, and rows that can't be read are left out.

    Args:
        path: Where the table lies.
        limit: How many rows at most.
        ratio: The share of rows that are taken.
        kind: How the table is joined with the one before.
        tags: Words that the rows must carry.
    """
    return {"path": path, "rows": limit, "tags": tags}


async def load_async(
    path: str,
    limit: int = 10,
    ratio: float = 0.5,
    kind: Literal["inner", "outer"] = "inner",
    tags: list[str] | None = None,
) -> dict[str, Any]:
    """Load a table from disk.

    The table is read row by row, and rows that can't be read are left out.

    Args:
        path: Where the table lies.
        limit: How many rows at most.
        ratio: The share of rows that are taken.
        kind: How the table is joined with the one before.
        tags: Words that the rows must carry.
    """
    return {"path": path, "rows": limit, "tags": tags}


async def chunks(count: int) -> AsyncIterator[str]:
    """Count, a piece of text for each number.

    Args:
        count: How many pieces.
    """
    for number in range(count):
        yield f"piece {number} "


def copies(func: Callable[..., Any], count: int) -> list[Callable[..., Any]]:
    """So many functions alike, each of its own name, with hints that are objects, as in a notebook's cell."""
    hints = get_type_hints(func, include_extras=True)
    assert isinstance(func, types.FunctionType)
    made: list[Callable[..., Any]] = []
    for number in range(count):
        name = f"{func.__name__}_{number}"
        copy = types.FunctionType(func.__code__, func.__globals__, name, func.__defaults__)
        copy.__annotations__ = dict(hints)
        copy.__doc__, copy.__qualname__, copy.__module__ = func.__doc__, name, func.__module__
        made.append(copy)
    return made
