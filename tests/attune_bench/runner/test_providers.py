"""Addresses and keys of providers; and how many calls an endpoint is sent at once."""

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from attune_bench.cli.run import servers_of
from attune_bench.runner import Endpoint, ProviderError, endpoint
from attune_bench.runner.client import Throttle, asked_wait

VARIABLES = (
    "OPENROUTER_API_KEY",
    "OPENAI_API_KEY",
    "RLVR_PRIME_API_KEY",
    "PRIME_API_KEY",
    "LOCAL_API_KEY",
    "OPENAI_COMPATIBLE_API_KEY",
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    return tmp_path


def authorization(found: Endpoint) -> str | None:
    return dict(found.headers).get("Authorization")


@pytest.mark.parametrize(
    ("provider", "variable", "url"),
    [
        ("openrouter", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
        ("openai", "OPENAI_API_KEY", "https://api.openai.com/v1"),
        ("prime", "PRIME_API_KEY", "https://api.pinference.ai/api/v1"),
    ],
)
def test_keys_come_from_the_environment(
    provider: str, variable: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ProviderError, match=f"set {variable}"):
        endpoint(provider)
    monkeypatch.setenv(variable, " key-of-mine\n")
    found = endpoint(provider)
    assert (found.url, authorization(found)) == (url, "Bearer key-of-mine")
    assert "key-of-mine" not in repr(found)


def test_prime_takes_its_own_variable_first_then_its_configuration(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".prime").mkdir()
    config = {"api_key": "from-file", "team_id": "team-1", "inference_url": "https://example.org/v1/", "other": 3}
    (home / ".prime" / "config.json").write_text(json.dumps(config))
    found = endpoint("prime")
    assert found.url == "https://example.org/v1"
    assert dict(found.headers) == {"Authorization": "Bearer from-file", "X-Prime-Team-ID": "team-1"}
    monkeypatch.setenv("PRIME_API_KEY", "second")
    assert authorization(endpoint("prime")) == "Bearer second"
    monkeypatch.setenv("RLVR_PRIME_API_KEY", "first")
    assert authorization(endpoint("prime")) == "Bearer first"
    assert authorization(endpoint("prime", api_key="given")) == "Bearer given"


@pytest.mark.parametrize(("name", "port"), [("ollama", 11434), ("vllm", 8000), ("lmstudio", 1234)])
def test_a_server_of_one_s_own_has_a_usual_url_and_needs_no_key(name: str, port: int) -> None:
    found = endpoint(name)
    assert (found.provider, found.url) == ("openai-compatible", f"http://localhost:{port}/v1")
    assert found.headers == ()
    assert endpoint(name, base_url="http://elsewhere:1/v1").url == "http://elsewhere:1/v1"


def test_an_unknown_provider_is_told_the_nearest_and_all() -> None:
    with pytest.raises(ProviderError, match=r"unknown provider 'olama'; did you mean 'ollama'\? .* vllm, lmstudio"):
        endpoint("olama")


def test_base_url_is_for_the_first_of_two_servers_of_one_s_own() -> None:
    given = {"base_url": "http://mine:1/v1", "api_key": None}

    def urls(provider: str, judges: str, **own: str) -> list[str]:
        found = servers_of(provider, given, ["judge"], {"judge_provider": judges, **own})
        return [found[role].url for role in ("model", "judge")]

    assert urls("ollama", "vllm") == ["http://mine:1/v1", "http://localhost:8000/v1"]
    assert urls("ollama", "ollama") == ["http://mine:1/v1", "http://mine:1/v1"]
    assert urls("ollama", "local") == ["http://mine:1/v1", "http://mine:1/v1"]
    assert urls("local", "ollama") == ["http://mine:1/v1", "http://localhost:11434/v1"]
    assert urls("ollama", "vllm", judge_base_url="http://judge/v1") == ["http://mine:1/v1", "http://judge/v1"]


def test_a_damaged_configuration_is_one_error(home: Path) -> None:
    (home / ".prime").mkdir()
    for content in ("{", "[]", "3"):
        (home / ".prime" / "config.json").write_text(content)
        with pytest.raises(ProviderError, match=r"config\.json cannot be read"):
            endpoint("prime")


@pytest.mark.parametrize("team", ["é", "a\r\nX-Other: b"])
def test_a_team_that_is_no_header_is_one_error(team: str, home: Path) -> None:
    (home / ".prime").mkdir()
    (home / ".prime" / "config.json").write_text(json.dumps({"api_key": "k", "team_id": team}))
    with pytest.raises(ProviderError, match=r"team_id in ~/\.prime/config\.json"):
        endpoint("prime")


def test_a_url_that_is_none_in_the_configuration_is_told_as_its(home: Path) -> None:
    (home / ".prime").mkdir()
    (home / ".prime" / "config.json").write_text(json.dumps({"api_key": "k", "inference_url": "example.org"}))
    with pytest.raises(ProviderError, match=r"inference_url in ~/\.prime/config\.json is not of the form"):
        endpoint("prime")


def test_nothing_typed_is_an_empty_key() -> None:
    def ask(_prompt: str) -> str:
        raise EOFError

    with pytest.raises(ProviderError, match="the key for openai is empty"):
        endpoint("openai", ask=ask)


def test_a_key_is_asked_for() -> None:
    prompts: list[str] = []

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return "typed"

    assert authorization(endpoint("openai", ask=ask)) == "Bearer typed"
    assert prompts == ["Key for openai (OPENAI_API_KEY is not set): "]
    with pytest.raises(ProviderError, match="is empty"):
        endpoint("openai", ask=lambda _prompt: " ")


def test_the_key_of_openai_is_not_sent_to_a_local_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    assert authorization(endpoint("local", base_url="http://localhost:8000/v1")) is None


def test_a_url_is_kept_without_its_secrets() -> None:
    found = endpoint("local", base_url="https://me:p%40ss-word@[::1]:8000/v1/?token=abcdef")
    assert (found.url, found.query) == ("https://[::1]:8000/v1", "token=abcdef")
    assert authorization(found) == "Basic " + b64encode(b"me:p@ss-word").decode()
    assert found.is_loopback
    said = "me:p@ss-word p@ss-word token=abcdef abcdef fine"
    assert found.redact(said) == "[redacted] [redacted] [redacted] [redacted] fine"


def test_secrets_are_known_in_every_spelling() -> None:
    found = endpoint("local", base_url="http://user-key:@h/v1?token=a%2Fbcd%3D", api_key='s/k+1 "x"')
    for spelled in ("user-key", "user-key:", "a%2Fbcd%3D", "a/bcd=", 's/k+1 "x"', "s/k%2B1%20%22x%22"):
        assert found.redact(f"<{spelled}>") == "<[redacted]>", spelled
    for spelled in ("s%2Fk%2B1%20%22x%22", "s%2Fk%2B1+%22x%22", 's/k+1 \\"x\\"', b64encode(b"user-key:").decode()):
        assert found.redact(f"<{spelled}>") == "<[redacted]>", spelled


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "ftp://h/v1",
        "http://",
        "http://h:port/v1",
        "http://h/\x00",
        "http://hé/",
        "http://[::1",
        "http://h/v 1",
    ],
)
def test_a_url_that_is_none(url: str) -> None:
    with pytest.raises(ProviderError, match="is not of the form"):
        endpoint("local", base_url=url)


@pytest.mark.parametrize("variable", ["LOCAL_API_KEY", "OPENAI_COMPATIBLE_API_KEY"])
def test_local_is_an_alias(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "key-of-mine")
    url = "http://localhost:8000/v1"
    assert endpoint("local", base_url=url) == endpoint("openai-compatible", base_url=url)
    assert authorization(endpoint("local", base_url=url)) == "Bearer key-of-mine"
    assert endpoint("local", base_url=url).provider == "openai-compatible"


def test_what_cannot_be_used() -> None:
    with pytest.raises(ProviderError, match="unknown provider 'azure'; expected one of openrouter"):
        endpoint("azure")
    for url in (None, ""):
        with pytest.raises(ProviderError, match="needs the URL"):
            endpoint("local", base_url=url)
    with pytest.raises(ProviderError, match="takes no URL of its own"):
        endpoint("openai", base_url="http://localhost/v1", api_key="k")
    with pytest.raises(ProviderError, match="characters that no key has") as caught:
        endpoint("openai", api_key="abc\ndef")
    assert "abc" not in str(caught.value)


# Places.


@asynccontextmanager
async def place(throttle: Throttle, *, first: bool = False) -> AsyncIterator[int]:
    number = await throttle.acquire(first=first)
    try:
        yield number
    finally:
        throttle.release()


def test_places_are_halved_once_for_all_that_were_under_way_and_come_back() -> None:
    async def use() -> None:
        throttle = Throttle(8)
        numbers = []
        for _ in range(8):
            async with place(throttle) as number:
                numbers.append(number)
        for number in numbers:
            throttle.too_many(call_number=number, wait=0.0)
        assert throttle.places == 4.0
        async with place(throttle) as number:
            throttle.too_many(call_number=number, wait=0.0)
        assert throttle.places == 2.0
        for _ in range(100):
            throttle.answered()
        assert throttle.places == 8.0

    asyncio.run(use())


def test_no_more_than_the_places_and_in_order() -> None:
    async def use() -> None:
        throttle, under_way, order = Throttle(3), 0, []

        async def call(n: int) -> None:
            nonlocal under_way
            async with place(throttle):
                order.append(n)
                under_way += 1
                assert under_way <= 3
                await asyncio.sleep(0.001)
                under_way -= 1

        tasks = [asyncio.create_task(call(n)) for n in range(20)]
        await asyncio.sleep(0)
        tasks[10].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert order == [n for n in range(20) if n != 10]

    asyncio.run(use())


def test_what_is_tried_again_comes_first() -> None:
    async def use() -> None:
        throttle, order = Throttle(1), []

        async def call(n: int, *, again: bool) -> None:
            async with place(throttle, first=again):
                order.append(n)
                await asyncio.sleep(0)

        await asyncio.gather(*(call(n, again=n == 4) for n in range(5)))
        assert order == [0, 4, 1, 2, 3]

    asyncio.run(use())


def test_one_place_is_always_left() -> None:
    async def use() -> None:
        throttle = Throttle(2)
        for _ in range(5):
            async with asyncio.timeout(5), place(throttle) as number:
                throttle.too_many(call_number=number, wait=0.0)
        assert throttle.places == 1.0

    asyncio.run(use())


def test_a_place_that_was_given_to_a_call_that_is_cancelled_goes_to_the_next() -> None:
    async def use() -> None:
        throttle = Throttle(1)

        async def call() -> None:
            async with place(throttle):
                await asyncio.sleep(0)

        async def call_and_cancel() -> None:
            await call()
            second.cancel()  # It was given the place a moment ago, and has not run since.

        first = asyncio.create_task(call_and_cancel())
        second, third = (asyncio.create_task(call()) for _ in range(2))
        await first
        await asyncio.wait_for(third, 5)
        assert second.cancelled()

    asyncio.run(use())


def test_a_wait_may_be_asked_for_as_a_date() -> None:
    ahead = datetime.now(UTC) + timedelta(seconds=40)
    for date in (format_datetime(ahead, usegmt=True), ahead.strftime("%a, %d %b %Y %H:%M:%S")):
        assert 30 < asked_wait(date, 60.0) <= 40
    assert asked_wait(format_datetime(ahead - timedelta(days=1), usegmt=True), 60.0) == 0.0
    assert asked_wait(format_datetime(ahead + timedelta(days=1), usegmt=True), 60.0) == 60.0


def test_a_server_that_asks_for_a_wait_gets_it() -> None:
    async def use() -> None:
        throttle, loop = Throttle(2), asyncio.get_running_loop()
        throttle.too_many(call_number=0, wait=0.1)
        began = loop.time()
        async with place(throttle):
            assert loop.time() - began >= 0.09

    asyncio.run(use())
