"""ParamsBase, a pydantic base for a tool's arguments whose JSON schema carries no automatic titles."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import DEFAULT_REF_TEMPLATE, GenerateJsonSchema, JsonSchemaMode

from nbtoolkit.schema.generate import NoTitles

__all__ = ["ParamsBase"]


class ParamsBase(BaseModel):
    """A base for models given as ``input_schema``; titles that you write yourself stay."""

    @classmethod
    def model_json_schema(
        cls,
        by_alias: bool | None = True,
        ref_template: str = DEFAULT_REF_TEMPLATE,
        schema_generator: type[GenerateJsonSchema] = NoTitles,
        mode: JsonSchemaMode = "validation",
        **options: Any,
    ) -> dict[str, Any]:
        """The JSON schema without automatic titles."""
        return super().model_json_schema(by_alias is not False, ref_template, schema_generator, mode, **options)
