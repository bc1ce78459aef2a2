"""``summary.json`` of EIBench: the scores of one model, overall and by scene."""

import warnings
from typing import Any

import polars as pl

from attune_bench.benchmarks.eibench.scoring import FAILURES, NUMBERS
from attune_bench.score_table import ScoreTable
from attune_bench.stats.summary import summary
from attune_data.eibench.records import SCENES
from attune_metrics.metric import UnreliableIntervalWarning

__all__ = ["model_summary"]


def model_summary(scores: ScoreTable) -> dict[str, Any]:
    """Summarise the scores of one model, in the shape of EIBench's ``summary.json``.

    Parameters
    ----------
    scores : ScoreTable
        What `attune_bench.benchmarks.eibench.scoring.score` gives of one model.

    Returns
    -------
    dict
        ``model``; ``synthetic``, whether any of what was scored is invented; ``n``, the episodes that count;
        ``overall``, over all episodes, and ``by_scene``, each with ``n, failed, reward, low, high, anger_score,
        trust_score, final_anger, final_trust, reason``. ``low`` and ``high`` are the 95% interval (expanded percentile)
        of the reward, else null with the ``reason``. ``overall.macro`` is the mean of the scenes' rewards, null where a
        scene has none. ``failed`` counts failed episodes by kind, and ``reward_if_failed`` is the overall reward under
        each treatment of them. ``scenarios`` counts those given, ``coverage`` is the share of them with an episode that
        counts. ``warnings`` says which intervals are unreliable, and why.

    Raises
    ------
    ValueError
        Where the scores are of several models.

    Examples
    --------
    >>> from attune_bench.benchmarks.eibench.scoring import score
    >>> from attune_data import Episode, load_scenarios
    >>> ends = {"final_anger": 85, "final_trust": 20}
    >>> scores = score(load_scenarios("demo"), [Episode(profile_id="demo_support_01", model="m", **ends)])
    >>> found = model_summary(scores)
    >>> found["n"], found["overall"]["anger_score"], found["coverage"], found["overall"]["reason"]
    (1, -0.5, 0.0625, 'fewer than 5 scenarios')
    """
    if len(scores.models) != 1:
        raise ValueError(f"these are scores of {len(scores.models)} models ({', '.join(scores.models)}); keep one")
    of_scene = {scene: scores.units.filter(pl.col("scene") == scene)["unit"].to_list() for scene in SCENES}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnreliableIntervalWarning)
        overall = _block(scores)
        by_scene = {scene: _block(scores.keep(units=units)) for scene, units in of_scene.items() if units}
    macro = summary(scores, metrics=["reward_macro"], resamples=1)["value"].item()
    failed = {kind: int(scores.values[f"failed.{kind}"].sum()) for kind in FAILURES}
    treatments = scores.choices["failed"]
    rewards = {
        name: summary(scores.variant(failed=name), metrics=["reward"], resamples=1)["value"].item()
        for name in treatments
    }
    expected = scores.provenance.expected or 0
    return {
        "model": scores.models[0],
        "synthetic": scores.provenance.synthetic,
        "n": overall["n"],
        "overall": {**overall, "macro": macro},
        "by_scene": by_scene,
        "failed": failed,
        "reward_if_failed": rewards,
        "scenarios": expected,
        "coverage": overall["n"] / expected if expected else None,
        "warnings": [*dict.fromkeys(str(warning.message) for warning in caught)],
    }


def _block(scores: ScoreTable) -> dict[str, Any]:
    reward = summary(scores, metrics=["reward"]).row(0, named=True)
    means = summary(scores, metrics=NUMBERS[1:], resamples=1)
    failed = sum(int(scores.values[f"failed.{kind}"].sum()) for kind in FAILURES)
    return {
        "n": reward["n"],
        "failed": failed,
        "reward": reward["value"],
        "low": reward["low"],
        "high": reward["high"],
        **dict(means.select("metric", "value").iter_rows()),
        "reason": reward["reason"],
    }
