"""Scores in which each participant counts once: estimates, intervals, tests, refusals, and what outputs say."""

from itertools import product
from typing import Any

import polars as pl
import pytest
from scipy import stats

from attune_bench import Scores, score
from attune_bench.analyses import ANALYSES
from attune_bench.report.text import report_document
from attune_bench.stats.options import AnalysisOptions
from attune_data import load, load_runs
from attune_metrics import MetricInputError
from attune_metrics.stats.cluster_means import mean_of_clusters_interval


@pytest.fixture(scope="module")
def demo_scores() -> Scores:
    return score(load("demo"), load_runs("demo"))


PEOPLE = ["p0"] * 6 + [f"p{number}" for number in range(1, 8) for _ in range(1 + number % 2)]


def table(a: list[float | None], b: list[float | None], people: list[str]) -> Scores:
    rows = [
        {
            "model": model, "unit": f"u{place:02}", "cluster": person, "metric": "score", "value": value,
            "half": "x" if place < 6 else "y",
        }
        for model, values in (("a", a), ("b", b))
        for place, (person, value) in enumerate(zip(people, values, strict=True))
    ]  # fmt: skip
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return Scores.from_table(frame, metrics={"score": {"low": 0, "high": 1}}, about={"cluster": "person"})


def values(number: int, step: float) -> list[float | None]:
    return [round((place * step) % 1, 3) for place in range(number)]


A, B = values(len(PEOPLE), 0.37), values(len(PEOPLE), 0.61)
SCORES = table(A, B, PEOPLE)


def means(values: list[float | None]) -> dict[str, float]:
    found = {}
    for person in dict.fromkeys(PEOPLE):
        own = [value for who, value in zip(PEOPLE, values, strict=True) if who == person and value is not None]
        if own:
            found[person] = sum(own) / len(own)
    return found


def test_a_value_is_the_mean_of_participants_means() -> None:
    row = SCORES.summary(weight="cluster").row(0, named=True)
    expected = means(A)
    assert row["value"] == pytest.approx(sum(expected.values()) / 8)
    [interval] = mean_of_clusters_interval([value or 0.0 for value in A], PEOPLE, low=0, high=1)
    assert (row["low"], row["high"], row["n"], row["clusters"]) == (interval.low, interval.high, len(PEOPLE), 8)
    assert SCORES.summary(weight=SCORES.provenance.cluster).row(0, named=True) == row
    assert SCORES.summary(weight="unit").equals(SCORES.summary())
    assert row["value"] != pytest.approx(SCORES.summary().row(0, named=True)["value"])


@pytest.mark.parametrize("people", [[f"p{place}" for place in range(16)], [f"p{place // 2}" for place in range(16)]])
def test_equal_participants_have_the_mean_of_units(people: list[str]) -> None:
    scores = table(values(16, 0.37), values(16, 0.61), people)
    once, ever = scores.summary(weight="cluster"), scores.summary()
    assert once["value"].to_list() == pytest.approx(ever["value"].to_list())
    [difference] = scores.compare("a", "b", weight="cluster")["difference"]
    assert difference == pytest.approx(scores.compare("a", "b")["difference"].item())


def test_a_difference_is_of_the_units_that_both_have() -> None:
    lacking: list[float | None] = [None, *A[1:]]
    scores = table(lacking, B, PEOPLE)
    first, second = means(lacking), means([None, *B[1:]])
    gaps = [first[person] - second[person] for person in first]
    row = scores.compare("a", "b", weight="cluster").row(0, named=True)
    assert row["difference"] == pytest.approx(sum(gaps) / 8)
    ends = stats.t.interval(0.95, 7, loc=sum(gaps) / 8, scale=stats.sem(gaps))
    assert (row["low"], row["high"]) == pytest.approx(ends)
    # Of all exchanges of whole participants, the share with a difference as large.
    sums = [abs(sum(sign * gap for sign, gap in zip(signs, gaps, strict=True))) for signs in product((1, -1), repeat=8)]
    assert row["p"] == sum(one >= abs(sum(gaps)) - 1e-12 for one in sums) / 2**8
    assert (row["n"], row["clusters"]) == (len(PEOPLE) - 1, 8)
    # A pair has the same row among others.
    turned = scores.compare("b", "a", weight="cluster")
    assert scores.compare_all(weight="cluster").equals(turned)
    assert turned["difference"].item() == pytest.approx(-row["difference"])


def test_equal_models_differ_by_nothing() -> None:
    row = table(A, A, PEOPLE).compare("a", "b", weight="cluster").row(0, named=True)
    assert (row["difference"], row["low"], row["high"], row["p"]) == (0, 0, 0, 1)


def test_a_model_without_a_value_differs_from_none() -> None:
    row = table([None] * len(PEOPLE), B, PEOPLE).compare("a", "b", weight="cluster").row(0, named=True)
    assert (row["difference"], row["p"], row["n"], row["reason"]) == (None, None, 0, "no unit has a value")


def test_ranks_and_subgroups_are_of_the_same_means() -> None:
    value = SCORES.summary(weight="cluster")["value"].to_list()
    ranks = SCORES.rank(weight="cluster", resamples=99).sort("model")
    assert ranks["value"].to_list() == pytest.approx(value)
    assert ranks["n"].to_list() == [len(PEOPLE)] * 2
    found = SCORES.by("half", compare=True, weight="cluster", resamples=99).filter(model="a")
    expected = means(A)
    others = [mean for person, mean in expected.items() if person != "p0"]
    assert found["value"].to_list() == pytest.approx([expected["p0"], sum(others) / 7])
    assert found["difference"].to_list()[1] == pytest.approx(sum(others) / 7 - expected["p0"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": "person!"}, "unknown weight 'person!'; expected"),
        ({"weight": "cluster", "unit": "unit"}, "weight is 'cluster', unit 'unit'.*leave out unit"),
        ({"weight": "cluster", "interval": "bca"}, "interval 'bca'; the interval is Student's t over"),
    ],
)
def test_what_does_not_go_together_is_refused(options: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        SCORES.summary(**options)


@pytest.mark.slow
def test_pooled_counts_have_none(demo_scores: Scores) -> None:
    pooled = "pooled_binary_om_metrics.f1"
    rows = demo_scores.summary(weight="participant", metrics=[pooled, "composite_z"])
    assert rows["value"].is_null().all()
    assert rows["reason"].to_list()[:2] == [
        "of pooled counts: each conversation counts", "depends on all models' results",
    ]  # fmt: skip
    for ask in (demo_scores.compare_all, demo_scores.rank):
        with pytest.raises(MetricInputError, match=f"{pooled} has no mean over participants: of pooled counts"):
            ask(weight="participant", metrics=[pooled])
    compared = demo_scores.compare_all(weight="participant", resamples=99)["metric"].unique().to_list()
    assert "composite_score" in compared
    assert pooled not in compared


def test_analyses_of_units_refuse(demo_scores: Scores) -> None:
    for name in {name for name, one in ANALYSES.items() if not one.needs} - {"condition_differences"}:
        with pytest.raises(MetricInputError, match="counts each conversation once, not each participant"):
            ANALYSES[name].function(demo_scores, weight="participant")


def test_the_signature_says_so_only_then(demo_scores: Scores) -> None:
    assert "weight" not in demo_scores.sign()
    assert demo_scores.sign(weight="unit") == demo_scores.sign()
    assert "|unit:participant|weight:participant|interval:t|" in demo_scores.sign(weight="cluster")


def test_reports_name_the_estimand(demo_scores: Scores) -> None:
    estimand = "means of participants' means: each participant counts once"
    made = report_document(demo_scores, weight="participant")
    assert estimand in " ".join(note for one in made.tables for note in one.notes)
    frame = next(one.frame for one in made.tables if one.key == "models" and one.frame is not None)
    [value] = demo_scores.summary(weight="participant", metrics=["avg_emotion_f1"])["value"][:1]
    assert frame["avg_emotion_f1"][0] == pytest.approx(value)
    assert frame["composite_z"].is_null().all()
    assert estimand not in str(report_document(demo_scores))


@pytest.mark.slow
def test_the_page_names_the_estimand(demo_scores: Scores) -> None:
    pytest.importorskip("altair")
    page = demo_scores.report(format="html", weight="participant", resamples=99)
    assert "; values are means of participants&#x27; means: each participant counts once." in page
    assert "mean over participants of their means" in page
    assert "Win rates: counts each conversation once (--weight unit)" in page


def test_a_table_without_clusters_counts_units() -> None:
    frame = pl.DataFrame({"model": "a", "unit": list("uvwxyz"), "metric": "hit", "value": [0.0, 1, 1, 0, 1, 1]})
    scores = Scores.from_table(frame)
    assert "weight" not in scores.sign()
    once, ever = scores.summary(weight="cluster"), scores.summary()
    assert once["value"].item() == ever["value"].item()
    assert "each unit counts once" in str(report_document(scores, weight="cluster"))


def test_options_are_checked_late() -> None:
    # What clusters are called, the table knows.
    assert AnalysisOptions(weight="participant").weight == "participant"
