"""Answers judged in pairs: which pairs are judged, in which order, how often, and when it ends."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from model_server import Json, ModelServer, reply

from attune_bench.runner import Call, Decoding, RunOptions, Task, endpoint, message
from attune_bench.runner.pairs import Judged, Match, Pairing, judge_pairs, least_decided, matches_with, most_calls
from attune_data.comparisons import COMPARISON, Comparison
from attune_data.record import Record


class Question(Record):
    """A unit of a benchmark of one's own."""

    id: str


class Answer(Record):
    """A result of it: the better the longer."""

    unit: str
    model: str
    text: str
    repeat: int = 1


@dataclass(frozen=True)
class Settings:
    model: str = "judge"
    decoding: ClassVar[dict[str, Decoding]] = {"model": Decoding(0.0, None, 20)}

    def provenance(self) -> dict[str, Any]:
        return {}


def calls(match: Match, settings: Settings, _answers: Any) -> list[Call]:
    asked = message("user", f"{match.first.text}|{match.second.text}")
    return [Call("pair", settings.model, "model", (asked,))]


def assemble(match: Match, answers: Any, settings: Settings) -> Comparison:
    a, b = match.models
    won = {"first": a, "second": b}.get(answers["pair"])
    told = {"calls": {"pair": {"outcome": "parsed" if won else "failed"}}}
    about = {"unit": match.unit.id, "a": a, "b": b, "first": a, "winner": won, "repeat": match.repeat}
    return Comparison.model_validate(about | {"judge": settings.model} | told)


def counted(found: Iterable[Comparison]) -> list[Comparison]:
    return [one for one in found if one.outcome is not None]


PAIRING: Pairing[Settings] = Pairing(
    task=Task(name="own-pairs", calls=calls, assemble=assemble, unit="comparison"),
    settings=lambda own: own,
    kind=COMPARISON,
    comparisons=counted,
)
QUESTIONS = [Question(id=f"q{number:02}") for number in range(40)]


def longer(body: Json) -> str:
    first, _, second = body["messages"][0]["content"].partition("|")
    return "first" if len(first) > len(second) else "second"


def matches(lengths: dict[str, Sequence[int]], model: str = "new") -> list[Match]:
    """Return the matches of models whose answers have these lengths, which repeat over the questions."""
    answers = [
        Answer(unit=question.id, model=name, text="x" * own[place % len(own)])
        for name, own in lengths.items()
        for place, question in enumerate(QUESTIONS)
    ]
    return matches_with(model, QUESTIONS, answers, lambda one: (one.model, None, one.unit))


def judge(server: ModelServer, folder: Path, found: Sequence[Match], calls: int = 1_000) -> Judged:
    where = endpoint("local", base_url=server.url)
    options = RunOptions(concurrency=4)
    return asyncio.run(
        judge_pairs(PAIRING, found, Settings(), where, model="new", calls=calls, output=folder, options=options)
    )


def test_matches_are_answers_to_the_same_unit_and_repeat_in_both_orders() -> None:
    told = "q01 new 1, q01 old 1, q01 old 2, q02 new 1, z new 1, z old 1, q03 old 1, q03 other 1".split(", ")
    results = [
        Answer(unit=unit, model=model, text="", repeat=int(repeat))
        for unit, model, repeat in (one.split() for one in told)
    ]
    found = matches_with("new", QUESTIONS, results, lambda one: (one.model, None, one.unit))
    assert [one.id for one in found] == ["q01/new before old", "q01/old before new"]
    assert (found[1].first.model, found[1].second.model) == ("old", "new")


def test_there_are_no_more_calls_than_answers_of_others_in_both_orders() -> None:
    told = "q01 old 1, q01 other 1, q02 old 1, q02 old 2, q03 new 1, z old 1".split(", ")
    answers = [Answer(unit=unit, model=name, text="", repeat=int(n)) for unit, name, n in map(str.split, told)]

    def most(repeats: int, calls: int, model: str = "new") -> int:
        rows = (answers, lambda one: (one.model, None, one.unit))
        return most_calls(model, QUESTIONS, *rows, repeats=repeats, calls=calls)

    assert (most(1, 100), most(2, 100), most(1, 4)) == (6, 8, 4)
    del answers[:4]
    assert most(1, 100) == 100  # which others will answer is not known


def test_it_ends_where_the_order_is_decided_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    # Far above the one, as good as the other: half of the answers are longer.
    found = matches({"new": [5, 5], "weak": [1, 1], "even": [4, 6]})
    with ModelServer(answer=longer) as server:
        first = judge(server, tmp_path, found)
        asked = server.calls
        again = judge(server, tmp_path, found)
        assert server.calls == asked
    assert first.opponents == ("even", "weak")
    assert (first.undecided, first.is_exhausted) == (("even",), True)
    assert first.verdicts == asked == len([*tmp_path.glob("q*.json")])
    of_weak = len([*tmp_path.glob("*weak*")])
    assert len([*tmp_path.glob("*even*")]) == 80  # all of them, in both orders
    assert 8 <= of_weak < 40
    assert first.outcome is not None
    assert (first.outcome.meter.done, first.outcome.earlier) == (asked, 0)
    assert again.outcome is not None
    assert (again.verdicts, again.undecided, again.outcome.earlier) == (asked, ("even",), asked)


def test_the_number_of_calls_is_kept_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    found = matches({"new": [5, 5], "even": [4, 6]})
    with ModelServer(answer=longer) as server:
        assert judge(server, tmp_path, found, calls=11).verdicts == server.calls == 10  # both orders, or none
        judged = judge(server, tmp_path, found, calls=20)
        assert judged.verdicts == server.calls == 20
    assert (judged.undecided, judged.is_exhausted) == (("even",), False)
    both = Counter(path.name[:3] for path in tmp_path.glob("q*.json"))
    assert set(both.values()) == {2}


def test_a_failed_call_or_a_judge_that_nobody_can_read_ends_it(tmp_path: Path) -> None:
    found = matches({"new": [5], "weak": [1]})
    with ModelServer(lambda number, _: reply("400 Bad", "{}") if number == 3 else None, answer=longer) as server:
        judged = judge(server, tmp_path / "failed", found)
        assert server.calls == 8  # one round
        assert judged.outcome is not None
        assert len(judged.outcome.skipped) == 1
        assert judge(server, tmp_path / "failed", found).undecided == ()  # goes on
    with ModelServer(answer=lambda _: "Hard to tell.") as server:
        judged = judge(server, tmp_path / "unread", found)
        assert server.calls == 8
        assert judged.outcome is not None
        assert judged.outcome.is_unreadable
        assert judged.undecided == ("weak",)


def test_without_other_models_nothing_is_asked(tmp_path: Path) -> None:
    with ModelServer(answer=longer) as server:
        judged = judge(server, tmp_path / "none", matches({"new": [5]}))
        assert server.calls == 0
    assert (judged.outcome, judged.opponents) == (None, ())


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        ([], ["even", "weak"]),  # nothing is known
        ([("weak", "new")] * 20, ["even"]),  # decided, and another one without a verdict
        ([("weak", "new"), ("new", "even"), ("even", "new")] * 10, ["even", "weak"]),
        # A ladder without the new model: it meets the middle.
        ([("weak", "even"), ("weak", "other"), ("even", "other")] * 9, ["even"]),
    ],
)
def test_the_least_decided_come_first(votes: list[tuple[str, str]], expected: list[str]) -> None:
    """Votes are (loser, winner)."""
    found = [Comparison(unit=f"q{n}", a=lost, b=won, winner=won) for n, (lost, won) in enumerate(votes)]
    opponents = ["even", "weak", *(["other"] if any("other" in vote for vote in votes) else [])]
    assert least_decided(found, "new", opponents) == expected
    # Of another judge, or of a model without answers, a verdict does not count.
    others = [one.model_copy(update={"judge": "other"}) for one in found]
    assert least_decided(others, "new", opponents, judge="judge") == opponents
    assert least_decided([*found, Comparison(unit="q", a="new", b="gone", winner="a")], "new", opponents) == expected
