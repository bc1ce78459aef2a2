"""A server that echoes the key in every field, also escaped: it reaches no file, no output and no other server."""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_server import Json, ModelServer, answer_to, reply, talk
from slow_cases import slow_after

from attune_bench.runner import endpoint

Invoke = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.usefixtures("elsewhere", "impatient")

KEY = "sk-SECRET-0123456789abcdef"


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in text)


def nested(text: str) -> str:
    """Return how a text is written in a string of JSON."""
    return json.dumps(text)[1:-1]


SPELLINGS: dict[str, str] = {
    "as it is": KEY,
    "escaped": escaped(KEY),
    "in capitals": escaped(KEY).upper().replace("\\U", "\\u"),
    "in part": KEY[:4] + escaped(KEY[4:9]) + KEY[9:],
    "in JSON in a text": nested(escaped(KEY)),
    "two levels down": nested(nested(escaped(KEY))),
    "escaped backslashes": escaped(KEY).replace("\\", "\\u005C"),
}


def bare(text: str) -> str:
    """Return a text in which nothing is escaped any more, at whatever level."""
    while (plain := re.sub(r"\\+u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)) != text:
        text = plain
    return text


def echo(number: int, text: str) -> bytes:
    """Return a raw answer whose texts, usage and other fields contain the key in one of its spellings."""
    spelled = list(SPELLINGS.values())[number % len(SPELLINGS)]
    said = re.sub(r'(?<=": ")[^"]{12,}(?=")', lambda _: f"Your key is {spelled}!", text)
    if said == text:
        said = f'{text} {{"key": "{spelled}"}}'
    half = len(said) // 2
    parts = [{"type": "text", "text": said[:half]}, {"type": "text", "text": said[half:]}]
    message = {"role": spelled, "content": parts if number % 2 else said, "refusal": spelled, "reasoning": spelled}
    choice = {"index": 0, "message": message, "finish_reason": spelled}
    usage = {"prompt_tokens": spelled, "completion_tokens": 3, "cost": spelled, spelled: spelled}
    body = {"id": spelled, "model": spelled, "choices": [choice], "usage": usage}
    return reply("200 OK", json.dumps(body), f"X-Key: {KEY}")


def test_the_spellings_are_spellings() -> None:
    assert {bare(spelled) for spelled in SPELLINGS.values()} == {KEY}
    for name in ("escaped", "in capitals", "in part"):
        assert json.loads(f'"{SPELLINGS[name]}"') == KEY


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_is_redacted(name: str) -> None:
    found = endpoint("local", base_url="http://h/v1", api_key=KEY)
    assert found.redact(f'{{"a": "<{SPELLINGS[name]}>"}}') == '{"a": "<[redacted]>"}'


@pytest.mark.parametrize("key", [KEY, "sk->>>>???~~~0123"])
@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
@pytest.mark.parametrize("before", ["", "Bearer "])
def test_a_key_in_base64_is_redacted(before: str, encode: Callable[[bytes], bytes], key: str) -> None:
    found = endpoint("local", base_url="http://h/v1", api_key=key)
    encoded = encode(f"{before}{key}".encode()).decode().rstrip("=")
    assert found.redact(f"<{encoded}>") == "<[redacted]>"


def test_a_secret_of_a_url_in_base64_is_redacted() -> None:
    found = endpoint("local", base_url="http://me:p%40ss%2Fword@h/v1?token=t%2F0123456789")
    for secret in (b"me:p@ss/word", b"p@ss/word", b"t/0123456789"):
        assert found.redact(f"<{b64encode(secret).decode().rstrip('=')}>") == "<[redacted]>"


@pytest.mark.parametrize("secret", ['pass/word"with\\signs', "Schlüssel-🙂-lang"])
def test_signs_that_json_escapes_are_redacted(secret: str) -> None:
    found = endpoint("local", base_url="http://h/v1", api_key=KEY)
    found = type(found)(found.provider, found.url, secrets=(secret,))
    for spelled in (secret, nested(secret), nested(nested(secret)), nested(secret).replace("/", "\\/")):
        assert found.redact(f'{{"a": "{spelled}"}}') == '{"a": "[redacted]"}', spelled


def test_a_text_of_backslashes_is_read_in_linear_time() -> None:
    found = endpoint("local", base_url="http://h/v1", api_key=KEY)
    # Were the time quadratic, this would take hours.
    assert found.redact("\\" * 300_000) == "\\" * 300_000


@pytest.mark.slow
def test_no_command_writes_or_passes_on_an_echoed_key(
    call: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", KEY)
    with (
        ModelServer(lambda number, body: echo(number, answer_to(body))) as server,
        ModelServer(lambda number, body: echo(number, talk(body))) as played,
    ):
        where = ("--limit", 1, "--base-url", server.url)
        judging = ("--judge-model", "j", "--judge-provider", "local")
        own = ("--benchmark", "eibench", "--simulator-model", "p", "--limit", 1, "--base-url", played.url)
        told = [
            call("run", "local", "m", "demo", *where, "--judge-model", "i"),
            call("rejudge", "results", *judging, "--base-url", server.url),
            call("profile", "local", "m", "demo", *where),
            call("run", "local", "m", "demo", *own, "--output", "episodes"),
        ]
        bodies = [*server.bodies, *played.bodies]
        assert f"Authorization: Bearer {KEY}".encode() in server.headers
        assert f"Authorization: Bearer {KEY}".encode() in played.headers
    assert [status for status, _, _ in told] == [0, 0, 1, 0], told  # No profile could be read.
    files = {path: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*") if path.is_file()}
    assert [path for path, text in files.items() if KEY in bare(text)] == []
    assert KEY not in bare("".join(out + err for _, out, err in told))
    assert KEY not in bare(json.dumps(bodies)), "what one model said is sent to another"
    # Drafts, replies and reflections had it.
    for folder in ("results", "results-rejudged", "episodes/m"):
        made = [text for path, text in files.items() if path.parent == tmp_path / folder and path.name[0] not in "._"]
        assert any("Your key is [redacted]!" in text for text in made), folder


@pytest.mark.parametrize("name", slow_after(2, SPELLINGS))
def test_no_error_tells_an_escaped_key(
    name: str, call: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", KEY)
    said: Json = {"error": {"message": f"no such key: {SPELLINGS[name]}", "code": SPELLINGS[name]}}
    raw: Any = reply("401 Unauthorized", json.dumps(said), f"WWW-Authenticate: {KEY}", f"Retry-After: {KEY}")
    with ModelServer(lambda _number, _body: raw) as server:
        status, out, err = call("run", "local", "m", "demo", "--limit", 1, "--base-url", server.url)
    assert (status, "no such key: [redacted]" in err) == (1, True)
    files = [path.read_text() for path in (tmp_path / "results").iterdir() if path.is_file()]
    assert KEY not in bare("".join([out, err, *files]))


@pytest.mark.parametrize("key", ["word" + "\\" * 40 + "word", r"C:\\keys\"mine\"", "sk-.*+?()[]{}|^$-key"])
def test_a_key_of_odd_characters_is_redacted_in_little_time(key: str) -> None:
    server = endpoint("local", base_url="http://example.org/v1", api_key=key)
    for said in (key, nested(key), nested(nested(key)), escaped(key)):
        assert "word" not in server.redact(f"It is {said}.")
        assert server.redact(f"It is {said}.").startswith("It is [redacted]")
        assert server.redact(f"It is {said}.").endswith("].")
    # It would take years if each backslash could match in many ways.
    assert "[redacted]" not in server.redact(f"{'a' * 99}word{chr(92) * 99}")
