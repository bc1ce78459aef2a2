"""The records of scored runs as scores: a row a run, a column a term."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from attune_bench.benchmarks.attunebench.conversation_score import ConversationScore
from attune_bench.benchmarks.attunebench.expected import EXPECTED
from attune_bench.benchmarks.attunebench.run_settings import DECISIVE
from attune_bench.benchmarks.attunebench.similarity import is_of_similarity, similarity_metrics
from attune_bench.benchmarks.attunebench.terms import CELLS, COUNTS, MEANS, POOLED, columns_of
from attune_bench.score_table import CHANCE, KEYS, Provenance, ScoreTable
from attune_bench.scores import Scores
from attune_bench.streaming import frame_of
from attune_bench.texts import Texts
from attune_data.query import spelled_alike, text_key
from attune_metrics.catalog import CATALOG
from attune_metrics.metric import Metric, MetricInputError

__all__ = ["METRICS", "chance_by_unit", "provenance_of", "scores_from", "scores_of"]

_SCORED = {*MEANS, *(f"{name}.{score}" for name in POOLED for score in COUNTS if score not in CELLS), "composite_z"}

METRICS: Mapping[str, Metric] = {name: metric for name, metric in CATALOG.items() if name in _SCORED}
"""The catalogue entries of what scored runs have a number of, in the order of reports."""

HEADLINE = (
    "composite_score",
    "avg_emotion_f1",
    "avg_emotion_va_score",
    "avg_binary_om_accuracy",
    "avg_binary_human_accuracy",
    "avg_pairwise_accuracy",
    "panas_baseline_adjusted",
    "four_branch_normalized",
)


def provenance_of(**known: Any) -> Provenance:
    """Return the provenance of scores of this benchmark; `known` is what differs from one to another."""
    return Provenance(
        benchmark="attunebench",
        title="AttuneBench",
        unit="conversation",
        cluster="participant",
        condition="mode",
        primary="composite_score",
        headline=HEADLINE,
        reference="default",
        private=True,
        decisive=dict(DECISIVE),
        **known,
    )


def scores_of(
    records: Sequence[ConversationScore],
    provenance: Provenance,
    chance: Mapping[str, Mapping[str, float | None]] | None = None,
) -> Scores:
    """Return the scores of runs from their records, and what random answers score on each conversation, by its id.

    Raises
    ------
    MetricInputError
        Where two records are of one conversation, model and mode, or one conversation is by two participants.
    """
    keys = {
        "model": [record["em_model"] for record in records],
        "condition": [record["mode"] for record in records],
        "unit": [record["conversationId"] for record in records],
    }
    others = tuple(dict.fromkeys(name for record in records for name in record if is_of_similarity(name)))
    frame = frame_of(keys | columns_of(records, others))
    repeated = frame.filter(pl.struct(KEYS).is_duplicated())
    for model, mode, unit in repeated.select(KEYS).head(1).iter_rows():
        raise MetricInputError(
            f"two records of conversation {unit!r}, model {model!r}, mode {mode!r}; leave one of them out"
        )
    return scores_from(frame, Texts.of(records), _participants(records), provenance, chance or {}, others)


def scores_from(
    values: pl.DataFrame,
    detail: Texts,
    participants: Mapping[str, str | None],
    provenance: Provenance,
    chance: Mapping[str, Mapping[str, float | None]],
    others: Sequence[str] = (),
) -> Scores:
    """Return scores from their parts.

    Parameters
    ----------
    values : polars.DataFrame
        As in `Scores`; a column ``repeat`` may name the repeats.
    detail : Texts
        The record of each row.
    participants : mapping of str to (str or None)
        The participant of each conversation that is in `values`, by its id.
    provenance : Provenance
        Where the scores come from.
    chance : mapping of str to mapping
        What random answers score, by conversation and metric.
    others : sequence of str
        The columns of another measure of similarity.
    """
    units = pl.DataFrame(
        {"unit": sorted(participants), "cluster": spelled_alike(participants[unit] for unit in sorted(participants))},
        schema={"unit": pl.String, "cluster": pl.String},
    )
    units = units.hstack(_chance(chance, units["unit"]))
    metrics = {**METRICS, **similarity_metrics(others)}
    return Scores(values=values, units=units, metrics=metrics, provenance=provenance, detail=detail)


def _chance(known: Mapping[str, Mapping[str, float | None]], units: Iterable[str]) -> pl.DataFrame:
    """Return what random answers score on units, a column a metric; no column where it is not known of every unit."""
    of_units = [known.get(unit, {}) for unit in units]
    said = [name for name in EXPECTED if all(name in of_unit for of_unit in of_units)]
    columns = {f"{CHANCE}{name}": [of_unit[name] for of_unit in of_units] for name in said}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64))


def chance_by_unit(scores: ScoreTable) -> dict[str, dict[str, float | None]]:
    """Return what random answers score on each conversation, by its id and metric; empty where it is not known."""
    columns = [name for name in scores.units.columns if name.startswith(CHANCE)]
    rows = scores.units.select("unit", *columns).rows() if columns else []
    names = [name.removeprefix(CHANCE) for name in columns]
    return {unit: dict(zip(names, values, strict=True)) for unit, *values in rows}


def _participants(records: Iterable[Mapping[str, Any]]) -> dict[str, str | None]:
    """Return the participant of each conversation, None where no record names one."""
    found: dict[str, str | None] = {}
    for record in records:
        unit, person = record["conversationId"], record.get("participant_id")
        known = found.setdefault(unit, person)
        if text_key(known) and text_key(person) and text_key(known) != text_key(person):
            raise MetricInputError(
                f"conversation {unit!r} is by participant {known!r} in one record and by {person!r} in another; "
                "are these scores of two data sets?"
            )
        found[unit] = known if text_key(known) else person
    return found
