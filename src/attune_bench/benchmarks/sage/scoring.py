"""Scoring SAGE: the emotion at the end of every dialogue.

Conventions
-----------
The unit is the scenario; a model has one dialogue in each. The score is the final emotion, 0 to 100, higher is better;
a dialogue with an ``error`` has none.

Published files do not say who played the person. Dialogues of a run do, and are compared where simulator, instructions
and the other settings `EPISODE_SETTINGS` are the same; see `attune_bench.stats.comparability`.
"""

from collections.abc import Callable, Iterable

import polars as pl

from attune_bench.scores.parts import KEYS, Provenance
from attune_bench.scores.provenance import EPISODE_SETTINGS, episode_settings, group_settings, results_fingerprint
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.summary import summary
from attune_data.sage import DIALOGUE, SageDialogue
from attune_data.text import plural
from attune_metrics.catalog import CATALOG
from attune_metrics.metric import MetricInputError
from attune_metrics.sage import round_half_up, sage_failure, sage_success

_METRICS = ("emo_point", "success", "failure")


def score(dialogues: Iterable[SageDialogue], *, progress: Callable[[int], object] | None = None) -> ScoreTable:
    """Score dialogues by the emotion at their end.

    Parameters
    ----------
    dialogues : iterable of SageDialogue
        From `attune_data.load_sage`, of any number of models.
    progress : callable, optional
        Called with the number of dialogues scored so far.

    Returns
    -------
    ScoreTable
        The metrics ``emo_point``, the final emotion, ``success``, whether it is 100, ``failure``, whether it is below
        10.

    Raises
    ------
    MetricInputError
        Where two dialogues have the same scenario and model.

    Examples
    --------
    >>> ends = {"s1": 100, "s2": 57, "s3": 8}
    >>> said = [SageDialogue(scenario_id=name, model="m", emo_point=end, history=[]) for name, end in ends.items()]
    >>> score(said).values.select("unit", "emo_point", "success", "failure").rows()
    [('s1', 100.0, 1.0, 0.0), ('s2', 57.0, 0.0, 0.0), ('s3', 8.0, 0.0, 1.0)]
    """
    held = list(dialogues)
    columns = {**dict.fromkeys(KEYS, pl.String), **dict.fromkeys(_METRICS, pl.Float64)}
    values = pl.DataFrame([(*row(one), *_values(one)) for one in held], schema=columns, orient="row")
    repeated = values.filter(pl.struct("model", "unit").is_duplicated())
    for model, _, unit in repeated.select(KEYS).head(1).iter_rows():
        raise MetricInputError(f"two dialogues of scenario {unit!r} and model {model!r}")
    if progress:
        progress(len(held))
    units = values.select("unit", pl.lit(None, dtype=pl.String).alias("cluster")).unique("unit").sort("unit")
    failed = values["emo_point"].null_count()
    settings = [(*row(one)[:2], episode_settings(one)) for one in held]
    is_run = any(own["simulator"] is not None for *_, own in settings)
    provenance = Provenance(
        benchmark="sage",
        title="SAGE",
        unit="scenario",
        cluster="scenario",
        primary="emo_point",
        headline=_METRICS,
        synthetic=any(dialogue.synthetic for dialogue in held),
        runs=results_fingerprint(held, DIALOGUE),
        notes=(f"Left out: {plural(failed, 'dialogue')} that failed.",) if failed else (),
        settings=group_settings(settings) if is_run else (),
        comparability_keys=dict(EPISODE_SETTINGS) if is_run else {},
    )
    return ScoreTable(values, units, {name: CATALOG[name] for name in _METRICS}, provenance)


def _values(dialogue: SageDialogue) -> tuple[float | None, ...]:
    final = float(dialogue.emo_point)
    return (None,) * 3 if dialogue.error is not None else (final, sage_success(final), sage_failure(final))


def row(dialogue: SageDialogue) -> tuple[str, None, str]:
    """Return the model, no condition, and the scenario of a dialogue: its row in the scores."""
    return dialogue.model or "none named", None, dialogue.scenario_id


def board(scores: ScoreTable) -> pl.DataFrame:
    """Return SAGE's board as published: mean final emotion to one decimal, rounded half up, successes and failures.

    Returns
    -------
    polars.DataFrame
        ``model, score, success, failure, n``, the best first.

    Examples
    --------
    >>> ends = {"s1": 100, "s2": 57, "s3": 8}
    >>> said = [SageDialogue(scenario_id=name, model="m", emo_point=end, history=[]) for name, end in ends.items()]
    >>> board(score(said)).row(0)
    ('m', 55.0, 1, 1, 3)
    """
    means = summary(scores, metrics=["emo_point"], resamples=1)
    counts = scores.values.group_by("model").agg(pl.col("success", "failure").sum().cast(pl.Int64))
    return (
        means.join(counts, on="model")
        .with_columns(score=pl.col("value").map_elements(round_half_up, return_dtype=pl.Float64))
        .sort("value", "model", descending=[True, False])
        .select("model", "score", "success", "failure", "n")
    )
