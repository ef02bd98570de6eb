"""Classes whose objects are made of one plain value that JSON has.

A person's ``class UserId(str)``, numpy's numbers, pandas's points in time: pydantic reads the plain value, and the class
makes its object of it. Numpy is loaded where its own class is at hand, and pandas nowhere.
"""

from __future__ import annotations

import datetime as dt
import decimal
import numbers
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, PlainSerializer
from pydantic_core import to_jsonable_python

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["made_of_a_scalar"]

# What a class may descend from, or say of itself by numbers' own classes, and a value to try it with.
_BASES: tuple[tuple[type, Any, Any], ...] = (
    (str, str, ""),
    (dt.datetime, dt.datetime, dt.datetime(2000, 1, 1, tzinfo=dt.UTC)),
    (dt.date, dt.date, dt.date(2000, 1, 1)),
    (dt.time, dt.time, dt.time(0)),
    (dt.timedelta, dt.timedelta, dt.timedelta(seconds=1)),
    (decimal.Decimal, decimal.Decimal, decimal.Decimal(1)),
    (numbers.Integral, int, 1),
    (numbers.Real, float, 1.0),
)


def made_of_a_scalar(cls: Any) -> Any:
    """The hint that reads such a class from JSON; None for any other class."""
    if not isinstance(cls, type):
        return None
    if cls.__module__ == "numpy" and cls.__name__ in _OF_NUMPY:
        return _hint(*_OF_NUMPY[cls.__name__], cls)
    for parent, read, sample in _BASES:
        if cls is not parent and issubclass(cls, parent):
            try:
                made = cls(sample)  # type: ignore[call-arg]
            except ValueError:
                # It takes such a value, but not this one.
                return _hint(read, cls, cls)
            except Exception:  # noqa: BLE001 - somebody's own class
                return None
            return _hint(_within(read, cls), cls, cls) if isinstance(made, cls) else None
    return None


def _within(read: Any, cls: type) -> Any:
    """The hint with the least and the largest number of one of numpy's classes, where somebody may reach them."""
    if read is not int or cls.__module__ != "numpy":
        return read
    import numpy as np

    limits = np.iinfo(cls)
    # An unsigned one has its least in any case; sixty-four bits are further than anybody counts.
    least, most = (int(each) if limits.bits < 64 or each == 0 else None for each in (limits.min, limits.max))
    return Annotated[read, Field(ge=least, le=most)]


def _hint(read: Any, make: Callable[[Any], Any], cls: type) -> Any:
    def made(value: Any) -> Any:
        if isinstance(value, cls):
            return value
        try:
            return make(value)
        except (TypeError, OverflowError) as error:
            raise ValueError(str(error)) from None

    return Annotated[read, AfterValidator(made), PlainSerializer(_plain, when_used="json")]


def _plain(value: Any) -> Any:
    """The JSON of such an object."""
    if type(value).__module__ == "numpy":
        # In nanoseconds numpy's times come out as numbers.
        value = (value.astype(f"{value.dtype.kind}8[us]") if value.dtype.kind in "mM" else value).item()
    return to_jsonable_python(value)


def _moment(value: dt.datetime) -> Any:
    import numpy as np

    # numpy's times have no zone.
    return np.datetime64(value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None))


def _span(value: dt.timedelta) -> Any:
    import numpy as np

    return np.timedelta64(value)


def _truth(value: bool) -> Any:
    import numpy as np

    return np.bool_(value)


_OF_NUMPY: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "bool": (bool, _truth),
    "bool_": (bool, _truth),
    "datetime64": (dt.datetime, _moment),
    "timedelta64": (dt.timedelta, _span),
}
