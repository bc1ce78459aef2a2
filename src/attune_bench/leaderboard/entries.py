"""Entries of a leaderboard: files of scores, each alone or with a TOML file that says whose they are.

.. code-block:: toml

    scores = "large.parquet"        # beside this file
    model = "vendor/large"          # as the scores name it; where they are of one model it may be left out
    link = "https://example.org/large"
    date = 2026-11-20               # on which the model was run
    submitter = "Example Lab"
    contact = "evals@example.org"   # for the maintainers; no page shows it
    licence = "cc-by-4.0"           # of the scores
"""

import os
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path, PurePath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import polars as pl

from attune_bench.group_settings import kind_of_group
from attune_bench.report.suppression import hides
from attune_bench.score_table import ScoreTable, term_columns
from attune_bench.scores import Scores
from attune_bench.stats.comparability import settings_by_group
from attune_bench.stats.intervals import too_few
from attune_bench.stats.options import MIN_CLUSTERS
from attune_bench.stats.ranking import direction
from attune_bench.stats.series import ScoreSeries
from attune_data.codebook import parse_toml
from attune_data.io.documents import read_input
from attune_data.issues import SourceError, shown
from attune_data.publishing import find_licence, licences
from attune_data.text import listed, meant
from attune_metrics.metric import MetricInputError
from attune_metrics.stats.bootstrap import STATISTICS

__all__ = ["Entry", "check_entry"]

_LONGEST = 200  # characters of a text of one line
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")


class Entry(NamedTuple):
    """What is entered: scores, and who entered them.

    Attributes
    ----------
    name : str
        The file, for messages.
    table : ScoreTable
        The scores of what is entered.
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
    mistakes = [f"{path}: {name}: no such key; {meant(name, _KEYS)}" for name in given if name not in _KEYS]
    for name, check in _KEYS.items():
        if name not in given and name != "model":
            mistakes.append(f"{path}: {name} is missing; {_WANTED[name]}")
        elif name in given and (why := check(given[name])):
            mistakes.append(f"{path}: {name}: {shown(given[name])} {why}; {_WANTED[name]}")
    when = _day(given.get("date"))
    if when is not None and when > latest:
        mistakes.append(f"{path}: date: {when} is in the future; is the year right?")
    about = {
        "link": str(given.get("link")),
        "date": str(when),
        "submitter": str(given.get("submitter")),
        "licence": _licence(given.get("licence")) or "",
    }
    if "scores" not in given or _KEYS["scores"](given["scores"]):
        return None, mistakes
    source = path.parent / given["scores"]
    beside = source.with_suffix(".toml")
    for file in (source, beside):
        # What is submitted could lead to any file of whoever checks it, and what is wrong with that quotes it.
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
        mistakes.append(f"{path}: model: the scores have no model {shown(model)}; {meant(str(model), models)}")
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
        return None, [
            f"{path}: {metric.name} depends on all models' results and cannot rank them; name another primary"
        ]
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
            mistakes.append(f"{path}: {called} has no value of {metric.name}, which ranks; did all of its runs fail?")
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
    return _text(value) or (
        "" if _EMAIL.fullmatch(value) or not _link(value) else "is neither e-mail nor https address"
    )


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


_KEYS: dict[str, Callable[[Any], str]] = {
    "scores": _file,
    "model": _text,
    "link": _link,
    "date": lambda value: "" if _day(value) else "is no date",
    "submitter": _text,
    "contact": _contact,
    "licence": lambda value: "" if _licence(value) else "is no licence that is known",
}
_WANTED = {
    "scores": "the name of a file of scores beside this one, such as scores.parquet",
    "model": "the model as the scores name it",
    "link": "where the model or its runs are described, such as https://example.org/model",
    "date": "the day on which the model was run, such as 2026-11-20",
    "submitter": "who ran the model, in one line",
    "contact": "an e-mail address, or an https address, which no page shows",
    "licence": f"that of the scores, one of {listed(sorted(licences()), 6)}",
}
