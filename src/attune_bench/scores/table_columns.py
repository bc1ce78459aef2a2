"""Which column of anybody's table is what: columns of other names, and tables with a column a metric or a model.

Scores are made of a long table, with the columns ``model, unit, metric, value``. `long_layout` makes one of a table

- with ``model`` and ``unit``, and a column of numbers for each metric,
- with ``unit``, and a column of numbers for each model.
"""

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches

import polars as pl

from attune_bench.scores.parts import REPEAT
from attune_bench.scores.table_files import ROW, check_no_pattern
from attune_bench.scores.table_numbers import has_numbers
from attune_data.text import did_you_mean, joined, listed
from attune_metrics.metric import MetricInputError

REQUIRED = ("model", "unit", "metric", "value")
OPTIONAL = ("condition", "cluster", REPEAT)
COLUMNS = (*REQUIRED, *OPTIONAL)
"""The columns of a long table that are no traits."""

_OTHER_NAMES = {
    "model": ("model", "system", "llm", "agent", "candidate", "engine"),
    "unit": (
        "unit", "item", "id", "question", "prompt", "example", "sample", "task", "scenario", "conversation", "dialogue",
        "case", "problem", "instance", "doc", "index",
    ),
    "metric": ("metric", "measure", "criterion", "dimension", "outcome"),
    "value": ("value", "score", "result", "rating", "points"),
    REPEAT: (REPEAT, "seed", "run", "trial", "epoch", "attempt", "iteration", "replicate"),
    "row": ("index", "id", "row", "unnamed", "no", "number"),
}  # fmt: skip
_WORDS_OF_METRICS = (
    "accuracy", "acc", "auc", "average", "bleu", "correct", "cost", "em", "error", "exact", "f", "kappa", "latency",
    "loss", "macro", "mae", "match", "mean", "micro", "passed", "precision", "rate", "recall", "rouge", "score", "time",
    "tokens", "wer",
)  # fmt: skip
_FURTHER_WORDS = ("id", "ids", "name", "names", "no", "nr", "number", "index", "idx", "s")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def renamed(frame: pl.DataFrame, columns: Mapping[str, str], name: str) -> tuple[pl.DataFrame, str | None]:
    """Return a table with the columns of a long table under their own names, and the name of its only metric.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    columns : mapping of str to str
        From a name in `COLUMNS`, or ``rater``, to the name of the column in the table. Where ``value`` is mapped, the
        mapped name is the name of the only metric, if nothing else names metrics; such a table may have a column for
        each model, and none of the mapped name.
    name : str
        What errors call the table.

    Raises
    ------
    MetricInputError
        If the table has no such column, or has a column of the new name already.

    Examples
    --------
    >>> frame = pl.DataFrame({"system": ["a"], "item_id": ["q1"], "accuracy": [1.0]})
    >>> table, _ = renamed(frame, {"model": "system", "unit": "item_id", "value": "accuracy"}, "the table")
    >>> table.row(0, named=True)
    {'model': 'a', 'unit': 'q1', 'value': 1.0}
    >>> renamed(pl.DataFrame({"id": ["q1"], "gpt": [1], "claude": [0]}), {"unit": "id", "value": "score"}, "it")[1]
    'score'
    """
    named, of_models = columns.get("value"), {"model", "metric"}.isdisjoint((*frame.columns, *columns))
    if named not in frame.columns and of_models:
        columns = {role: column for role, column in columns.items() if role != "value"}
    for role, column in columns.items():
        if role not in (*COLUMNS, "rater"):
            raise MetricInputError(f"{name}: columns: no {role!r}; {did_you_mean(role, COLUMNS)}")
        if column not in frame.columns:
            raise MetricInputError(_no_column(frame, role, column, name))
        if role in frame.columns and role not in columns.values():
            raise MetricInputError(
                f"{name}: {column!r} is named as the {role}, and there is a column {role!r} too; leave one out"
            )
    if repeated := [column for column in columns.values() if [*columns.values()].count(column) > 1]:
        raise MetricInputError(f"{name}: columns: {repeated[0]!r} is named twice; a column is one thing")
    return frame.rename({column: role for role, column in columns.items()}), named


def long_layout(
    frame: pl.DataFrame,
    *,
    metrics: Collection[str] = (),
    traits: Collection[str] = (),
    metric: str | None = None,
    name: str = "the table",
) -> tuple[pl.DataFrame, list[str]]:
    """Return a table as a long table, and sentences that say which columns were read as what.

    Parameters
    ----------
    frame : polars.DataFrame
        A long table, which is returned as it is, or a wide one.
    metrics : collection of str
        Metrics that are described: their columns are metrics, whatever these contain.
    traits : collection of str
        Columns of numbers that are traits of units, neither metrics nor models.
    metric : str, optional
        The name of the only metric, of a table without the column ``metric``.
    name : str
        What errors call the table.

    Raises
    ------
    MetricInputError
        If the table is neither long nor wide; the text names the columns that are likely meant.

    Examples
    --------
    >>> wide = pl.DataFrame({"unit": ["q1", "q2"], "topic": ["work", "home"], "gpt": [1, 0], "claude": [0.5, None]})
    >>> table, said = long_layout(wide)
    >>> table.columns, table.height, said
    (['unit', 'topic', 'model', 'value', 'metric'], 4, ['Columns read as models: gpt, claude.'])
    """
    if metric is not None and "value" in frame.columns and "metric" not in frame.columns:
        frame = frame.with_columns(metric=pl.lit(metric))
    lacking = [column for column in REQUIRED if column not in frame.columns]
    if not lacking:
        return frame, []
    for column in frame.columns:
        check_no_pattern(column, name)
    kept = (*COLUMNS, ROW, *traits)
    others = [column for column in frame.columns if column not in kept and not _is_count_of_rows(frame[column])]
    numeric = [column for column in others if column in metrics or has_numbers(frame[column])]
    if not all(map(str.strip, numeric)):
        raise MetricInputError(f"{name}: a column of numbers has no name; name it, or leave it out")
    guesses = {role: guess for role in lacking if (guess := _guess(role, frame.columns, numeric))}
    if "metric" in lacking and "metric" not in guesses and len(numeric) > 1:
        guesses.pop("value", None)  # It would be one of several metrics.
    if "metric" in lacking and "metric" not in guesses and not {"model", "unit"}.intersection(lacking):
        if lacking == ["metric"]:
            return frame.with_columns(metric=pl.lit(_only(metrics))), []
        if numeric:
            _check_once(frame, others, numeric, name)
            return _metrics_as_rows(frame, numeric, metrics, kept)
    of_models = {"model", "value"} <= {*lacking} and "unit" not in lacking and not guesses.keys() & {"model", "metric"}
    if of_models and len(numeric) > 1 and not any(_is_metric(column, metrics) for column in numeric):
        _check_once(frame, others, numeric, name)
        empty = _without_value(frame, others)
        table = _unpivoted(frame.drop(empty), numeric, "model")
        if "metric" not in frame.columns:
            table = table.with_columns(metric=pl.lit(metric or _only(metrics)))
        left_out = [f"Columns without a value left out: {listed(empty, 12)}."] if empty else []
        return table, [f"Columns read as models: {listed(numeric, 12)}.", *left_out]
    if metric is not None and "value" in lacking:
        raise MetricInputError(_no_column(frame, "value", metric, name))
    raise MetricInputError(_explained(frame, lacking, guesses, numeric, name))


def _metrics_as_rows(
    frame: pl.DataFrame, numeric: Sequence[str], metrics: Collection[str], kept: Collection[str]
) -> tuple[pl.DataFrame, list[str]]:
    """Return a table with a column for each metric as a long table."""
    said: list[str] = []
    if frame["unit"].n_unique() < frame.height:
        differing = differing_in_units(frame, [column for column in frame.columns if column not in (*COLUMNS, ROW)])
        alike = [column for column in numeric if column not in differing and column not in metrics]
        if len(alike) < len(numeric):
            numeric = [column for column in numeric if column not in alike]
            if alike:
                said.append(f"Columns read as traits, as they are the same for every model: {', '.join(alike)}.")
        texts = [column for column in differing if column not in kept and column not in numeric]
        if texts:
            frame = frame.drop(texts)
            said.append(f"Columns left out, as they differ between the rows of a unit: {', '.join(texts)}.")
    said.insert(0, f"Columns read as metrics: {listed(numeric, 12)}.")
    return _unpivoted(frame, numeric, "metric"), said


def _only(metrics: Collection[str]) -> str:
    """Return the name of the metric of a table with one metric: the one that is described."""
    return next(iter(metrics)) if len(metrics) == 1 else "value"


def _unpivoted(frame: pl.DataFrame, numeric: Sequence[str], called: str) -> pl.DataFrame:
    is_text = any(frame.schema[column] == pl.String for column in numeric)
    frame = frame.with_columns(pl.col(numeric).cast(pl.String if is_text else pl.Float64))
    index = [column for column in frame.columns if column not in numeric]
    return frame.unpivot(numeric, index=index, variable_name=called, value_name="value")


def differing_in_units(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """Return the columns, of those given, with several values within a unit."""
    kinds = frame.group_by("unit").agg(pl.col(columns).n_unique())
    return [column for column in columns if (kinds[column] > 1).any()]


def same_rows(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the first two rows that are equal in some columns; no row where there are none."""
    repeated = frame.filter(pl.struct(keys).is_duplicated())
    if repeated.is_empty():
        return repeated
    same = (pl.col(key).eq_missing(pl.lit(value)) for key, value in repeated.select(keys).row(0, named=True).items())
    return repeated.filter(*same)[:2]


def _check_once(frame: pl.DataFrame, others: Sequence[str], numeric: Collection[str], name: str) -> None:
    """Raise if two rows are of one model and unit; name the column that likely tells the rows apart."""
    keys = [column for column in ("model", "condition", "unit", "metric", REPEAT) if column in frame.columns]
    rows = same_rows(frame, keys)
    if rows.is_empty():
        return
    first, second = rows.iter_rows(named=True)
    apart = [column for column in others if frame.select(*keys, column).is_unique().all()]
    repeats = [column for column in apart if _is_called(column, REPEAT)]
    texts = [column for column in apart if column not in numeric and frame.schema[column] == pl.String]
    if repeats and REPEAT not in keys:
        mend = f"if {repeats[0]!r} numbers the times, {_mapping({REPEAT: repeats[0]})}"
    elif texts and "model" not in keys:
        mend = f"if {texts[0]!r} names the model, {_mapping({'model': texts[0]})}"
    elif texts and "condition" not in keys:
        mend = f"if {texts[0]!r} says how the model was asked, {_mapping({'condition': texts[0]})}"
    else:
        mend = "leave one out, or number them in a column repeat"
    both = ", ".join(f"{key} {first[key]!r}" for key in keys if first[key] is not None)
    found = f", rows {first[ROW]} and {second[ROW]}: both are {both}"
    if "model" not in keys:
        found = f": no column 'model', and rows {first[ROW]} and {second[ROW]} are both of unit {first['unit']!r}"
    raise MetricInputError(f"{name}{found}; {mend}")


def _is_count_of_rows(cells: pl.Series) -> bool:
    """Tell whether a column such as ``index`` counts the rows of the table."""
    if not (_is_called(cells.name, "row") and cells.dtype.is_integer()):
        return False
    return any((cells == pl.int_range(start, start + cells.len(), eager=True)).all() for start in (0, 1))


def _without_value(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """Return the columns, of those given, that are empty or NA in every row."""
    return [column for column in columns if frame[column].null_count() == frame.height]


def _is_called(column: str, role: str) -> bool:
    """Tell whether a column has one of the usual names of a role."""
    words = [word.lower() for word in _WORD.findall(column)]
    first = words[0].removesuffix("s") if words else ""
    return first in _OTHER_NAMES[role] and all(word in _FURTHER_WORDS for word in words[1:])


def _is_metric(column: str, metrics: Collection[str]) -> bool:
    """Tell whether a column is described as a metric or called as one, so that it is no model."""
    words = [word.lower() for word in _WORD.findall(column)]
    return column in metrics or (bool(words) and all(word in _WORDS_OF_METRICS for word in words))


def _guess(role: str, columns: Iterable[str], numeric: Collection[str]) -> str | None:
    """Return the column that likely has a role: by a usual name, or by a similar one."""
    # A column of numbers names no model and no metric, unless it is called so; and it is the value of one only.
    named = role in ("unit", "value")
    others = [column for column in columns if column not in (*COLUMNS, ROW) and (named or column not in numeric)]
    usual = [column for column in others if _is_called(column, role)]
    return next(iter(usual or get_close_matches(role, others, n=1, cutoff=0.75)), None)


def _mapping(columns: Mapping[str, str]) -> str:
    """Return the end of a sentence that says how columns are named."""
    given = ",".join(f"{role}={column}" for role, column in columns.items())
    return f"give --columns {shlex.quote(given)}, in Python columns={dict(columns)}"


def _no_column(frame: pl.DataFrame, role: str, column: str, name: str) -> str:
    columns = [one for one in frame.columns if one != ROW]
    return f"{name}: no column {column!r} for {role}; {did_you_mean(column, columns)}"


def _explained(
    frame: pl.DataFrame, lacking: Sequence[str], guesses: Mapping[str, str], numeric: Sequence[str], name: str
) -> str:
    """Return the sentence that says which columns are missing, and what to do."""
    columns = [column for column in frame.columns if column != ROW]
    if guesses:
        missing, meant = (joined(list(map(repr, each))) for each in (guesses, guesses.values()))
        noun = "column" if len(guesses) == 1 else "columns"
        return f"{name}: no {noun} {missing}; did you mean {meant}? If so, {_mapping(guesses)}"
    of_numbers = len(lacking) == len(REQUIRED) and len(numeric) == len(columns)
    said = f"{name}: no column {('unit' if of_numbers else lacking[0])!r}"
    if len(columns) == 1:
        return f"{said}; the only column is {columns[0]!r:.80}: between cells are commas, semicolons, tabs or |"
    has = f"{said}; the table has {listed(columns, 12)}"
    if "unit" not in lacking and "model" in lacking and numeric:
        if empty := _without_value(frame, columns):
            return f"{has}; {empty[0]!r} has no value: if it is a model, it needs a number in at least one row"
        rest = [column for column in columns if column not in numeric]
        made = f"polars.read_csv(...).unpivot({[*numeric]}, index={rest}, variable_name='model')"
        return f"{has}; add a column model, or name it with --columns model=NAME; if {numeric[0]!r} is a model: {made}"
    if "unit" in lacking and "model" not in lacking and numeric and frame["model"].is_unique().all():
        rest = [column for column in columns if column not in numeric]
        made = f"polars.read_csv(...).unpivot(index={rest}, variable_name='unit')"
        return f"{has}; each model has one row: if {numeric[0]!r} is a unit: {made}; means alone cannot be compared"
    if "unit" not in lacking and "model" in lacking and not numeric and len(columns) > 2:
        cell = frame[columns[-1]].cast(pl.String).drop_nulls().first()
        return (
            f"{has}; no column has numbers: write {cell!r} as a number, without a percent sign, yes and no as 1 and 0"
        )
    if of_numbers:
        return f"{has}; if each row is a unit, number the rows: polars.read_csv(...).with_row_index('unit')"
    if pl.Series(columns).cast(pl.Float64, strict=False).count():
        return f"{has}; is the row of the names of columns missing?"
    return f"{has}; --columns {lacking[0]}=NAME says which of these it is"
