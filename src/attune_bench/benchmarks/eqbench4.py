"""EQ-Bench 4: tendencies of models in role-plays, compared on the scenarios that models share; margins are shown.

The file of the board lacks the scenarios of its role-plays; the index of a model, in an order of its own, says them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from attune_bench.scores.table import ScoreTable
from attune_bench.scores.tables_in import score_table
from attune_data.eqbench4 import EQBench4Entry, EQBench4Roleplay
from attune_data.io.documents import read_input
from attune_data.issues import shown
from attune_data.loading import parse_object
from attune_data.text import plural
from attune_metrics.eqbench4 import METRICS
from attune_metrics.metric import Metric, MetricInputError

_ENTRIES = {metric.name: metric for metric in METRICS}
_TRAITS = ("type", "relationship")
_INDEXED: dict[str, Any] = {"i": int, "scenario_id": str}
_INDEXED |= dict.fromkeys(("task_type", "relationship", "title", "category"), str | None)


def row(roleplay: EQBench4Roleplay) -> tuple[str, None, str]:
    """Return the model, no condition, and the scenario of a role-play: its row in the scores."""
    return roleplay.evaluated_model, None, roleplay.scenario_id


def score(
    roleplays: Iterable[EQBench4Roleplay],
    *,
    index: Path | None = None,
    progress: Callable[[int], object] | None = None,
) -> ScoreTable:
    """Return the tendencies and margins of role-plays as scores; the unit is the scenario, which models share.

    Parameters
    ----------
    roleplays : iterable of EQBench4Roleplay
        Role-plays of any number of models.
    index : path, optional
        The folder that has ``<slug>/index.json`` of each model, which says the scenarios of role-plays that are read
        from the file of the board. Without it none of its models are compared; a note says so.
    progress : callable, optional
        Called with the number of role-plays in the end.

    Raises
    ------
    MetricInputError
        Where no role-play has a value, two of a model are of one scenario, or an index lacks a role-play.
    OSError
        Where an index cannot be read.
    """
    given = list(roleplays)
    rows, beyond = [], 0
    for one in given if index is None else _named(given, index):
        for key, value in {**one.dims, **one.abilities}.items():
            if (metric := _ENTRIES.get(f"eqbench4_{key}")) is not None:
                scored = value if metric.low <= value <= metric.high else None
                beyond += scored is None
                about = (getattr(one, trait) for trait in _TRAITS)
                rows.append((one.evaluated_model, one.scenario_id, metric.name, scored, *about))
    if not rows:
        raise MetricInputError(f"none of {plural(len(given), 'role-play')} has a tendency or a margin")
    schema = dict.fromkeys(("model", "unit", "metric"), str) | {"value": float} | dict.fromkeys(_TRAITS, str)
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    known = {name: metric for name, metric in _ENTRIES.items() if name in {*frame["metric"]}}
    table = score_table(frame, metrics=known, about={"unit": "scenario", "primary": next(iter(known))})
    if progress:
        progress(len(given))
    notes = [f"Not scored: {plural(beyond, 'value')} beyond the scale."] if beyond else []
    if margins := sum(bool(metric.relative_to) for metric in known.values()):
        notes.append(
            f"The margins of {plural(margins, 'ability', 'abilities')} neither rank nor compare models: each is"
            " relative to the model's neighbours on the board."
        )
    if any(one.slug is not None for one in given):
        notes.append("The file of the board names no judge of tendencies, so models of two judges are compared unseen.")
    if index is None and any(one.slug is not None for one in given):
        notes.append(
            "The file of the board does not say of which scenario a value is, and models have them in orders of their"
            " own: no two models are compared. --index names the folder with <slug>/index.json, which says it."
        )
    return table.note(*notes) if notes else table


def _named(roleplays: Sequence[EQBench4Roleplay], index: Path) -> list[EQBench4Roleplay]:
    """Return role-plays, those of the board's file with the scenario that the index of the model gives to a number."""
    counts = Counter(one.slug for one in roleplays if one.slug)
    about = {slug: _listed(Path(index, slug, "index.json"), count) for slug, count in counts.items()}
    return [one.model_copy(update=about[one.slug][one.i]) if one.slug else one for one in roleplays]


def _listed(path: Path, count: int) -> dict[int | None, dict[str, str | None]]:
    """Return by number what the index of a model says of a role-play."""
    try:
        listed = _checked(parse_object(read_input(path)).get("transcripts"), list, "$.transcripts")
        for place, one in enumerate(listed):
            _checked(one, dict, f"$.transcripts[{place}]")
            for name, kind in _INDEXED.items():
                _checked(one.get(name), kind, f"$.transcripts[{place}].{name}")
    except ValueError as error:
        raise MetricInputError(f"{path}: {error}; is it the index of another version of the site?") from None
    found = {one["i"]: {name: one[name] for name in _INDEXED if name in one} for one in listed}
    if found.keys() != {*range(count)} or len(listed) != count:
        raise MetricInputError(f"{path}: {len(listed)} role-plays, the board has {count}; are they of one day?")
    return {number: {**about, "source_type": "generated"} for number, about in found.items()}


def _checked(value: Any, kind: Any, place: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, kind) or (kind is str and not value.strip()):
        raise ValueError(f"{place} is {shown(value)}")
    return value


def board(entries: Iterable[EQBench4Entry]) -> tuple[ScoreTable, pl.DataFrame]:
    """Return the ratings of a board as scores, and with their published intervals as a summary of these scores.

    Parameters
    ----------
    entries : iterable of EQBench4Entry
        The entries of the board; one has a rating at least, else a MetricInputError is raised.

    Examples
    --------
    >>> from attune_bench.report import figures
    >>> from attune_data import load_records
    >>> from attune_data.kinds import ENTRY
    >>> scores, published = board(load_records("demo", ENTRY))
    >>> published.select("model", "value", "low", "high").row(0)
    ('synthetic/attentive', 1244.4, 1232.4, 1257.4)
    >>> figure = figures.scores(scores, frame=published)
    """
    rows = [(one.model, one.elo, one.ci_low, one.ci_high, one.roleplays) for one in entries if one.elo is not None]
    if not rows:
        raise MetricInputError("no entry has a rating")
    names = {"model": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        unit=pl.lit("board"), metric=pl.lit("rating"), condition=pl.lit(None, pl.String), clusters="n"
    )
    metrics = {"rating": Metric(name="rating", label="Rating as published", digits=0, source="EQ-Bench 4, Paech 2026")}
    table = score_table(frame.select("model", "unit", "metric", "value"), metrics=metrics, about={"unit": "scenario"})
    return table, frame
