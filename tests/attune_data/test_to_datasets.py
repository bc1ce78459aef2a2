"""Tables and records for the library `datasets`: nothing is lost, nothing is left on disk."""

import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_data import Conversation, Conversations, load, load_runs
from attune_data.attunebench.tables import TABLES, Tables


def test_every_table_is_there_with_its_values() -> None:
    demo = load("demo")
    found = demo.to_datasets()
    assert found.keys() == {*TABLES, "records"}
    for name in TABLES:
        expected: pl.DataFrame = getattr(demo.tables, name)
        assert found[name].to_polars().equals(expected.cast({pl.Enum: pl.String})), name
        # Each dtype once, in the words of `datasets`; an Enum is a string.
        for column, dtype in Tables.schemas()[name].items():
            known: dict[type[pl.DataType], str] = {
                pl.Int64: "int64",
                pl.Int8: "int8",
                pl.Float64: "float64",
                pl.Boolean: "bool",
            }
            feature: Any = found[name].features[column]
            inner = feature.feature if isinstance(dtype, pl.List) else feature
            assert inner.dtype == known.get(type(dtype), "large_string"), (name, column)


def test_records_come_back_from_their_text() -> None:
    demo, runs = load("demo"), load_runs("demo")
    rows = demo.to_datasets()["records"]
    assert rows["id"][:] == [record.id for record in demo]
    assert rows["file"][:] == [demo.files[record.id] for record in demo]
    assert [Conversation.model_validate_json(text) for text in rows["record"]] == list(demo)
    assert list(load(rows)) == list(demo)
    assert list(load_runs(runs.to_datasets()["records"])) == list(runs)


def test_a_part_of_it() -> None:
    demo = load("demo")
    part = demo.where(diagnosis="ADHD").to_datasets()
    ids = {record.id for record in demo.where(diagnosis="ADHD")}
    assert all({*part[name].unique("conversation_id")} == ids for name in TABLES)
    tables = demo.tables.where(diagnosis="ADHD").to_datasets()
    assert tables.keys() == {*TABLES}
    assert tables["binary"].to_dict() == part["binary"].to_dict()


def test_an_empty_collection_keeps_the_columns() -> None:
    found = Conversations(()).to_datasets()
    assert {name: found[name].column_names for name in TABLES} == {
        name: list(schema) for name, schema in Tables.schemas().items()
    }
    assert set(found.num_rows.values()) == {0}


def test_nothing_is_left_on_disk(hub: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    del hub
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    found = load("demo").to_datasets()
    assert found["turns"][0]["turn_number"] == 1
    assert all(table.cache_files == [] for table in found.values())
    assert list(tmp_path.iterdir()) == []


def test_the_whole_dict_is_not_pushed_as_splits(hub: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from hub_server import TOKEN

    del hub
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with pytest.raises(ValueError, match="features"):
        load("demo").to_datasets().push_to_hub("lab/data")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match=r"pip install 'attune-bench\[datasets\]'"):
        load("demo").to_datasets()


@pytest.mark.parametrize("method", ["to_arrow", "to_datasets"])
def test_without_pyarrow_one_sentence_says_what_to_install(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for loaded in [name for name in sys.modules if name.partition(".")[0] == "datasets"]:
        monkeypatch.delitem(sys.modules, loaded)
    said = r"^pyarrow is not installed; it comes with an extra: pip install 'attune-bench\[datasets\]'$"
    with pytest.raises(ImportError, match=said):
        getattr(load("demo"), method)()
