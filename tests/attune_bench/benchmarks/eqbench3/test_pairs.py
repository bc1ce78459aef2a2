"""EQ-Bench 3's verdicts: comparisons in pairs, ratings without an order, and the published ratings beside them."""

from math import log10
from pathlib import Path
from random import Random
from typing import Any

import pytest

from attune_bench import score
from attune_bench.benchmarks.eqbench3 import as_comparisons, plus_counts, score_pairs
from attune_bench.benchmarks.eqbench3_pairs import ANALYSES, protocols
from attune_bench.report.columns import in_words
from attune_data import load_records
from attune_data.eqbench3 import EQBench3Verdict
from attune_data.kinds import VERDICT
from attune_metrics import MetricInputError
from attune_metrics.eqbench3 import published_ratings


def verdict(
    test: str, other: str, pluses: tuple[int, int] | None, situation: str = "9", **more: Any
) -> EQBench3Verdict:
    about = {"scenario_id": situation, "test_model": test, "neighbor_model": other, "test_first": True}
    counts = {} if pluses is None else {"plus_for_test": pluses[0], "plus_for_other": pluses[1]}
    return EQBench3Verdict.model_validate({**about, **counts, **more})


def both_orders(test: str, other: str, *pluses: tuple[int, int], situation: str = "9") -> list[EQBench3Verdict]:
    return [
        verdict(test, other, counts, situation, test_first=first)
        for counts, first in zip(pluses, (True, False), strict=True)
    ]


WORKED = [
    *both_orders("m1", "m2", (14, 1), (9, 4), situation="1"),
    *both_orders("m2", "m3", (3, 10), (8, 6), situation="2"),
    *both_orders("m1", "m3", (11, 2), (3, 9), situation="401"),
    verdict("m3", "m1", (20, 2), "3"),
    *both_orders("m2", "m3", (5, 1), (7, 6), situation="404"),
]


def test_verdicts_are_comparisons_with_order_length_story_and_margin() -> None:
    one = verdict(
        "a", "b", (3, 10), "403", test_first=False, repeat=2, test_model_avg_response_length=2000,
        neighbor_model_avg_response_length=1000.5,
    )  # fmt: skip
    [made] = as_comparisons([one, verdict("a", "a", (1, 0)), verdict("a", "b", None, error="no JSON")])
    assert (made.unit, made.cluster, made.repeat, made.shown, made.outcome) == ("403", "302", 2, "b", 0.0)
    assert (made.margin, made.length_a, made.length_b) == (-1, 2000, 1000.5)  # analysis: 0 and 1
    assert as_comparisons([verdict("a", "b", (3, 10), "9")])[0].margin == -7
    assert as_comparisons([verdict("a", "b", (3, 10), "51", story="s")])[0].cluster == "s"


def test_a_verdict_without_pluses_counts_by_its_fraction() -> None:
    verdicts = [verdict("a", "b", None, "9", fraction_for_test=0.4), verdict("a", "b", (3, 10), "11")]
    assert [(one.outcome, one.margin) for one in as_comparisons(verdicts)] == [(0.0, -6), (0.0, -7)]
    assert published_ratings(plus_counts(verdicts))["b"].elo > 1200


def test_verdicts_of_two_judges_have_ratings_each_and_no_published_ones() -> None:
    held = [one.model_copy(update={"judge_model": judge}) for judge in ("one", "two") for one in WORKED]
    scores = score_pairs(held)
    assert scores.conditions == ("one", "two")
    with pytest.raises(MetricInputError, match=r"of 2 judges \(one, two\), and published ratings are of one"):
        protocols(scores, results=held)
    with pytest.raises(MetricInputError, match="judge is empty; every comparison names its judge, or none does"):
        score_pairs([*held, *WORKED])


def test_published_ratings_of_verdicts_are_those_of_the_worked_example() -> None:
    ratings = published_ratings(plus_counts(WORKED))
    # To two digits, as the published file has them.
    assert {model: (one.elo, one.sigma) for model, one in ratings.items()} == {
        "m3": (1317.78, 50.2),
        "m1": (1231.62, 52.63),
        "m2": (1210.2, 62.68),
    }


def test_a_rating_is_that_of_one_fit_and_does_not_depend_on_the_order() -> None:
    # Three wins against one loss: a difference of log 3, in points 400 log10 3 = 190.8.
    pair = [v for n in ("1", "2") for v in both_orders("a", "b", (5, 1), (4, 2) if n == "1" else (1, 5), situation=n)]
    scores = score(pair)
    ratings = dict(scores.summary(metrics=["rating"], resamples=10).select("model", "value").iter_rows())
    assert ratings["a"] - ratings["b"] == pytest.approx(400 * log10(3), abs=1e-6)
    shuffled = [*WORKED]
    Random(1).shuffle(shuffled)
    first, again = (score(one).summary(metrics=["rating"], resamples=10) for one in (WORKED, shuffled))
    assert first["value"].to_list() == pytest.approx(again["value"].to_list(), abs=1e-9)
    assert published_ratings(plus_counts(WORKED)) != published_ratings(plus_counts(shuffled))


def test_notes_say_what_is_left_out_and_what_was_judged_in_one_order() -> None:
    scores = score([*WORKED, verdict("m1", "m2", None, error="no JSON")])
    assert "Left out: 1 verdict that cannot be counted." in scores.provenance.notes
    assert "Judged in one order only: 1 of 5 pairs of transcripts." in scores.provenance.notes
    whole = score([*WORKED, verdict("m3", "m1", (20, 2), "3", test_first=False)])
    assert not any("order only" in note or "Left out" in note for note in whole.provenance.notes)
    assert (whole.provenance.unit, whole.provenance.cluster) == ("situation", "story")
    with pytest.raises(MetricInputError, match="none of 1 verdict can be counted: see the issues of the file"):
        score([verdict("a", "a", (1, 0))])


def test_both_protocols_stand_beside_each_other_with_what_the_order_moves() -> None:
    verdicts = load_records("demo", VERDICT)
    frame = protocols(score(verdicts), results=verdicts, resamples=50)
    assert frame.columns == [*ANALYSES["protocols"].columns]
    assert frame["model"].to_list() == ["synthetic/attentive", "synthetic/wordy", "synthetic/hasty"]
    published = published_ratings(plus_counts(verdicts))
    assert frame["published"].to_list() == [published[model].elo_norm for model in frame["model"]]
    assert frame["published_rank"].to_list() == frame["rank"].to_list() == [1, 2, 3]
    assert frame["opponents"].to_list() == [2, 2, 2]
    assert frame["verdicts"].to_list() == [72, 72, 72]
    # The page on pairs states these.
    assert 31 < frame["order_sd"].min() < frame["order_sd"].max() < 39  # type: ignore[operator]
    assert frame["order_ranks"].to_list() == [1, 1, 0]


def test_an_order_of_no_influence_moves_nothing() -> None:
    pair = both_orders("a", "b", (5, 1), (1, 5)) + both_orders("a", "b", (5, 1), (5, 1), situation="2")
    frame = protocols(score(pair), results=pair[2:], resamples=10)
    assert frame["order_sd"].to_list() == [0, 0]  # one pair has one order
    with pytest.raises(MetricInputError, match="no verdict on two of the models can be counted"):
        protocols(score(pair), results=[verdict("c", "d", (1, 0))])


def test_the_judge_of_the_demonstration_prefers_what_is_shown_first() -> None:
    frame = ANALYSES["bias"].function(score(load_records("demo", VERDICT)), resamples=200)
    position = frame.filter(term="position")
    assert position["low"].item() > 0  # planted
    assert {"bias", "ratings_without_bias", "orders"} < ANALYSES.keys()


def test_a_file_of_verdicts_goes_through_the_commands(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    load_records("demo", VERDICT).to_jsonl(path)
    verdicts = load_records(path)
    page = score(verdicts).report(format="html", results=verdicts, resamples=50)
    assert "Ratings under two protocols" in str(page)


def test_the_words_of_pages_have_regular_plurals() -> None:
    scores = score(load_records("demo", VERDICT))
    assert in_words(scores, "Units by cluster, over clusters") == "Situations by story, over stories"
