"""Secrets are taken out whole, and ordinary text stays as it is."""

from __future__ import annotations

import json

import pytest

from nbtoolkit import redact as module
from nbtoolkit.redact import MARK, Redactor, keep_secret, redact, redacted


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_kept", {})


# Made up here, so that no scanner of repositories takes them for real.
KEYS = {
    "openai": "sk-proj-" + "a1B2c3D4" * 5,
    "anthropic": "sk-ant-api03-" + "a1B2c3D4" * 5,
    "stripe": "sk_live_" + "a1B2c3D4" * 3,
    "aws": "AKIA" + "A1B2C3D4" * 2,
    "github": "ghp_" + "a1B2c3D4" * 5,
    "github, fine": "github_pat_" + "a1B2c3D4" * 5,
    "gitlab": "glpat-" + "a1B2c3D4" * 3,
    "slack": "xoxb-" + "1234567890-abcdefghij",
    "google": "AIza" + "a1B2c3D4" * 4 + "abc",
    "hugging face": "hf_" + "a1B2c3D4" * 4 + "ab",
    "groq": "gsk_" + "a1B2c3D4" * 5,
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----",
    "pem, cut": "-----BEGIN PRIVATE KEY-----\nMIIEow\nIBAAKC",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_a_key_of_a_known_shape_goes_whole(key: str) -> None:
    assert redact(key) == MARK
    assert redact(f"the key is\n{key}") == f"the key is\n{MARK}"
    inside = redact(json.dumps({"note": key, "limit": 5}))
    assert json.loads(inside) == {"note": MARK, "limit": 5}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('curl -H "Authorization: Bearer abcd1234" url', f'curl -H "Authorization: Bearer {MARK}" url'),
        ("authorization: basic dXNlcjpwYXNz", f"authorization: basic {MARK}"),
        ("{'Authorization': 'Token abcd'}", f"{{'Authorization': 'Token {MARK}'}}"),
        (r"{\"Authorization\": \"Bearer abcd\"}", rf"{{\"Authorization\": \"Bearer {MARK}\"}}"),
        ("Authorization: AWS4-HMAC-SHA256 Credential=a/b, Signature=0f", f"Authorization: {MARK}"),
        ("X-API-Key: 1234abcd", f"X-API-Key: {MARK}"),
        ("Set-Cookie: sid=31d4d96e407aad42; Path=/", f"Set-Cookie: {MARK}"),
        ("postgresql://me:hunter2@host/db", f"postgresql://me:{MARK}@host/db"),
        ("OPENAI_API_KEY=1234abcd", f"OPENAI_API_KEY={MARK}"),
        ("export HF_TOKEN='abcdefgh1'; ls", f"export HF_TOKEN='{MARK}'; ls"),
        ('"password": "letmein"', f'"password": "{MARK}"'),
        ("?sig=abcdefghijklmnop%3D&x=1", f"?sig={MARK}&x=1"),
    ],
)
def test_a_value_beside_its_name_goes_and_the_name_stays(text: str, kept: str) -> None:
    assert redact(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "species=Gentoo by=island",
        "The bearer of this letter",
        "max_tokens=1000 token: the",
        "secret: str | None = None, api_key: Optional[str] = None",
        "postgresql://me:${PASSWORD}@host/db",
        "api_key=$OPENAI_API_KEY password={password}",
        "https://example.com:8080/path@v1",
        "sk-estimator-id-1 sk-toggleable-label",
        "tasks-and-more-long-words-in-a-row-1234",
        "Asia, key results, cookie cutter: round",
        "sha256:" + "0" * 64,
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("text", [*KEYS.values(), "Authorization: Bearer abcd1234", "password='letmein'"])
def test_what_was_redacted_stays_as_it_is(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


# -------------------------------------------------------------------------------------------------- known values


def test_values_of_variables_with_secret_names_go_in_every_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_PASSWORD", 'p"w/ö x')
    for form in ('p"w/ö x', 'p\\"w/ö x', 'p\\"w/\\u00f6 x', "p%22w%2F%C3%B6%20x", "p%22w%2F%C3%B6+x"):
        assert redact(f"a {form} b") == f"a {MARK} b"


def test_a_variable_that_was_set_once_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", "correct-horse")
    redact("")
    monkeypatch.delenv("TEST_API_KEY")
    assert redact("correct-horse!") == f"{MARK}!"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SORT_KEY", "species"),
        ("TOKEN_LIMIT", "1234567890ab"),
        ("PWD", "/home/someone"),
        ("SSH_AUTH_SOCK", "/run/agent.1234"),
        ("USE_TOKEN", "true"),
        ("POSTGRES_PASSWORD", "postgres"),
        ("ACCESS_TOKEN", "abc"),
    ],
)
def test_other_variables_are_no_secrets(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert redact(f"x {value} y") == f"x {value} y"


def test_a_short_secret_goes_as_a_word_of_its_own() -> None:
    keep_secret("tuxedo")
    assert redact("tuxedo, tuxedos") == f"{MARK}, tuxedos"


def test_hits_that_overlap_are_one() -> None:
    key = KEYS["github"]
    keep_secret("prefix:" + key[:20])
    assert redact(f"prefix:{key}") == MARK


def test_what_a_person_is_asked_to_allow_hides_only_known_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "correct-horse-1")
    asked = {"command": "curl -H 'X-API-Key: correct-horse-1' -d api_key=x1;rm", "password": "hunter2;rm"}
    shown = {"command": f"curl -H 'X-API-Key: {MARK}' -d api_key=x1;rm", "password": "hunter2;rm"}
    assert redacted(asked, shapes=False) == shown


def test_a_secret_that_lies_across_pieces_goes_from_each() -> None:
    key = KEYS["openai"]
    pieces = ["a ", key[:5], key[5:20], key[20:] + " b"]
    assert Redactor().pieces(pieces) == ["a ", MARK, "", " b"]


def test_an_argument_with_a_secret_name_goes_whatever_it_looks_like() -> None:
    given = {"password": "letmein", "user": "me", "deep": [{"api_key": "abcdef"}], "limit": 5, "none": None}
    kept = {"password": MARK, "user": "me", "deep": [{"api_key": MARK}], "limit": 5, "none": None}
    assert redacted(given) == kept


@pytest.mark.parametrize("text", ["api_key=", "authorization:", "sk-", "glpat-", "://", "eyJ", "secret: ", "_KEY="])
@pytest.mark.timeout(10)
def test_a_hostile_text_costs_no_more_than_others(text: str) -> None:
    redact(text * 20_000)


def test_letters_that_grow_in_lower_case_move_nothing() -> None:
    assert redact("İİİ password='letmein' İ") == f"İİİ password='{MARK}' İ"
