"""Anybody's per-item results as scores: a table with the columns ``model, unit, metric, value``.

Optional columns are ``condition``, ``cluster``, ``repeat`` (if models were asked several times), and any number of
traits of the units. A TOML file of the same name beside the table says what its metrics and units are called:

.. code-block:: toml

    columns = {unit = "question_id"}
    unit = "question"
    private = false
    primary = "accuracy"

    [metrics.accuracy]
    label = "Accuracy"
    low = 0
    high = 1

`attune_bench.scores.tables_out` does the reverse.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import polars as pl

from attune_bench.scores.parts import KEYS, REPEAT, UNIT_KEYS, Provenance
from attune_bench.scores.rating_tables import RATER, people_among
from attune_bench.scores.table import ScoreTable, as_means, means_over_repeats, note_on_repeats
from attune_bench.scores.table_columns import COLUMNS, REQUIRED
from attune_bench.scores.table_files import ROW
from attune_bench.scores.table_rows import TAKEN, table_rows
from attune_data.text import did_you_mean, plural
from attune_metrics.metric import Metric, MetricInputError

_WORDS = ("title", "unit", "cluster", "condition", "primary", "reference")
_ABOUT = (*_WORDS, "private", "synthetic", "traits")


def score_table(
    frame: pl.DataFrame,
    *,
    metrics: Mapping[str, Any] | None = None,
    about: Mapping[str, str | bool] | None = None,
    name: str = "the table",
    first_row: int = 1,
    columns: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
    description: str = "",
) -> ScoreTable:
    """Return the scores of anybody's per-item results.

    Parameters
    ----------
    frame : polars.DataFrame
        ``model, unit, metric, value``, optional ``condition, cluster, repeat``, and traits of units. ``value`` is a
        number, true or false, or one of these as text, with a decimal point or comma; null, empty text, nan and NA mean
        undefined. Blanks around names are removed; an empty condition or cluster means that there is none. With
        ``repeat`` in every row, the values are the means of each unit over the repeats in which the metric is defined.
        Or a wide table, see `attune_bench.scores.table_columns.long_layout`; or a table of ratings, in which a rater is
        the condition, see `attune_bench.scores.rating_tables.rating_columns`.
    metrics : mapping of str to mapping or Metric, optional
        As for `attune_bench.scores.table.metric_entries`. A metric that is not named here is a mean, and higher is
        better.
    about : mapping, optional
        ``title``, ``unit``, ``cluster``, ``condition``: the words for these; ``primary``: the main metric; ``private``:
        true if clusters are people, so that a page shows no value that rests on few of them; ``synthetic``: true if
        units are invented, which every output then says; ``reference``: the condition that others are set against, in
        a table of ratings by default the rater whose name has only words for people; ``traits``: columns of numbers of
        a wide table that are neither metrics nor models.
    name : str
        What errors call the table.
    first_row : int
        The number of the first row, as the file counts.
    columns : mapping of str to str, optional
        Columns that have another name, see `attune_bench.scores.table_columns.renamed`.
    assumed : sequence of str
        What was concluded from the content of the file, for a note.
    description : str
        The name of the TOML file that can describe the table, for a note on metrics that have no description.

    Raises
    ------
    MetricInputError
        If a column is missing; ``value`` is no number or is infinite; a row names no model, unit or metric; a metric
        has the name of a column that scores use themselves; a value is outside the range of its metric; two rows have
        the same model, unit, metric, condition and repeat; only some rows name a repeat; or a unit has two clusters or
        two values of a trait. The text names the row, the column and the value.
    """
    about = about or {}
    read = table_rows(
        frame, metrics=metrics or {}, traits=about.get("traits", []), name=name, first_row=first_row, columns=columns,
        assumed=assumed,
    )  # fmt: skip
    checked, known, notes = read.frame, read.described, read.notes
    if read.columns:
        about = {"unit": read.columns["unit"], "condition": RATER, **about}
        if people := people_among(checked["condition"].unique().drop_nulls()):
            about = {"reference": people, **about}
    names_models = {"model", "metric"}.isdisjoint((*frame.columns, *(columns or {}), *read.columns))
    found = checked["metric"].unique(maintain_order=True).to_list()
    entries = {metric: known.get(metric) or Metric(name=metric, label=metric) for metric in [*known, *found]}
    named = _checked_about(about, entries, name)
    primary = named.get("primary", "")
    if primary and primary not in entries:
        raise MetricInputError(f"{name}: primary: no metric {primary!r}; {did_you_mean(primary, entries)}")
    reference, conditions = named.get("reference"), checked["condition"].unique().drop_nulls().to_list()
    if reference is not None and reference not in conditions:
        raise MetricInputError(f"{name}: reference: no condition {reference!r}; {did_you_mean(reference, conditions)}")
    repeated = checked[REPEAT].null_count() == 0
    index = [*KEYS, REPEAT] if repeated else [*KEYS]
    values = checked.pivot(on="metric", index=index, values="value", maintain_order=True).select(*index, *entries)
    repeats = None
    if repeated:
        repeats = values
        values, entries = means_over_repeats(repeats), as_means(entries)
        notes.append(note_on_repeats(named.get("unit", "unit")))
    traits = [column for column in checked.columns if column not in (*COLUMNS, ROW)]
    units = checked.select(*UNIT_KEYS, *traits).unique("unit", maintain_order=True).sort("unit")
    assumed = [metric for metric in found if metric not in known]
    if assumed:
        known_by = f"{plural(len(assumed), 'metric')} without a description ({', '.join(assumed)})"
        to = "name it, give --columns value=NAME, or" if names_models and assumed == ["value"] else "say more,"
        more = f" To {to} write {description} beside the table: docs/own-results.md." if description else ""
        notes.append(f"{known_by}: mean, higher is better.{more}")
    if units["cluster"].is_null().all():
        # Each unit is a cluster of its own.
        named.setdefault("cluster", named.get("unit", "unit"))
    elif named.get("cluster", "cluster") == named.get("unit", "unit"):
        raise MetricInputError(f"{name}: unit and cluster are both called {named['unit']!r}; call one otherwise")
    provenance = Provenance(**{"title": "Scores", **named}, notes=tuple(notes), issues=read.issues)
    return ScoreTable(values=values, units=units, metrics=entries, provenance=provenance, repeats=repeats)


def _checked_about(about: Mapping[str, Any], metrics: Mapping[str, Metric], name: str) -> dict[str, Any]:
    for key, value in about.items():
        if key not in _ABOUT:
            of_metric = key in {one.name for one in fields(Metric)}
            hint = "write it under [metrics.NAME]" if of_metric else did_you_mean(key, ("metrics", "columns", *_ABOUT))
            raise MetricInputError(f"{name}: {key}: no such key; {hint}")
        if key in _WORDS and (not isinstance(value, str) or not value.strip()):
            raise MetricInputError(f"{name}: {key}: {value!r:.60} is no text")
        if key in {"private", "synthetic"} and not isinstance(value, bool):
            raise MetricInputError(f"{name}: {key}: {value!r:.60} is neither true nor false")
    # The word for a condition is the heading of a column in every output.
    if (called := about.get("condition", "condition")) != "condition" and called in {*TAKEN, *REQUIRED, *metrics}:
        raise MetricInputError(f"{name}: condition: {called!r} is a column of scores; call it otherwise")
    return {key: value for key, value in about.items() if key != "traits"}
