"""Tables to take away as CSV files and as frames of pandas: every table of every kind, nothing lost on the way."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_data import Conversations, load, load_records, load_runs, to_pandas
from attune_data.collection import Collection, Kind
from attune_data.export import from_csv_text
from attune_data.kinds import KINDS


def value_of(cell: str, dtype: pl.DataType) -> Any:
    """Return what a reader makes of a cell that is not empty."""
    if isinstance(dtype, pl.List):
        return json.loads(cell)
    if dtype == pl.Boolean:
        return {"true": True, "false": False}[cell]
    if dtype.is_numeric():
        return float(cell)
    return from_csv_text(cell)


def check(folder: Path, name: str, frame: pl.DataFrame) -> None:
    """Compare a file with the table that it is of, cell by cell, as another program's reader sees it."""
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == frame.columns
    assert len(rows) == frame.height
    for place, (column, dtype) in enumerate(frame.schema.items()):
        for cells, expected in zip(rows, frame[column].to_list(), strict=True):
            # An empty text and none look the same to most readers.
            found = value_of(cells[place], dtype) if cells[place] else (expected or None)
            assert found == (None if expected == "" else expected), (name, column)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.noun)
def test_every_table_of_a_kind_is_a_file(kind: Kind[Any, Any], tmp_path: Path) -> None:
    records: Collection[Any] = load_records("demo", kind)
    records.to_csv(tmp_path / "out")
    assert {path.stem for path in (tmp_path / "out").iterdir()} == {*kind.tables.names}
    frames = records.to_pandas()
    assert [*frames] == [*kind.tables.names]
    for name in kind.tables.names:
        frame: pl.DataFrame = getattr(records.tables, name)
        check(tmp_path / "out", name, frame)
        assert [*frames[name].columns] == frame.columns
        assert len(frames[name]) == frame.height


@pytest.mark.slow
def test_joined_tables_and_a_part(tmp_path: Path) -> None:
    joined = load_runs("demo").joined(load("demo"))
    joined.to_csv(tmp_path / "joined")
    for name in joined.names:
        check(tmp_path / "joined", name, getattr(joined, name))
    part = load("demo").where(diagnosis="ADHD")
    assert {*part.to_pandas()["turns"]["conversation_id"]} == {record.id for record in part}


def test_a_formula_in_a_text_and_in_a_list(tmp_path: Path) -> None:
    demo = load("demo")
    own = {"country": "=HYPERLINK(1)", "diagnoses": ("=1+1", 'Crohn\'s; "both"', "Überlastung")}
    profile = demo[0].participant_profile
    profile = profile.model_copy(update={"demographics": profile.demographics.model_copy(update=own)})
    conversations = Conversations([demo[0].model_copy(update={"participant_profile": profile})])
    conversations.to_csv(tmp_path / "out")
    check(tmp_path / "out", "conversations", conversations.tables.conversations)
    with (tmp_path / "out" / "conversations.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["country"] == "'=HYPERLINK(1)"
    assert row["diagnoses"] == '["=1+1", "Crohn\'s; \\"both\\"", "Überlastung"]'
    assert conversations.to_pandas()["conversations"]["diagnoses"].to_list() == [row["diagnoses"]]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    demo = load("demo")[:1]
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="exists and is not an empty folder; remove it, or give another name"):
        demo.to_csv(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        demo.to_csv(tmp_path / "no" / "such")


def test_no_whole_number_becomes_a_float() -> None:
    frames = load("demo").to_pandas()
    people = frames["conversations"]
    assert people["who_5"].dtype == "Int64"
    assert people["who_5"].isna().any()
    assert people["gender"].dtype == "string"
    assert frames["binary"]["observed_behavior"].dtype.categories.to_list() == ["yes", "no", "na"]


def test_every_type_and_what_is_missing() -> None:
    frame = pl.DataFrame(
        {
            "count": [1, None],
            "level": [None, 3],
            "value": [0.1, None],
            "yes": [True, None],
            "text": ["a", None],
            "choice": [None, "B"],
            "several": [["x"], None],
            "nothing": [None, None],
        },
        schema_overrides={"level": pl.Int8, "choice": pl.Enum(["A", "B"])},
    )
    found = to_pandas(frame)
    assert found.dtypes.astype(str).to_dict() == {
        "count": "Int64",
        "level": "Int8",
        "value": "float64",
        "yes": "boolean",
        "text": "string",
        "choice": "category",
        "several": "string",
        "nothing": "object",
    }
    assert found.isna().to_numpy().tolist() == [
        [False, True, False, False, False, True, False, True],
        [True, False, True, True, True, False, True, True],
    ]
    assert found.iloc[0][["count", "value", "yes", "text", "several"]].to_list() == [1, 0.1, True, "a", '["x"]']
    assert to_pandas(frame.head(0)).dtypes.drop("nothing").equals(found.dtypes.drop("nothing"))


def test_pandas_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"^pandas is not installed; .*: pip install 'attune-bench\[pandas\]'$"):
        load("demo").to_pandas()


def test_pyarrow_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert len(load("demo").to_pandas()["conversations"]) == 40


def test_the_name_of_one_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"folder with a file for each table: give 'demo\.CSV' without \.csv"):
        load("demo").to_csv(tmp_path / "demo.CSV")
    assert [*tmp_path.iterdir()] == []


def test_only_a_frame_is_made_one_of_pandas() -> None:
    records: Any = load("demo")
    with pytest.raises(TypeError, match=r"not Conversations; it has a method to_pandas\(\)"):
        to_pandas(records)
    with pytest.raises(TypeError, match=r"not dict$"):
        to_pandas(records.to_pandas())
