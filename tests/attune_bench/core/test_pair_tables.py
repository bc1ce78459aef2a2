"""Tables of comparisons in pairs: recognised by their columns, read row by row, refused in one sentence."""

from pathlib import Path

import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.scores.pair_tables import guessed_columns, read_comparisons
from attune_data.issues import SourceError
from attune_metrics import MetricInputError

VOTES = """unit,a,b,winner
q1,large,small,large
q2,large,small,b
q3,small,large,tie
"""


def written(tmp_path: Path, text: str, name: str = "votes.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def message(tmp_path: Path, text: str, columns: dict[str, str] | None = None) -> str:
    path = written(tmp_path, text)
    with pytest.raises((MetricInputError, SourceError)) as raised:
        Scores.read(path, columns=columns)
    said = str(raised.value)
    assert "\n" not in said
    return said.replace(f"{path}", "votes.csv")


def test_a_table_of_votes_is_read_and_scored(tmp_path: Path) -> None:
    path = written(tmp_path, VOTES)
    comparisons, assumed = read_comparisons(path)
    assert [(one.unit, one.outcome) for one in comparisons] == [("q1", 1), ("q2", 0), ("q3", 0.5)]
    assert assumed == ()
    scores = Scores.read(path)
    assert scores.models == ("large", "small")
    assert scores.provenance.benchmark == "comparisons"
    assert scores.primary == "rating"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("votes.csv", VOTES.replace(",", ";")),
        ("votes.tsv", VOTES.replace(",", "\t")),
        ("votes.csv", "\ufeff" + VOTES + ",,,\n"),
        (
            "votes.jsonl",
            '{"unit": "q1", "a": "large", "b": "small", "winner": "large"}\n'
            '{"unit": "q2", "a": "large", "b": "small", "winner": "b"}\n'
            '{"unit": "q3", "a": "small", "b": "large", "winner": "tie"}\n',
        ),
    ],
)
def test_other_forms_of_a_table_give_the_same(name: str, text: str, tmp_path: Path) -> None:
    expected = Scores.read(written(tmp_path, VOTES, "plain.csv"))
    found = Scores.read(written(tmp_path, text, name))
    assert found.values.equals(expected.values)


def test_parquet_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, VOTES)
    pl.read_csv(path).write_parquet(tmp_path / "votes.parquet")
    assert Scores.read(tmp_path / "votes.parquet").values.equals(Scores.read(path).values)


def test_columns_of_other_names_are_offered_and_mapped(tmp_path: Path) -> None:
    arena = VOTES.replace("unit,a,b", "question_id,model_a,model_b").replace(",b\n", ",model_b\n")
    said = message(tmp_path, arena)
    assert said == (
        "votes.csv: no columns 'unit', 'a' and 'b'; did you mean 'question_id', 'model_a' and 'model_b'? If so, give "
        "--columns unit=question_id,a=model_a,b=model_b"
    )
    columns = {"unit": "question_id", "a": "model_a", "b": "model_b", "first": "model_a"}
    comparisons, _ = read_comparisons(written(tmp_path, arena), columns=columns)
    assert [one.shown for one in comparisons] == ["large", "large", "small"]
    assert message(tmp_path, VOTES, {"jugde": "unit"}).startswith("columns: no 'jugde'; did you mean 'judge'?")
    assert "no column 'winer' for winner; did you mean 'winner'?" in message(tmp_path, VOTES, {"winner": "winer"})


def test_tables_of_scores_are_no_votes() -> None:
    assert guessed_columns(["model", "unit", "metric", "value"], {}) is None
    assert guessed_columns(["unit", "a", "b"], {}) is None
    assert guessed_columns(["unit", "ab", "winner"], {}) is None
    assert guessed_columns(["unit", "a", "b", "margin"], {}) == {}


@pytest.mark.parametrize("rows", ["q1;0,5;1,0;w\nq2;0,7;NA;v\n", "q1;.5;1;w\nq2;n/a;0;v\n"])
def test_scores_of_models_a_and_b_are_no_votes(rows: str, tmp_path: Path) -> None:
    scores = Scores.read(written(tmp_path, f"unit;a;b;topic\n{rows}"))
    assert (scores.models, scores.primary) == (("a", "b"), "value")


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("unit,a,b,winer", "no column 'winner'; did you mean 'winer'? If so, give --columns winner=winer"),
        ("unit,a,bb,winner", "no column 'b'; did you mean 'bb'? If so, give --columns b=bb"),
        ("Unit,a,b,winner", "no column 'unit'; did you mean 'Unit'? If so, give --columns unit=Unit"),
        ("unit,a,b,who", "no column 'winner' of comparisons; the table has unit, a, b and who"),
        ("unit,a,other,winner", "no column 'b' of comparisons; the table has unit, a, other and winner"),
    ],
)
def test_a_misspelt_column_is_offered_and_a_missing_one_named(head: str, said: str, tmp_path: Path) -> None:
    assert message(tmp_path, VOTES.replace("unit,a,b,winner", head)) == f"votes.csv: {said}"


def test_a_misspelt_optional_column_is_asked_about(tmp_path: Path) -> None:
    table = "unit,a,b,winner,{}\nq1,x,y,x,j\nq1,x,y,y,j2\n"
    question = "column jugde is read as a trait of units; did you mean judge?"
    assert message(tmp_path, table.format("jugde")) == f"votes.csv, rows 2 and 3: both are q1: x vs y; {question}"
    scored = table.replace("q1,x,y,y", "q2,x,y,y")
    assert f"C{question[1:]}" in Scores.read(written(tmp_path, scored.format("jugde"))).provenance.notes
    for right in ("judge", "mood"):
        held = Scores.read(written(tmp_path, scored.format(right)))
        assert "did you mean" not in " ".join(held.provenance.notes)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("q4,large,large,large", "votes.csv:5: 'large' is compared with itself; a and b are two models"),
        ("q4,large,small,medium", "votes.csv:5: winner is 'medium'; expected 'large', 'small', a, b or tie"),
        (",large,small,large", "votes.csv, row 5: unit is empty"),
        (
            "q1,large,small,b",
            "votes.csv, rows 2 and 5: both are q1: large vs small; leave one out, or number them in a",
        ),
    ],
)
def test_a_wrong_row_is_one_sentence(row: str, said: str, tmp_path: Path) -> None:
    assert message(tmp_path, f"{VOTES}{row}\n").startswith(said)


def test_margins_are_numbers_within_bounds(tmp_path: Path) -> None:
    table = "unit,a,b,margin\nq1,x,y,2\nq2,x,y,{}\n"
    for cell, why in {
        "lots": "margin 'lots' is no number",
        "1e400": "margin '1e400' is infinite",
        "1e30": "margin is",
    }.items():
        assert why in message(tmp_path, table.format(cell))
    found, _ = read_comparisons(written(tmp_path, table.format('"-1,5"')))
    assert [one.margin for one in found] == [2, -1.5]
    found, _ = read_comparisons(written(tmp_path, table.format("NA")))
    assert [one.margin for one in found] == [2, None]


def test_a_table_without_rows_or_with_some_judges_is_refused(tmp_path: Path) -> None:
    assert message(tmp_path, "unit,a,b,winner\n") == "votes.csv: no rows"
    said = message(tmp_path, "unit,a,b,winner,judge\nq1,x,y,x,j\nq2,x,y,y,\n")
    assert said == "votes.csv:3: judge is empty; every comparison names its judge, or none does"


def test_traits_of_units_are_kept_and_what_differs_is_named(tmp_path: Path) -> None:
    rows = "q1,x,y,x,work,3,fast\nq1,y,x,x,work,3,slow\nq2,x,y,y,home,4,fast\n"
    scores = Scores.read(written(tmp_path, f"unit,a,b,winner,topic,turns,how\n{rows}"))
    assert scores.units.select("unit", "topic", "turns").rows() == [("q1", "work", 3), ("q2", "home", 4)]
    assert scores.traits == ("topic", "turns")
    assert "Columns left out, as they differ between the comparisons of a unit: how." in scores.provenance.notes


def test_a_description_beside_the_table_names_things(tmp_path: Path) -> None:
    path = written(tmp_path, VOTES)
    beside = tmp_path / "votes.toml"
    beside.write_text('title = "Support"\nunit = "question"\nsynthetic = true\n')
    held = Scores.read(path).provenance
    assert (held.title, held.unit, held.cluster, held.synthetic) == ("Support", "question", "question", True)
    beside.write_text('[metrics.rating]\nlabel = "Strength"\n')
    with pytest.raises(MetricInputError, match="the metrics of comparisons are known"):
        Scores.read(path)
    path.write_text("unit,a,b,margin\nq1,x,y,2\nq2,x,y,-4\nq3,y,x,1\n")
    beside.write_text("largest_margin = 4\n")
    assert Scores.read(path).models == ("x", "y")
    beside.write_text("largest_margin = 3\n")
    with pytest.raises(
        MetricInputError, match=r"votes\.csv:3: margin is -4; the largest margin is 3, .*\(q2: x vs y\)"
    ):
        Scores.read(path)
    beside.write_text("largest_margin = true\n")
    with pytest.raises(MetricInputError, match="largest_margin: True is no number above 0"):
        Scores.read(path)
    beside.write_text("unit = 3\n")
    with pytest.raises(MetricInputError, match="unit: 3 is no text"):
        Scores.read(path)
