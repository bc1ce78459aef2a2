"""EQ-Bench 4: tendencies of models in role-plays, compared on the scenarios that models share; margins shown.

A tendency says how strong something is, and no direction of it is better. A margin is against the model's neighbours on
the board, so that the margins of two models are not on one scale: they neither rank nor compare models.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from attune_bench.report import figures
from attune_bench.scores.table import ScoreTable
from attune_bench.scores.tables_in import score_table
from attune_data.eqbench4 import ABILITIES, RANGES, TRAITS, EQBench4Entry, EQBench4Roleplay
from attune_data.io.documents import read_input
from attune_data.loading import parse_object
from attune_data.text import plural
from attune_metrics.metric import Metric, MetricInputError

_SOURCE = "EQ-Bench 4, Paech 2026, site EQ-bench/EQ-bench-site"
METRICS = {
    **{
        name: Metric(
            name=name, label=label, low=0, high=10, digits=2, higher_is_better=None, nullable=True,
            depends_on=("pointwise_judge_model",), source=f"Tendency as one judge sees it; {_SOURCE}",
        )
        for name, label in TRAITS.items()
    },
    **{
        name: Metric(
            name=name, label=f"{label} against neighbours", low=-5, high=5, digits=2, higher_is_better=None,
            nullable=True, relative_to="the model's neighbours on the board",
            source=f"Mean margin of comparisons with up to four models on each side of the board; {_SOURCE}",
        )
        for name, label in ABILITIES.items()
    },
}  # fmt: skip
"""The tendencies and the margins, by name."""

_OF_SCENARIO = ("type", "relationship")
_Values = tuple[str, str, Mapping[str, float], Mapping[str, str | None]]
"""A model, its scenario, its values by metric, the scenario's traits."""


def row(roleplay: EQBench4Roleplay) -> tuple[str, None, str]:
    """Return the model, no condition, and the scenario of a role-play: its row in the scores."""
    return roleplay.evaluated_model, None, roleplay.scenario_id


def score(roleplays: Iterable[EQBench4Roleplay], *, progress: Callable[[int], object] | None = None) -> ScoreTable:
    """Return the tendencies and margins of role-plays as scores; the unit is the scenario, which models share.

    Parameters
    ----------
    roleplays : iterable of EQBench4Roleplay
        Role-plays of any number of models.
    progress : callable, optional
        Called with the number of role-plays in the end.

    Returns
    -------
    ScoreTable
        The metrics `METRICS`; ``type`` and ``relationship`` of scenarios are traits.

    Raises
    ------
    MetricInputError
        Where no role-play has a value, or two of a model are of one scenario.
    """
    given = list(roleplays)
    found = _table(
        (*row(one)[::2], {**one.dims, **one.abilities}, {name: getattr(one, name) for name in _OF_SCENARIO})
        for one in given
    )
    if progress:
        progress(len(given))
    return found


def score_board(
    entries: Iterable[EQBench4Entry],
    *,
    transcripts: Path | None = None,
    progress: Callable[[int], object] | None = None,
) -> ScoreTable:
    """Return the values that the file of the board has of each role-play as scores.

    Parameters
    ----------
    entries : iterable of EQBench4Entry
        The entries of the board, which do not say of which scenario a value is.
    transcripts : path, optional
        The folder that has ``<slug>/index.json`` of each model, which says it. Without it, a scenario of one model is
        none of another: each model has values with intervals, and no two models are compared.
    progress : callable, optional
        Called with the number of entries in the end.

    Returns
    -------
    ScoreTable
        As from `score`.

    Raises
    ------
    MetricInputError
        Where an index is not of as many role-plays as the entry, or no entry has a value.
    OSError
        Where an index cannot be read.
    """
    given = list(entries)
    found = _table(one for entry in given for one in _of_entry(entry, transcripts))
    if progress:
        progress(len(given))
    if transcripts is not None:
        return found
    return found.note(
        "The file does not say of which scenario a value is, and models have them in orders of their own: no two models"
        " are compared. --transcripts names the folder with the index of each model, which says it."
    )


def _of_entry(entry: EQBench4Entry, transcripts: Path | None) -> Iterator[_Values]:
    """Yield the values of each role-play of an entry: of margins, only role-plays that were compared have one."""
    points, slug = entry.profile_points, entry.slug or entry.model
    if transcripts is None:
        count = max(map(len, (*points.traits.values(), *points.abilities.values())), default=0)
        listing: Sequence[Mapping[str, Any]] = [{"scenario_id": f"{slug} {place}"} for place in range(count)]
        listed_of_margins = listing
    else:
        path = Path(transcripts, slug, "index.json")
        listing = parse_object(read_input(path)).get("transcripts", [])
        listed_of_margins = [one for one in listing if one.get("ability_score") is not None]
        for name, values, of in (
            *((name, values, listing) for name, values in points.traits.items()),
            *((name, values, listed_of_margins) for name, values in points.abilities.items()),
        ):
            if len(values) != len(of):
                raise MetricInputError(
                    f"{path}: {plural(len(of), 'role-play')}, and {entry.model} has {plural(len(values), 'value')} of"
                    f" {name}; are the two files of one day?"
                )
    own: dict[str, dict[str, float]] = {str(one["scenario_id"]): {} for one in listing}
    for of, lists in ((listing, points.traits), (listed_of_margins, points.abilities)):
        for name, values in lists.items():
            for one, value in zip(of, values, strict=False):
                own[str(one["scenario_id"])][name] = value
    for one in listing:
        about = {"type": one.get("task_type") or "generated", "relationship": one.get("relationship")}
        scenario = str(one["scenario_id"])
        yield entry.model, scenario, own[scenario], about if transcripts else dict.fromkeys(about)


def _table(found: Iterable[_Values]) -> ScoreTable:
    rows, beyond = [], 0
    for model, scenario, values, about in found:
        for name in METRICS.keys() & values.keys():
            (low, high), value = RANGES[name], values[name]
            is_beyond = not low <= value <= high
            beyond += is_beyond
            rows.append(
                (model, scenario, name, None if is_beyond else value, *(about[trait] for trait in _OF_SCENARIO))
            )
    if not rows:
        raise MetricInputError("no role-play has a tendency or a margin")
    schema = dict.fromkeys(("model", "unit", "metric", "value", *_OF_SCENARIO), pl.String) | {"value": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    known = {name: metric for name, metric in METRICS.items() if name in {*frame["metric"]}}
    table = score_table(frame, metrics=known, about={"unit": "scenario", "primary": next(iter(known))})
    shown = tuple(name for name in known if name in TRAITS)
    table = replace(table, provenance=table.provenance.model_copy(update={"headline": shown}))
    notes = []
    if beyond:
        notes.append(f"Not scored: {plural(beyond, 'value')} beyond the scale.")
    if margins := sum(name in ABILITIES for name in known):
        notes.append(
            f"The margins of {plural(margins, 'ability', 'abilities')} are shown, and neither rank nor compare models:"
            " each is relative to the model's neighbours on the board."
        )
    return table.note(*notes) if notes else table


def board_figure(entries: Iterable[EQBench4Entry]) -> Any:
    """Draw the rating of each model with its published interval, the highest on top.

    Parameters
    ----------
    entries : iterable of EQBench4Entry
        The entries of the board.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    MetricInputError
        Where no entry has a rating.
    ImportError
        Where the extra ``plots`` is not installed.
    """
    rated = {one.model: one for one in entries if one.elo is not None}
    if not rated:
        raise MetricInputError("no entry has a rating")
    rows = [(name, "board", "rating", one.elo, one.ci_low, one.ci_high) for name, one in rated.items()]
    names = ("model", "unit", "metric", "value", "low", "high")
    frame = pl.DataFrame(
        rows, schema=dict.fromkeys(names[:3], pl.String) | dict.fromkeys(names[3:], pl.Float64), orient="row"
    )
    metrics = {"rating": Metric(name="rating", label="Rating, published interval", digits=0, source=_SOURCE)}
    table = score_table(frame.select(names[:4]), metrics=metrics, about={"unit": "scenario"})
    counts = pl.Series("n", [one.n_scenarios for one in rated.values()], pl.Int64)
    shown = frame.with_columns(counts, counts.alias("clusters"), pl.lit(None, pl.String).alias("condition"))
    return figures.scores(table, frame=shown)
