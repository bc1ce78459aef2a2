"""A metric of which each model has a scale of its own: shown by name of the model, never ranked nor compared."""

from random import Random
from typing import Any

import polars as pl
import pytest
from pages import text_of

from attune_bench import Scores
from attune_bench.analyses.models import win_rates
from attune_bench.analyses.repeats import unit_difficulty
from attune_bench.analyses.separation import separation
from attune_bench.report import figures
from attune_metrics.metric import Metric, MetricInputError

RELATIVE = {"relative_to": "the model's own first answer", "higher_is_better": "neither", "low": -9, "high": 9}
WHY = "Margin is relative to the model's own first answer, so that values of two models are not on one scale"


def scores(spread: Any = 1, **entry: object) -> Scores:
    source = Random(1)
    rows = [
        (model, f"u{unit}", "margin", source.gauss(spread * level, 1))
        for model, level in (("a", 0.0), ("b", 2.0), ("c", 1.0))
        for unit in range(20)
    ]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    return Scores.from_table(frame, metrics={"margin": {"label": "Margin", **entry}})


@pytest.mark.slow
@pytest.mark.parametrize("relative", [True, False])
def test_a_report_says_that_no_model_leads_and_why(*, relative: bool) -> None:
    given = scores(**RELATIVE) if relative else scores()
    text = " ".join(given.report(resamples=50).split())
    assert text.startswith(f"No model can be said to lead: {WHY}.") == relative
    starts = (
        line.split()[0] for line in given.report(resamples=50).splitlines() if line.startswith(("a ", "b ", "c "))
    )
    assert [*dict.fromkeys(starts)] == (["a", "b", "c"] if relative else ["b", "c", "a"])


@pytest.mark.parametrize("relative", [True, False])
def test_a_page_has_neither_ranks_nor_comparisons(*, relative: bool) -> None:
    given = scores(**RELATIVE) if relative else scores()
    page = text_of(given.report(format="html", resamples=50))
    assert (f"No model can be said to lead: {WHY}" in page) == relative
    for sentence in ("Ranking by Margin", "Which models differ significantly", "has the highest Margin"):
        assert (sentence in page) == (not relative), sentence
    assert f"Mean of each unit: {WHY}" in page or not relative
    assert ("Values of Margin" in page) == relative


@pytest.mark.slow
def test_a_figure_has_models_by_name_and_no_word_on_differences() -> None:
    drawn = [str(figures.scores(given, resamples=50).to_dict()) for given in (scores(0.1, **RELATIVE), scores(0.1))]
    assert ["differ significantly" in one for one in drawn] == [False, True]


def test_no_mean_over_models_is_made() -> None:
    for analysis in (unit_difficulty, win_rates, separation):
        with pytest.raises(MetricInputError, match="'margin' cannot rank or compare models"):
            analysis(scores(**RELATIVE), metrics=["margin"])


def test_no_metric_is_relative_and_better_in_a_direction() -> None:
    with pytest.raises(ValueError, match="relative_to 'x' needs higher_is_better = neither"):
        Metric(name="m", label="M", relative_to="x")
    with pytest.raises(MetricInputError, match="relative_to 'x' needs higher_is_better = neither"):
        scores(relative_to="x")


def test_it_is_kept_in_a_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("kept") / "s.parquet"
    scores(**RELATIVE).write(path)
    again = Scores.read(path)
    with pytest.raises(MetricInputError, match="'margin' cannot rank or compare models: Margin is relative to"):
        again.rank()


def scores_of_tendencies(models: int) -> Scores:
    source = Random(2)
    rows = [
        (f"m{model}", f"u{unit}", name, min(10.0, max(0.0, source.gauss(5, 1))))
        for model in range(models)
        for unit in range(8)
        for name in ("calm", "bold", "dry")
    ]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    entry = {"low": 0, "high": 10, "higher_is_better": "neither"}
    return Scores.from_table(frame, metrics=dict.fromkeys(("calm", "bold", "dry"), entry))


@pytest.mark.slow
@pytest.mark.parametrize("models", [2, 9])
def test_profiles_of_metrics_without_a_better_end_say_so(models: int) -> None:
    page = text_of(scores_of_tendencies(models).report(format="html", resamples=50))
    assert "of which neither" in page
    assert "Mean of each unit" in page
    for wrong in ("Difficulty of", "better end at the right", "worse to its better end", "Blue: better", "Ranking by"):
        assert wrong not in page
