"""Scores against other annotators.

A person who answered the questions that models are asked has a run (docs/people.md). Here these answers take the place
of the participant's, and every model is scored against them.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from statistics import fmean
from typing import Any

import polars as pl
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.annotators import (
    ANSWERED,
    PARTICIPANT,
    SELF,
    AnnotatedScores,
    scored_by_annotators,
)
from attune_bench.scores.columns import FrameColumn, build_frame, columns, text
from attune_bench.scores.provenance import kind_of_group
from attune_bench.scores.table import ScoreTable
from attune_bench.scores.tables_in import score_table
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.options import AnalysisKeywords, begin
from attune_bench.stats.rank import rank
from attune_bench.stats.summary import summary
from attune_data import Conversation, Run
from attune_data.text import joined, plural
from attune_metrics.metric import MetricInputError

METRICS = tuple(ANSWERED)[:5]
"""The metrics of turns in the composite."""

_MORE = FrameColumn("", shown="metric", signed=True)
TRUTH = columns(
    "condition metric truth model role value low high rank rank_low rank_high ceiling difference difference_low "
    "difference_high above n clusters reason",
    truth=text("Whose answers are the truth: the participant's, or another annotator's."),
    role=text("`model`; `annotator`: a person who answered the same; `self-rating`: the participant, a second time."),
    value="Mean score against the answers of the truth.",
    rank="Rank among the models, 1 is the best; empty for people.",
    rank_low=FrameColumn("Best rank of the interval.", low=1),
    rank_high=FrameColumn("Worst rank of the interval.", low=1),
    ceiling=FrameColumn("The highest score of another annotator against the same truth.", shown="metric"),
    difference=_MORE._replace(description="The model minus that annotator; empty for people.", head="over ceiling"),
    difference_low=_MORE._replace(description="Lower end of the interval of the difference."),
    difference_high=_MORE._replace(description="Upper end of the interval of the difference."),
    above=FrameColumn("Whether the model is above the ceiling, by an interval above 0.", type="true or false"),
    n="How many conversations all annotators answered in full.",
)


def truth(
    scores: ScoreTable,
    *,
    data: Iterable[Conversation],
    results: Iterable[Run],
    **options: Unpack[AnalysisKeywords],
) -> pl.DataFrame:
    """Return the scores and ranks of models against the participant and against each other annotator.

    Parameters
    ----------
    scores : ScoreTable
        The scores; their rows ``human/NAME`` are the other annotators.
    data : iterable of Conversation
        The conversations that were scored.
    results : iterable of Run
        The runs that were scored, people's among them.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``weight``, ``interval`` (no BCa); see
        `attune_bench.stats.options.AnalysisOptions`. Metrics of `ANSWERED`, by default `METRICS`.

    Returns
    -------
    polars.DataFrame
        The columns `TRUTH`: for each metric and truth the models by their rank, then the people; the participant's own
        answers are ``human/participant`` there. All are scored on the ``n`` conversations in which every annotator
        answered all that the metric asks. The ceiling is the highest mean of an annotator; a self-rating (the annotator
        `SELF` and the participant) is none. ``above`` is true where the interval of the paired difference to it is
        above 0. No row without people, or without a conversation that all of them answered.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, a metric is not of `ANSWERED`, a conversation or run that was scored
        is not there, or the scores are means over repeats.

    Warns
    -----
    UserWarning
        Where some of the metrics have no conversation that every annotator answered in full.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> conversations, runs = load("demo"), load_runs("demo")
    >>> ann = [run.model_copy(update={"em_model": "human/ann"}) for run in runs if run.em_model.endswith("attentive")]
    >>> found = truth(
    ...     score(conversations, [*runs, *ann]), data=conversations, results=[*runs, *ann],
    ...     metrics=["avg_pairwise_accuracy"], resamples=200,
    ... )
    >>> found.select("truth", "model", "value", "rank").rows()[3]
    ('human/ann', 'synthetic/attentive', 1.0, 1.0)
    """
    found, chosen = scored_by_truth(scores, data, results, options)
    cells: list[_Cell] = [
        (metric, condition, of, found.values(metric, condition, of))
        for metric in chosen
        for condition, truths in found.truths(metric)
        for of in truths
    ]
    return build_frame(TRUTH, [{name: row.get(name) for name in TRUTH} for row in _rows(scores, cells, options)])


_Cell = tuple[str, str, str, Mapping[str, Mapping[str, float]]]
"""Metric, condition, truth, and the values by model or person and conversation."""


def scored_by_truth(
    scores: ScoreTable, data: Iterable[Conversation], results: Iterable[Run], options: AnalysisKeywords
) -> tuple[AnnotatedScores, Sequence[str]]:
    """Return the scores against every annotator, and the metrics that were asked for."""
    chosen, _, _ = begin(scores, options, weighted=True)
    metrics = chosen.names(scores, METRICS)
    for metric in metrics:
        if metric not in ANSWERED:
            raise MetricInputError(f"{metric} has no answers of annotators; expected one of {', '.join(ANSWERED)}")
    check_within_conditions(scores, metrics)
    found = scored_by_annotators(scores, data, results, metrics)
    lacking = [scores.metrics[metric].label for metric in metrics if not any(found.truths(metric))]
    if lacking and len(lacking) < len(metrics):
        text = f"left out, as no {scores.provenance.unit} has the full answers of every annotator: {joined(lacking)}"
        warnings.warn(text, UserWarning, stacklevel=3)
    return found, metrics


def _rows(scores: ScoreTable, cells: Sequence[_Cell], options: AnalysisKeywords) -> Iterator[dict[str, Any]]:
    """Yield the rows of all truths."""
    ceilings = [_ceiling(of, values) for _, _, of, values in cells]
    over: list[_Cell] = []
    models: list[_Cell] = []
    for (metric, condition, of, values), best in zip(cells, ceilings, strict=True):
        own = {name: by_unit for name, by_unit in values.items() if kind_of_group(name) == "model"}
        if own:
            models.append((metric, condition, of, own))
        if own and best is not None:
            more = {name: {unit: by[unit] - values[best][unit] for unit in by} for name, by in own.items()}
            over.append((metric, condition, of, more))
    made, minus = _by_model(summary, scores, cells, options), _by_model(summary, scores, over, options, difference=True)
    ranks = _by_model(rank, scores, models, options)
    for (metric, condition, of, values), best in zip(cells, ceilings, strict=True):
        ranked = [model for *other, model in ranks if other == [metric, condition, of]]
        for name in [*ranked, *(name for name in values if name not in ranked)]:
            key = metric, condition, of, name
            row = {**made[key], "metric": metric, "truth": of}
            row["ceiling"] = None if best is None else fmean(values[best].values())
            row["role"] = "model" if name in ranked else "self-rating" if _self_rating(of, name) else "annotator"
            if name in ranked:
                place = ranks[key]
                row |= {"rank": place["rank"], "rank_low": place["low"], "rank_high": place["high"]}
            if key in minus:
                low = minus[key]["low"]
                row |= {"difference": minus[key]["value"], "difference_low": low, "difference_high": minus[key]["high"]}
                row["above"] = None if low is None else low > 0
            yield row


def _ceiling(truth: str, values: Mapping[str, Mapping[str, float]]) -> str | None:
    """Return the annotator of the highest mean, but for self-ratings."""
    others = [name for name in values if kind_of_group(name) == "person" and not _self_rating(truth, name)]
    return max(others, key=lambda name: fmean(values[name].values()), default=None)


def _self_rating(truth: str, name: str) -> bool:
    return {truth, name} <= {PARTICIPANT, f"human/{PARTICIPANT}", SELF}


def _by_model(
    verb: Callable[..., pl.DataFrame],
    scores: ScoreTable,
    cells: Sequence[_Cell],
    options: AnalysisKeywords,
    *,
    difference: bool = False,
) -> dict[tuple[str, str, str, str], dict[str, Any]]:
    """Return what a verb gives of cells, by metric, condition, truth and model; a difference has no range."""
    if not cells:
        return {}
    clusters = dict(scores.units.select("unit", "cluster").iter_rows())
    metrics, names = {}, {}
    for metric, _, of, _ in cells:
        name = f"{metric} {of}"
        entry = scores.metrics[metric]
        label = f"{entry.label}{' over the ceiling' if difference else ''} (truth {of})"
        changed = replace(entry, name=name, label=label, short="", coverage=())
        metrics[name] = replace(changed, low=-inf, high=inf) if difference else changed
        names[name] = metric, of
    rows = [
        (model, unit, condition, clusters[unit] or unit, f"{metric} {of}", value)
        for metric, condition, of, values in cells
        for model, by_unit in values.items()
        for unit, value in by_unit.items()
    ]
    schema = {**dict.fromkeys(("model", "unit", "condition", "cluster", "metric"), pl.String), "value": pl.Float64}
    held = scores.provenance
    about = {"unit": held.unit, "condition": held.condition, "cluster": held.cluster}
    table = score_table(pl.DataFrame(rows, schema=schema, orient="row"), metrics=metrics, about=about)
    found: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    for row in verb(table, **{**options, "metrics": list(metrics)}).to_dicts():
        metric, of = names[row["metric"]]
        if row["value"] is not None:
            found[metric, row["condition"], of, row["model"]] = row
    return found


def above_ceiling(scores: ScoreTable, frame: pl.DataFrame) -> str:
    """Say how many models are above the ceiling, against the participant's answers.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> rows = {"metric": "avg_pairwise_accuracy", "truth": PARTICIPANT, "role": "model", "above": [True, False, None]}
    >>> print(above_ceiling(score(load("demo"), load_runs("demo")), pl.DataFrame(rows)))  # doctest: +ELLIPSIS
    Above the best other annotator, against the participant's answers (...): Pairwise accuracy 1 of 2 models.
    """
    known = frame.filter(truth=PARTICIPANT, role="model").drop_nulls("above")
    said: list[str] = []
    for (metric,), rows in known.group_by("metric", maintain_order=True):
        of = plural(rows.height, "model") if not said else str(rows.height)
        said.append(f"{scores.metrics[metric].label} {rows['above'].sum() or 'none'} of {of}")
    if not said:
        return "No model has an interval of its difference to another annotator."
    return f"Above the best other annotator, against the participant's answers (interval above 0): {', '.join(said)}."
