"""One answer format in a run: with schemas or without them; what a server says that refuses schemas."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from model_server import Json, ModelServer, answer_to, reply, talk
from slow_cases import slow_after

from attune_bench.benchmarks.attunebench.profile import PROFILE, ProfileSettings, profile_options
from attune_bench.benchmarks.attunebench.rejudging import REJUDGE, drafted_runs
from attune_bench.benchmarks.attunebench.task import TASK, AttuneBenchSettings
from attune_bench.benchmarks.eibench.task import TASK as EIBENCH
from attune_bench.benchmarks.eibench.task import EIBenchSettings
from attune_bench.runner import (
    Call,
    ModelSettings,
    ReplaceError,
    RunOptions,
    RunOutcome,
    Task,
    call_to_make,
    endpoint,
    message,
    read_answer,
    run_sync,
)
from attune_data import Conversation, load_runs, load_scenarios
from attune_data.record import Record

pytestmark = pytest.mark.usefixtures("impatient")

SETTINGS = AttuneBenchSettings("vendor/model", judges=("judge/one",))
EPISODES = EIBenchSettings("vendor/model", "vendor/person", max_rounds=2)


def has_schema(body: Json) -> bool:
    return "response_format" in body


def run(
    server: ModelServer, units: Sequence[Any], output: Path, settings: Any = SETTINGS, task: Any = TASK, **options: Any
) -> RunOutcome:
    where = endpoint("local", base_url=server.url)
    return run_sync(task, units, settings, where, output=output, options=RunOptions(**options))


def formats(folder: Path) -> list[str]:
    return [json.loads(path.read_bytes())["answer_format"] for path in sorted(folder.glob("[!._]*.json"))]


# Without schemas from the beginning.


def test_a_free_run_sends_no_schema_and_says_so_in_its_files(demo: list[Conversation], tmp_path: Path) -> None:
    with ModelServer() as server:
        assert run(server, demo[:2], tmp_path / "free", replace(SETTINGS, answer_format="free")).finished == 2
        assert not any(map(has_schema, server.bodies))
        sent = server.calls
        run(server, demo[:2], tmp_path / "schema")
        assert all(map(has_schema, server.bodies[sent:]))
    assert formats(tmp_path / "free") == ["free", "free"]
    assert formats(tmp_path / "schema") == ["schema", "schema"]


@pytest.mark.parametrize(("answer_format", "tries"), slow_after(1, [("schema", 2), ("free", 3)]))
def test_how_often_an_answer_is_asked_for(
    answer_format: Any, tries: int, demo: list[Conversation], tmp_path: Path
) -> None:
    def asked(task: Any, settings: Any, units: Sequence[Any], calls: int) -> None:
        with ModelServer(answer=lambda _body: "I would rather not.") as server:
            run(server, units, tmp_path / task.name, settings, task)
            assert server.calls == tries * calls

    settings = replace(SETTINGS, answer_format=answer_format)
    asked(TASK, settings, demo[:1], len(TASK.planned(demo[0], replace(settings, judges=()))))
    asked(PROFILE, ProfileSettings("m", options=profile_options(demo), answer_format=answer_format), demo[:1], 1)
    drafted = drafted_runs(load_runs("demo")[:1], demo)
    asked(REJUDGE, settings, drafted, len(REJUDGE.planned(drafted[0], settings)))


def test_a_simulator_is_asked_three_times_in_either_format(tmp_path: Path) -> None:
    def mumble(body: Json) -> str:
        return "Hm." if body["model"] == "vendor/person" else talk(body)

    scenario = load_scenarios("demo")[:1]
    for answer_format in ("schema", "free"):
        with ModelServer(answer=mumble) as server:
            run(server, scenario, tmp_path / answer_format, replace(EPISODES, answer_format=answer_format), EIBENCH)
            assert [body["model"] for body in server.bodies].count("vendor/person") == 3
        (line,) = (tmp_path / answer_format / "vendor_model" / "results.jsonl").read_text().splitlines()
        assert json.loads(line)["answer_format"] == answer_format


@pytest.mark.parametrize("settings", [SETTINGS, EPISODES, ModelSettings("m"), ProfileSettings("m", options={})])
def test_an_unknown_format_is_refused(settings: Any) -> None:
    with pytest.raises(ValueError, match="answer_format is 'json'; expected one of schema, free"):
        replace(settings, answer_format="json")


# A server that refuses schemas.


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "422 Unprocessable Content"])
def test_a_refusal_stops_the_run_and_names_the_option(status: str, demo: list[Conversation], tmp_path: Path) -> None:
    def fault(_number: int, body: Json) -> bytes | None:
        return reply(status, '{"error": "no json_schema here"}') if has_schema(body) else None

    with ModelServer(fault) as server:
        outcome = run(server, demo, tmp_path, concurrency=3)
        # The first call to the model is answered before others are sent, and a refusal is free.
        assert server.calls == 1
        assert (outcome.finished, outcome.meter.requested) == (0, 0)
        assert outcome.stopped is not None
        assert f"{server.url}: status {status[:3]} (no json_schema here)" in outcome.stopped
        assert "where the server takes no JSON schemas, --free-json asks without them" in outcome.stopped
        # The same with the option goes on in the folder.
        assert run(server, demo[:2], tmp_path, replace(SETTINGS, answer_format="free")).finished == 2
    assert formats(tmp_path) == ["free", "free"]


def test_a_server_that_does_not_say_why_is_left_alone_after_some_calls(
    demo: list[Conversation], tmp_path: Path
) -> None:
    with ModelServer(lambda _number, body: reply("400 Bad Request", "") if has_schema(body) else None) as server:
        outcome = run(server, demo, tmp_path, concurrency=1)
        assert server.calls == 8
    assert outcome.stopped is not None
    assert "--free-json asks without them; gave up on this server after 8 such calls in a row" in outcome.stopped


def test_no_key_is_said(demo: list[Conversation], tmp_path: Path) -> None:
    key = "sk-SECRET-0123456789abcdef"
    refused = reply("400 Bad Request", json.dumps({"error": f"no schemas for {key}\x1b[2J"}))
    with ModelServer(lambda _number, _body: refused) as server:
        where = endpoint("local", base_url=server.url, api_key=key)
        outcome = run_sync(TASK, demo[:1], SETTINGS, where, output=tmp_path)
    texts = [str(outcome), *(path.read_text(encoding="utf-8") for path in tmp_path.iterdir())]
    assert "status 400 (no schemas for" in texts[0]
    assert [text for text in texts if "SECRET" in text or "\x1b" in text] == []


def test_results_of_the_other_format_are_replaced_only_where_that_is_wanted(
    demo: list[Conversation], tmp_path: Path
) -> None:
    free = replace(SETTINGS, answer_format="free")
    with ModelServer() as server:
        run(server, demo[:2], tmp_path)
        sent = server.calls
        with pytest.raises(ReplaceError, match=r"2 finished results .* \(answer_format 'schema', here 'free'\)$"):
            run(server, demo[:2], tmp_path, free)
        assert server.calls == sent
        assert run(server, demo[:2], tmp_path, free, replace=True).replaced == 2
    assert formats(tmp_path) == ["free", "free"]


@pytest.mark.slow
def test_one_refusal_of_a_schema_that_was_taken_before_costs_its_unit_alone(
    demo: list[Conversation], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def names() -> list[str]:
        return [body["response_format"]["json_schema"]["name"] for body in server.bodies]

    stray: list[str] = []

    def fault(_number: int, body: Json) -> bytes | None:
        if stray or names().count("post") < 2 or names()[-1] != "post":
            return None
        stray.append(body["model"])
        return reply("400 Bad Request", '{"error": "upstream hiccup"}')

    with ModelServer(fault) as server:
        outcome = run(server, demo[:3], tmp_path, concurrency=1)
        assert all(map(has_schema, server.bodies))
        assert stray == ["vendor/model"]
        (skipped,) = outcome.skipped
        assert (skipped.unit_id, outcome.finished, outcome.stopped) == (demo[1].id, 2, None)
        assert "status 400 (upstream hiccup)" in skipped.reason
        sent = server.calls
        # The same command asks for what is missing, and pays for nothing again.
        assert run(server, demo[:3], tmp_path, concurrency=1).finished == 3
        assert names()[sent:] == ["post"]
    assert formats(tmp_path) == ["schema"] * 3
    assert capsys.readouterr().err == ""


# Requests that are wrong in themselves.


def test_a_wrong_request_costs_its_unit_alone(demo: list[Conversation], tmp_path: Path) -> None:
    """The first call of its kind, about the whole conversation; that of the next conversation is taken."""
    long: list[Any] = []

    def too_long(_number: int, body: Json) -> bytes | None:
        if not long and body["response_format"]["json_schema"]["name"] == "post":
            long.append(body["messages"])
        return reply("400 Bad Request", '{"error": "too long"}') if body["messages"] in long else None

    with ModelServer(too_long) as server:
        outcome = run(server, demo[:3], tmp_path, concurrency=1)
    assert [(one.unit_id, "status 400 (too long)" in one.reason) for one in outcome.skipped] == [(demo[0].id, True)]
    assert outcome.stopped is None
    assert formats(tmp_path) == ["schema", "schema"]


@pytest.mark.slow
def test_a_dead_server_is_not_waited_for_call_by_call(demo: list[Conversation], tmp_path: Path) -> None:
    with ModelServer(lambda _number, _body: "stall") as server:
        run(server, demo[:1], tmp_path, call_timeout=0.1, concurrency=16)
        assert server.most_under_way > 1  # one after the other there would never be two


# A task of somebody else's.


class Question(Record):
    id: str


def read(said: Json) -> tuple[Json, int]:
    return ({"says": said["says"]}, 0) if "says" in said else ({}, 0)


def calls(question: Question, settings: Any, answers: Any) -> list[Call]:
    schema = {"type": "object", "properties": {"says": {"type": "string"}}}
    call = Call("q", settings.model, "model", (message("user", question.id),), schema)
    made = call_to_make(call, answers or {}, read)
    return [] if made is None else [made]


OWN: Task[Question, Any] = Task(
    name="own", calls=calls, assemble=lambda _unit, answers, _settings: Record(**read_answer(answers, "q", read).fields)
)


@dataclass(frozen=True)
class Plain:
    """Settings that know of no format."""

    model: str = "m"

    @property
    def decoding(self) -> Any:
        return ModelSettings(self.model).decoding

    def provenance(self) -> Json:
        return {}


def test_a_task_needs_the_field_only_for_free_answers(tmp_path: Path) -> None:
    def answer(body: Json) -> str:
        return answer_to(body) if has_schema(body) else '{"says": "yes"}'

    with ModelServer(answer=answer) as server:
        assert run(server, [Question(id="q1")], tmp_path / "taken", Plain(), OWN).finished == 1
        free = ModelSettings("m", answer_format="free")
        assert run(server, [Question(id="q1")], tmp_path / "free", free, OWN).finished == 1
        assert list(map(has_schema, server.bodies)) == [True, False]
