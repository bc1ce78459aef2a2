"""Answers that ended early: they are recorded as such, asked for again, and never scored, though they can be read."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from model_server import Json, ModelServer, answer_to, reply, said, talk
from slow_cases import slow_after, slow_except

from attune_bench import score
from attune_bench.benchmarks.attunebench.profile import PROFILE, ProfileSettings, profile_options
from attune_bench.benchmarks.attunebench.rejudging import REJUDGE, drafted_runs
from attune_bench.benchmarks.attunebench.task import TASK, AttuneBenchSettings
from attune_bench.benchmarks.eibench.task import TASK as EPISODES
from attune_bench.benchmarks.eibench.task import EIBenchSettings
from attune_bench.benchmarks.emobench import TASK as EMOBENCH
from attune_bench.benchmarks.emobench import EmoBenchSettings
from attune_bench.runner import Call, Decoding, Price, Response, RunOptions, RunOutcome, endpoint, run_sync
from attune_bench.runner.cache import Cache
from attune_bench.runner.client import Client
from attune_data import Conversation, Run, load_episodes, load_records, load_runs, load_scenarios
from attune_data.kinds import ITEM

pytestmark = pytest.mark.usefixtures("impatient")

SETTINGS = AttuneBenchSettings("vendor/model", judges=("judge/one",))
PLAYED = EIBenchSettings("vendor/model", "vendor/person", max_rounds=2)
REASONS = ("length", "content_filter", "error")
SCENARIO = load_scenarios("demo")[0]


def ended(text: str | None, reason: str) -> bytes:
    """Return a raw answer that ended early; of an error, as OpenRouter tells it."""
    choice: Json = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
    if reason == "error":
        choice |= {"error": {"code": 502, "message": "The provider is gone"}, "native_finish_reason": None}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return reply("200 OK", json.dumps({"choices": [choice], "usage": usage}))


def at_first(answer: Callable[[Json], str], reason: str) -> Callable[[int, Json], bytes | None]:
    """Break off the first answer to everything, though it can be read; what was asked again ends with a note or not."""
    seen: set[str] = set()

    def fault(_number: int, body: Json) -> bytes | None:
        asked = json.dumps(
            [body["model"], *(message["content"].partition("\n\nYour last")[0] for message in body["messages"])]
        )
        if asked in seen:
            return None
        seen.add(asked)
        return ended(answer(body), reason)

    return fault


def run(server: ModelServer, task: Any, units: Any, settings: Any, output: Path, **options: Any) -> RunOutcome:
    chosen = RunOptions(**{"concurrency": 1, **options})
    return run_sync(task, units, settings, endpoint("local", base_url=server.url), output=output, options=chosen)


def recorded(folder: Path) -> list[Json]:
    """Return the responses of a cache file."""
    entries = map(json.loads, (folder / ".cache.jsonl").read_bytes().splitlines())
    return [entry for entry in entries if "key" in entry]


def made(folder: Path) -> Json:
    (path,) = folder.glob("[!._]*.json")
    content: Json = json.loads(path.read_bytes())
    return content


@pytest.fixture
def short(demo: list[Conversation]) -> Conversation:
    """Return a conversation of one turn with everything annotated: 6 calls, with a judge."""
    whole = next(one for one in demo if len(one.turns) == 5)
    return whole.model_copy(update={"turns": whole.turns[:1]})


# What a server says of an end.


@pytest.mark.parametrize(
    "said_of_it", slow_after(2, ["stop", "tool_calls", "", None, 3, ["length"], {"length": 1}, "LENGTH"])
)
def test_any_other_end_is_a_complete_answer(said_of_it: object) -> None:
    choice = {"message": {"content": "Yes."}, "finish_reason": said_of_it, "error": None}
    assert asked_once(reply("200 OK", json.dumps({"choices": [choice]}))) == Response("Yes.")


@pytest.mark.parametrize("choice", [{"error": {"code": 502}}, {"error": "gone", "message": None}])
def test_an_error_in_place_of_a_message_is_an_answer_that_broke_off(choice: Json) -> None:
    assert asked_once(reply("200 OK", json.dumps({"choices": [choice]}))) == Response("", finish_reason="error")


def asked_once(raw: bytes) -> Response:
    async def keep(_response: Response) -> None:
        pass

    async def ask() -> Response:
        async with Client(endpoint("local", base_url=server.url)) as client:
            call = Call("post", "m", "model", ({"role": "user", "content": "?"},))
            return replace(await client.request(call, Decoding(None, None, 10), keep), seconds=None)

    with ModelServer(lambda _number, _body: raw) as server:
        response = asyncio.run(ask())
        assert server.calls == 1
    return response


# Conversations.


@pytest.mark.parametrize("reason", slow_after(1, REASONS))
def test_what_ended_early_is_asked_again_and_recorded(reason: str, short: Conversation, tmp_path: Path) -> None:
    with ModelServer() as server:
        run(server, TASK, [short], SETTINGS, tmp_path / "plain")
        calls = server.calls
    with ModelServer(at_first(answer_to, reason)) as server:
        prices = dict.fromkeys(("vendor/model", "judge/one"), Price(1.0, 1.0))
        outcome = run(server, TASK, [short], SETTINGS, tmp_path / "runs", prices=prices)
        assert server.calls == 2 * calls
        # 110 tokens that did nothing cost too, of five calls to the model.
        assert made(tmp_path / "runs")["api_cost"] > 5 * 110e-6
    assert (outcome.finished, outcome.unread) == (1, 0)
    content = made(tmp_path / "runs")
    assert content["incomplete_answers"] == dict.fromkeys(made(tmp_path / "plain")["calls"], reason)
    assert {call["outcome"] for call in content["calls"].values()} == {"retried"}
    assert Counter(entry["finish_reason"] for entry in recorded(tmp_path / "runs")) == {reason: calls, None: calls}
    assert "incomplete_answers" not in made(tmp_path / "plain")


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_what_ends_early_again_is_missing_though_it_can_be_read(
    reason: str, short: Conversation, tmp_path: Path
) -> None:
    with ModelServer(lambda _number, body: ended(answer_to(body), reason)) as server:
        outcome = run(server, TASK, [short], SETTINGS, tmp_path)
        # Five calls to the model, twice each; a judge has no draft.
        assert server.calls == 10
        assert (outcome.finished, outcome.unread) == (1, 5)
        (loaded,) = load_runs(tmp_path)
        assert loaded.turns[0].em_drafted_response == ""
        assert loaded.turns[0].model_fields_set == {"turn_number", "pairwise_assignment"}
        assert loaded.post_conversation is None
        names = [*(name := made(tmp_path)["calls"]), *(f"{one}#2" for one in name)]
        assert made(tmp_path)["incomplete_answers"] == dict.fromkeys(names, reason)
        run(server, TASK, [short], SETTINGS, tmp_path)
        assert server.calls == 10


def test_a_judge_that_ends_early_leaves_its_draft_unjudged(short: Conversation, tmp_path: Path) -> None:
    def of_the_judge(number: int, body: Json) -> bytes | None:
        # Second is what the model reads of the turn.
        return ended(answer_to(body), "length") if body["model"].startswith("judge") or number == 2 else None

    with ModelServer(of_the_judge) as server:
        run(server, TASK, [short], SETTINGS, tmp_path / "runs")
        unjudged(load_runs(tmp_path / "runs")[0])
        drafted = drafted_runs(load_runs(tmp_path / "runs"), [short])
        run(server, REJUDGE, drafted, replace(SETTINGS, judges=("judge/two",)), tmp_path / "again")
        unjudged(load_runs(tmp_path / "again")[0])
    assert names_of(tmp_path / "runs") == ["turn-1/read", *(f"turn-1/judge/judge/one{n}" for n in ("", "#2"))]
    # What ended early for the judge of before is not told of this one; what did for the model is.
    assert names_of(tmp_path / "again") == ["turn-1/read", *(f"turn-1/judge/judge/two{n}" for n in ("", "#2"))]


def names_of(folder: Path) -> list[str]:
    return list(made(folder)["incomplete_answers"])


def unjudged(made_run: Run) -> None:
    assert made_run.turns[0].em_drafted_response
    assert not [name for name in made_run.turns[0].model_fields_set if name.startswith("em_draft_")]


def test_a_profile_that_ends_early_is_missing(demo: list[Conversation], tmp_path: Path) -> None:
    settings = ProfileSettings("vendor/model", options=profile_options(demo))
    with ModelServer(lambda _number, body: ended(answer_to(body), "length")) as server:
        run(server, PROFILE, demo[:1], settings, tmp_path)
        assert server.calls == 2
    (path,) = tmp_path.glob("_profile_*.json")
    content = json.loads(path.read_bytes())
    assert content["predicted"] == {}
    assert content["incomplete_answers"] == {"profile": "length", "profile#2": "length"}


# Errors of the server, which may pass.


def test_a_conversation_whose_answer_broke_off_twice_is_tried_again(short: Conversation, tmp_path: Path) -> None:
    is_broken = True

    def of_the_whole(_number: int, body: Json) -> bytes | None:
        whole = "## The whole conversation" in body["messages"][-1]["content"]
        return ended(None, "error") if whole and is_broken else None

    prices = dict.fromkeys(("vendor/model", "judge/one"), Price(1.0, 1.0))
    with ModelServer(of_the_whole) as server:
        (skipped,) = run(server, TASK, [short], SETTINGS, tmp_path, prices=prices).skipped
        assert skipped.reason == "post#2: the answer ended early (finish_reason error)"
        is_broken, sent = False, server.calls
        assert run(server, TASK, [short], SETTINGS, tmp_path, prices=prices).skipped == ()
        assert server.calls == sent + 1
    assert made(tmp_path)["incomplete_answers"] == {"post": "error"}

    # The limit knows of all three answers, two of them to one request.
    async def responses() -> list[Response]:
        async with Cache(tmp_path / ".cache.jsonl") as cache:
            return cache.responses()

    assert len(asyncio.run(responses())) == len(recorded(tmp_path)) == sent + 1


def test_a_server_that_breaks_off_everything_is_soon_left_alone(demo: list[Conversation], tmp_path: Path) -> None:
    with ModelServer(lambda _number, _body: ended("", "error")) as server:
        outcome = run(server, TASK, demo[:4], SETTINGS, tmp_path)
        assert server.calls == 8
    assert outcome.stopped is not None
    assert "the answer broke off in an error; gave up on this server after 8" in outcome.stopped


def test_an_answer_asked_for_once_that_broke_off_is_asked_for_by_the_next_run(tmp_path: Path) -> None:
    item, settings = load_records("demo", ITEM)[0], EmoBenchSettings("m", orders=1, samples_per_order=3)
    is_broken = True

    def second(number: int, _body: Json) -> bytes | None:
        return ended(None, "error") if is_broken and number == 2 else None

    with ModelServer(second) as server:
        (skipped,) = run(server, EMOBENCH, [item], settings, tmp_path / "broken").skipped
        assert skipped.reason.endswith("sample-1: the answer ended early (finish_reason error)")
        is_broken = False
        assert run(server, EMOBENCH, [item], settings, tmp_path / "broken").skipped == ()
        # The answers that came are not paid for twice.
        assert server.calls == 4
        run(server, EMOBENCH, [item], settings, tmp_path / "plain")
    assert made(tmp_path / "broken")["answers"] == made(tmp_path / "plain")["answers"]
    assert "incomplete_answers" not in made(tmp_path / "broken")


# Episodes.


@pytest.mark.parametrize("reason", slow_after(1, REASONS))
def test_both_sides_of_an_episode_are_asked_again(reason: str, tmp_path: Path) -> None:
    with ModelServer(at_first(talk, reason), answer=lambda body: talk(body).replace("no", "yes")) as server:
        outcome = run(server, EPISODES, [SCENARIO], PLAYED, tmp_path)
    assert outcome.skipped == ()
    (line,) = (tmp_path / "vendor_model" / "results.jsonl").read_bytes().splitlines()
    incomplete = json.loads(line)["incomplete_answers"]
    assert set(incomplete.values()) == {reason}
    assert list(incomplete)[:2] == ["reply-1", "round-1"]
    assert len(load_episodes(tmp_path / "vendor_model")) == 1


@pytest.mark.parametrize("reason", ["length", "content_filter"])
@pytest.mark.parametrize("text", slow_except(["I hear you, and", "", None, "<think>Now what"], "I hear you, and", None))
def test_a_reply_that_ends_early_again_fails_the_episode(text: str | None, reason: str, tmp_path: Path) -> None:
    def of_the_model(_number: int, body: Json) -> bytes | None:
        return ended(text, reason) if body["model"] == "vendor/model" else None

    with ModelServer(of_the_model, answer=talk) as server:
        assert run(server, EPISODES, [SCENARIO], PLAYED, tmp_path).skipped == ()
        # What is finished is not asked again.
        assert run(server, EPISODES, [SCENARIO], PLAYED, tmp_path).earlier == 1
        assert [body["model"] for body in server.bodies] == ["vendor/model"] * 2
    (episode,) = load_episodes(tmp_path / "vendor_model")
    said = f"reply-1#2: the answer ended early (finish_reason {reason})"
    assert episode.outcome == "error"
    assert episode.error == f"two replies of the model vendor/model ended early; {said}"
    assert (episode.reward, episode.anger_score, episode.trust_score) == (None, None, None)
    scores = score([SCENARIO], [episode])
    assert scores.values.select("reward", "failed.error").rows() == [(None, 1)]


def test_a_reply_that_breaks_off_again_is_no_episode(tmp_path: Path) -> None:
    def of_the_model(_number: int, body: Json) -> bytes | None:
        return ended("I hear", "error") if body["model"] == "vendor/model" else None

    with ModelServer(of_the_model, answer=talk) as server:
        (skipped,) = run(server, EPISODES, [SCENARIO], PLAYED, tmp_path).skipped
    assert skipped.reason == "reply-1#2: the answer ended early (finish_reason error)"
    assert not (tmp_path / "vendor_model" / "results.jsonl").exists()


def test_judgements_that_end_early_three_times_cannot_be_read(tmp_path: Path) -> None:
    whole = {"reflection": "Hm.", "anger_delta": -9, "trust_delta": 9, "reply": "Yes!", "continue": "no"}

    def of_the_person(_number: int, body: Json) -> bytes | None:
        return ended(json.dumps(whole), "length") if body["model"] == "vendor/person" else said("I see.")

    with ModelServer(of_the_person) as server:
        assert run(server, EPISODES, [SCENARIO], PLAYED, tmp_path).finished == 1
        assert [body["model"] for body in server.bodies] == ["vendor/model", *["vendor/person"] * 3]
    (episode,) = load_episodes(tmp_path / "vendor_model")
    assert (episode.outcome, episode.final_anger) == ("parse_failed", episode.initial_anger)


def test_a_simulator_that_breaks_off_twice_is_no_episode(tmp_path: Path) -> None:
    def of_the_person(_number: int, body: Json) -> bytes | None:
        return ended("{", "error") if body["model"] == "vendor/person" else said("I see.")

    with ModelServer(of_the_person) as server:
        (skipped,) = run(server, EPISODES, [SCENARIO], PLAYED, tmp_path).skipped
    assert skipped.reason == "round-1#2: the answer ended early (finish_reason error)"


# Cache files.


def test_a_cache_file_of_before_is_used_as_it_was(short: Conversation, tmp_path: Path) -> None:
    with ModelServer() as server:
        run(server, TASK, [short], SETTINGS, tmp_path)
        sent, path = server.calls, tmp_path / ".cache.jsonl"
        entries = recorded(tmp_path)
        assert all(entry.pop("finish_reason", "none") is None for entry in entries)
        path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
        next(tmp_path.glob("[!._]*.json")).unlink()
        assert run(server, TASK, [short], SETTINGS, tmp_path).finished == 1
        assert server.calls == sent
