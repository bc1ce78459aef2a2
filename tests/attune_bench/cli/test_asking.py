"""Options of all commands that ask models: free JSON, a user's own templates, how a run is made."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import Call
from model_server import Json, ModelServer, reply, talk

from attune_bench.benchmarks.attunebench.task import bundled_prompts as attunebench_prompts
from attune_bench.benchmarks.eibench.task import bundled_prompts as eibench_prompts
from attune_bench.runner import cost

pytestmark = pytest.mark.usefixtures("elsewhere")


def has_schema(body: Json) -> bool:
    return "response_format" in body


def made(folder: str) -> list[Json]:
    return [json.loads(path.read_bytes()) for path in sorted(Path(folder).glob("[!._]*.json"))]


@pytest.mark.slow
def test_free_json_is_of_every_command_that_asks(call: Call) -> None:
    with ModelServer() as server:
        where = ("--base-url", server.url, "--limit", 1)
        assert call("run", "local", "m", "demo", *where, "--free-json")[0] == 0
        judging = ("--judge-model", "j", "--judge-provider", "local", "--base-url", server.url)
        assert call("rejudge", "results", *judging, "--free-json")[0] == 0
        assert call("profile", "local", "m", "demo", *where, "--free-json")[0] in (0, 1)
        assert not any(map(has_schema, server.bodies))
        sent = server.calls
        call("rejudge", "results", *judging, "-o", "other")
        assert all(map(has_schema, server.bodies[sent:]))
    assert [one["answer_format"] for one in made("results")] == ["free"]
    (rejudged,), (other,) = made("results-rejudged"), made("other")
    assert [one["answer_format"] for one in (rejudged, other)] == ["free", "free"]
    assert [one["judge_settings"]["answer_format"] for one in (rejudged, other)] == ["free", "schema"]
    (profile,) = Path("profiles").glob("_profile_*.json")
    assert json.loads(profile.read_bytes())["answer_format"] == "free"


def test_an_episode_without_schemas(call: Call) -> None:
    with ModelServer(answer=talk) as server:
        own = ("--benchmark", "eibench", "--simulator-model", "p", "--base-url", server.url, "--limit", 1)
        assert call("run", "local", "m", "demo", *own, "--free-json")[0] == 0
        assert not any(map(has_schema, server.bodies))
        status, _, err = call("run", "local", "m", "demo", *own)
    assert status == 2
    assert "episodes of another configuration (answer_format 'free', here 'schema')" in err


def test_an_estimate_of_free_answers_counts_no_schema_and_two_tries_more(call: Call) -> None:
    def estimated(*options: str) -> tuple[str, int]:
        status, out, _ = call(
            "run", "local", "m", "demo", "--limit", 1, "--base-url", "http://h/v1", "--dry-run", *options
        )
        assert status == 0
        return out, int(out.rpartition("at most ")[2].partition(" and")[0].replace(",", ""))

    with_schemas, most = estimated()
    assert "and one more for each answer that cannot be read" in with_schemas
    free, less = estimated("--free-json")
    assert "and up to 2 more for each answer that cannot be read" in free
    assert less < most


@pytest.mark.parametrize("command", ["run", "rejudge"])
def test_an_empty_name_of_templates_is_an_error(command: str, call: Call) -> None:
    asked = {"run": ("local", "m", "demo", "--dry-run"), "rejudge": ("results", "--judge-model", "j")}[command]
    status, _, err = call(command, *asked, "--prompts", "")
    assert status == 2
    assert "Invalid value for '--prompts': the name is empty" in err


def test_a_refusal_of_schemas_names_the_option(call: Call) -> None:
    refused = reply("400 Bad Request", '{"error": "response_format is not supported"}')
    with ModelServer(lambda _number, body: refused if has_schema(body) else None) as server:
        command = ("run", "local", "m", "demo", "--base-url", server.url, "--limit", 1)
        status, _, err = call(*command)
        assert status == 1
        said = f"stopped: {server.url}: status 400 (response_format is not supported); where the server takes no JSON"
        assert f"{said} schemas, --free-json asks without them" in err
        assert call(*command, "--free-json")[0] == 0
    assert [one["answer_format"] for one in made("results")] == ["free"]


@pytest.mark.parametrize(
    ("bundled", "options"),
    [
        (attunebench_prompts, ()),
        (eibench_prompts, ("--benchmark", "eibench", "--simulator-model", "p", "--max-rounds", 1)),
    ],
)
def test_templates_of_one_s_own(bundled: Callable[[], Any], options: tuple[Any, ...], call: Call) -> None:
    bundled().write("mine")
    some = next(Path("mine").rglob("*.md"))
    said = some.read_text(encoding="utf-8")
    with ModelServer(answer=talk if options else lambda _body: "Hm.") as server:
        command = ("run", "local", "m", "demo", "--limit", 1, "--base-url", server.url, *options, "--prompts", "mine")
        some.write_text("It costs $5.", encoding="utf-8")
        for more in ((), ("--dry-run",)):
            status, out, err = call(*command, *more)
            assert (status, out, server.calls, err.count("\n")) == (2, "", 0, 1)
            assert f"{some.relative_to('mine').as_posix()}, line 1: '$5.' begins no placeholder" in err
        some.write_text(f"{said.rstrip()} In my words.\n", encoding="utf-8")
        assert call(*command)[0] == int(not options), "no answer of one who says Hm. can be read"
    files = made("results") or [json.loads(Path("results/m/results.jsonl").read_bytes())]
    assert [one["prompt_version"] for one in files] == ["custom"]


def test_rejudging_in_one_s_own_words(call: Call) -> None:
    attunebench_prompts().write("mine")
    with ModelServer() as server:
        assert call("run", "local", "m", "demo", "--limit", 1, "--base-url", server.url)[0] == 0
        judging = ("rejudge", "results", "--judge-model", "j", "--judge-provider", "local", "--base-url", server.url)
        status, _, err = call(*judging, "--prompts", "nowhere")
        assert (status, err) == (2, "attune-bench: nowhere is no folder; expected one with a file for each template\n")
        with Path("mine/judge-system.md").open("a", encoding="utf-8") as file:
            file.write("In my words.\n")
        assert call(*judging, "--prompts", "mine")[0] == 0
    (judged,) = made("results-rejudged")
    assert (judged["judge_settings"]["prompt_version"], judged["prompt_version"] == "custom") == ("custom", False)


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_the_file_of_prices_is_read_once(dry: tuple[str, ...], call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("prices.toml").write_text("[m]\ninput = 1\noutput = 1\n", encoding="utf-8")
    read: list[object] = []

    def note(path: Any) -> dict[str, cost.Price]:
        read.append(path)
        return cost.read_prices(path)

    monkeypatch.setattr("attune_bench.cli.run.read_prices", note)
    with ModelServer() as server:
        command = ("run", "local", "m", "demo", "--limit", 1, "--base-url", server.url, "--prices", "prices.toml")
        status, out, _ = call(*command, *dry)
    assert (status, read) == (0, [Path("prices.toml")])
    assert "USD" in out
