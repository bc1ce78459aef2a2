"""A `datasets.Dataset` as a source: records as JSON text in a column, or as the columns themselves."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from attune_data import SourceError, load, load_runs, load_tables

Json = dict[str, Any]
Drop = Callable[[Json, str], Json]
Put = Callable[[Json, str, Any], Json]


def dataset(rows: list[Json]) -> Any:
    import datasets

    return datasets.Dataset.from_list(rows)


def texts(*records: Any) -> Any:
    return dataset([{"id": str(n), "record": json.dumps(record)} for n, record in enumerate(records)])


def plain(value: Any) -> Any:
    """Return a record without its nulls in objects, which a Dataset of columns cannot tell from absent keys."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item is not None}
    return [plain(item) for item in value] if isinstance(value, list) else value


# Records as text.


def test_column_of_records_is_read_unchanged(conversation: Json, drop: Drop) -> None:
    other = drop({**conversation, "conversationId": "other", "note": None}, "$.postPanas")
    loaded = load(texts(conversation, other))
    assert [json.loads(record.to_json()) for record in loaded] == [conversation, other]
    assert loaded.found == ()
    assert loaded.files == {conversation["conversationId"]: "row 0", "other": "row 1"}


def test_runs_and_tables(conversation: Json, run: Json) -> None:
    assert [json.loads(record.to_json()) for record in load_runs(texts(run))] == [run]
    source = texts(conversation)
    assert load_tables(source).turns.equals(load(source).tables.turns)


def test_issue_names_the_row_as_the_dataset_counts(conversation: Json) -> None:
    source = dataset([{"record": text} for text in ("{", None, json.dumps(conversation), "")])
    loaded = load(source)
    assert [(issue.file, issue.rule, issue.severity) for issue in loaded.found] == [
        ("row 0", "invalid-json", "error"),
        ("row 1", "unreadable", "error"),
        ("row 3", "invalid-json", "error"),
    ]
    assert json.loads(source[2]["record"]) == conversation
    assert len(loaded) == 1


def test_column_of_another_type_is_reported() -> None:
    (issue,) = load(dataset([{"record": 5}])).found
    assert (issue.file, issue.severity) == ("row 0", "error")
    assert "has no text but int" in issue.message


@pytest.mark.parametrize("form", ["numpy", "pandas", "arrow"])
def test_format_of_the_dataset_does_not_matter(form: str, conversation: Json) -> None:
    for source in (texts(conversation), dataset([conversation])):
        assert [record.id for record in load(source.with_format(form))] == [conversation["conversationId"]]


def test_filtered_dataset_counts_its_own_rows(conversation: Json) -> None:
    source = texts({**conversation, "conversationId": "a"}, {**conversation, "conversationId": "b"})
    assert load(source.select([1])).files == {"b": "row 0"}


# Records as columns.


def test_columns_of_a_record_are_read(conversation: Json) -> None:
    loaded = load(dataset([conversation]))
    assert [json.loads(record.to_json()) for record in loaded] == [plain(conversation)]
    assert [(issue.rule, issue.severity) for issue in loaded.found] == [("nulls-dropped", "note")]


def test_key_of_one_row_is_not_a_null_of_the_others(conversation: Json, run: Json, put: Put) -> None:
    ratings = {"proud": 3, "calm": 3}
    other = put({**conversation, "conversationId": "other"}, "$.prePanas.responses", ratings)
    first, second = load(dataset([conversation, other]))
    assert set(first.pre_panas.responses) == set(conversation["prePanas"]["responses"])
    assert set(second.pre_panas.responses) == set(ratings)
    answers = {**run, "conversationId": "other", "turns": [{**run["turns"][0], "em_pairwise_selections": {"4": "B"}}]}
    _, again = load_runs(dataset([run, answers]))
    assert again.turns[0].em_pairwise_selections == {"4": "B"}


def test_missing_required_value_is_an_error(conversation: Json) -> None:
    loaded = load(dataset([conversation, {**conversation, "conversationId": None}]))
    assert len(loaded) == 1
    assert [issue.file for issue in loaded.found if issue.severity == "error"] == ["row 1"]


# What is no source.


def test_tidy_table_is_no_source(conversation: Json) -> None:
    import datasets

    turns = load(texts(conversation)).tables.turns
    with pytest.raises(SourceError, match=r"neither a column 'record'.*it has: conversation_id, turn_number.*tidy"):
        load(datasets.Dataset.from_dict(turns.select("conversation_id", "turn_number").to_dict(as_series=False)))


def test_splits(conversation: Json) -> None:
    import datasets

    splits = datasets.DatasetDict({"train": texts(conversation)})
    with pytest.raises(SourceError, match=r"DatasetDict; .*\(train\): source\['train'\]"):
        load(splits)
    with pytest.raises(SourceError, match=r"\(none\)"):
        load(datasets.DatasetDict())
    with pytest.raises(SourceError, match="IterableDataset"):
        load(splits["train"].to_iterable_dataset())


def test_no_rows() -> None:
    import datasets

    for source in (texts().from_dict({"record": []}), datasets.Dataset.from_dict({})):
        with pytest.raises(SourceError, match=r"has no row|it has: none"):
            load(source)


def test_subset(conversation: Json) -> None:
    with pytest.raises(SourceError, match=r"needs a folder.*not a Dataset$"):
        load(texts(conversation), subset="Subsample20")


def test_datasets_is_not_loaded_for_other_sources() -> None:
    code = "import sys; from attune_data import load; load('demo'); print('datasets' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"False\n"


def test_text_that_is_none_is_one_error() -> None:
    import datasets
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

    # Arrow does not check that texts are UTF-8.
    text = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")])
    with pytest.raises(SourceError, match=r"the Dataset cannot be read from about row 0 on: .*0xff"):
        load(datasets.Dataset(pa.table({"record": text})))
