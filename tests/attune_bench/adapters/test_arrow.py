"""Arrow tables of results into tables of scores: the scores of one place, whatever the batches."""

import json
import pickle
from pathlib import Path
from typing import Any

import datasets
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from attune_bench import Scores, score
from attune_bench.adapters.arrow import BatchScorer, packed_data, score_batch, scores_of
from attune_data import SourceError, load, load_runs
from attune_metrics import MetricInputError

Json = dict[str, Any]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of runs: one of an unknown conversation, one twice, one that is no run, one that is cut off."""
    known = [json.loads(run.to_line()) for run in load_runs("demo")[:30]]
    odd = [{**known[0], "conversationId": "nobody"}, {**known[1], "api_cost": 7}, {"of": "another kind"}]
    path = tmp_path_factory.mktemp("runs") / "runs.jsonl"
    path.write_text("\n".join(map(json.dumps, known + odd)) + '\n{"conversationId": "cut')
    return path


@pytest.fixture(scope="module")
def table(runs: Path) -> pa.Table:
    lines = runs.read_text(encoding="utf-8").splitlines()
    return pa.table({"record": lines, "file": [f"runs.jsonl:{number}" for number in range(1, len(lines) + 1)]})


def written(scores: Scores, folder: Path) -> bytes:
    scores.write(folder / "scores.json")
    return (folder / "scores.json").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "protocol"),
    [
        (7, "documented"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in ((1, "released"), (1, "documented"), (7, "released"), (100, "documented"), (100, "released"))
        ),
    ],
)
def test_the_scores_are_those_of_one_place(
    runs: Path, table: pa.Table, tmp_path: Path, size: int, protocol: str
) -> None:
    loaded = load_runs(runs)
    scorer = BatchScorer(packed_data("demo"), protocol=protocol)
    scored = pa.concat_tables([scorer(pa.Table.from_batches([one])) for one in table.to_batches(max_chunksize=size)])
    assert scored.num_rows == table.num_rows
    found = scores_of(scored, data="demo", protocol=protocol)
    assert written(found, tmp_path) == written(score(load("demo"), loaded, protocol=protocol), tmp_path)
    # What was noticed is in the table, but which of two runs counts, which only the whole tells.
    noticed = [one for text in scored["issues"].to_pylist() if text for one in json.loads(text)]
    assert [(one["file"], one["rule"]) for one in noticed] == [
        (issue.file, issue.rule) for issue in loaded.found if issue.rule != "duplicate-run"
    ]
    assert {"not-a-record", "invalid-json"} <= {one["rule"] for one in noticed}


@pytest.mark.slow
def test_rows_without_a_score_are_null_and_a_batch_of_them_has_the_same_columns(table: pa.Table) -> None:
    whole, odd = score_batch(table, data="demo"), score_batch(table.slice(32), data="demo")
    assert odd.schema == whole.schema
    frame = pl.DataFrame(whole)
    assert frame["composite_score"].is_null().to_list() == [False] * 30 + [True, False, True, True]
    assert frame["model"].is_null().sum() == 2
    assert json.loads(frame["problem"][30])[1] == "run-without-conversation"


def test_records_may_be_bytes_or_columns(table: pa.Table) -> None:
    lines = table["record"].to_pylist()[:3]
    texts = score_batch(pa.table({"record": lines}), data="demo")
    assert score_batch(pa.table({"record": [line.encode() for line in lines]}), data="demo").equals(texts)
    columns = pa.Table.from_pylist([json.loads(line) for line in lines])
    assert pl.DataFrame(score_batch(columns, data="demo"))["composite_score"].equals(
        pl.DataFrame(texts)["composite_score"]
    )


@pytest.mark.slow
def test_the_function_and_the_class_can_be_sent_to_a_worker(table: pa.Table) -> None:
    expected = score_batch(table, data="demo")
    assert pickle.loads(pickle.dumps(score_batch))(table, data="demo").equals(expected)  # noqa: S301
    assert pickle.loads(pickle.dumps(packed_data("demo"))) == packed_data("demo")  # noqa: S301


@pytest.mark.slow
def test_datasets_map_it(table: pa.Table, tmp_path: Path) -> None:
    given = datasets.Dataset(table).with_format("arrow")
    mapped = given.map(
        score_batch,
        batched=True,
        batch_size=8,
        fn_kwargs={"data": "demo"},
        remove_columns=given.column_names,
    )
    found = scores_of(mapped.with_format("arrow")[:], data="demo")
    assert written(found, tmp_path) == written(scores_of(score_batch(table, data="demo"), data="demo"), tmp_path)


def test_data_without_a_usable_record_are_refused(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text("{}\n")
    with pytest.raises(SourceError, match="no usable conversation in "):
        packed_data(tmp_path / "data.jsonl")
    with pytest.raises(ValueError, match="EIBench does not score its results one by one"):
        score_batch(pa.table({"record": []}), data="demo", benchmark="eibench")


@pytest.mark.slow
def test_a_table_that_was_scored_otherwise_is_refused(table: pa.Table, tmp_path: Path) -> None:
    scored = score_batch(table, data="demo", protocol="documented")
    with pytest.raises(MetricInputError, match=r'scored with .*"documented".*not with .*"released"'):
        scores_of(scored, data="demo", protocol="released")
    changed = [one.model_copy(update={"turns": one.turns[:-1]}) for one in load("demo")]
    (tmp_path / "other.jsonl").write_bytes(b"\n".join(one.to_line() for one in changed))
    (tmp_path / "few.jsonl").write_bytes(load("demo")[-1].to_line())
    for name in ("other", "few"):
        with pytest.raises(MetricInputError, match=r"scored against another text of '.*' than the data have"):
            scores_of(scored, data=tmp_path / f"{name}.jsonl", protocol="documented")


@pytest.mark.slow
def test_columns_may_be_more_and_in_another_order_but_none_may_be_missing(table: pa.Table, tmp_path: Path) -> None:
    scored = score_batch(table, data="demo")
    expected = written(scores_of(scored, data="demo"), tmp_path)
    other = scored.select(sorted(scored.column_names)).append_column("shard", pa.array([1] * scored.num_rows))
    assert written(scores_of(other, data="demo"), tmp_path) == expected
    with pytest.raises(MetricInputError, match=r"lacks the columns file; did score_batch make it"):
        scores_of(scored.drop_columns(["file"]), data="demo")
    with pytest.raises(MetricInputError, match="did score_batch make it"):
        scores_of(table, data="demo")


def test_what_is_no_table_of_results_is_refused(table: pa.Table) -> None:
    with pytest.raises(SourceError, match=r"neither a column 'record', a run as JSON, nor .*'turns'; it has: text"):
        score_batch(table.select(["record"]).rename_columns(["text"]), data="demo")
    with pytest.raises(TypeError, match=r"the results are a dict; .*with_format\('arrow'\)"):
        score_batch(table.to_pydict(), data="demo")


@pytest.mark.slow
def test_rows_without_a_name_are_numbered_in_the_whole(table: pa.Table) -> None:
    lines = table.select(["record"])
    scorer = BatchScorer(packed_data("demo"))
    parts = [scorer(pa.Table.from_batches([one])) for one in lines.to_batches(max_chunksize=5)]
    (problem,) = scores_of(pa.concat_tables(parts), data="demo").provenance.issues
    assert problem.file == "row 30"


def test_the_name_of_a_file_is_no_part_of_a_record(table: pa.Table) -> None:
    columns = pa.Table.from_pylist([json.loads(line) for line in table["record"].to_pylist()[:3]])
    named = columns.append_column("file", pa.array(["a", "b", "c"]))
    assert score_batch(named, data="demo")["digest"] == score_batch(columns, data="demo")["digest"]
