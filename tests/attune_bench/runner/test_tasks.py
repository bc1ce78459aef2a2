"""A benchmark that somebody else wrote in a few lines, run as any other: files, cache, re-asking, faults, servers."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from model_server import Json, ModelServer, reply, said
from slow_cases import slow_after

from attune_bench import runner
from attune_bench.runner import (
    Call,
    CallFailedError,
    Complete,
    Decoding,
    Price,
    ReplaceError,
    Role,
    RunError,
    RunOptions,
    RunOutcome,
    Source,
    Task,
    ask_planned,
    call_to_make,
    endpoint,
    message,
    read_answer,
    run_sync,
)
from attune_bench.runner.cost import estimate
from attune_data import Collection, Kind
from attune_data.record import Record

# The benchmark: which of two words is the warmer one. Ten lines, and its settings.


class Pair(Record):
    id: str
    words: tuple[str, str]


class Pairs(Collection[Pair]):
    @property
    def kind(self) -> "Kind[Pair, Pairs]":
        return PAIR


PAIR = Kind(noun="pair", plural="pairs", model=Pair, collection=Pairs, keys=frozenset(["words"]))


@dataclass(frozen=True)
class Settings:
    model: str
    condition: str = "plain"
    max_tokens: int = 50

    @property
    def decoding(self) -> Mapping[Role, Decoding]:
        return {"model": Decoding(0.0, None, self.max_tokens)}

    def provenance(self) -> dict[str, Any]:
        return {"wording": 1}


def read(said: Json) -> tuple[Json, int]:
    return ({"warmer": said["warmer"]}, 0) if said.get("warmer") in ("first", "second") else ({}, 0)


def calls(pair: Pair, settings: Settings, answers: Mapping[str, str] | None) -> list[Call]:
    asked = message("user", f'Which is warmer ({settings.condition}): {pair.words}? Answer {{"warmer": "first"}}.')
    call = call_to_make(Call("which", settings.model, "model", (asked,)), answers or {}, read, note="In JSON, please.")
    return [] if call is None else [call]


def assemble(pair: Pair, answers: Mapping[str, str], settings: Settings) -> Record:
    reading = read_answer(answers, "which", read)
    made = {"which": {"outcome": reading.outcome, "dropped": reading.dropped}}
    return Record(pair=pair.id, model=settings.model, calls=made, **reading.fields)


WARMER: Task[Pair, Settings] = Task(name="warmer", calls=calls, assemble=assemble, unit="pair")

# It ends here.

PAIRS = [Pair(id=f"p{n}", words=(f"sun {n}", f"snow {n}")) for n in range(5)]
SETTINGS = Settings("vendor/model")
Fault = Callable[[int, Json], bytes | None]


def answer(body: Json) -> str:
    """Say nothing of use about the third pair at first."""
    asked = body["messages"][-1]["content"]
    return "The sun." if "sun 2" in asked and "In JSON" not in asked else 'Well: {"warmer": "first"}'


def play(server: ModelServer, output: Path, units: Any = PAIRS, settings: Any = SETTINGS, **options: Any) -> RunOutcome:
    where = endpoint("openai-compatible", base_url=server.url)
    return run_sync(WARMER, units, settings, where, output=output, options=RunOptions(**options))


def files(folder: Path) -> dict[str, Json]:
    return {path.name: json.loads(path.read_bytes()) for path in sorted(folder.glob("[!._]*"))}


def test_each_unit_has_a_file(tmp_path: Path) -> None:
    with ModelServer(answer=answer) as server:
        outcome = play(server, tmp_path)
        assert server.calls == 6
        assert {json.dumps(body) for body in server.bodies if "response_format" in body} == set()
    assert (outcome.finished, outcome.skipped, outcome.unread, outcome.folder) == (5, (), 0, tmp_path)
    assert outcome.meter.text().startswith("5/5 pairs, 6/6 calls")
    found = files(tmp_path)
    assert list(found) == [f"p{n}_vendor_model_plain.json" for n in range(5)]
    outcomes = [made["calls"]["which"]["outcome"] for made in found.values()]
    assert outcomes == ["repaired", "repaired", "retried", "repaired", "repaired"]
    assert {made["warmer"] for made in found.values()} == {"first"}


def test_it_goes_on_at_no_cost(tmp_path: Path) -> None:
    with ModelServer(answer=answer) as server:
        play(server, tmp_path, PAIRS[:3])
        sent, before = server.calls, files(tmp_path)
        again = play(server, tmp_path)
        assert (again.finished, again.earlier, server.calls) == (5, 3, sent + 2)
        (tmp_path / "p2_vendor_model_plain.json").unlink()
        play(server, tmp_path, PAIRS[:3])
        assert server.calls == sent + 2
    found = files(tmp_path)
    assert {name: found[name] for name in before} == before


@pytest.mark.parametrize(
    ("task", "units", "settings", "asked"),
    slow_after(
        2,
        [
            (WARMER, PAIRS, SETTINGS, 0),
            (WARMER, [PAIRS[0].model_copy(update={"note": "seen by nobody"})], SETTINGS, 0),
            (replace(WARMER, name="colder"), PAIRS, SETTINGS, 0),
            (WARMER, PAIRS, replace(SETTINGS, max_tokens=60), 1),
        ],
    ),
    ids=["nothing", "content", "task", "decoding"],
)
def test_a_file_is_made_anew_where_anything_it_depends_on_has_changed(
    task: Task[Pair, Settings], units: list[Pair], settings: Settings, asked: int, tmp_path: Path
) -> None:
    with ModelServer(answer=answer) as server:
        where = endpoint("openai-compatible", base_url=server.url)
        play(server, tmp_path, PAIRS[:1])
        sent, key = server.calls, files(tmp_path)["p0_vendor_model_plain.json"]["run_key"]
        outcome = run_sync(task, units[:1], settings, where, output=tmp_path)
        changed = files(tmp_path)["p0_vendor_model_plain.json"]["run_key"] != key
        assert server.calls == sent + asked
    unchanged = (task, units, settings) == (WARMER, PAIRS, SETTINGS)
    assert (changed, outcome.earlier, outcome.replaced) == (not unchanged, int(unchanged), int(not unchanged))


def test_several_conditions_are_several_files(tmp_path: Path) -> None:
    with ModelServer(answer=answer) as server:
        outcome = play(server, tmp_path, PAIRS[:1], [SETTINGS, replace(SETTINGS, condition="stern")])
    assert outcome.finished == 2
    assert list(files(tmp_path)) == ["p0_vendor_model_plain.json", "p0_vendor_model_stern.json"]


def test_a_unit_that_failed_is_listed_and_named(tmp_path: Path) -> None:
    def refuse(_number: int, body: Json) -> bytes | None:
        return reply("413 Too Large", "") if "sun 1" in json.dumps(body) else None

    with ModelServer(refuse, answer=answer) as server:
        outcome = play(server, tmp_path, command="attune-bench run warmer")
    assert [(one.unit_id, one.condition) for one in outcome.skipped] == [("p1", "plain")]
    listed = json.loads((tmp_path / "_skipped_vendor-model.json").read_bytes())
    assert listed["command"] == "attune-bench run warmer"
    assert [(one["unit"], one["condition"]) for one in listed["skipped"]] == [("p1", "plain")]


def test_answers_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    with ModelServer(lambda _number, _body: said("Hm.")) as server:
        outcome = play(server, tmp_path)
        assert server.calls == 10
        assert play(server, tmp_path).unread == 5, "those of an earlier run count too"
    assert (outcome.finished, outcome.unread, outcome.unread_in) == (5, 5, 5)


def test_a_limit_of_the_cost_holds(tmp_path: Path) -> None:
    with ModelServer(answer=answer) as server:
        limited: dict[str, Any] = {"max_cost": 0.0005, "prices": {"vendor/model": Price(1.0, 1.0)}}
        outcome = play(server, tmp_path, **limited)
        assert "the limit of 0.0005 USD" in (outcome.stopped or "")
        # 110 tokens a call at a millionth of a dollar each.
        assert server.calls * 110e-6 <= 0.0005


def test_what_is_added_to_a_record(tmp_path: Path) -> None:
    def fields(pair: Pair, settings: Settings, source: Source) -> Json:
        return {"added": [pair.id, settings.model, dict(source.providers), source.file]}

    with ModelServer(answer=answer) as server:
        where = endpoint("openai-compatible", base_url=server.url)
        pairs = Pairs(PAIRS[:2], files={"p0": "data/first.json"})
        run_sync(replace(WARMER, fields=fields), pairs, SETTINGS, where, output=tmp_path)
    added = [made["added"] for made in files(tmp_path).values()]
    served = {"model": "openai-compatible"}
    assert added == [["p0", "vendor/model", served, "data/first.json"], ["p1", "vendor/model", served, None]]


# A benchmark that is played, with two roles.


@dataclass(frozen=True)
class Two(Settings):
    @property
    def decoding(self) -> Mapping[Role, Decoding]:
        return {"model": Decoding(0.0, None, 10), "judge": Decoding(1.0, 3, 20)}


async def duel(pair: Pair, complete: Complete, settings: Settings) -> Record:
    first = await complete(Call("first", settings.model, "model", (message("user", pair.words[0]),)), 0)
    second = await complete(Call("second", "vendor/judge", "judge", (message("user", first),)), 0)
    return Record(pair=pair.id, first=first, second=second)


def longest(pair: Pair, settings: Settings, _answers: Mapping[str, str] | None) -> list[Call]:
    first = Call("first", settings.model, "model", (message("user", pair.words[0]),))
    return [first, Call("second", "vendor/judge", "judge", (message("user", ""),), pending=1)]


DUEL: Task[Pair, Settings] = Task(name="duel", calls=longest, play=duel)


def test_each_role_is_served_and_decoded_apart(tmp_path: Path) -> None:
    with ModelServer(answer=lambda _: "one") as server, ModelServer(answer=lambda _: "two") as other:
        where, there = (endpoint("openai-compatible", base_url=one.url) for one in (server, other))
        outcome = run_sync(DUEL, PAIRS[:1], Two("m"), {"model": where, "judge": there}, output=tmp_path / "y")
        assert outcome.finished == 1
        assert (server.bodies[0]["model"], server.bodies[0]["max_tokens"]) == ("m", 10)
        judged = {name: other.bodies[0][name] for name in ("model", "max_tokens", "temperature", "seed")}
        assert judged == {"model": "vendor/judge", "max_tokens": 20, "temperature": 1.0, "seed": 3}
        # A role that is left out is served as the model is.
        assert run_sync(DUEL, PAIRS[:1], Two("m"), {"model": there}, output=tmp_path / "x").finished == 1
    (made,) = files(tmp_path / "y").values()
    assert (made["first"], made["second"]) == ("one", "two")


def test_every_model_that_is_asked_needs_a_price(tmp_path: Path) -> None:
    with ModelServer() as server:
        where = endpoint("openai-compatible", base_url=server.url)
        options = RunOptions(max_cost=1.0, prices={"m": Price(1.0, 1.0)})
        with pytest.raises(runner.PriceError, match="the price of vendor/judge is not known"):
            run_sync(DUEL, PAIRS, Two("m"), where, output=tmp_path, options=options)


def test_an_estimate_counts_what_will_be_quoted() -> None:
    each = estimate(longest(PAIRS[0], Two("m"), None), Two("m").decoding)
    # The judge's prompt is empty but for an answer of about 500 characters, of 20 tokens at most.
    assert (each["vendor/judge"].prompt, each["vendor/judge"].completion) == (125, 20)


# What is in the way.


def test_mistakes_are_told(tmp_path: Path) -> None:
    where = endpoint("openai-compatible", base_url="http://127.0.0.1:1/v1")
    with pytest.raises(ValueError, match="'warmer' has neither assemble nor play"):
        replace(WARMER, assemble=None)
    with pytest.raises(RunError, match="no pairs to run"):
        run_sync(WARMER, [], SETTINGS, where, output=tmp_path)
    with pytest.raises(RunError, match="no settings to run"):
        run_sync(WARMER, PAIRS, [], where, output=tmp_path)
    with pytest.raises(RunError, match="no endpoint for the model"):
        run_sync(WARMER, PAIRS, SETTINGS, {"judge": where}, output=tmp_path)
    with pytest.raises(RunError, match="two results would have the same file"):
        run_sync(WARMER, PAIRS, [SETTINGS, SETTINGS], where, output=tmp_path)
    apart = replace(WARMER, folder=lambda output, settings: output / settings.condition)
    with pytest.raises(RunError, match="warmer is run with one settings at a time; here are 2"):
        run_sync(apart, PAIRS, [SETTINGS, replace(SETTINGS, condition="stern")], where, output=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_calls_that_follow_from_answers_are_made_and_those_that_failed_are_not_made_again() -> None:
    made: list[str] = []

    def plan(answers: Mapping[str, str]) -> list[Call]:
        ids = ["a", "b", *(["after a"] if "a" in answers else []), *(["after b"] if "b" in answers else [])]
        return [Call(name, "m", "model", (message("user", name),)) for name in ids]

    async def complete(call: Call, attempt: int) -> str:
        made.append(call.id)
        assert attempt == 0
        if call.id in ("b", "after a"):
            raise CallFailedError(f"no answer to {call.id}")
        return "yes"

    with pytest.raises(CallFailedError, match="no answer to b"):
        asyncio.run(ask_planned(plan, complete))
    assert made == ["a", "b", "after a"]


def test_further_attempts_have_ids_of_their_own() -> None:
    call = Call("q#1", "m", "model", (message("system", "Be brief."), message("user", "Why?")))
    second = call.again("In JSON.")
    assert (second.id, second.attempt, second.messages[-1]["content"]) == ("q#1#2", 1, "Why?\n\nIn JSON.")
    third = second.again()
    assert (third.id, third.attempt, third.messages) == ("q#1#3", 2, second.messages)
    answers = {"q#1": "?", "q#1#2": "??", "q#1#3": '{"warmer": "second"}'}
    assert read_answer(answers, "q#1", read).outcome == "retried"
    first_two = {name: answers[name] for name in ("q#1", "q#1#2")}
    assert call_to_make(call, first_two, read) is None
    assert call_to_make(call, first_two, read, tries=3) == call.again().again()


def test_a_file_that_says_its_settings_is_not_replaced_by_one_of_others(tmp_path: Path) -> None:
    def assemble(pair: Pair, answers: Mapping[str, str], settings: Settings) -> Record:  # noqa: ARG001
        return Record(pair=pair.id, **settings.provenance())

    telling = replace(WARMER, assemble=assemble)
    with ModelServer(answer=answer) as server:
        where = endpoint("openai-compatible", base_url=server.url)
        run_sync(telling, PAIRS[:2], SETTINGS, where, output=tmp_path)
        other = replace(telling, recorded=lambda *_: {"wording": 2})
        # Of another name, so that the files are made anew.
        with pytest.raises(ReplaceError, match=r"2 finished results .* \(wording 1, here 2\)"):
            run_sync(replace(other, name="colder"), PAIRS[:2], SETTINGS, where, output=tmp_path)
        assert run_sync(replace(telling, name="colder"), PAIRS[:2], SETTINGS, where, output=tmp_path).replaced == 2
