"""Formats of texts: what one looks like, and what is wrong with a text that a person typed for one.

A schema's ``format`` is a note, not a rule, so calls aren't held to it; a person who slips is told all the same. Only
what no reader of that format would take is refused.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["FORMATS", "wrong_format"]

#: An example of each format, as an empty field shows it.
FORMATS = {
    "date-time": "2026-06-30T14:00:00Z",
    "time": "14:00:00",
    "date": "2026-06-30",
    "duration": "P1DT2H",
    "email": "name@example.org",
    "uri": "https://example.org/page",
    "uuid": "3f1c2a9e-0b7d-4c55-9a51-6c1f5d2b8e10",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "www.example.org",
}
_DURATION = re.compile(r"[+-]?P(?=.)(?:\d+(?:[.,]\d+)?[YMWD])*(?:T(?=.)(?:\d+(?:[.,]\d+)?[HMS])+)?")
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_HOST = re.compile(r"[^\s/:@]+")


def _time(text: str) -> object:
    return time.fromisoformat(text)


def _fits(pattern: re.Pattern[str]) -> Callable[[str], object]:
    def check(text: str) -> None:
        if not pattern.fullmatch(text):
            raise ValueError(text)

    return check


_CHECKS: dict[str, Callable[[str], object]] = {
    "date-time": datetime.fromisoformat,
    "time": _time,
    "date": date.fromisoformat,
    "duration": _fits(_DURATION),
    "email": _fits(_EMAIL),
    "uri": _fits(_URI),
    "uuid": UUID,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "hostname": _fits(_HOST),
}


def wrong_format(text: str, schema: Mapping[str, Any]) -> str | None:
    """``expected email, like name@example.org``; None where the text may stand."""
    name = schema.get("format")
    if isinstance(name, str) and name in _CHECKS:
        try:
            _CHECKS[name](text.strip())
        except (ValueError, OverflowError):
            return f"expected {name}, like {FORMATS[name]}"
    if name == "regex":
        try:
            re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            return f"expected a regular expression ({error})"
    if schema.get("contentEncoding") == "base64" or name == "byte":
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return "expected base64"
    return None
