"""What the fuzz tests share: how often, how long at most, hostile texts, JSON and schemas, and a reader of markup."""

from __future__ import annotations

import base64
import faulthandler
import functools
import inspect
import os
import re
import time
from collections import Counter
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.notebook.asking import HOSTILE, Markup

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
LONG = os.environ.get("NBTOOLKIT_PROOF") == "long"
# So many times as many inputs in the long form.
TIMES = int(os.environ.get("NBTOOLKIT_FUZZ_TIMES", "30"))
LONG_LIMIT = 3_600
# Seconds: an input takes milliseconds, on a machine that is busy with other things a hundred times that.
HANG = 20.0

COUNTS: Counter[str] = Counter()


def fuzz(*, short: int, **inputs: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with ``short`` inputs, always the same; with thirty times as many, always others, in the long form."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def counted(*args: Any, **kwargs: Any) -> None:
            COUNTS[test.__name__] += 1
            if LONG:
                # A hang that no Python code can end, in a regular expression say, ends the run with where it was.
                faulthandler.dump_traceback_later(3 * HANG, exit=True)
            begun = time.monotonic()
            test(*args, **kwargs)
            assert time.monotonic() - begun < HANG, "that was as good as a hang"

        named = [p for p in inspect.signature(test).parameters.values() if p.name not in inputs]
        assert not named or named[0].kind is not inspect.Parameter.VAR_KEYWORD
        return settings(
            max_examples=short * TIMES if LONG else short,
            derandomize=not LONG,
            database=None,
            deadline=None,
            phases=(Phase.explicit, Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )(given(**inputs)(counted))

    return decorate


# ---------------------------------------------------------------------------------------------------------------- texts
CANARY = "qzxcanary"
PIECES = [
    HOSTILE,
    f"<{CANARY} {CANARY}=1>",
    f'"><img src=x onerror={CANARY}>',
    f"' onmouseover='{CANARY}",
    f'" style="background:url(javascript:{CANARY})" x="',
    f"</div></span></table></pre></code></details></style></script><{CANARY}>",
    f"<!-- {CANARY} --><![CDATA[",
    f"&lt;{CANARY}&gt;&#60;{CANARY}&#62;&",
    f"javascript:{CANARY}()",
    f"data:text/html,<script>{CANARY}</script>",
    f"[{CANARY}](javascript:{CANARY})",
    f"$$\\href{{javascript:{CANARY}}}{{x}}$$",
    "\x1b[31mred\x1b[0m\x1b]8;;http://x\x07link\x1b]8;;\x07",
    "\u202e\u2066abc\u2069",
    "\x00\x07\x08\r\r\n\x0b\x0c\x85\u2028\u2029",
    "\u200b\u200c\u200d\ufeff\U000e0041",
    "\ud800",
    "\udcff\ud83d",
    "a" * 2_000,
    "\n" * 300,
    "e\u0301" * 50,
    "%s %(x)s {0} {x!r} {{",
    "../../etc/passwd\x00.png",
    "0x7f3a12bc9d10",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
]
texts = st.one_of(
    st.text(max_size=40),
    st.sampled_from(PIECES),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=10)), max_size=4).map("".join),
)
# As a JSON parser can give it: lone surrogates too.
any_texts = st.one_of(texts, st.text(st.characters(), max_size=20))
numbers = st.one_of(
    st.integers(),
    st.floats(),
    st.sampled_from([10**400, -(10**400), 2**63, 1e308, 0.1, -0.0, True, False]),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, any_texts)
json_values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(any_texts, inner, max_size=4)),
    max_leaves=12,
)


def without_surrogates(value: Any) -> Any:
    """The same where a wire of UTF-8 carried it."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [without_surrogates(each) for each in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(each) for key, each in value.items()}
    return value


# -------------------------------------------------------------------------------------------------------------- schemas
BOMBS = [
    "(a+)+$",
    "(a|a)*b",
    "(.*)*$",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(x+x+)+y",
    "a{1,65535}{1,65535}",
    "(?=(a+))a*b\\1",
    "[",
    "(?P<n>a)(?P=n)",
    "\\p{L}+",
    "(" * 500 + ")" * 500,
    "a" * 10_000,
]
REFERENCES = [
    "#",
    "#/",
    "#/properties/a",
    "#/$defs/A",
    "#/$defs/A/$defs/B",
    "#/$defs/missing",
    "#A",
    "#/%25%00",
    "http://127.0.0.1:9/schema.json",
    "https://example.org/schema.json#/A",
    "file:///etc/passwd",
    "//example.org/x",
    "other.json",
    "urn:uuid:1",
    "",
    "#/$defs/" + "x/" * 200,
]
NAMES = ["a", "b", "A", "", "$ref", "__proto__", "self", "kwargs", "model_config", "class", "a b", "é", *PIECES[:6]]
names = st.one_of(st.sampled_from(NAMES), any_texts)
TYPES = ["object", "array", "string", "integer", "number", "boolean", "null", "any", ""]


def _keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    named = st.dictionaries(names, inner, max_size=3)
    several = st.lists(inner, max_size=3)
    kinds = {
        "type": st.one_of(st.sampled_from(TYPES), st.lists(st.sampled_from(TYPES), max_size=3), json_values),
        "properties": st.one_of(named, named, named, json_values),
        "required": st.one_of(st.lists(names, max_size=3), json_values),
        "additionalProperties": st.one_of(st.booleans(), inner),
        "patternProperties": st.dictionaries(st.sampled_from(BOMBS), inner, max_size=2),
        "pattern": st.one_of(st.sampled_from(BOMBS), json_values),
        "items": st.one_of(inner, several),
        "$ref": st.one_of(st.sampled_from(REFERENCES), json_values),
        "$dynamicRef": st.sampled_from(REFERENCES),
        "$id": st.one_of(st.sampled_from(REFERENCES), any_texts),
        "$schema": st.sampled_from(["http://json-schema.org/draft-07/schema#", "http://127.0.0.1:9/meta", "x"]),
        "$anchor": names,
        "$defs": st.one_of(named, json_values),
        "definitions": named,
        "enum": st.one_of(st.lists(scalars, max_size=4), json_values),
        "format": st.one_of(st.sampled_from(["date", "uri", "regex", "email", "date-time"]), json_values),
        "multipleOf": st.one_of(st.sampled_from([0, 1e-300, 3]), numbers),
        "uniqueItems": st.booleans(),
        **dict.fromkeys(["prefixItems", "anyOf", "oneOf", "allOf"], several),
        **dict.fromkeys(
            ["not", "if", "then", "else", "unevaluatedProperties", "contains", "propertyNames"],
            inner,
        ),
        **dict.fromkeys(["minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems"], numbers),
        **dict.fromkeys(
            ["const", "default", "examples", "title", "description", "writeOnly", "dependentRequired"], json_values
        ),
    }
    pairs = st.sampled_from(sorted(kinds)).flatmap(lambda name: st.tuples(st.just(name), kinds[name]))
    return st.lists(pairs, max_size=5).map(dict)


schemas = st.recursive(
    st.one_of(st.booleans(), st.just({}), st.sampled_from(TYPES).map(lambda kind: {"type": kind}), json_values),
    lambda inner: st.one_of(_keywords(inner), st.lists(inner, max_size=2)),
    max_leaves=6,
)
# Of a tool: an object, as a client looks at it before it lists it.
tool_schemas = st.tuples(_keywords(schemas), st.dictionaries(names, schemas, min_size=1, max_size=3)).map(
    lambda pair: {"type": "object", "properties": pair[1], **pair[0]}
)
plain_names = st.sampled_from(["a", "b", "A"])
arguments = st.dictionaries(st.one_of(plain_names, names), json_values, max_size=4)

# --------------------------------------------------------------------------------------------------------------- markup
_TAGS = """
a b br button code details div em i img li ol p pre progress small span strong style summary table tbody td th thead tr ul
"""
_ATTRIBUTES = """
class style src role width height tabindex open scope colspan aria-level aria-hidden aria-live aria-valuenow
aria-valuemin aria-valuemax border href hidden id max value
"""
# What may hold text from outside, since a browser shows it as text.
SAID = frozenset({"title", "alt", "aria-label"})
TAGS = frozenset(_TAGS.split())
ATTRIBUTES = SAID | frozenset(_ATTRIBUTES.split())
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_OPENED = re.compile(r"<(?![/a-z])")


def check_markup(markup: str) -> Markup:
    """That a browser finds no element, attribute or unseen character in it that we did not make."""
    page = Markup(markup)
    assert page.tags <= TAGS, page.tags - TAGS
    for tag, attributes in page.elements:
        assert set(attributes) <= ATTRIBUTES, (tag, set(attributes) - ATTRIBUTES)
        for name, value in attributes.items():
            if name == "src":
                assert value is not None
                head, _, data = value.partition(",")
                assert re.fullmatch(r"data:image/(png|jpeg|gif|webp|svg\+xml);base64", head), value[:80]
                base64.b64decode(data, validate=True)
            elif name == "href":
                assert value is not None
                assert value.startswith(("https://", "http://", "#")), value[:80]
            elif name not in SAID:
                assert CANARY not in (value or ""), (tag, name, value)
    # A browser forgives a bare "<" that the parser above takes as text; we don't write any.
    assert not _OPENED.search(markup), _OPENED.search(markup)
    assert not (hit := _UNSEEN.search(unescape(markup))), f"U+{ord(hit[0]):04X}"
    return page


def check_plain(text: str) -> None:
    """That a terminal gets nothing that it would obey, and a JSON file nothing that it can't hold."""
    assert not (hit := _UNSEEN.search(text)), f"U+{ord(hit[0]):04X}"


def check_bundle(bundle: Any) -> None:
    """A display's text and markup; other kinds carry no text from outside."""
    check_plain(bundle.get("text/plain", ""))
    if "text/html" in bundle:
        check_markup(bundle["text/html"])
    assert set(bundle) <= {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}
