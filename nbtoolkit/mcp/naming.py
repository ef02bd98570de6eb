"""What a server's tools are called here: ``mcp__{server}__{tool}``, in letters that every provider takes."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LONGEST_NAME", "tool_names"]

# What providers take: ^[a-zA-Z0-9_-]{1,64}$.
LONGEST_NAME = 64
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")
_HASH_CHARS = 8


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """The name here for each of the server's own names.

    A refused character becomes ``x``. Where that makes two names one, or a name is longer than 64, it is cut and gets a
    hash of the server's own name; a tool whose own name needs no change keeps it.
    """
    originals = list(dict.fromkeys(tools))
    plain = {name: f"mcp__{server}__{_REFUSED.sub('x', name)}" for name in originals}
    count = Counter(plain.values())
    names: dict[str, str] = {}
    for name, plainly in plain.items():
        mapped = plainly
        changed = mapped != f"mcp__{server}__{name}"
        if len(mapped) > LONGEST_NAME or (changed and count[mapped] > 1):
            digest = hashlib.sha256(f"{server}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
            mapped = f"{mapped[: LONGEST_NAME - _HASH_CHARS - 1]}_{digest}"
        names[name] = mapped
    return names
