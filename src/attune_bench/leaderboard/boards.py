"""Boards of a leaderboard: entries, read and checked, and merged into one table where they are comparable.

An entry is a file of scores, alone or with a TOML file that describes it.

.. code-block:: toml

    scores = "large.parquet"        # beside this file
    model = "vendor/large"          # as the scores name it; where they are of one model it may be left out
    link = "https://example.org/large"
    date = 2026-11-20               # on which the model was run
    submitter = "Example Lab"
    contact = "evals@example.org"   # for the maintainers; no page shows it
    licence = "cc-by-4.0"           # of the scores

Two entries are on one board where their scores agree in benchmark, protocol, variant, codebook, data, metrics, and in
every setting of the runs that changes an answer (see `attune_bench.stats.comparability`), and where each entry shares
units with another. People and baselines have no settings: they are on every board of their data.
"""

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import chain
from pathlib import Path, PurePath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import polars as pl
from typing_extensions import Unpack

from attune_bench._version import __version__
from attune_bench.report.columns import interval_words, under_condition
from attune_bench.report.document import strict
from attune_bench.report.notes import provenance_line, standing_notes
from attune_bench.report.privacy import few_groups, hide_small_cells, hides, shown_strata, shown_summary
from attune_bench.report.tables import TIERS
from attune_bench.scores.pairwise import is_fitted
from attune_bench.scores.parts import UNIT_KEYS
from attune_bench.scores.provenance import kind_of_group, setting_text
from attune_bench.scores.table import ScoreTable, entry_fields, term_columns
from attune_bench.stats.comparability import Group, settings_by_group
from attune_bench.stats.compare import exchanges_of_all
from attune_bench.stats.options import MIN_CLUSTERS, AnalysisOptions, SamplingKeywords, ScoreSeries, direction, too_few
from attune_bench.stats.rank import Tiers, tiers
from attune_bench.stats.signing import sign
from attune_bench.stats.subgroups import strata_and_known, unit_traits
from attune_bench.verbs.scores import Scores
from attune_data.codebook import parse_toml
from attune_data.io.documents import read_input
from attune_data.issues import SourceError, shown
from attune_data.licences import find_licence, licences
from attune_data.query import spelled_alike
from attune_data.record import canonical
from attune_data.text import did_you_mean, listed, plural
from attune_metrics.metric import MetricInputError
from attune_metrics.signature import hash_records
from attune_metrics.stats.bootstrap import STATISTICS

_LONGEST = 200  # characters of a text of one line
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")


class Entry(NamedTuple):
    """Submitted scores, and who submitted them.

    Attributes
    ----------
    name : str
        The file, for messages.
    table : ScoreTable
        The submitted scores.
    about : mapping of str to str
        ``link, date, submitter, licence``; empty where there is no more than scores.
    """

    name: str
    table: ScoreTable
    about: Mapping[str, str] = {}


def check_entry(path: Path, *, today: date | None = None, small_cells: bool = False) -> tuple[Entry | None, list[str]]:
    """Return an entry and all that is wrong with it, a sentence each; no entry where its scores cannot be read.

    `today` is by default the day of the call; a date after the next day is a mistake. So is a model that was run on
    fewer than 5 people, unless `small_cells` are shown.
    """
    if path.suffix.lower() != ".toml":
        table, why = _scores(path)
        return (None, [why]) if table is None else _checked(path, table, list(table.models), {}, small_cells)
    try:
        given = parse_toml(read_input(path))
    except OSError as error:
        return None, [f"{path} cannot be read: {error.strerror or error}"]
    except ValueError as error:
        return None, [f"{path} is not TOML: {error}"]
    latest = (today or date.today()) + timedelta(days=1)
    mistakes = [f"{path}: {name}: no such key; {did_you_mean(name, _KEYS)}" for name in given if name not in _KEYS]
    for name, (check, wanted) in _KEYS.items():
        if name not in given and name != "model":
            mistakes.append(f"{path}: {name} is missing; {wanted}")
        elif name in given and (why := check(given[name])):
            mistakes.append(f"{path}: {name}: {shown(given[name])} {why}; {wanted}")
    when = _day(given.get("date"))
    if when is not None and when > latest:
        mistakes.append(f"{path}: date: {when} is in the future; is the year right?")
    about = {
        "link": str(given.get("link")),
        "date": str(when),
        "submitter": str(given.get("submitter")),
        "licence": _licence(given.get("licence")) or "",
    }
    if "scores" not in given or _file(given["scores"]):
        return None, mistakes
    source = path.parent / given["scores"]
    beside = source.with_suffix(".toml")
    for file in (source, beside):
        # A link could lead to any file of the checking user, and messages would quote that file.
        if Path(os.path.realpath(file)).parent != Path(os.path.realpath(path.parent)):
            why = f"{file.name} is a link out of the folder of this file; send the file itself"
            return None, [*mistakes, f"{path}: scores: {why}"]
    table, why = _scores(source)
    if table is None:
        also = f"; {path.name} is read as its description, so call the entry otherwise" if beside == path else ""
        return None, [*mistakes, f"{path}: scores: {why}{also}"]
    models = [model for model in table.models if kind_of_group(model) == "model"]
    model = given.get("model")
    if model is None and len(models) != 1:
        mistakes.append(f"{path}: model is missing, and the scores are of {listed(models) or 'no model'}; name one")
    elif model is not None and model not in models:
        mistakes.append(f"{path}: model: the scores have no model {shown(model)}; {did_you_mean(str(model), models)}")
    else:
        entry, found = _checked(path, table, [model or models[0]], about, small_cells)
        return entry, mistakes + found
    return None, mistakes


def _scores(path: Path) -> tuple[ScoreTable | None, str]:
    """Return the scores of a file, or why there are none."""
    try:
        return Scores.read(path), ""
    except (SourceError, MetricInputError) as error:
        return None, str(error)


def _checked(
    path: Path, table: ScoreTable, models: list[str], about: Mapping[str, str], small_cells: bool
) -> tuple[Entry | None, list[str]]:
    """Return the entry of some models, and what keeps their scores from a board."""
    kept = table.keep(groups=[group for group in table.groups if group[0] in models])
    held, metric = kept.provenance, kept.metric(kept.primary)
    if kept.values.is_empty():
        return None, [f"{path}: the scores have no row: no model was run on any {held.unit}"]
    if metric.statistic not in STATISTICS:
        why = f"{metric.name} depends on all models' results and cannot rank them; name another primary"
        return None, [f"{path}: {why}"]
    mistakes = []
    try:
        direction(metric)
    except MetricInputError as error:
        mistakes.append(f"{path}: {error}; name another primary")
    settings, series = settings_by_group(kept), ScoreSeries(kept)
    has_value = pl.all_horizontal(pl.col(column).is_not_null() for column in term_columns(metric))
    valued = set(kept.values.filter(has_value).select("model", "condition").iter_rows())
    for group, run in zip(series.groups, series.scored, strict=True):
        called = group[0] if group[1] is None else f"{group[0]} [{group[1]}]"
        if group not in valued:
            every = plural(int(run.sum()), held.unit)
            mistakes.append(f"{path}: {called} cannot be ranked: its values of {metric.name} are all missing ({every})")
        elif hides(kept, small_cells=small_cells) and (clusters := series.count(run)) < MIN_CLUSTERS:
            mistakes.append(f"{path}: {called} was run on {clusters}, {too_few(kept)}; such values are not shown")
        for name, values in settings.get(group, {}).items():
            if len(values) > 1:
                mistakes.append(
                    f"{path}: the runs of {called} differ in {name}: {listed(values)}; enter runs made in one way"
                )
    return Entry(str(path), kept, about), mistakes


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        return "is no text"
    if len(value) > _LONGEST:
        return f"has {len(value)} characters, more than {_LONGEST}"
    return "" if value.isprintable() else "has characters that do not print"


def _file(value: Any) -> str:
    if why := _text(value):
        return why
    return "" if PurePath(value).name == value and "\\" not in value else "is not in the folder of this file"


def _link(value: Any) -> str:
    if why := _text(value):
        return why
    try:
        parts = urlsplit(value)
        fits = parts.scheme == "https" and bool(parts.hostname) and parts.username is None and " " not in value
    except ValueError:
        fits = False
    return "" if fits else "is no address that begins with https://"


def _contact(value: Any) -> str:
    fits = _EMAIL.fullmatch(str(value)) or not _link(value)
    return _text(value) or ("" if fits else "is neither e-mail nor https address")


def _licence(value: Any) -> str | None:
    found = find_licence(value) if isinstance(value, str) else None
    return None if found is None else found.id


def _day(value: Any) -> date | None:
    """Return a date of TOML, or a text that is one."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


_KEYS: dict[str, tuple[Callable[[Any], str], str]] = {
    "scores": (_file, "the name of a file of scores beside this one, such as scores.parquet"),
    "model": (_text, "the model as the scores name it"),
    "link": (_link, "where the model or its runs are described, such as https://example.org/model"),
    "date": (
        lambda value: "" if _day(value) else "is no date",
        "the day on which the model was run, such as 2026-11-20",
    ),
    "submitter": (_text, "who ran the model, in one line"),
    "contact": (_contact, "an e-mail address, or an https address, which no page shows"),
    "licence": (
        lambda value: "" if _licence(value) else "is no licence that is known",
        f"the licence of the scores, one of {listed(sorted(licences()), 6)}",
    ),
}
"""By key of an entry, the check of a value, which returns its fault, and the expected value in words."""


Settings = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Board:
    """Entries that may be compared.

    Attributes
    ----------
    title : str
        What the board is called, with what sets it apart from other boards of its benchmark.
    table : ScoreTable
        The scores of all its entries.
    sources : mapping of (str, str or None) to Entry
        By model and condition, where the row comes from.
    left_out : sequence of str
        The models that are not shown, and why.
    """

    title: str
    table: ScoreTable
    sources: Mapping[Group, Entry]
    left_out: Sequence[str] = ()


def make_boards(entries: Iterable[Entry], *, small_cells: bool = False) -> list[Board]:
    """Return the boards of entries, those with most models first.

    Parameters
    ----------
    entries : iterable of Entry
        The submitted entries.
    small_cells : bool
        Where clusters are people: whether to show models that were run on fewer than 5 of them.

    Raises
    ------
    MetricInputError
        Where there is no entry, two are of one model and condition, or they contradict each other in a unit.
    """
    by_base: dict[bytes, list[Entry]] = {}
    for entry in entries:
        by_base.setdefault(canonical(_base(entry.table)), []).append(entry)
    if not by_base:
        raise MetricInputError("no entries; a leaderboard needs a file of scores at least")
    found = []
    for alike in chain.from_iterable(map(_by_units, by_base.values())):
        for settings, groups in _by_settings(alike):
            table = _merged(groups)
            # Without the model itself, as its place would tell of a hidden value.
            few = few_groups(table, table.primary) if hides(table, small_cells=small_cells) else []
            shown = table.keep(groups=[group for group in table.groups if group not in few]) if few else table
            why = [
                f"{model if under is None else f'{model} [{under}]'}: {table.primary} of {too_few(table)}"
                for model, under in few
            ]
            found.append((_base(alike[0].table), settings, Board(table.provenance.title, shown, groups, why)))
    apart = []
    for base, settings, board in found:
        others = [(one, given) for one, given, other in found if other.title == board.title]
        apart.append((board.title, _apart(base, settings, others)))
    counts = Counter(apart)
    named = []
    for (*_, board), (title, what) in zip(found, apart, strict=True):
        units = board.table.units["unit"]
        span = f"units {' to '.join([*units.head(1), *units.tail(1)])}" if counts[title, what] > 1 else ""
        said = ", ".join(filter(None, (what, span)))
        named.append(replace(board, title=f"{title}: {said}" if said else title))
    return sorted(named, key=lambda board: (-len(board.table.models), board.title))


def _base(table: ScoreTable) -> dict[str, Any]:
    """Return everything besides settings that comparable files agree in."""
    held = table.provenance
    metrics = {name: entry_fields(metric) for name, metric in table.metrics.items()}
    about = held.model_dump(
        include={"benchmark", "title", "protocol", "similarity", "codebook", "data", "variant", "unit", "cluster",
                 "condition", "reference", "private", "synthetic", "headline", "comparability_keys"}
    )  # fmt: skip
    # Ratings of two fits say nothing of each other, whoever the reference is.
    fitted = any(map(is_fitted, table.metrics.values()))
    about |= {"fit": held.runs, "reference": None} if fitted else {"fit": None}
    return {**about, "primary": table.primary, "metrics": hash_records([canonical(metrics)])}


def _by_units(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return entries in parts that have no unit in common: tables of different questions can have one title."""
    parts: list[tuple[set[str], list[Entry]]] = []
    for entry in entries:
        units = set(entry.table.units["unit"])
        apart = [part for part in parts if units.isdisjoint(part[0])]
        joined = [part for part in parts if not units.isdisjoint(part[0])]
        together = [*chain.from_iterable(held for _, held in joined), entry]
        parts = [*apart, (units.union(*(known for known, _ in joined)), together)]
    return [held for _, held in parts]


def _by_settings(entries: Sequence[Entry]) -> list[tuple[Settings, dict[Group, Entry]]]:
    """Return the models and conditions of entries, grouped by settings that agree."""
    given: dict[bytes, tuple[Settings, list[tuple[Group, Entry]]]] = {}
    everywhere: dict[Group, Entry] = {}
    for entry in entries:
        settings = settings_by_group(entry.table, beside=(other.table for other in entries))
        for group in entry.table.groups:
            if kind_of_group(group[0]) != "model":
                first = everywhere.setdefault(group, entry)
                if first is not entry and not _same_rows(first, entry, group):
                    raise MetricInputError(
                        f"{first.name} and {entry.name} have different scores of {group[0]!r}; leave one out, or give "
                        "another name"
                    )
                continue
            own = settings[group]
            given.setdefault(canonical(own), (own, []))[1].append((group, entry))
    boards: list[tuple[Settings, dict[Group, Entry]]] = []
    # A setting that does not apply to a run contradicts none: those with most settings found boards, others join.
    for own, groups in sorted(given.values(), key=lambda one: (-len(one[0]), -len(one[1]), canonical(one[0]))):
        fitting = (one for one in boards if all(one[0].get(name, value) == value for name, value in own.items()))
        if (board := next(fitting, None)) is None:
            boards.append(board := ({}, {}))
        known, held = board
        known.update(own)
        for group, entry in groups:
            if group in held:
                raise MetricInputError(
                    f"{held[group].name} and {entry.name} both have scores of {group[0]!r}; leave one out"
                )
            held[group] = entry
    return [(known, {**held, **everywhere}) for known, held in boards] or [({}, everywhere)]


def _same_rows(one: Entry, other: Entry, group: Group) -> bool:
    """Tell whether two entries say the same of a person or baseline, who may be in many files."""
    first, second = (entry.table.keep(groups=[group]).values.sort("unit") for entry in (one, other))
    return first.equals(second.select(first.columns))


def _apart(base: Mapping[str, Any], settings: Settings, others: Sequence[tuple[Mapping[str, Any], Settings]]) -> str:
    """Say what sets a board apart from others of its title."""
    parts = []
    for name in base:
        if any(one[name] != base[name] for one, _ in others):
            value = base[name]
            text = ", ".join(f"{key} {option}" for key, option in value.items()) if isinstance(value, dict) else value
            parts.append(text if name == "variant" and text else f"{name} {setting_text(text)}")
    for name, values in settings.items():
        if any(given.get(name) != values for _, given in others):
            parts.append(f"{name} {listed(values)}")
    return ", ".join(parts)


def _merged(groups: Mapping[Group, Entry]) -> ScoreTable:
    """Return the scores of models and conditions in one table."""
    by_entry: dict[int, tuple[Entry, list[Group]]] = {}
    for group, entry in groups.items():
        by_entry.setdefault(id(entry), (entry, []))[1].append(group)
    tables = [entry.table.keep(groups=own) for entry, own in by_entry.values()]
    first = tables[0]
    held = [table.provenance for table in tables]
    known = {one.runs for one in held}
    expected = {one.expected for one in held}
    provenance = first.provenance.model_copy(
        update={
            "library_version": "/".join(sorted({one.library_version for one in held})),
            # Without the hashes of all runs the signature hashes the scores.
            "data": None if None in known else first.provenance.data,
            "runs": None if None in known else known.pop() if len(known) == 1 else hash_records(map(canonical, known)),
            "expected": expected.pop() if len(expected) == 1 else None,
            "notes": tuple(dict.fromkeys(note for one in held for note in one.notes)),
            "issues": tuple(dict.fromkeys(issue for one in held for issue in one.issues)),
            "settings": tuple(
                own for table in tables for own in table.provenance.settings if (own.model, own.condition) in groups
            ),
            "mixed": False,
        }
    )
    repeats = [table.repeats for table in tables if table.repeats is not None]
    return ScoreTable(
        values=pl.concat([table.values for table in tables], how="diagonal_relaxed"),
        units=_units(list(by_entry.values()), tables),
        metrics=first.metrics,
        provenance=provenance,
        repeats=pl.concat(repeats, how="diagonal_relaxed") if repeats else None,
    )


def _units(entries: Sequence[tuple[Entry, Any]], tables: Sequence[ScoreTable]) -> pl.DataFrame:
    """Return every unit once, with its cluster and traits; what one file does not say of it, another may."""
    named = zip(entries, tables, strict=True)
    units = [table.units.with_columns(pl.lit(entry.name).alias("\0file")) for (entry, _), table in named]
    every = pl.concat(units, how="diagonal_relaxed")
    if tables[0].provenance.private:
        # Files of earlier versions have participants in small letters.
        every = every.with_columns(pl.Series("cluster", spelled_alike(every["cluster"]), pl.String))
    about = [name for name in every.columns if name not in ("unit", "\0file")]
    for name in about:
        said = every.drop_nulls(name).unique(["unit", name], maintain_order=True)
        for unit, rows in said.filter(pl.col("unit").is_duplicated()).group_by("unit", maintain_order=True):
            one, other = rows.select(name, "\0file").head(2).rows()
            raise MetricInputError(
                f"{name} of {tables[0].provenance.unit} {unit[0]!r} is {one[0]!r} in {one[1]} and {other[0]!r} in "
                f"{other[1]}; are both of one data set?"
            )
    merged = every.group_by("unit").agg(pl.col(about).drop_nulls().first()).sort("unit")
    return merged.select(*UNIT_KEYS, *(name for name in about if name not in UNIT_KEYS))


FORMAT = 1
"""The version of ``board.json``; it grows where a key changes its meaning or goes."""

_MOST_STRATA = 20


def leaderboard_content(
    boards: Sequence[Board], *, small_cells: bool = False, **options: Unpack[SamplingKeywords]
) -> dict[str, Any]:
    """Return what ``board.json`` has; docs/leaderboard.md describes its keys.

    Parameters
    ----------
    boards : sequence of Board
        As from `attune_bench.leaderboard.boards.make_boards`.
    small_cells : bool
        Where clusters are people: whether to show values that rest on fewer than 5 of them, or would give such values
        away; see `attune_bench.report.privacy`.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``weight``, ``interval`` (no BCa); see
        `attune_bench.stats.options.AnalysisOptions`.

    Returns
    -------
    dict
        Strict JSON: nan is null, and a row with a null has its ``reason``.

    Raises
    ------
    MetricInputError
        As `attune_bench.stats.rank.tiers`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.leaderboard.boards import make_boards
    >>> from attune_bench.leaderboard.boards import Entry
    >>> from attune_data import load, load_runs
    >>> entry = Entry("demo", score(load("demo"), load_runs("demo")))
    >>> [board] = leaderboard_content(make_boards([entry]), resamples=200)["boards"]
    >>> [(row["model"], row["tier"]) for row in board["conditions"][0]["models"]]
    [('synthetic/attentive', 1), ('synthetic/hasty', 2)]
    """
    chosen = AnalysisOptions(**options)
    sampled = {name: getattr(chosen, name) for name in ("resamples", "seed", "level", "unit", "weight", "interval")}
    return {
        "format": FORMAT,
        "library_version": __version__,
        "options": sampled,
        "tiers": TIERS,
        "boards": [_board(board, small_cells=small_cells, options=options) for board in boards],
    }


def _board(board: Board, *, small_cells: bool, options: SamplingKeywords) -> dict[str, Any]:
    table = board.table
    held = table.provenance
    about: dict[str, Any] = {
        "title": board.title,
        **{name: getattr(held, name) for name in ("benchmark", "protocol", "variant", "codebook")},
        # The merged scores have no hash of data where a file has no hash of its runs.
        "data": next((entry.table.provenance.data for entry in board.sources.values()), None),
        **{name: getattr(held, name) for name in ("unit", "cluster", "private", "synthetic")},
        "condition": held.condition,
        "ranked_by": table.primary,
        "metrics": [
            {"name": name, **_described(table, name)} for name in dict.fromkeys((table.primary, *table.headline))
        ],
        "left_out": list(board.left_out),
    }
    if table.values.is_empty():
        return {**about, "provenance": None, "signature": None, "intervals": None, "notes": [], "conditions": []}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        found = tiers(table, **options)
        names = [metric["name"] for metric in about["metrics"]]
        values = shown_summary(table, small_cells=small_cells, metrics=names, **options)
        strata, left_out = _strata(table, small_cells=small_cells, options=options)
    made_of_units = [name for name in names if table.metric(name).statistic in STATISTICS]
    exchanges = exchanges_of_all(table, AnalysisOptions(**options).resamples)
    shown = Tiers(*(hide_small_cells(table, frame, small_cells=small_cells) for frame in found))
    families = dict(found.pairs.group_by("condition").agg(pl.col("p").count()).iter_rows())
    notes = [*standing_notes(table), *left_out]
    if hides(table, small_cells=small_cells):
        notes.append(f"Values of {too_few(table)} are not shown, nor others from which they would follow.")
    notes += dict.fromkeys(f"Warning: {str(one.message).rstrip('.')}." for one in caught)
    content: dict[str, Any] = strict(
        {
            **about,
            "provenance": provenance_line(table),
            "signature": sign(table, metrics=made_of_units, exchanges=exchanges, **options),
            "intervals": interval_words(table, AnalysisOptions(**options), values),
            "notes": notes,
            "conditions": [
                _condition(board, condition, shown, values, strata, families.get(condition, 0), options)
                for condition in table.conditions
            ],
        }
    )
    return content


def _described(table: ScoreTable, name: str) -> dict[str, Any]:
    """Return how a metric is read, every key given."""
    metric = table.metric(name)
    return {
        "label": metric.short or metric.label,
        **{name: getattr(metric, name) for name in ("higher_is_better", "scale", "digits", "statistic")},
        "low": None,
        "high": None,
        **{key: value for key, value in entry_fields(metric).items() if key in ("low", "high", "source")},
    }


def _condition(
    board: Board,
    condition: str | None,
    found: Tiers,
    values: pl.DataFrame,
    strata: pl.DataFrame | None,
    family: int,
    options: SamplingKeywords,
) -> dict[str, Any]:
    table = board.table
    here = pl.col("condition").eq_missing(condition)
    of_model: dict[str, dict[str, Any]] = {}
    for row in values.filter(here).drop("condition").iter_rows(named=True):
        of_model.setdefault(row.pop("model"), {})[row.pop("metric")] = row
    pairs = found.pairs.filter(here).drop("condition", "metric")
    settings = settings_by_group(table)
    models = []
    for row in found.models.filter(here).drop("condition", "metric").iter_rows(named=True):
        group = row["model"], condition
        entry = board.sources[group]
        alone = entry.table.keep(groups=[group])
        models.append(
            {
                **{("rank_" + name if name in ("low", "high") else name): value for name, value in row.items()},
                "kind": kind_of_group(row["model"]),
                "metrics": of_model[row["model"]],
                **{name: entry.about.get(name) for name in ("link", "date", "submitter", "licence")},
                "library_version": alone.provenance.library_version,
                "runs": alone.provenance.runs,
                "settings": {name: list(value) for name, value in settings.get(group, {}).items()},
                "signature": sign(alone, metrics=[table.primary], **options),
            }
        )
    return {
        "condition": condition,
        "title": under_condition(table, condition).removeprefix(", "),
        "family": family,
        "exchanges": exchanges_of_all(table, AnalysisOptions(**options).resamples),
        "models": models,
        "pairs": pairs.to_dicts(),
        "subgroups": [] if strata is None else strata.filter(here).drop("condition").to_dicts(),
    }


def _strata(
    table: ScoreTable, *, small_cells: bool, options: SamplingKeywords
) -> tuple[pl.DataFrame | None, Sequence[str]]:
    """Return the primary metric in the strata of the units' traits after suppression, and notes on traits left out."""
    counts = {trait: len(strata_and_known(unit_traits(table), trait)[0]) for trait in table.traits}
    shown = [trait for trait, count in counts.items() if 1 < count <= _MOST_STRATA]
    others = [trait for trait in counts if trait not in shown]
    notes = [f"No subgroups by {trait}: it has {plural(counts[trait], 'value')}." for trait in others]
    found = shown_strata(table, shown, small_cells=small_cells, metrics=[table.primary], **options)
    rows = [one.rows.select(pl.lit(one.trait).alias("trait"), pl.exclude("metric")) for one in found]
    return pl.concat(rows) if rows else None, notes
