"""What people rate: texts of models on units, or two texts side by side, read from tables.

A sheet of `attune_bench.stats.labels.draw_labels` has ``model, condition, unit``. The texts are in its column ``text``,
or in a second table with the same columns, in which a unit may have several texts of a model, such as a draft for each
turn of a conversation. A table of pairs has ``unit, a, b, text_a, text_b``. Optional everywhere are ``prompt``, which
is shown beside the text, and ``cluster``.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import polars as pl

from attune_bench.scores.table_files import FileTable, read_table
from attune_metrics.metric import MetricInputError

Group = tuple[str, str | None, str]
"""A model, a condition and a unit."""

Talk = tuple[tuple[Literal["person", "model", "prompt"], str], ...]
"""What came before a text: who says it, or ``prompt`` where the table does not tell, and what is said."""

_TEXTS = ("model", "unit", "text")
_PAIRS = ("unit", "a", "b", "text_a", "text_b")
_KEPT = ("model", "condition", "unit", "text", "prompt", "cluster", "a", "b", "text_a", "text_b", "criterion")
_VERDICT = ("winner", "margin", "first", "judge", "repeat", "length_a", "length_b")


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedText:
    """A text that people rate.

    Attributes
    ----------
    model : str
        Who wrote it; no page shows it.
    unit : str
        What it answers.
    text : str
        The text.
    condition : str or None
        As of the scores.
    part : str
        Which of several texts of the model on the unit it is; empty where there is one.
    talk : tuple of (str, str)
        What came before it.
    cluster : str or None
        As of the scores.
    """

    model: str
    unit: str
    text: str
    condition: str | None = None
    part: str = ""
    talk: Talk = ()
    cluster: str | None = None

    @property
    def group(self) -> Group:
        """Model, condition and unit: the row of the scores."""
        return self.model, self.condition, self.unit

    @property
    def id(self) -> str:
        """Unit, model, condition and part, as far as they are given."""
        return "/".join(filter(None, (self.unit, self.model, self.condition, self.part)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedPair:
    """Two texts that people compare.

    Attributes
    ----------
    unit : str
        What both answer.
    a, b : str
        The two models; no page shows them.
    text_a, text_b : str
        Their texts.
    talk : tuple of (str, str)
        What came before both.
    criterion : str or None
        What is judged; None for the text as a whole.
    columns : mapping
        Further columns of the row, such as the cluster and traits of the unit.
    """

    unit: str
    a: str
    b: str
    text_a: str
    text_b: str
    talk: Talk = ()
    criterion: str | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Unit, both models, and the criterion if there is one."""
        return "/".join(filter(None, (self.unit, self.a, self.b, self.criterion)))


Rated = RatedText | RatedPair


def fingerprint(items: Sequence[Rated]) -> str:
    """Return a hash of items, by which a study knows them again.

    Examples
    --------
    >>> one = RatedText(model="a", unit="q1", text="Yes.")
    >>> fingerprint([one]) == fingerprint([one]), fingerprint([one]) == fingerprint([])
    (True, False)
    """
    # A cell of a further column may be a date.
    return sha256(json.dumps([asdict(item) for item in items], sort_keys=True, default=str).encode()).hexdigest()


def read_rated(drawn: Path, texts: Path | Iterable[RatedText] | None = None) -> list[RatedText] | list[RatedPair]:
    """Read what people rate.

    Parameters
    ----------
    drawn : path
        A sheet or a table of texts, or a table of pairs: CSV, XLSX, JSONL or Parquet.
    texts : path or iterable of RatedText, optional
        The texts of the sheet, where the sheet has none; rows that were not drawn are passed over.

    Returns
    -------
    list of RatedText or list of RatedPair
        In the order of the rows.

    Raises
    ------
    MetricInputError
        A column is missing, a cell is empty, a row is there twice, or a row of the sheet has no text.
    SourceError
        A file cannot be read.
    """
    name, table = str(drawn), read_table(drawn, names=_KEPT)
    if table.frame.is_empty():
        raise MetricInputError(f"{name}: no rows; there is nothing to rate")
    found = _items(table, name, texts)
    names: dict[str, Rated] = {}
    for item in found:
        if item.id in names:
            raise MetricInputError(f"{name}: two rows are both called {item.id!r:.120}; rename a unit or a model")
        names[item.id] = item
    return found


def _items(table: FileTable, name: str, texts: Path | Iterable[RatedText] | None) -> list[RatedText] | list[RatedPair]:
    is_pairs = {"text_a", "text_b"} <= {*table.frame.columns}
    if is_pairs and texts is not None:
        raise MetricInputError(f"{name} has pairs with their texts; leave the further texts out")
    if is_pairs:
        return _pairs(table.frame, table.first_row, name)
    if texts is None:
        if "text" not in table.frame.columns:
            raise MetricInputError(
                f"{name}: no column 'text', so that there is nothing to show; give the texts as --texts TABLE, or as "
                f"--results and --data, or a table of pairs with the columns {', '.join(_PAIRS)}"
            )
        return _texts(table.frame, table.first_row, name)
    if isinstance(texts, Path):
        further = read_table(texts, names=_KEPT)
        texts = _texts(further.frame, further.first_row, str(texts))
    return _of_sheet(table.frame, table.first_row, name, texts)


def _texts(frame: pl.DataFrame, first_row: int, name: str) -> list[RatedText]:
    found: list[RatedText] = []
    for row, cells in _cells(frame, first_row, name, _TEXTS):
        model, unit, text = (_cell(cells, column, f"{name}, row {row}") for column in _TEXTS)
        condition, cluster = cells.get("condition"), cells.get("cluster")
        found.append(
            RatedText(model=model, condition=condition, unit=unit, text=text, talk=_prompt(cells), cluster=cluster)
        )
    return numbered(found)


def numbered(texts: Iterable[RatedText]) -> list[RatedText]:
    """Return texts, each with its number among the texts of its model, condition and unit where there are several.

    Examples
    --------
    >>> [one.part for one in numbered([RatedText(model="a", unit=unit, text="Yes.") for unit in ("q1", "q1", "q2")])]
    ['1', '2', '']
    """
    found = list(texts)
    totals, counts = Counter(one.group for one in found), Counter[Group]()
    for place, one in enumerate(found):
        counts[one.group] += 1
        if totals[one.group] > 1:
            found[place] = replace(one, part=str(counts[one.group]))
    return found


def _of_sheet(frame: pl.DataFrame, first_row: int, name: str, texts: Iterable[RatedText]) -> list[RatedText]:
    """Return the texts of the rows of a sheet; where the sheet has no condition, the texts of any condition count."""
    has_condition = "condition" in frame.columns
    known: dict[Group, list[RatedText]] = {}
    for one in texts:
        kept = one if has_condition else replace(one, condition=None)
        known.setdefault(kept.group, []).append(kept)
    found: list[RatedText] = []
    rows: dict[Group, int] = {}
    for row, cells in _cells(frame, first_row, name, ("model", "unit")):
        place = f"{name}, row {row}"
        key = (_cell(cells, "model", place), cells.get("condition"), _cell(cells, "unit", place))
        if (before := rows.setdefault(key, row)) != row:
            raise MetricInputError(f"{place}: the same as row {before}; leave one out")
        if key not in known:
            raise MetricInputError(
                f"{place}: there is no text of {key[0]!r:.60} on {key[2]!r:.60}; are they the texts of this sheet?"
            )
        found += known[key]
    return numbered(found)


def _pairs(frame: pl.DataFrame, first_row: int, name: str) -> list[RatedPair]:
    found: list[RatedPair] = []
    rows: dict[tuple[str | None, ...], int] = {}
    others = [one for one in frame.columns if one not in {*_PAIRS, *_VERDICT, "prompt", "criterion"}]
    for row, cells in _cells(frame, first_row, name, _PAIRS):
        place = f"{name}, row {row}"
        unit, a, b, text_a, text_b = (_cell(cells, column, place) for column in _PAIRS)
        if a == b:
            raise MetricInputError(f"{place}: {a!r:.60} is compared with itself; a and b are two models")
        key = (unit, *sorted((a, b)), cells.get("criterion"))
        if (before := rows.setdefault(key, row)) != row:
            raise MetricInputError(
                f"{place}: the pair of row {before}; leave one out, as the sides are in random order for each person"
            )
        found.append(
            RatedPair(
                unit=unit, a=a, b=b, text_a=text_a, text_b=text_b, talk=_prompt(cells),
                criterion=cells.get("criterion"), columns={one: cells.get(one) for one in others},
            )
        )  # fmt: skip
    return found


def _cells(
    frame: pl.DataFrame, first_row: int, name: str, needed: Sequence[str]
) -> Iterable[tuple[int, dict[str, Any]]]:
    """Yield the number of each row and its cells that are not empty; the named columns as text."""
    for column in needed:
        if column not in frame.columns:
            raise MetricInputError(f"{name}: no column {column!r}; it has {', '.join(frame.columns)}")
    for number, row in enumerate(frame.iter_rows(named=True), start=first_row):
        cells = {key: str(cell).strip() if key in _KEPT else cell for key, cell in row.items() if cell is not None}
        if cells := {key: cell for key, cell in cells.items() if cell != ""}:
            yield number, cells


def _cell(cells: Mapping[str, Any], column: str, place: str) -> str:
    if column not in cells:
        raise MetricInputError(f"{place}: {column} is empty")
    return str(cells[column])


def _prompt(cells: Mapping[str, Any]) -> Talk:
    return (("prompt", cells["prompt"]),) if "prompt" in cells else ()
