"""SAGE: how soon a model brings the emotion back after it made it worse."""

from collections.abc import Iterable, Mapping

import polars as pl
from typing_extensions import Unpack

from attune_bench.analyses.recovery import StatePath, recovery_entry, recovery_of_paths
from attune_bench.benchmarks.sage.scoring import row
from attune_bench.scores.columns import Analysis
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import SamplingKeywords
from attune_data.sage import SageDialogue


def state_recovery(
    scores: ScoreTable, *, results: Iterable[SageDialogue], **options: Unpack[SamplingKeywords]
) -> pl.DataFrame:
    """Return how soon each model brings the emotion back after a reply that made it worse.

    Takes scores and dialogues; the person left where a dialogue ended with an emotion below 10. Returns and raises what
    `recovery_of_paths` does.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load_sage
    >>> results = load_sage("demo")
    >>> found = state_recovery(score(results), results=results, resamples=200)
    >>> found.select("model", "axis", "falls").row(0)
    ('synthetic/attentive', 'emotion', 0)
    """
    paths = (
        StatePath(
            row(dialogue), "emotion", [said.emotion_point for said in dialogue.history if said.role == "user"],
            dialogue.outcome == "failure",
        )
        for dialogue in results
    )  # fmt: skip
    return recovery_of_paths(scores, paths, options)


ANALYSES: Mapping[str, Analysis] = {"state_recovery": recovery_entry(state_recovery, ("results",))}
