"""Boards: the entries whose numbers may be set side by side, merged into one table of scores each.

Two entries are on one board where their scores agree in benchmark, protocol, variant, codebook, data, in what their
metrics are, and in every setting of the runs that changes an answer, as `attune_bench.stats.comparability` has it; and
where units join them, each entry sharing some with another.
People and baselines have no settings: they are on every board of their data.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from attune_bench.entries import entry_fields
from attune_bench.group_settings import kind_of_group, setting_text
from attune_bench.leaderboard.entries import Entry
from attune_bench.report.suppression import hides
from attune_bench.score_table import UNIT_KEYS, ScoreTable
from attune_bench.stats.comparability import Group, settings_by_group
from attune_bench.stats.intervals import too_few
from attune_bench.stats.options import MIN_CLUSTERS
from attune_bench.stats.series import ScoreSeries
from attune_data.query import spelled_alike
from attune_data.record import canonical
from attune_data.text import listed
from attune_metrics.metric import MetricInputError
from attune_metrics.signature import hash_records

__all__ = ["Board", "make_boards"]

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
        What is entered.
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
            few = _on_few(table) if hides(table, small_cells=small_cells) else []
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
        units = _unit_span(board) if counts[title, what] > 1 else ""
        said = ", ".join(filter(None, (what, units)))
        named.append(replace(board, title=f"{title}: {said}" if said else title))
    return sorted(named, key=lambda board: (-len(board.table.models), board.title))


def _unit_span(board: Board) -> str:
    units = board.table.units["unit"].to_list()
    return f"units {' to '.join([*units[:1], *units[-1:]])}"


def _on_few(table: ScoreTable) -> list[Group]:
    """Return the models and conditions whose value of the primary metric rests on too few clusters to be ranked.

    Hiding the value alone would not do: where the model stands tells of it.
    """
    series = ScoreSeries(table)
    present = ~np.isnan(series.values(table.primary)[:, 0])
    return [group for group, own in zip(series.groups, present, strict=True) if series.count(own) < MIN_CLUSTERS]


def _base(table: ScoreTable) -> dict[str, Any]:
    """Return what two files agree in whose models may be compared, their settings apart."""
    held = table.provenance
    metrics = {name: entry_fields(metric) for name, metric in table.metrics.items()}
    about = held.model_dump(
        include={"benchmark", "title", "protocol", "similarity", "codebook", "data", "variant", "unit", "cluster",
                 "condition", "reference", "private", "synthetic", "headline", "decisive"}
    )  # fmt: skip
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
    """Return the models and conditions of entries, those together whose settings agree."""
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
    boards: list[tuple[dict[str, tuple[str, ...]], dict[Group, Entry]]] = []
    # A setting that does not apply to a run contradicts none: those with most settings found boards, others join.
    for own, groups in sorted(given.values(), key=lambda one: (-len(one[0]), -len(one[1]), canonical(one[0]))):
        fitting = (one for one in boards if all(one[0].get(name, value) == value for name, value in own.items()))
        board = next(fitting, None)
        if board is None:
            board = ({}, {})
            boards.append(board)
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
    runs = [one.runs for one in held]
    known = {name for name in runs if name is not None}
    expected = {one.expected for one in held}
    provenance = first.provenance.model_copy(
        update={
            "library_version": "/".join(sorted({one.library_version for one in held})),
            # Without the hashes of all runs the signature hashes the scores.
            "data": None if None in runs else first.provenance.data,
            "runs": None if None in runs else known.pop() if len(known) == 1 else hash_records(map(canonical, known)),
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
    every = pl.concat(
        [
            table.units.with_columns(pl.lit(entry.name).alias("\0file"))
            for (entry, _), table in zip(entries, tables, strict=True)
        ],
        how="diagonal_relaxed",
    )
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
