"""The options of analyses: checked where they are made, honoured or refused by name by everything that takes them."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import polars as pl
import pytest
from benchmark_scores import NAMES, TRAITS, dialogues, episodes, predictions, scores_named
from judged_runs import with_judges
from pages import text_of
from slow_cases import slow_except

from attune_bench import Scores
from attune_bench.analyses import ANALYSES
from attune_bench.benchmarks import benchmark_named
from attune_bench.stats.options import AnalysisOptions
from attune_bench.stats.subgroups import compare_by
from attune_data import load, load_records, load_runs
from attune_data.kinds import ITEM
from attune_data.references import resolve
from attune_metrics.metric import MetricInputError
from attune_metrics.signature import Signature

pytestmark = pytest.mark.filterwarnings("ignore:[0-9]+ resamples are too few")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "composite_score"}, "metrics is the text 'composite_score'; expected a list"),
        ({"metrics": []}, "metrics is empty"),
        ({"resample": 5}, "no option 'resample'; did you mean 'resamples'"),
        ({"foo": 1}, "no option 'foo'; expected one of metrics, resamples, seed, level, unit, weight, interval"),
        ({"interval": "normal"}, "unknown interval 'normal'; expected percentile-expanded, percentile, bca"),
        ({"level": 95}, "level 95"),
        ({"level": 0}, "level 0"),
        ({"resamples": 0}, "resamples 0"),
        ({"resamples": 2.5}, r"resamples 2\.5"),
        ({"seed": -1}, "seed -1"),
    ],
)
def test_they_are_checked_where_they_are_made(options: dict[str, Any], message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        AnalysisOptions(**options)


def test_metrics_are_those_of_the_scores_each_once(make_scores: Callable[..., Scores]) -> None:
    scores = make_scores()
    asked = AnalysisOptions(metrics=["avg_emotion_f1", "composite_score", "avg_emotion_f1"])
    assert asked.names(scores) == ("avg_emotion_f1", "composite_score")
    assert AnalysisOptions().names(scores) == tuple(scores.metrics)
    assert AnalysisOptions().names(scores, ["composite_score"]) == ("composite_score",)
    for wrong, near in (("emotion_f1", "avg_emotion_f1"), ("pooled_binary_om_metrics", "pooled_binary_om_metrics.")):
        with pytest.raises(MetricInputError, match=f"no metric '{wrong}'; did you mean '{near}"):
            AnalysisOptions(metrics=[wrong]).names(scores)


def test_what_is_drawn_is_called_as_the_scores_call_it(make_scores: Callable[..., Scores]) -> None:
    scores = make_scores()
    for unit, clusters in (("participant", True), ("cluster", True), ("conversation", False), ("unit", False)):
        assert AnalysisOptions(unit=unit).draws_clusters(scores) is clusters
    with pytest.raises(
        MetricInputError, match="unknown unit 'turn'; expected participant, cluster, conversation, unit"
    ):
        AnalysisOptions(unit="turn").draws_clusters(scores)
    # Where each unit is a cluster of its own, its name means either.
    assert AnalysisOptions(unit="scenario").draws_clusters(scores_named("eibench")) is True


# Everything that takes options.

VERBS: dict[str, Callable[..., Any]] = {
    "summary": lambda scores, _, **options: scores.summary(**options),
    "compare": lambda scores, _, **options: scores.compare(*scores.models[:2], **options),
    "compare_all": lambda scores, _, **options: scores.compare_all(**options),
    "compare_by": compare_by,
    "by": lambda scores, trait, **options: scores.by(trait, compare=True, **options),
    "plan": lambda scores, _, **options: scores.plan(participants=30, **options),
    "rank": lambda scores, _, **options: scores.rank(**options),
    "sign": lambda scores, _, **options: scores.sign(**options),
    "report": lambda scores, _, **options: scores.report(format="json", **options),
    "page": lambda scores, _, **options: scores.report(format="html", **options),
}
OWN = {
    f"{name}/{key}": analysis
    for name in NAMES[:-1]
    for key, analysis in resolve(benchmark_named(name).analyses).items()
}


@cache
def records_of(name: str) -> Mapping[str, Any]:
    """Return what the scores of a benchmark are about, for analyses that need it."""
    if name == "emobench":
        return {"data": load_records("demo", ITEM), "results": predictions()}
    if name == "eibench":
        return episodes()
    if name == "sage":
        return {"results": dialogues()}
    return {"data": load("demo"), "results": with_judges(load_runs("demo"))}


def ask(name: str, asked: str, **options: Any) -> Any:
    """Ask the scores of a benchmark something, with options."""
    scores = scores_named(name)
    if asked in VERBS:
        return VERBS[asked](scores, TRAITS[name], **options)
    analysis = OWN.get(f"{name}/{asked}") or ANALYSES[asked]
    if analysis.needs and name != "emobench":
        scores = scores.keep(groups=[group for group in scores.groups if not group[0].startswith("baseline/")])
    return analysis.function(scores, **{need: records_of(name)[need] for need in analysis.needs}, **options)


CASES = [
    *((name, asked) for name in NAMES for asked in (*VERBS, *ANALYSES)),
    *((name, asked) for name, asked in (key.split("/") for key in OWN) if asked not in ANALYSES),
]
OF_THEIR_OWN_METRICS = {
    *("report", "page"),
    *(key.rpartition("/")[2] for key, one in {**ANALYSES, **OWN}.items() if not one.takes_metrics),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resample": 5}, "no option 'resample'; did you mean 'resamples'"),
        ({"unit": "turns"}, "unknown unit 'turns'; expected "),
        ({"level": 95}, "level 95"),
        ({"metrics": ["composites"]}, "no metric 'composites'"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_everything_refuses_what_is_no_option_of_it(name: str, options: dict[str, Any], message: str) -> None:
    asked_of_it = [asked for one, asked in CASES if one == name]
    assert len(asked_of_it) > len(VERBS)
    said = {}
    for asked in asked_of_it:
        if asked in OF_THEIR_OWN_METRICS and "metrics" in options:
            continue
        said[asked] = "no error"
        try:
            ask(name, asked, **options)
        except MetricInputError as error:
            said[asked] = str(error)
    assert {asked: text for asked, text in said.items() if not re.search(message, text)} == {}


# Options that are honoured.

QUICK: dict[str, Any] = {"resamples": 150, "interval": "percentile-expanded"}
ENDS = (("low", "high"), ("difference_low", "difference_high"), ("share_low", "share_high"))
# Nothing is drawn for these, or nothing where models were asked once, or records have no costs, probes or people;
# or the intervals are by formula.
UNDRAWN = {
    "sign", "plan", "report", "page", "unit_difficulty", "repeat_ranks", "repeat_variances", "repeats_worth",
    "separation", "skills", "panas_consistency", "cost", "cost_front", "contamination", "serial_misreads",
    "after_mismatch", "state_recovery", "truth", "truth_agreement",
}  # fmt: skip
# What has an interval for these scores.
DRAWN = [
    *(("attunebench", asked) for asked in ("summary", "compare", "compare_all", "compare_by", "by")),
    *((name, asked) for name, asked in (key.split("/") for key in OWN) if asked not in {*ANALYSES, *UNDRAWN}),
    *(
        (name, asked)
        for name in ("eibench", "sage")
        for asked in ("summary", "compare", "compare_all", "compare_by", "by", "win_rates")
    ),
    *(("table", asked) for asked in (*VERBS, *ANALYSES) if asked not in UNDRAWN),
]
# What all are asked, the table is asked here; the benchmarks are asked all but the summary in the slow suite, and
# the two analyses of agreement too, which take longest.
OF_ALL = {asked for name, asked in DRAWN if name == "sage" and asked != "summary"}
LONG = {"question_agreement", "judge_agreement"}
drawn = pytest.mark.parametrize(
    ("name", "asked"),
    [
        pytest.param(name, asked, marks=pytest.mark.slow if asked in OF_ALL | LONG and name != "table" else ())
        for name, asked in DRAWN
    ],
)
# Ends that are ranks which occur, or of few possible values, may stay where they are.
COARSE = {"rank", "judge_ranks", "rank_shifts", "win_rates", "ratings"}
NO_BCA = {
    "rank": "a rank",
    "judge_ranks": "a rank",
    "rank_shifts": "a shift of ranks",
    "ratings": "a strength",
}


def found(name: str, asked: str, **options: Any) -> pl.DataFrame:
    """Return what is asked of at most two metrics."""
    if name == "attunebench" and asked not in OF_THEIR_OWN_METRICS:
        options["metrics"] = ["avg_emotion_f1", "avg_pairwise_accuracy"]
    frame: pl.DataFrame = ask(name, asked, **{**QUICK, **options})
    return frame


@cache
def default(name: str, asked: str) -> pl.DataFrame:
    """Return what is found with the options that several tests compare others with, computed once."""
    return found(name, asked)


def widths(frame: pl.DataFrame) -> dict[str, list[float | None]]:
    """Return the width of every interval, by the column of its lower end."""
    return {low: (frame[high] - frame[low]).to_list() for low, high in ENDS if low in frame.columns}


def pairs_of(narrow: pl.DataFrame, wide: pl.DataFrame) -> list[tuple[float, float]]:
    """Return the widths of the intervals that both frames have, of which there are some."""
    pairs = [
        (one, other)
        for end, values in widths(wide).items()
        for one, other in zip(widths(narrow)[end], values, strict=True)
        if one is not None and other is not None
    ]
    assert pairs
    return pairs


@drawn
def test_a_lower_level_narrows_every_interval(name: str, asked: str) -> None:
    narrow, wide = found(name, asked, level=0.5), default(name, asked)
    pairs = pairs_of(narrow, wide)
    assert all(one <= other for one, other in pairs)
    varied = [(one, other) for one, other in pairs if other > 0]
    assert all(one < other for one, other in varied) or asked in COARSE
    ends = [end for pair in ENDS for end in pair]
    assert narrow.drop(ends, strict=False).equals(wide.drop(ends, strict=False))


@pytest.mark.filterwarnings("ignore::attune_metrics.metric.UnreliableIntervalWarning")
@drawn
def test_another_interval_is_another_or_refused(name: str, asked: str) -> None:
    expanded, plain = default(name, asked), found(name, asked, interval="percentile")
    pairs = pairs_of(plain, expanded)
    assert all(one <= other for one, other in pairs)
    assert any(one < other for one, other in pairs) or asked in COARSE
    if asked in NO_BCA:
        with pytest.raises(MetricInputError, match=f"no BCa interval of {NO_BCA[asked]}; use percentile-expanded or"):
            found(name, asked, interval="bca")
    else:
        assert not found(name, asked, interval="bca").equals(expanded)


@drawn
def test_another_unit_draws_others_where_units_share_clusters(name: str, asked: str) -> None:
    clusters, units = default(name, asked), found(name, asked, unit="unit")
    if asked == "judge_ranks":
        # Of two models as far apart as these, every resample has the same ranks.
        assert clusters.equals(units)
    elif name in {"attunebench", "emobench", "table"}:
        assert not clusters.equals(units)
    else:
        assert clusters.equals(units)
    # However they are drawn, what rests on how many clusters is said.
    counts = [column for column in ("n", "clusters") if column in clusters.columns]
    assert clusters.select(counts).equals(units.select(counts))
    words = {
        "attunebench": ("participant", "conversation"),
        "emobench": ("scenario", "item"),
        "table": ("cluster", "unit"),
    }
    assert found(name, asked, unit="cluster").equals(clusters)
    for word, frame in zip(words.get(name, ("scenario", "scenario")), (clusters, units), strict=True):
        if word in {"cluster", "unit"}:
            continue
        assert found(name, asked, unit=word).equals(frame)


@drawn
def test_a_seed_repeats_and_another_draws_others(name: str, asked: str) -> None:
    first = default(name, asked)
    assert first.equals(found(name, asked, seed=AnalysisOptions().seed))
    assert not first.equals(found(name, asked, seed=4)) or asked in COARSE
    assert not first.equals(found(name, asked, resamples=151)) or asked in COARSE


@drawn
def test_one_resample_gives_no_interval_and_says_why(name: str, asked: str) -> None:
    frame = found(name, asked, resamples=1)
    if asked in {"rank", "judge_ranks", "rank_shifts"}:
        # The rank that occurs is all that is known of a single resample.
        assert (frame["low"] == frame["high"]).all()
        return
    trials = [one.name for one in scores_named(name).metrics.values() if one.statistic == "share"]
    # A share of independent trials has Wilson's interval, which needs no resample.
    rows = frame.filter(~pl.col("metric").is_in(trials)) if asked in {"summary", "by"} else frame
    low = {"by": "difference_low"}.get(asked, "low")
    assert set(rows[low]) <= {None, 0.0}
    assert rows.filter(pl.col(low).is_null())["reason"].is_not_null().all()


@pytest.mark.parametrize("name", NAMES)
def test_a_signature_has_every_option(name: str) -> None:
    scores = scores_named(name)
    signature = Signature.parse(scores.sign(resamples=7, seed=5, level=0.9, unit="unit", interval="percentile"))
    held = scores.provenance
    assert (signature.boot, signature.seed, signature.level, signature.interval) == (7, 5, 0.9, "percentile")
    assert signature.unit == held.unit
    assert signature.clusters == signature.n == scores.units.height
    assert Signature.parse(scores.sign()).unit == held.cluster


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "options", [{"level": 0.5}, {"interval": "percentile"}, {"unit": "unit"}, {"seed": 9}, {"interval": "bca"}]
)
def test_a_report_has_the_intervals_that_are_asked_for(name: str, options: dict[str, Any]) -> None:
    scores = scores_named(name)
    content = json.loads(scores.report(format="json", resamples=150, **options))
    # AttuneBench's other metrics have tables of their own.
    shown = [scores.primary] if name == "attunebench" else list(scores.headline)
    expected = scores.summary(metrics=shown, resamples=150, **options)
    assert content["summary"] == expected.rename({"condition": scores.provenance.condition}).to_dicts()
    assert content["metadata"]["signature"] == scores.sign(metrics=shown, resamples=150, **options)
    words: dict[str, str] = {
        "level": "50% intervals",
        "interval": "(percentile)",
        "unit": f"resampling {scores.provenance.unit}s",
    }
    if options != {"interval": "bca"}:
        assert words.get(next(iter(options)), "95% intervals") in " ".join(content["metadata"]["notes"])


@pytest.mark.parametrize("name", slow_except(NAMES, "sage", "table"))
def test_a_page_has_the_level_that_is_asked_for(name: str) -> None:
    scores = scores_named(name)
    said = text_of(scores.keep(groups=scores.groups[:2]).report(format="html", resamples=50, level=0.5))
    assert "In brackets: 50% intervals by" in said
    assert "95%" not in said
    assert "|level:0.5|boot:50|" in said
