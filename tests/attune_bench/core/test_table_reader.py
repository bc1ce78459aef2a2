"""Scores from anybody's per-item table: what is read, what is assumed, and what every bad table is told."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores
from attune_data import SourceError, load
from attune_metrics import MetricInputError

ROWS = [
    ("a", "q1", "hit", 1.0),
    ("a", "q2", "hit", 0.0),
    ("b", "q1", "hit", 1.0),
    ("b", "q2", "hit", 1.0),
]


def frame(rows: Sequence[Sequence[Any]] = ROWS, **columns: Sequence[Any]) -> pl.DataFrame:
    table = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row", strict=False)
    return table.with_columns(**{name: pl.Series(values, strict=False) for name, values in columns.items()})


def written(table: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        table.write_csv(path)
    elif path.suffix == ".jsonl":
        table.write_ndjson(path)
    else:
        table.write_parquet(path)
    return path


# What is read.


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_the_same_table_gives_the_same_scores_in_every_format(ending: str, tmp_path: Path) -> None:
    table = frame([*ROWS, ("a", "q1", "errors", 2), ("b", "q2", "errors", None)], cluster=list("xyxyxy"))
    scores = Scores.from_table(written(table, tmp_path / f"results{ending}"))
    assert scores.values.columns == ["model", "condition", "unit", "hit", "errors"]
    assert scores.values.sort("model", "unit").rows() == [
        ("a", None, "q1", 1.0, 2.0),
        ("a", None, "q2", 0.0, None),
        ("b", None, "q1", 1.0, None),
        ("b", None, "q2", 1.0, None),
    ]
    assert scores.units.rows() == [("q1", "x"), ("q2", "y")]


@pytest.mark.parametrize("empty", ["", "  ", None])
def test_an_empty_value_is_undefined(empty: str | None) -> None:
    scores = Scores.from_table(frame([("a", "q1", "hit", "1"), ("a", "q2", "hit", empty)]))
    assert scores.values["hit"].to_list() == [1.0, None]
    [row] = scores.summary().to_dicts()
    assert (row["value"], row["n"], row["excluded"]) == (1.0, 1, 1)


def test_nan_is_undefined_and_booleans_are_numbers() -> None:
    assert Scores.from_table(frame([("a", "q1", "hit", float("nan"))])).values["hit"].to_list() == [None]
    table = frame([("a", "q1", "hit", True), ("a", "q2", "hit", False)])
    assert Scores.from_table(table).values["hit"].to_list() == [1.0, 0.0]
    written = frame([("a", "q1", "hit", "True"), ("a", "q2", "hit", " false "), ("a", "q3", "hit", "1")])
    assert Scores.from_table(written).values["hit"].to_list() == [1.0, 0.0, 1.0]


def test_models_and_units_that_are_numbers_are_names() -> None:
    scores = Scores.from_table(frame([(1, 7, "hit", 1.0), (2, 7, "hit", 0.0)]))
    assert (scores.models, scores.units["unit"].to_list()) == (("1", "2"), ["7"])


def test_conditions_traits_and_clusters() -> None:
    rows = [("a", "q1", "hit", 1.0), ("a", "q1", "hit", 0.0), ("a", "q2", "hit", 1.0)]
    scores = Scores.from_table(
        frame(rows, condition=["plain", "cot", "plain"], topic=["food", "food", "work"], cluster=["p", "p", None])
    )
    assert scores.groups == (("a", "cot"), ("a", "plain"))
    assert scores.traits == ("topic",)
    assert scores.units.rows() == [("q1", "p", "food"), ("q2", None, "work")]
    found = scores.by("topic", metrics=["hit"])
    assert found.select("stratum", "condition", "value", "n").rows() == [
        ("food", "cot", 0.0, 1), ("work", "cot", None, 0), ("food", "plain", 1.0, 1), ("work", "plain", 1.0, 1),
    ]  # fmt: skip


# What is said of metrics.


def test_a_metric_that_is_not_described_is_a_mean_and_better_when_higher_and_that_is_said() -> None:
    scores = Scores.from_table(frame())
    assert scores.metrics["hit"].higher_is_better is True
    assert scores.metrics["hit"].statistic == "mean"
    assert scores.provenance.notes == ("1 metric without a description (hit): mean, higher is better.",)
    assert scores.provenance.notes[0] in json.loads(scores.report(format="json"))["metadata"]["notes"]
    assert "mean, higher is better" in " ".join(scores.report().split())


def test_metrics_that_are_described() -> None:
    about = {"hit": {"label": "Hit rate", "low": 0, "high": 1, "higher_is_better": False, "digits": 1, "scale": 100}}
    scores = Scores.from_table(frame(), metrics=about)
    entry = scores.metrics["hit"]
    assert (entry.label, entry.low, entry.high, entry.higher_is_better) == ("Hit rate", 0, 1, False)
    assert scores.provenance.notes == ()
    assert scores.rank()["model"].to_list() == ["a", "b"]
    assert "Hit rate, lower is better" in scores.report()


def test_a_toml_file_beside_the_table_describes_it(tmp_path: Path) -> None:
    path = written(frame(), tmp_path / "results.csv")
    text = 'title = "My test"\nunit = "question"\n[metrics.hit]\nlabel = "Hit rate"\nlow = 0\nhigh = 1\n'
    path.with_suffix(".toml").write_text(text)
    scores = Scores.read(path)
    assert (scores.provenance.title, scores.provenance.unit, scores.metrics["hit"].high) == ("My test", "question", 1)
    assert repr(scores) == "<Scores of 2 models, 2 questions, 1 metric>"


def test_the_description_names_columns_once_and_an_option_overrides_it(tmp_path: Path) -> None:
    path, same = tmp_path / "results.csv", {"unit": "question_id"}
    path.write_text("question_id;round;a;b\nq1;1;0,5;1\nq2;2;0,25;0\n", encoding="utf-8")
    said = path.with_suffix(".toml")
    said.write_text('columns = {unit = "question_id"}\ntraits = ["round"]\n', encoding="utf-8")
    scores = Scores.read(path)
    assert scores.units["unit"].to_list() == ["q1", "q2"]
    assert Scores.from_table(path).values.equals(scores.values)
    assert Scores.read(path, columns={"value": "Score"}).units.equals(scores.units)
    said.write_text('columns.unit = "round"\n', encoding="utf-8")
    assert Scores.read(path).units["unit"].to_list() == ["1", "2"]
    assert Scores.read(path, columns=same).units["unit"].to_list() == ["q1", "q2"]
    votes = tmp_path / "votes.csv"
    votes.write_text("item,a,b,winner\nu1,x,y,a\nu2,x,y,b\nu3,x,y,a\n", encoding="utf-8")
    votes.with_suffix(".toml").write_text('columns.unit = "item"\n', encoding="utf-8")
    assert Scores.read(votes).units["unit"].to_list() == ["u1", "u2", "u3"]


def test_how_to_name_and_describe_a_metric_is_said_where_a_file_has_no_description(tmp_path: Path) -> None:
    wide, long = tmp_path / "wide.csv", written(frame(), tmp_path / "long.csv")
    wide.write_text("unit,a,b\nq1,0.5,1\nq2,0.25,0\n", encoding="utf-8")
    known = "1 metric without a description ({}): mean, higher is better. To "
    end = " write {}.toml beside the table: docs/own-results.md."
    naming = f"{known.format('value')}name it, give --columns value=NAME, or{end.format('wide')}"
    assert naming in Scores.read(wide).provenance.notes
    assert f"{known.format('Score')}say more,{end.format('wide')}" in (
        Scores.read(wide, columns={"value": "Score"}).provenance.notes
    )
    assert f"{known.format('hit')}say more,{end.format('long')}" in Scores.read(long).provenance.notes
    wide.with_suffix(".toml").write_text('[metrics.value]\nlabel = "Score"\n', encoding="utf-8")
    assert not [note for note in Scores.read(wide).provenance.notes if "without a description" in note]


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (
            "[metrics.hit]\nlable = 'x'",
            r"results\.csv \(with results\.toml\): metrics\.hit\.lable: no such field; did you mean 'label'\?",
        ),
        ("[metrics.hit]\nlow = 'a'", r"results\.csv \(with results\.toml\): metrics\.hit\.low: 'a'"),
        ("[metrics.hit]\nlow = 1\nhigh = 0", r"metrics\.hit: the range from 1 to 0 is empty"),
        ("[metrics.hits]\nlow = 1", r"metrics\.hits: the table has no such metric; did you mean 'hit'\?"),
        ("[metrics.hit]\nstatistic = 'median'", r"metrics\.hit\.statistic: no 'median'"),
        ("[metrics.hit]\nstatistic = 'mcc'", r"metrics\.hit\.statistic: no 'mcc'; expected one of mean, share"),
        ("[metrics.hit]\nterms = ['tp']", r"metrics\.hit\.terms: a table has one value a row; leave it out"),
        ("metrics = 3", r"results\.toml: metrics is 3"),
        ("label = 'x'", r"results\.csv \(with results\.toml\): label: no such key; write it under \[metrics\.NAME\]"),
        ("titel = 'x'", r"results\.csv \(with results\.toml\): titel: no such key; did you mean 'title'\?"),
        ("unit = 3", r"results\.csv \(with results\.toml\): unit: 3 is no text"),
        ("primary = 'hti'", r"results\.csv \(with results\.toml\): primary: no metric 'hti'; did you mean 'hit'\?"),
        ("not toml", r"results\.toml is no TOML"),
        ("columns = ['q']", r"results\.toml: columns is \['q'\]; expected names of columns, such as columns = {unit ="),
        ("columns.unit = 3", r"results\.toml: columns is {'unit': 3}; expected names of columns"),
        ("columns.units = 'q'", r"results\.csv \(with results\.toml\): columns: no 'units'; did you mean 'unit'\?"),
        ("[metrics.hit]\nlabel = '  '", r"metrics\.hit\.label: '  ': "),
        ("title = ' '", r"title: ' ' is no text"),
        (
            "[metrics.hit]\nstatistic = 'share'\nlow = 0\nhigh = 0.5",
            r"row 2: value 1 of metric 'hit' is outside 0 to 0\.5",
        ),
    ],
)
def test_a_wrong_description_is_told_by_file_key_and_value(toml: str, message: str, tmp_path: Path) -> None:
    path = written(frame(), tmp_path / "results.csv")
    path.with_suffix(".toml").write_text(toml)
    with pytest.raises((MetricInputError, SourceError), match=message):
        Scores.read(path)


@pytest.mark.parametrize(
    "kind", ["a link to nothing", "a link to itself", "a folder", pytest.param("a pipe", marks=pytest.mark.posix)]
)
def test_a_description_that_is_no_file_is_not_passed_over(kind: str, tmp_path: Path) -> None:
    path = written(frame(), tmp_path / "results.csv")
    beside = path.with_suffix(".toml")
    if kind == "a folder":
        beside.mkdir()
    elif kind == "a pipe":
        os.mkfifo(beside)
    else:
        beside.symlink_to("nothing.toml" if kind == "a link to nothing" else beside.name)
    with pytest.raises(SourceError, match=r"results\.toml cannot be read: "):
        Scores.read(path)


# Bad tables: one error that names the row, the column and the value.


@pytest.mark.parametrize("column", ["model", "unit", "metric", "value"])
def test_a_missing_column(column: str) -> None:
    if column != "metric":  # without it, the values are of one metric
        with pytest.raises(MetricInputError, match=f"the table: no column '{column}'"):
            Scores.from_table(frame().drop(column))
    mend = rf"no column '{column}'; did you mean '{column}s'\? If so, give --columns {column}={column}s, in Python "
    with pytest.raises(MetricInputError, match=mend + rf"columns={{'{column}': '{column}s'}}"):
        Scores.from_table(frame().rename({column: f"{column}s"}))


def test_text_among_the_values(tmp_path: Path) -> None:
    lines = ["model,unit,metric,value", "a,q1,hit,1", "a,q2,hit,high", "b,q1,hit,no"]
    path = tmp_path / "results.csv"
    path.write_text("\n".join(lines))
    message = f"{path}, row 3: value 'high' of metric 'hit' is no number; leave it empty where it is undefined"
    with pytest.raises(MetricInputError, match=re.escape(message)):
        Scores.read(path)


@pytest.mark.parametrize("value", ["inf", "-inf", float("inf")])
def test_an_infinite_value(value: Any) -> None:
    with pytest.raises(MetricInputError, match=r"row 2: value .* of metric 'hit' is infinite"):
        Scores.from_table(frame([("a", "q1", "hit", "1"), ("a", "q2", "hit", str(value))]))


@pytest.mark.parametrize(
    ("metric", "value", "message"),
    [
        ({"low": 0, "high": 1}, 70, "row 2: value 70 of metric 'hit' is outside 0 to 1; is it on another scale?"),
        ({"low": 0, "high": 1}, -0.5, "row 2: value -0.5 of metric 'hit' is outside 0 to 1"),
        ({"high": 1, "low": -1e9}, 1.1, "row 2: value 1.1 of metric 'hit' is outside -1e+09 to 1"),
        ({"statistic": "share", "low": 0, "high": 1}, 0.5, "row 2: value 0.5 of metric 'hit' is neither 0 nor 1"),
    ],
)
def test_a_value_that_its_metric_cannot_have(metric: dict[str, Any], value: float, message: str) -> None:
    with pytest.raises(MetricInputError, match=re.escape(message)):
        Scores.from_table(frame([("a", "q1", "hit", 1.0), ("a", "q2", "hit", value)]), metrics={"hit": metric})


def test_rounding_is_not_outside_a_range() -> None:
    rounded = [("a", "q1", "hit", 1.0000000000000002), ("a", "q2", "hit", None)]
    assert Scores.from_table(frame(rounded), metrics={"hit": {"low": 0, "high": 1}}).values.height == 2


def test_two_rows_of_one_model_unit_metric_and_condition() -> None:
    rows = [*ROWS, ("b", "q1", "hit", 0.5)]
    message = "rows 3 and 5: both are model 'b', unit 'q1', metric 'hit', with the values 1.0 and 0.5"
    with pytest.raises(MetricInputError, match=message):
        Scores.from_table(frame(rows))
    with pytest.raises(MetricInputError, match="metric 'hit', condition 'x', with the values"):
        Scores.from_table(frame(rows, condition=["x"] * 5))


def test_a_unit_in_two_clusters() -> None:
    message = "rows 1 and 3: cluster of unit 'q1' is 'x' and 'z'; a unit is in one cluster"
    with pytest.raises(MetricInputError, match=message):
        Scores.from_table(frame(cluster=["x", "y", "z", "y"]))


def test_a_trait_that_differs_within_a_unit() -> None:
    with pytest.raises(MetricInputError, match="rows 2 and 4: topic of unit 'q2' is 'food' and 'work'; a trait"):
        Scores.from_table(frame(topic=["food", "food", "food", "work"]))


@pytest.mark.parametrize("column", ["model", "unit", "metric"])
def test_a_row_that_does_not_say_what_it_is_of(column: str) -> None:
    table = frame().with_row_index().with_columns(
        pl.when(pl.col("index") == 2).then(None).otherwise(pl.col(column)).alias(column)
    ).drop("index")  # fmt: skip
    with pytest.raises(MetricInputError, match=f"the table, row 3: {column} is empty"):
        Scores.from_table(table)


def test_no_rows() -> None:
    with pytest.raises(MetricInputError, match="the table: no rows"):
        Scores.from_table(frame().clear())


@pytest.mark.parametrize("name", ["none.csv", "none.parquet", "none.jsonl"])
def test_a_file_that_is_not_there(name: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"none\.\w+ cannot be read: No such file"):
        Scores.read(tmp_path / name)


def test_a_folder_in_place_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "results.csv").mkdir()
    with pytest.raises(SourceError, match=r"results\.csv is a folder; name a file in it$"):
        Scores.read(tmp_path / "results.csv")
    (tmp_path / "results.csv" / "first.csv").touch()
    with pytest.raises(SourceError, match=r"name a file in it, such as .*/results\.csv/first\.csv$"):
        Scores.read(tmp_path / "results.csv")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ('{"a": 1}', r'row 2: topic is \{"a": 1\};'),
        ("[1]", r"row 2: topic is \[1\];"),
        ('{"a":' * 190 + "1" + "}" * 190, r'row 2: topic is \{"a"'),  # polars looks for its type for minutes
        ("[" * 10**5 + "]" * 10**5, "row 2: nested deeply|row 2: topic is"),
    ],
    ids=["object", "list", "nested objects", "nested lists"],
)
def test_rows_of_jsonl_have_texts_and_numbers(value: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    row = '{"model": "a", "unit": "{q}", "metric": "[m]", "value": 1'
    path.write_text(f'{row}}}\n{row}, "topic": {value}}}\n', encoding="utf-8")
    with pytest.raises(SourceError, match=told):
        Scores.read(path)


@pytest.mark.parametrize("name", ["damaged.parquet", "damaged.jsonl"])
def test_a_file_that_is_no_table(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\x00nonsense{")
    with pytest.raises(SourceError, match=r"cannot be read as a table"):
        Scores.read(tmp_path / name)


def test_a_file_of_another_ending(tmp_path: Path) -> None:
    (tmp_path / "scores.txt").write_text("x")
    with pytest.raises(SourceError, match=r"no table; expected a name in \.csv, \.tsv, \.xlsx, \.jsonl"):
        Scores.read(tmp_path / "scores.txt")


def test_blanks_around_names_do_not_count_and_an_empty_cluster_or_condition_is_none() -> None:
    rows = [("a ", "q1", "hit", 1), ("a", " q2", "hit ", 0), ("a", "q3", "hit", 1)]
    scores = Scores.from_table(frame(rows, cluster=["", " ", "x "], condition=["", None, " "]))
    assert scores.models == ("a",)
    assert scores.conditions == (None,)
    assert list(scores.metrics) == ["hit"]
    assert scores.units.rows() == [("q1", None), ("q2", None), ("q3", "x")]


def test_traits_of_a_file_of_text_are_numbers_where_all_of_them_are(tmp_path: Path) -> None:
    table = frame(year=["9", "10", "9", "10"], share=["0.5", "1", "0.5", "1"], code=["7", "b", "7", "b"])
    scores = Scores.from_table(written(table, tmp_path / "results.csv"))
    assert [scores.units[name].to_list()[0] for name in ("year", "share", "code")] == [9, 0.5, "7"]
    assert scores.by("year", resamples=9)["stratum"].unique(maintain_order=True).to_list() == ["9", "10"]


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("model,unit,metric,value,model\na,q1,hit,1,b\n")
    with pytest.raises(MetricInputError, match="two columns are called 'model'; rename one, or leave it out"):
        Scores.from_table(path)


def test_a_name_that_is_a_list(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"model": "a", "unit": [1], "metric": "hit", "value": 1}\n')
    with pytest.raises(SourceError, match=re.escape("row 1: unit is [1]; a table has text and numbers only")):
        Scores.from_table(path)


def test_what_is_given_counts_before_the_file_beside_the_table(tmp_path: Path) -> None:
    path = written(frame(), tmp_path / "results.csv")
    (tmp_path / "results.toml").write_text('unit = "task"\n[metrics.hit]\nhigher_is_better = false\n')
    by_title = Scores.from_table(path, about={"title": "Mine"})
    assert by_title.metrics["hit"].higher_is_better is False
    assert (by_title.provenance.title, by_title.provenance.unit) == ("Mine", "unit")
    by_metrics = Scores.from_table(path, metrics={"hit": {"label": "Hits"}})
    assert by_metrics.metrics["hit"].higher_is_better is True
    assert by_metrics.provenance.unit == "task"


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"condition": "model"}, "the table: condition: 'model' is a column of scores; call it otherwise"),
        ({"condition": "hit"}, "the table: condition: 'hit' is a column of scores"),
        ({"unit": "person", "cluster": "person"}, "unit and cluster are both called 'person'"),
    ],
)
def test_words_that_cannot_be_told_apart(about: dict[str, str], message: str) -> None:
    with pytest.raises(MetricInputError, match=re.escape(message)):
        Scores.from_table(frame(cluster=list("xyxy")), about=about)


@pytest.mark.parametrize(
    ("field", "value"), [("digits", -1), ("digits", 16), ("scale", 0), ("scale", -1), ("label", "")]
)
def test_a_field_of_a_metric_out_of_range(field: str, value: Any) -> None:
    with pytest.raises(MetricInputError, match=f"metrics.hit.{field}: {value!r}: "):
        Scores.from_table(frame(), metrics={"hit": {field: value}})


# What is no table.


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (frame().lazy(), "polars.LazyFrame; give Scores.from_table(frame.collect())"),
        (frame().to_pandas(), "pandas.DataFrame; give Scores.from_table(polars.from_pandas(frame))"),
        (frame().to_arrow(), "pyarrow.Table; give Scores.from_table(polars.from_arrow(table))"),
        (frame()["value"], "polars.Series; expected a polars.DataFrame, or the path of a file"),
        (frame().rows(named=True), "list; Scores.from_table(polars.DataFrame(rows)) takes rows"),
        (frame().to_dict(as_series=False), "dict; Scores.from_table(polars.DataFrame(rows)) takes rows"),
        (load("demo"), "Conversations; attune_bench.score(data, results) makes scores of records"),
        (Scores.from_table(frame()), "Scores; these are scores already"),
        (None, "NoneType; expected a polars.DataFrame, or the path of a file"),
        (b"results.csv", "bytes; expected a polars.DataFrame, or the path of a file"),
    ],
    ids=lambda one: "" if isinstance(one, str) else type(one).__name__,
)
def test_what_is_no_table_is_told_what_takes_it(given: Any, message: str) -> None:
    for call, what in ((Scores.from_table, "table"), (Scores.read, "path")):
        with pytest.raises(TypeError, match=f"^the {what} is of type {re.escape(message)}$"):
            call(given)


def test_what_the_sentence_says_works() -> None:
    expected = Scores.from_table(frame())
    for made in (frame().lazy().collect(), pl.from_pandas(frame().to_pandas()), pl.from_arrow(frame().to_arrow())):
        assert isinstance(made, pl.DataFrame)
        assert Scores.from_table(made) == expected
    assert Scores.from_table(pl.DataFrame(frame().rows(named=True))) == expected


def test_records_and_scores_are_no_table(tmp_path: Path) -> None:
    load("demo").to_jsonl(tmp_path / "all.jsonl")
    load("demo").to_parquet(tmp_path / "folder")
    (tmp_path / "one.json").write_bytes(load("demo")[0].to_json())
    message = r" contains conversations, no scores; attune-bench score makes them, in Python attune_bench\.score$"
    for name in ("all.jsonl", "folder", "folder/records.parquet", "one.json"):
        for call in (Scores.from_table, Scores.read):
            with pytest.raises(SourceError, match=name + message):
                call(tmp_path / name)
    with pytest.raises(
        SourceError, match=r"^demo has records, no scores; score\(load\('demo'\), load_runs\('demo'\)\)"
    ):
        Scores.from_table("demo")
    Scores.from_table(frame()).write(tmp_path / "scores.parquet")
    (tmp_path / "scores.json").write_text("{}")
    with pytest.raises(
        SourceError, match=r"is a file of scores, no table of results; Scores\.read\(\.\.\.\) reads it$"
    ):
        Scores.from_table(tmp_path / "scores.parquet")
    with pytest.raises(SourceError, match=r"is no table; .*; attune_bench\.Scores\.read reads a benchmark's own"):
        Scores.from_table(tmp_path / "scores.json")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("b,q3,hit", "row 6: 3 cells, and the header has 4"),
        ("b", "row 6: 1 cell, and the header has 4"),
        ("b,q3,hit,1,0", "row 6: 5 cells, and the header has 4"),
        ("b,q, 3,hit,1", "row 6: 5 cells, and the header has 4"),
    ],
)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_row_with_more_or_fewer_cells_than_the_header_is_told(
    line: str, message: str, mark: str, tmp_path: Path
) -> None:
    path = written(frame(), tmp_path / "results.csv")
    path.write_text(f"{mark}{path.read_text()}{line}\nb,q4,hit,1\n", encoding="utf-8")
    with pytest.raises(SourceError, match=message):
        Scores.read(path)


def test_cells_with_line_ends_commas_and_nothing_are_cells(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(b'model,unit,metric,value\n"a\nb","q,1",hit,1\na,q2,hit,\n"a",q3,hit,""\n')
    scores = Scores.read(path)
    assert scores.models == ("a", "a\nb")
    assert scores.units["unit"].to_list() == ["q,1", "q2", "q3"]


@pytest.mark.parametrize("name", ["*", "^.*$", "^a$"])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_name_that_polars_takes_for_a_pattern_is_refused(name: str, ending: str, tmp_path: Path) -> None:
    message = re.escape(f"polars reads {name!r} as a pattern that matches other columns; give it another name")
    with pytest.raises(MetricInputError, match=f"row .*{message}"):
        Scores.read(written(frame([("a", "q1", name, 1.0)]), tmp_path / f"metric.{ending}"))
    with pytest.raises(MetricInputError, match=message):
        Scores.read(written(frame(**{name: ["x", "y", "x", "y"]}), tmp_path / f"trait.{ending}"))
