"""Scoring SAGE: the board, and models compared on the scenarios that they share.

Conventions
-----------
The unit is the scenario, of which a model has one dialogue. The score is the mean final emotion, 0 to 100, higher is
better.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attune_bench.by_scenario import compare_by_scenario, scenario_ends
from attune_bench.stats.series import Settings
from attune_data import SageDialogue
from attune_metrics.errors import MetricInputError
from attune_metrics.sage import round_half_up, sage_scores
from attune_metrics.stats.resampling import bootstrap, draw_resamples

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
        low, high, reason = scenario_ends(interval)
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
        As `attune_bench.by_scenario.compare_by_scenario` gives, with ``model_a`` above ``model_b`` on the board.

    Raises
    ------
    MetricInputError
        As `sage_board`.

    Warns
    -----
    UserWarning
        As `attune_bench.by_scenario.compare_by_scenario`.

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
    settings = Settings(resamples=resamples, seed=seed)
    finals = _finals(dialogues)
    ranked = sage_board(dialogues, resamples=1)["model"].to_list()
    return compare_by_scenario({model: finals[model] for model in ranked}, settings)


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
