"""The numbers of ``scores.json``: no text, truth value or fraction is taken for one."""

from math import isnan, nan
from typing import Annotated, Any

from pydantic import Field
from pydantic_core import CoreSchema, core_schema

__all__ = ["Count", "Number", "OfCounts"]


def _undefined(value: Any) -> float:
    if value == "NaN" or (isinstance(value, float) and isnan(value)):
        return nan
    raise ValueError


class _StrictNumber:
    """A number, or nan: as the text ``NaN`` in JSON, which has no number for it."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        undefined = core_schema.no_info_plain_validator_function(_undefined)
        return core_schema.union_schema(
            [core_schema.float_schema(strict=True, allow_inf_nan=False), undefined],
            custom_error_type="number",
            custom_error_message="Input should be a finite number",
        )


Count = Annotated[int, Field(strict=True, ge=0, le=2**53)]
"""A number of things."""

Number = Annotated[float, _StrictNumber()]
"""A score; nan where it is undefined."""

OfCounts = Annotated[float, Field(strict=True, ge=-1 - 1e-9, le=1 + 1e-9)]
"""A score that follows from binary counts, with room for rounding."""
