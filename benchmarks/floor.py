"""The floor: the shortest correct code with pydantic from JSON text to validated arguments, call and result text.

It has no permission, log, ids, states, repair, streams or messages for a model; no toolkit can cost less and be right.
"""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import create_model

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Tool"]


class Tool:
    """One function, its model and its JSON schema."""

    def __init__(self, func: Callable[..., Any]) -> None:
        hints = get_type_hints(func, include_extras=True)
        fields: dict[str, Any] = {
            name: (hints[name], ... if parameter.default is parameter.empty else parameter.default)
            for name, parameter in inspect.signature(func).parameters.items()
        }
        self.func = func
        self.model = create_model(func.__name__, **fields)

    def schema(self) -> dict[str, Any]:
        """What a model is told."""
        parameters = self.model.model_json_schema()
        return {"name": self.func.__name__, "description": self.func.__doc__, "parameters": parameters}

    def call(self, text: str) -> str:
        """Call a sync function."""
        return json.dumps(self.func(**dict(self.model.model_validate_json(text))))

    async def call_async(self, text: str) -> str:
        """Call an async function."""
        return json.dumps(await self.func(**dict(self.model.model_validate_json(text))))
