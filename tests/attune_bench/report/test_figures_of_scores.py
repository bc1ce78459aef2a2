"""`attune_bench.figures`: each function does the analysis that it draws, and draws scores alone."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from slow_cases import slow_after

import attune_bench
from attune_bench import Scores, analyses, figures, score
from attune_bench.benchmarks import benchmark_named
from attune_bench.benchmarks.attunebench.analyses import ANALYSES as OWN
from attune_data import load, load_episodes, load_runs, load_scenarios
from attune_data.references import resolve
from attune_metrics.metric import MetricInputError

OPTIONS: dict[str, Any] = {"resamples": 99, "seed": 3, "level": 0.9}
METRICS = ("hit", "miss")
PRICED = [run.model_copy(update={"api_cost": len(run.turns) / 100}) for run in load_runs("demo")]
COSTED = score(load("demo"), PRICED)
FIGURES = [
    name
    for name, one in vars(figures).items()
    if not name.startswith("_") and getattr(one, "__annotations__", {}).get("return") == "Chart"
]


@pytest.fixture(scope="module")
def scores() -> Scores:
    """Return scores of six models on 12 units under two conditions."""
    rows = [
        {
            "model": f"m{model}",
            "condition": condition,
            "unit": f"u{unit}",
            "cluster": f"c{unit // 2}",
            "metric": metric,
            "value": ((unit * 7 + model * 5 + len(condition) + place * 3) % 11) / 10,
        }
        for model in range(6)
        for condition in ("plain", "reasoning")
        for unit in range(12)
        for place, metric in enumerate(METRICS)
    ]
    return Scores.from_table(pl.DataFrame(rows), metrics={name: {"low": 0, "high": 1} for name in METRICS})


DRAWN: dict[str, tuple[Callable[[Scores], Any], Callable[[Scores], Any]]] = {
    "scores": (
        lambda held: figures.scores(held, "miss", condition="plain", levels={"people": 0.9}, **OPTIONS),
        lambda held: figures.scores(
            held, frame=held.summary(metrics=["miss"], **OPTIONS), condition="plain", levels={"people": 0.9}
        ),
    ),
    "plot": (
        lambda held: held.plot(condition="reasoning", **OPTIONS),
        lambda held: figures.scores(held, frame=held.summary(metrics=["hit"], **OPTIONS), condition="reasoning"),
    ),
    "ranks": (
        lambda held: figures.ranks(held, condition="plain", **OPTIONS),
        lambda held: figures.ranks(held, frame=held.rank(metrics=["hit"], **OPTIONS), condition="plain"),
    ),
    "profile": (
        lambda held: figures.profile(held, "m2", condition="plain", **OPTIONS),
        lambda held: figures.profile(held, "m2", frame=held.summary(**OPTIONS), condition="plain"),
    ),
    "profiles": (
        lambda held: figures.profiles(held, condition="plain", **OPTIONS),
        lambda held: figures.profiles(held, frame=held.summary(**OPTIONS), condition="plain"),
    ),
    "unit_difficulty": (
        lambda held: figures.unit_difficulty(held, "miss", condition="plain"),
        lambda held: figures.unit_difficulty(
            held, frame=analyses.unit_difficulty(held, metrics=["miss"]), condition="plain"
        ),
    ),
    "cost_front": (
        lambda _: figures.cost_front(COSTED, results=PRICED, **OPTIONS),
        lambda _: figures.cost_front(COSTED, frame=analyses.cost_front(COSTED, results=PRICED, **OPTIONS)),
    ),
    "win_rates": (
        lambda held: figures.win_rates(held, condition="plain", **OPTIONS),
        lambda held: figures.win_rates(
            held, frame=analyses.win_rates(held, metrics=["hit"], **OPTIONS), condition="plain"
        ),
    ),
    "separation": (
        lambda held: figures.separation(held, condition="plain", metrics=METRICS, **OPTIONS),
        lambda held: figures.separation(
            held, frame=analyses.separation(held, metrics=METRICS, **OPTIONS), condition="plain"
        ),
    ),
    "skills": (
        lambda held: figures.skills(held, condition="plain", metrics=METRICS, **OPTIONS),
        lambda held: figures.skills(held, frame=analyses.skills(held, metrics=METRICS, **OPTIONS), condition="plain"),
    ),
    "of_analysis": (
        lambda _: figures.of_analysis(COSTED, OWN["branches"], **OPTIONS),
        lambda _: figures.of_analysis(COSTED, OWN["branches"], frame=OWN["branches"].function(COSTED, **OPTIONS)),
    ),
    "condition_differences": (
        lambda held: figures.condition_differences(held, metrics=["hit"], **OPTIONS),
        lambda held: figures.condition_differences(
            held, frame=analyses.condition_differences(held, metrics=["hit"], **OPTIONS)
        ),
    ),
}


@pytest.mark.parametrize("name", slow_after(4, DRAWN))
def test_a_figure_is_that_of_its_analysis(name: str, scores: Scores) -> None:
    own, of_frame = DRAWN[name]
    # A frame does not tell the level of its intervals, which the title of an axis says.
    drawn, of_the_frame = (json.dumps(draw(scores).to_dict()) for draw in (own, of_frame))
    assert re.sub(r"\d+% interval", "interval", drawn) == of_the_frame


def test_every_figure_is_tried() -> None:
    assert {*DRAWN} == {*FIGURES, "plot"}
    assert attune_bench.figures is figures


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (pl.DataFrame({"model": ["m"]}), r"not DataFrame: Scores.from_table\(frame\)"),
        ("scores.parquet", r"not str: Scores.read\(path\)"),
        (Path("scores.parquet"), r"not PosixPath: Scores.read\(path\)"),
        (load("demo")[:1], r"not Conversations: score\(data, results\)"),
        (None, "not NoneType"),
    ],
)
def test_what_is_not_scores_is_one_error(name: str, given: Any, hint: str) -> None:
    more: dict[str, list[Any]] = {"profile": ["m"], "of_analysis": [OWN["branches"]]}
    with pytest.raises(TypeError, match=f"figures draw Scores, {hint}"):
        getattr(figures, name)(given, *more.get(name, []))


def test_mistakes(scores: Scores) -> None:
    with pytest.raises(MetricInputError, match="no metric 'hitt'; did you mean 'hit'"):
        scores.plot("hitt")
    with pytest.raises(ValueError, match=r"the conditions are 'plain', 'reasoning'; choose one with condition=..."):
        scores.plot(resamples=99)
    with pytest.raises(MetricInputError, match="no option 'resample'; did you mean 'resamples'"):
        scores.plot(condition="plain", resample=9)  # type: ignore[call-arg]  # the mistake
    with pytest.raises(ValueError, match=r"^nothing is set against 'reasoning'; expected one of 'plain'$"):
        figures.condition_differences(scores, condition="plain", reference="reasoning", resamples=99)
    with pytest.raises(TypeError, match=r"made with options of its own; leave out resamples, or the frame$"):
        figures.ranks(scores, frame=scores.rank(resamples=99), condition="plain", resamples=99)
    plain = Scores.from_table(pl.DataFrame({"model": ["m"], "unit": ["u"], "metric": ["hit"], "value": [1.0]}))
    with pytest.raises(
        ValueError, match=r"^a profile draws metrics of a finite range, and none is described as such; "
    ):
        figures.profiles(plain)
    mend = r"as such; write low = 0 and high = 1 below \[metrics\.hit\] in the TOML file beside the table, or "
    with pytest.raises(ValueError, match=rf"^a profile draws metrics from 0 to 1, and none is described {mend}"):
        figures.profile(plain, "m")
    described = Scores.from_table(plain.to_polars(), metrics={"hit": {"low": 0, "high": 1}})
    assert type(figures.profile(described, "m", resamples=99)).__name__ == "LayerChart"
    with pytest.raises(ValueError, match=r"^no scores of model 'n'; expected one of m$"):
        figures.profile(described, "n")
    undefined = plain.to_polars().with_columns(value=pl.lit(None, dtype=pl.Float64))
    empty = Scores.from_table(pl.concat([plain.to_polars().with_columns(model=pl.lit("k")), undefined]))
    with pytest.raises(ValueError, match=r"^nothing to draw: model 'm' has no value of hit$"):
        figures.profile(empty, "m", metrics=["hit"], resamples=99)


def test_an_analysis_of_several_metrics_is_drawn_of_one() -> None:
    entry = OWN["serial_misreads"]
    drawn, named = (
        json.dumps(figures.of_analysis(COSTED, entry, *metric, **OPTIONS).to_dict())
        for metric in ((), ("avg_emotion_f1",))
    )
    assert drawn == named
    frame = entry.function(COSTED, metrics=["avg_binary_om_accuracy", "avg_emotion_f1"], **OPTIONS)
    of_frame = json.dumps(figures.of_analysis(COSTED, entry, frame=frame).to_dict())
    assert re.sub(r"\d+% interval", "interval", drawn) == of_frame
    assert "after a bad turn minus after a good one, 90% interval" in drawn
    with pytest.raises(MetricInputError, match="'Profile of the four branches' is of its own metrics; leave out 'hit'"):
        figures.of_analysis(COSTED, OWN["branches"], "hit")


def test_an_analysis_of_two_axes_is_drawn_side_by_side() -> None:
    scenarios, episodes = load_scenarios("demo"), load_episodes("demo")
    entry = resolve(benchmark_named("eibench").analyses)["state_recovery"]
    chart = figures.of_analysis(score(scenarios, episodes), entry, data=scenarios, results=episodes, **OPTIONS)
    assert type(chart).__name__ == "HConcatChart"
    texts = re.findall(r'"text": "(synthetic/[^"]*)"', json.dumps(chart.to_dict()))
    assert {text.split(":")[0] for text in texts} == {"synthetic/hasty, anger", "synthetic/hasty, trust"}


def test_what_rests_on_few_people_is_not_drawn_on_request() -> None:
    few = Scores.of(COSTED.keep(units=[*COSTED.units["unit"]][:2]))
    entry = OWN["branches"]
    assert type(figures.of_analysis(few, entry, **OPTIONS)).__name__ == "LayerChart"
    with pytest.raises(ValueError, match="nothing to draw: no share: fewer than 5 participants, not shown"):
        figures.of_analysis(few, entry, small_cells=False, **OPTIONS)


def test_without_the_extra_it_says_what_to_install(scores: Scores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ImportError, match=r"pip install 'attune-bench\[plots\]'"):
        scores.plot(condition="plain", resamples=99)
