"""Rules made from a call's arguments, and moved to be read from another folder."""

from __future__ import annotations

import json
import os
import posixpath
import re
from typing import TYPE_CHECKING, Any

from nbtoolkit.permission import pattern
from nbtoolkit.permission.conditions import Condition, canonical, parse_content
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["move_content", "moved", "suggest_rules", "takes_secret"]

# What a person can read and mean; a longer suggestion would allow what nobody has looked at.
LONGEST_SUGGESTION = 2000

# How deep in an argument's value a secret is looked for.
DEEPEST = 8
_SECRET_NAME = re.compile(
    r"(?i)(?:^|[^a-z])(?:pass(?:word|wd|phrase|code)?|pwd|pin|secret|token|credentials?|otp|cvv|cvc|authorization|cookie)(?:$|[^a-z])"
    r"|api.?key|private.?key|access.?key|secret.?key|credit.?card|card.?number"
)
_PLAIN = re.compile(r"[A-Za-z0-9_/:+@%-][A-Za-z0-9_./:+@% -]*(?<! )|\.{1,2}/[A-Za-z0-9_./:+@% -]*(?<! )")


# ------------------------------------------------------------------------------------------------------- suggesting
def suggest_rules(
    tool_name: str, tool_input: Mapping[str, Any], base: str | None = None, schema: Mapping[str, Any] | None = None
) -> list[PermissionRule]:
    """The rule that allows calls with exactly these arguments; none where it would be too long to be read.

    ``base`` is the folder that its relative paths will be read from, by default the process's own. No secret stands in a
    rule: an argument for one, by its name or ``schema``, is left free; where that leaves none, and where another
    argument holds one, there is no rule.
    """
    told = {name: value for name, value in tool_input.items() if not takes_secret(name, value, schema)}
    if (tool_input and not told) or any(_known_secret(name, value) for name, value in told.items()):
        return []
    conditions = [_exactly(name, value, base) for name, value in told.items()]
    content = ", ".join(map(str, conditions)) if conditions else None
    if content is not None and len(content) > LONGEST_SUGGESTION:
        return []
    return [PermissionRule(tool_name=tool_name, rule_content=content, behavior=PermissionBehavior.ALLOW)]


def takes_secret(name: str, value: Any, schema: Mapping[str, Any] | None = None) -> bool:
    """Whether an argument is one that takes a secret, by its schema or its name, or that of something in it."""
    properties = (schema or {}).get("properties")
    about = properties.get(name) if isinstance(properties, dict) else None
    if about is not None and _masked(about):
        return True
    return _named_secret(name, value)


def _masked(about: Any) -> bool:
    """Whether a schema marks its value as a secret, in one of its forms at least."""
    if isinstance(about, list):
        return any(_masked(each) for each in about)
    if not isinstance(about, dict):
        return False
    if about.get("writeOnly") is True or about.get("format") == "password":
        return True
    return any(_masked(about.get(word)) for word in ("anyOf", "oneOf", "allOf", "items"))


def _named_secret(name: str, value: Any, depth: int = 0) -> bool:
    if isinstance(value, dict):
        return depth < DEEPEST and any(_named_secret(str(each), held, depth + 1) for each, held in value.items())
    if isinstance(value, list):
        return depth < DEEPEST and any(_named_secret(name, held, depth + 1) for held in value)
    # In userPassword the words are told apart by their capitals.
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return value not in (None, "", True, False) and _SECRET_NAME.search(words) is not None


def _known_secret(name: str, value: Any) -> bool:
    # Loaded when first asked about: its patterns cost as much as all else here.
    from nbtoolkit.redact import redacted

    held = {name: value}
    return bool(redacted(held) != held)


def _exactly(name: str, value: Any, base: str | None) -> Condition:
    path = (name,)
    if isinstance(value, str):
        bare = _PLAIN.fullmatch(value) and pattern.literal(value) == value
        if bare and pattern.is_path_pattern(value) and value[0] not in "/~":
            here = os.getcwd()  # noqa: PTH109 - a text is all that is needed
            elsewhere = base is not None and pattern.slashes(here) != base
            # From another folder than the rule's a relative path is written as the place that it leads to; a text with
            # a slash that leads nowhere, the name of a repository say, stays what it is.
            if _turns(value) or (elsewhere and os.path.lexists(posixpath.dirname(value))):
                value = moved(value, here, base or here)
        return Condition(path, "=", "bare" if bare else "text", value)
    if isinstance(value, list | dict):
        return Condition(path, "=", "json", canonical(value))
    return Condition(path, "=", "bare", json.dumps(value, default=str))


def _turns(value: str) -> bool:
    return value[0] == "." or ".." in value.split("/")


def moved(value: str, old: str, new: str) -> str:
    """A relative path as it reads from another folder."""
    way = posixpath.normpath(posixpath.join(posixpath.relpath(pattern.slashes(old), pattern.slashes(new)), value))
    return way if way.startswith("../") or way in {".", ".."} else f"./{way}"


def move_content(content: str, old: str, new: str) -> str:
    """A rule's content, the paths that mean a place rewritten to be read from another folder."""
    parsed = parse_content(content)
    if not any(_place(each, old) for each in parsed.conditions):
        return content
    return ", ".join(
        str(each._replace(value=moved(each.value, old, new)) if _place(each, old) else each)
        for each in parsed.conditions
    )


def _place(condition: Condition, folder: str) -> bool:
    value = condition.value
    if condition.kind != "bare" or not pattern.is_path_pattern(value) or value[0] in "/~":
        return False
    return value[0] == "." or os.path.lexists(posixpath.join(folder, posixpath.dirname(value)))
