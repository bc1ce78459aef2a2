"""Scoring SAGE: the board, and models compared on the scenarios that they share.

Conventions
-----------
The unit is the scenario, of which a model has one dialogue. The score is the mean final emotion, 0 to 100, higher is
better.
"""

from collections.abc import Sequence
from itertools import combinations
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from attune_bench.comparison import ALPHA, FEWEST, warn_family
from attune_bench.records import null
from attune_bench.series import Settings
from attune_data import SageDialogue
from attune_metrics import (
    Interval,
    bootstrap,
    draw_resamples,
    holm,
    minimum_detectable_difference,
    paired_bootstrap,
    paired_permutation_test,
    round_half_up,
    sage_scores,
)
from attune_metrics.errors import MetricInputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["sage_board", "sage_comparisons"]

_UNNAMED = "none named"


def sage_board(dialogues: Sequence[SageDialogue], *, resamples: int = 10_000, seed: int = 0) -> "pl.DataFrame":
    """Score every model as SAGE's board does, with intervals.

    Parameters
    ----------
    dialogues : sequence of SageDialogue
        What `attune_data.load_sage` gives.
    resamples : int
        How many resamples of scenarios.
    seed : int
        The same seed gives the same intervals.

    Returns
    -------
    polars.DataFrame
        A row a model, the best first: ``model, score, success, failure, n, low, high, mean, success_share, success_low,
        success_high, failure_share, failure_low, failure_high, reason``. ``score`` is ``mean`` rounded half up to one
        decimal, as on the board; ``low`` and ``high`` are the ends of the mean's 95% interval (expanded percentile).
        ``success`` and ``failure`` count dialogues that ended at 100 and below 10; their shares have Wilson intervals.
        ``reason`` says why there is no interval of the mean.

    Raises
    ------
    MetricInputError
        Where two dialogues are of one scenario and model, or an option is out of range.

    Examples
    --------
    >>> ends = {"s1": 100, "s2": 57, "s3": 8}
    >>> said = [SageDialogue(scenario_id=name, model="m", emo_point=end, history=[]) for name, end in ends.items()]
    >>> sage_board(said).select("model", "score", "success", "failure", "n", "reason").row(0)
    ('m', 55.0, 1, 1, 3, 'fewer than 5 scenarios')
    """
    import polars as pl

    settings = Settings(resamples=resamples, seed=seed)
    rows: list[tuple[Any, ...]] = []
    for model, finals in _finals(dialogues).items():
        scores = sage_scores(finals.values())
        draws = draw_resamples(list(finals), n_resamples=settings.resamples, seed=settings.seed)
        [interval] = bootstrap(list(finals.values()), draws)
        low, high, reason = _ends(interval)
        shares = [(share.estimate, share.low, share.high) for share in (scores.success, scores.failure)]
        counts = scores.successes, scores.failures, scores.n
        rows.append(
            (model, round_half_up(scores.score), *counts, low, high, scores.score, *shares[0], *shares[1], reason)
        )
    share_names = [f"{what}_{part}" for what in ("success", "failure") for part in ("share", "low", "high")]
    schema = {
        "model": pl.String,
        "score": pl.Float64,
        **dict.fromkeys(("success", "failure", "n"), pl.Int64),
        **dict.fromkeys(("low", "high", "mean", *share_names), pl.Float64),
        "reason": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row").sort("mean", "model", descending=[True, False])


def sage_comparisons(dialogues: Sequence[SageDialogue], *, resamples: int = 10_000, seed: int = 0) -> "pl.DataFrame":
    """Compare every two models on the scenarios that both have a dialogue of.

    Parameters
    ----------
    dialogues, resamples, seed
        As for `sage_board`; ``resamples`` is also how many random exchanges are made.

    Returns
    -------
    polars.DataFrame
        ``model_a, model_b, difference, low, high, p, p_holm, told_apart, n, detectable, reason``, with ``model_a``
        above ``model_b`` on the board. ``difference`` is `a` minus `b`, with the 95% interval of
        `attune_metrics.paired_bootstrap`; ``p`` is that of `attune_metrics.paired_permutation_test`, ``p_holm``
        corrected for all pairs, and below 0.05 where the models are told apart. ``detectable`` is the smallest true
        difference that a comparison of this size finds with 80% power at an uncorrected 0.05.

    Raises
    ------
    MetricInputError
        As `sage_board`.

    Warns
    -----
    UserWarning
        Where there are so many pairs that, with so few resamples, no corrected p-value can be below 0.05.

    Examples
    --------
    >>> ends = {"a": [100, 90, 80, 70, 60, 50], "b": [95, 85, 70, 60, 55, 40]}
    >>> said = [
    ...     SageDialogue(scenario_id=f"s{place}", model=model, emo_point=end, history=[])
    ...     for model, points in ends.items()
    ...     for place, end in enumerate(points)
    ... ]
    >>> sage_comparisons(said).select("model_a", "difference", "p", "told_apart", "n").row(0)
    ('a', 7.5, 0.03125, True, 6)
    """
    import polars as pl

    settings = Settings(resamples=resamples, seed=seed)
    finals = _finals(dialogues)
    ranked = sage_board(dialogues, resamples=1)["model"].to_list()
    rows = []
    sampled = False
    for a, b in combinations(ranked, 2):
        shared = sorted(finals[a].keys() & finals[b].keys())
        one, other = ([finals[model][scenario] for scenario in shared] for model in (a, b))
        draws = draw_resamples(shared, n_resamples=settings.resamples, seed=settings.seed)
        [interval] = paired_bootstrap(one, other, draws)
        [test] = paired_permutation_test(one, other, shared, n_permutations=settings.resamples, seed=settings.seed)
        low, high, reason = _ends(interval)
        sampled |= test.exchanges > 0 and not test.exact
        varied = len({x - y for x, y in zip(one, other, strict=True)}) > 1
        detectable = minimum_detectable_difference(one, other, shared) if varied else nan
        sizes = interval.n, null(detectable), reason
        rows.append((a, b, null(test.difference), low, high, test.p_value, *sizes))
    corrected = holm([row[5] for row in rows]).tolist()
    if sampled:
        warn_family(sum(not isnan(p) for p in corrected), settings, "all pairs of models")
    schema = {
        **dict.fromkeys(("model_a", "model_b"), pl.String),
        **dict.fromkeys(("difference", "low", "high", "p", "p_holm"), pl.Float64),
        "told_apart": pl.Boolean,
        "n": pl.Int64,
        "detectable": pl.Float64,
        "reason": pl.String,
    }
    full = [
        (*row[:5], null(row[5]), null(p), None if isnan(p) else p < ALPHA, *row[6:])
        for row, p in zip(rows, corrected, strict=True)
    ]
    return pl.DataFrame(full, schema=schema, orient="row")


def _finals(dialogues: Sequence[SageDialogue]) -> dict[str, dict[str, int]]:
    """Return the final emotion by model and scenario; where a model has two dialogues of a scenario, raise."""
    found: dict[str, dict[str, int]] = {}
    for dialogue in dialogues:
        model = _UNNAMED if dialogue.model is None else dialogue.model
        of_model = found.setdefault(model, {})
        if dialogue.scenario_id in of_model:
            raise MetricInputError(f"two dialogues of scenario {dialogue.scenario_id!r} and model {model!r}")
        of_model[dialogue.scenario_id] = dialogue.emo_point
    return found


def _ends(interval: Interval) -> tuple[float | None, float | None, str | None]:
    if interval.low == interval.high == interval.estimate == 0:
        # Of two equal models, for certain.
        return 0.0, 0.0, None
    if 0 < interval.n < FEWEST:
        return None, None, f"fewer than {FEWEST} scenarios"
    return null(interval.low), null(interval.high), interval.reason
