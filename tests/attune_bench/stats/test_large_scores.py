"""Scores on many clusters: models that were run on different units share their Poisson draws."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.stats import compare as paired_module
from attune_bench.stats import options as series_module
from attune_bench.stats.compare import compare, compare_all
from attune_bench.stats.options import AnalysisOptions, Mask, ResampleCache, ScoreSeries
from attune_bench.stats.rank import rank
from attune_bench.stats.subgroups import subgroups
from attune_bench.stats.summary import summary
from attune_metrics.metric import MetricInputError
from attune_metrics.stats import bootstrap
from attune_metrics.stats.comparison import distribution_of_pairs

UNITS, LIMIT = 300, 100


@pytest.fixture(scope="module")
def scores() -> Scores:
    """Return scores of four models on two units of each cluster, of which each model was not run on about 15."""
    generator = np.random.default_rng(7)
    shared = generator.normal(size=UNITS // 2).repeat(2)
    return Scores.from_table(
        pl.concat(
            pl.DataFrame(
                {
                    "model": f"m{model}",
                    "unit": [f"u{unit:03}" for unit in range(UNITS)],
                    "cluster": [f"p{unit // 2:03}" for unit in range(UNITS)],
                    "metric": "score",
                    "value": shared + 0.2 * model + generator.normal(size=UNITS),
                }
            ).filter(pl.Series(generator.random(UNITS) > 0.05))
            for model in range(4)
        )
    )


@pytest.fixture
def poisson(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let more than 100 clusters be many."""
    monkeypatch.setattr(bootstrap, "MAX_MULTINOMIAL_CLUSTERS", LIMIT)
    monkeypatch.setattr(series_module, "MAX_MULTINOMIAL_CLUSTERS", LIMIT)


@pytest.mark.usefixtures("poisson")
def test_series_on_different_units_share_poisson_draws(scores: Scores) -> None:
    series = ScoreSeries(scores)
    draws = ResampleCache(series, AnalysisOptions(resamples=5))
    every = np.ones((1, UNITS), dtype=np.bool_)
    [(mask, rows)] = draws.parts(series.scored, every)
    assert mask.all()
    assert rows.tolist() == [0, 1, 2, 3]
    few: Mask = series.scored[:2] & (np.arange(UNITS) < 2 * LIMIT)  # at most 100 clusters are drawn multinomially
    [(mask, rows)] = draws.parts(few, every)  # both on all of the clusters, by other units of some
    assert mask.tolist() == few.any(axis=0).tolist()
    assert rows.tolist() == [0, 1]
    both = np.vstack([few[:1], series.scored[1:]])
    assert [(part.sum(), places.tolist()) for part, places in draws.parts(both, every)] == [
        (few[0].sum(), [0]),
        (UNITS, [1, 2, 3]),
    ]


@pytest.mark.usefixtures("poisson")
def test_a_pair_is_compared_alike_alone_and_among_others(scores: Scores) -> None:
    every = compare_all(scores, resamples=400)
    alone = compare(scores, "m3", "m1", resamples=400).drop("p_holm", "significant")
    assert every.filter(model_a="m3", model_b="m1").drop("p_holm", "significant").equals(alone)


@pytest.mark.parametrize(
    "analysis",
    [
        summary,
        compare_all,
        lambda table, **options: subgroups(
            table, {"half": [f"u{unit:03}" for unit in range(150)]}, known=table.units["unit"], compare=True, **options
        ),
    ],
    ids=["summary", "compare_all", "subgroups"],
)
def test_poisson_draws_change_results_by_monte_carlo_error_only(
    scores: Scores, request: pytest.FixtureRequest, analysis: Callable[..., pl.DataFrame]
) -> None:
    plain = analysis(scores, resamples=4_000)
    request.getfixturevalue("poisson")
    poisson = analysis(scores, resamples=4_000)
    ends = [name for name in ("low", "high", "difference_low", "difference_high") if name in plain.columns]
    drawn = [*ends, *(name for name in ("p", "p_holm") if name in plain.columns)]
    assert plain.select(pl.exclude(drawn)).equals(poisson.select(pl.exclude(drawn)))
    # A quantile of 4,000 draws has the standard error 0.042 standard deviations, 0.011 of a width of 3.92; five of it,
    # for a difference of two. A difference of two halves has an interval twice as wide as that of the whole.
    width = (plain["high"] - plain["low"]).to_numpy().max()
    for name in ends:
        bound = 5 * 2**0.5 * 0.011 * width * (2 if name.startswith("difference") else 1)
        assert np.abs((plain[name] - poisson[name]).drop_nulls().to_numpy()).max() < bound


@pytest.mark.usefixtures("poisson")
def test_ranks_on_poisson_draws(scores: Scores) -> None:
    found = rank(scores, resamples=400)
    assert found["rank"].to_list() == [1, 2, 3, 4]
    assert (found["low"] <= found["rank"]).all()
    assert (found["high"] >= found["rank"]).all()


@pytest.mark.parametrize("options", [{}, {"interval": "bca"}, {"margin": 0.3}, {"weight": "cluster"}])
def test_pairs_that_are_taken_in_parts_have_the_same_intervals(
    scores: Scores, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compare_all(scores, resamples=50, **options)
    monkeypatch.setattr(paired_module, "_MOST_DIFFERENCES", 100)  # two pairs at a time
    assert compare_all(scores, resamples=50, **options).equals(whole)


@pytest.mark.slow
def test_the_memory_for_many_pairs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The differences of all 1,225 pairs in all 2,000 resamples would be 19.6 MB."""
    generator = np.random.default_rng(7)
    rows = [(f"m{model:02}", f"u{unit}", "score", generator.normal()) for model in range(50) for unit in range(20)]
    scores = Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row"))
    monkeypatch.setattr(paired_module, "_MOST_DIFFERENCES", 100_000)
    largest = 0
    made = distribution_of_pairs

    def measured(*given: Any, **options: Any) -> Any:
        nonlocal largest
        found = made(*given, **options)
        largest = max(largest, found.nbytes)
        return found

    monkeypatch.setattr(paired_module, "distribution_of_pairs", measured)
    assert compare_all(scores, resamples=2_000).height == 1_225
    assert 0 < largest <= 800_000


@pytest.mark.slow
def test_more_pairs_than_can_be_compared_are_refused_at_once() -> None:
    rows = [(f"m{model}", "u", "score", 1.0) for model in range(800)]
    scores = Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row"))
    with pytest.raises(MetricInputError, match=r"319,600 pairs of models are more than the 250,000 that can be"):
        compare_all(scores)
