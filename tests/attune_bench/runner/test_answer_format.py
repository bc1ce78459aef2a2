"""One answer format in a run: with schemas, without them, or without them once a server has refused them."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from model_server import Fault, Json, ModelServer, answer_to, reply, said, talk
from slow_cases import slow_after

from attune_bench.benchmarks.attunebench.profile import PROFILE, ProfileSettings, profile_options
from attune_bench.benchmarks.attunebench.rejudging import REJUDGE, drafted_runs
from attune_bench.benchmarks.attunebench.task import TASK, AttuneBenchSettings
from attune_bench.benchmarks.eibench.task import TASK as EIBENCH
from attune_bench.benchmarks.eibench.task import EIBenchSettings
from attune_bench.runner import (
    Call,
    ModelSettings,
    RunError,
    RunOptions,
    RunOutcome,
    Task,
    call_to_make,
    endpoint,
    message,
    read_answer,
    run_sync,
)
from attune_bench.runner import run as start
from attune_data import Conversation, load_runs, load_scenarios
from attune_data.record import Record

pytestmark = pytest.mark.usefixtures("impatient")

REFUSED = reply("400 Bad Request", json.dumps({"error": {"message": "response_format is not supported"}}))
NOTE = ".schema_refused.json"
SETTINGS = AttuneBenchSettings("vendor/model", judges=("judge/one",))
EPISODES = EIBenchSettings("vendor/model", "vendor/person", max_rounds=2)


def has_schema(body: Json) -> bool:
    return "response_format" in body


def refuse(_number: int, body: Json) -> bytes | None:
    return REFUSED if has_schema(body) else None


def refuse_of(model: str) -> Fault:
    return lambda _number, body: REFUSED if has_schema(body) and body["model"] == model else None


def run(
    server: ModelServer, units: Sequence[Any], output: Path, settings: Any = SETTINGS, task: Any = TASK, **options: Any
) -> RunOutcome:
    where = endpoint("local", base_url=server.url)
    return run_sync(task, units, settings, where, output=output, options=RunOptions(**options))


def formats(folder: Path) -> list[str]:
    return [json.loads(path.read_bytes())["answer_format"] for path in sorted(folder.glob("[!._]*.json"))]


def noted(folder: Path, *, confirmed: bool | None = True) -> list[tuple[str, str]]:
    """Return whom the note names: confirmed, not yet confirmed, or in either case."""
    path = folder / NOTE
    entries = json.loads(path.read_bytes()) if path.exists() else []
    return [(one["provider"], one["model"]) for one in entries if confirmed in (None, one["confirmed"])]


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
    assert noted(tmp_path / "free") == noted(tmp_path / "schema") == []


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
    asked(PROFILE, ProfileSettings("m", profile_options(demo), answer_format=answer_format), demo[:1], 1)
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


@pytest.mark.parametrize("settings", [SETTINGS, EPISODES, ModelSettings("m"), ProfileSettings("m", {})])
def test_an_unknown_format_is_refused(settings: Any) -> None:
    with pytest.raises(ValueError, match="answer_format is 'json'; expected one of schema, free"):
        replace(settings, answer_format="json")


# A server that refuses schemas.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "concurrency"),
    [
        ("400 Bad Request", 1),
        *(
            pytest.param(one, 16, marks=pytest.mark.slow)
            for one in ("400 Bad Request", "404 Not Found", "422 Unprocessable Content")
        ),
    ],
)
def test_a_refusal_costs_one_call_and_all_of_the_run_is_free(
    status: str,
    concurrency: int,
    demo: list[Conversation],
    tmp_path: Path,
    run_files: Callable[[Path], dict[str, bytes]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen: list[tuple[list[tuple[str, str]], ...]] = []

    def fault(_number: int, body: Json) -> bytes | None:
        seen.append(tuple(noted(tmp_path / "switched", confirmed=confirmed) for confirmed in (False, True)))
        return reply(status, '{"error": "no schemas here"}') if has_schema(body) else None

    modes = [replace(SETTINGS, mode=mode) for mode in ("default", "verbose")]
    with ModelServer(fault) as server:
        assert run(server, demo[:2], tmp_path / "switched", modes, concurrency=concurrency).finished == 4
        assert list(map(has_schema, server.bodies)) == [True] + [False] * (server.calls - 1)
        # Noted before the first call without a schema is sent, confirmed before the next; no answer is paid for again.
        here = [("openai-compatible", "vendor/model")]
        assert seen == [([], []), (here, []), *[([], here)] * (server.calls - 2)]
        said, switched = capsys.readouterr().err, server.calls
        run(server, demo[:2], tmp_path / "free", [replace(one, answer_format="free") for one in modes])
        assert server.calls - switched == switched - 1
    assert said.count("\n") == 1
    assert f"status {status[:3]} (no schemas here)" in said
    assert said.endswith("the run asks for JSON without them, as with --free-json\n")
    assert formats(tmp_path / "switched") == ["free"] * 4
    assert run_files(tmp_path / "switched") == run_files(tmp_path / "free")


def test_a_later_command_begins_as_the_run_ended(
    demo: list[Conversation], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(refuse) as server:
        run(server, demo[:1], tmp_path)
        capsys.readouterr()
        sent = server.calls
        again = run(server, demo[:2], tmp_path)
        assert (again.finished, again.earlier) == (2, 1)
        assert not any(map(has_schema, server.bodies[sent:]))
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"an earlier run in {tmp_path} was refused its schemas" in said
    assert formats(tmp_path) == ["free", "free"]


def test_no_key_is_noted_or_said(demo: list[Conversation], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = "sk-SECRET-0123456789abcdef"
    refused = reply("400 Bad Request", json.dumps({"error": f"no schemas for {key}\x1b[2J"}))
    with ModelServer(lambda _number, body: refused if has_schema(body) else None) as server:
        where = endpoint("local", base_url=server.url, api_key=key)
        for _ in range(2):
            run_sync(TASK, demo[:1], SETTINGS, where, output=tmp_path)
    said = capsys.readouterr().err
    assert said.count("status 400 (no schemas for") == 2
    texts = [said, *(path.read_text(encoding="utf-8") for path in tmp_path.iterdir())]
    assert [text for text in texts if "SECRET" in text or "\x1b" in text] == []


@pytest.mark.slow
def test_what_was_made_with_schemas_is_made_anew(demo: list[Conversation], tmp_path: Path) -> None:
    refusing = False
    with ModelServer(lambda number, body: refuse(number, body) if refusing else None) as server:
        run(server, demo[:2], tmp_path)
        refusing, sent = True, server.calls
        outcome = run(server, demo[:3], tmp_path)
        switched = server.calls
        run(server, demo[:3], tmp_path / "free", replace(SETTINGS, answer_format="free"))
        # No answer to a call with a schema is used again; the refused call is the only one more.
        assert switched - sent == 1 + server.calls - switched
    assert (outcome.finished, outcome.earlier, outcome.replaced) == (3, 0, 2)
    assert formats(tmp_path) == ["free"] * 3


@pytest.mark.slow
def test_a_schema_that_is_refused_late_stops_calls_with_schemas_at_once(
    demo: list[Conversation], tmp_path: Path
) -> None:
    """As where only one kind of answer has a schema that the server cannot follow."""

    def fault(_number: int, body: Json) -> bytes | float | None:
        if not has_schema(body):
            return 0.1 if all(map(has_schema, server.bodies[:-1])) else None
        return REFUSED if body["response_format"]["json_schema"]["name"] == "post" else 0.01

    with ModelServer(fault) as server:
        assert run(server, demo[:4], tmp_path, concurrency=4).finished == 4
        order = list(map(has_schema, server.bodies))
        last = len(order) - order[::-1].index(True)
        # What was sent with a schema after the first call without one had been under way before it.
        assert order[:last].count(False) <= 1
        assert last - order.index(False) <= 4
    assert formats(tmp_path) == ["free"] * 4


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
        assert not (tmp_path / NOTE).exists()
        sent = server.calls
        # The same command asks for what is missing, and pays for nothing again.
        assert run(server, demo[:3], tmp_path, concurrency=1).finished == 3
        assert names()[sent:] == ["post"]
    assert formats(tmp_path) == ["schema"] * 3
    assert capsys.readouterr().err == ""


def test_what_was_paid_before_a_switch_is_told(
    demo: list[Conversation], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A draft and a review are answered with schemas; the next kind of schema is refused."""
    answered: list[str] = []

    def fault(_number: int, body: Json) -> bytes | None:
        if not has_schema(body):
            return None
        name = body["response_format"]["json_schema"]["name"]
        if name not in ("draft", "read"):
            return REFUSED
        answered.append(name)
        return said('{"drafted_response": "I see.", "emotions": []}', cost=0.25)

    with ModelServer(fault) as server:
        outcome = run(server, demo[:1], tmp_path, AttuneBenchSettings("vendor/model"), concurrency=1)
    count = len(answered)
    assert count > 0
    # 110 tokens each, as the server counts them.
    unused = f"; not used: {count} answers with schemas ({110 * count:,} tokens, {0.25 * count:.2f} USD)\n"
    assert capsys.readouterr().err.endswith(f"as with --free-json{unused.replace('1 answers', '1 answer')}")
    assert outcome.meter.costs == {}


@pytest.mark.parametrize("after", slow_after(1, ["cancelled", "killed"]))
def test_a_switch_that_was_broken_off_is_not_believed(after: str, demo: list[Conversation], tmp_path: Path) -> None:
    """The call without the schema never returns; the next command finds a server that takes schemas."""

    async def broken(server: ModelServer) -> None:
        local = endpoint("local", base_url=server.url)
        task = asyncio.create_task(start(TASK, demo[:1], SETTINGS, local, output=tmp_path))
        while server.calls < 2:
            await asyncio.sleep(0.01)
        assert noted(tmp_path, confirmed=None) == [("openai-compatible", "vendor/model")]
        kept = (tmp_path / NOTE).read_bytes()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not (tmp_path / NOTE).exists()
        if after == "killed":  # Then nothing removes the note.
            (tmp_path / NOTE).write_bytes(kept)

    with ModelServer(lambda _number, body: REFUSED if has_schema(body) else "stall") as server:
        asyncio.run(broken(server))
        assert list(map(has_schema, server.bodies)) == [True, False]
    with ModelServer() as server:
        assert run(server, demo[:1], tmp_path).finished == 1
        assert all(map(has_schema, server.bodies))
    assert formats(tmp_path) == ["schema"]
    assert noted(tmp_path) == []


@pytest.mark.slow
def test_a_run_refused_for_its_judge_is_free_for_all_roles(demo: list[Conversation], tmp_path: Path) -> None:
    with ModelServer(refuse_of("judge/one")) as server:
        run(server, demo[:1], tmp_path)
        first = server.bodies.index(next(body for body in server.bodies if not has_schema(body)))
        assert not any(has_schema(body) for body in server.bodies[first + 4 :])
        assert {body["model"] for body in server.bodies[first:]} == {"vendor/model", "judge/one"}
    assert noted(tmp_path) == [("openai-compatible", "judge/one")]
    assert formats(tmp_path) == ["free"]


@pytest.mark.slow
def test_another_model_in_the_folder_is_asked_with_schemas(demo: list[Conversation], tmp_path: Path) -> None:
    with ModelServer(refuse_of("vendor/model")) as server:
        run(server, demo[:1], tmp_path, AttuneBenchSettings("vendor/model"))
        sent = server.calls
        run(server, demo[:1], tmp_path, AttuneBenchSettings("vendor/other"))
        assert all(map(has_schema, server.bodies[sent:]))
        # The same name at another provider is another model.
        where = replace(endpoint("local", base_url=server.url), provider="prime")
        options = RunOptions(replace=True)
        run_sync(TASK, demo[:1], AttuneBenchSettings("vendor/model"), where, output=tmp_path, options=options)
        assert has_schema(server.bodies[-1]) is False
    assert noted(tmp_path) == [("openai-compatible", "vendor/model"), ("prime", "vendor/model")]


@pytest.mark.slow
def test_rejudged_runs_keep_the_format_of_their_model_and_record_the_judge_s(
    demo: list[Conversation], tmp_path: Path
) -> None:
    modes = [replace(SETTINGS, model=model) for model in ("vendor/model", "vendor/other")]
    with ModelServer(refuse_of("judge/two")) as server:
        for settings in modes:
            run(server, demo[:1], tmp_path / "runs", settings)
        drafted = drafted_runs(load_runs(tmp_path / "runs"), demo)
        judging = AttuneBenchSettings("any", judges=("judge/two",))
        sent = server.calls
        assert run(server, drafted, tmp_path / "rejudged", judging, REJUDGE).finished == 2
        assert list(map(has_schema, server.bodies[sent:])) == [True] + [False] * (server.calls - sent - 1)
        sent = server.calls
        run(server, drafted, tmp_path / "rejudged", judging, REJUDGE)
        assert server.calls == sent
    assert noted(tmp_path / "rejudged") == [("openai-compatible", "judge/two")]
    for path in (tmp_path / "rejudged").glob("[!._]*.json"):
        made = json.loads(path.read_bytes())
        assert (made["answer_format"], made["judge_settings"]["answer_format"]) == ("schema", "free")


# Requests that are wrong in themselves.


def test_a_note_of_a_wrong_request_is_removed(
    demo: list[Conversation], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first call of its kind, about the whole conversation; that of the next conversation is taken."""
    long: list[Any] = []
    seen: dict[bool, set[bool]] = {True: set(), False: set()}

    def too_long(_number: int, body: Json) -> bytes | None:
        if not long and body["response_format"]["json_schema"]["name"] == "post":
            long.append(body["messages"])
        seen[has_schema(body)].add((tmp_path / NOTE).exists())
        return reply("400 Bad Request", '{"error": "too long"}') if body["messages"] in long else None

    with ModelServer(too_long) as server:
        outcome = run(server, demo[:3], tmp_path, concurrency=1)
    assert [(one.unit_id, "status 400 (too long)" in one.reason) for one in outcome.skipped] == [(demo[0].id, True)]
    assert outcome.stopped is None
    assert seen == {True: {False}, False: {True}}
    assert not (tmp_path / NOTE).exists()
    assert formats(tmp_path) == ["schema", "schema"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("then", slow_after(1, [reply("503 Service Unavailable", ""), "reset"]))
def test_a_server_that_breaks_at_the_call_without_a_schema_is_asked_again(
    then: Any, demo: list[Conversation], tmp_path: Path
) -> None:
    def fault(_number: int, body: Json) -> bytes | Any:
        if has_schema(body):
            return REFUSED
        return then if sum(not has_schema(one) for one in server.bodies) == 1 else None

    with ModelServer(fault) as server:
        assert run(server, demo[:1], tmp_path).finished == 1
        assert list(map(has_schema, server.bodies[:5])) == [True, False, True, False, False]
    assert formats(tmp_path) == ["free"]


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


def test_a_task_needs_the_field_only_where_schemas_are_refused(tmp_path: Path) -> None:
    def answer(body: Json) -> str:
        return answer_to(body) if has_schema(body) else '{"says": "yes"}'

    with ModelServer(answer=answer) as server:
        assert run(server, [Question(id="q1")], tmp_path / "taken", Plain(), OWN).finished == 1
    with ModelServer(refuse, answer=answer) as server:
        assert run(server, [Question(id="q1")], tmp_path / "free", ModelSettings("m"), OWN).finished == 1
        for _ in range(2):
            with pytest.raises(RunError, match="these settings have no answer_format that could be free"):
                run(server, [Question(id="q1")], tmp_path / "plain", Plain(), OWN)
        assert server.calls == 4
