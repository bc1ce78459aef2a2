"""Scores as a value: their groups, parts, variants, notes and words, whatever the benchmark."""

import pickle
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import FrozenInstanceError, replace
from functools import partial
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from benchmark_scores import NAMES, TRAITS, scores_named, table_rows
from polars.testing import assert_frame_equal

from attune_bench import Scores
from attune_bench.scores.parts import KEYS, UNIT_KEYS, Provenance
from attune_bench.scores.table import JsonColumn, ScoreTable, term_columns
from attune_data.issues import Issue
from attune_metrics.catalog import CATALOG
from attune_metrics.metric import Metric, MetricInputError


@pytest.fixture
def table() -> Scores:
    return scores_named("table")


# What every scores have.


@pytest.mark.parametrize("name", NAMES)
def test_values_have_a_column_for_every_term_and_units_one_row_each(name: str) -> None:
    scores = scores_named(name)
    assert tuple(scores.values.columns[:3]) == KEYS
    assert tuple(scores.units.columns[:2]) == UNIT_KEYS
    assert scores.traits[0] == TRAITS[name]
    assert not scores.values.select(KEYS).is_duplicated().any()
    assert not scores.units["unit"].is_duplicated().any()
    assert set(scores.values["unit"]) == set(scores.units["unit"])
    for key, metric in scores.metrics.items():
        assert metric.name == key
        if metric.statistic != "z_score":
            assert {scores.values.schema[term] for term in term_columns(metric)} == {pl.Float64}
    assert scores.primary in scores.headline
    assert set(scores.headline) <= set(scores.metrics)
    assert len(scores.groups) == len(set(scores.groups))
    assert list(scores.models) == sorted({model for model, _ in scores.groups})


@pytest.mark.parametrize("name", NAMES)
def test_no_verb_changes_scores(name: str) -> None:
    scores = scores_named(name)
    before = scores.values.clone(), scores.units.clone(), scores.provenance.model_copy(deep=True)
    scores.note("x").keep(units=scores.units["unit"][:2])
    scores.summary(resamples=5)
    scores.report(resamples=5)
    assert scores.values.equals(before[0])
    assert scores.units.equals(before[1])
    assert scores.provenance == before[2]
    with pytest.raises(FrozenInstanceError):
        scores.values = before[0]  # type: ignore[misc]  # a mistake


def test_terms() -> None:
    assert term_columns(Metric(name="a", label="A")) == ("a",)
    assert term_columns(Metric(name="a", label="A", statistic="f1", terms=("t", "f"))) == ("t", "f")


def test_groups_are_sorted_and_conditions_begin_with_the_reference() -> None:
    rows = [(model, "q", condition) for model in "ba" for condition in ("z", "b", "c", None)]
    frame = pl.DataFrame(rows, schema=["model", "unit", "condition"], orient="row")
    scores = Scores.from_table(frame.with_columns(metric=pl.lit("hit"), value=pl.lit(1.0)))
    assert scores.groups[:4] == (("a", None), ("a", "b"), ("a", "c"), ("a", "z"))
    assert scores.models == ("a", "b")
    assert scores.conditions == (None, "b", "c", "z")
    of_reference = replace(scores, provenance=scores.provenance.model_copy(update={"reference": "c"}))
    assert of_reference.conditions == ("c", None, "b", "z")
    ranked = of_reference.rank(resamples=5)["condition"].unique(maintain_order=True)
    assert ranked.to_list() == ["c", None, "b", "z"]


def test_the_metrics_of_the_board(table: Scores) -> None:
    assert (table.primary, table.headline) == ("grade", ("grade", "seconds"))
    frame = table_rows().filter(metric="grade")
    many = pl.concat([frame.with_columns(metric=pl.lit(f"m{place}")) for place in range(11)])
    scores = Scores.from_table(many, about={"primary": "m9"})
    assert (scores.primary, scores.headline) == ("m9", ("m9", *(f"m{place}" for place in range(7))))
    # What is no number of units is on no board, unless it is asked for.
    other = {"z": Metric(name="z", label="Z", statistic="z_score", terms=("grade",)), **table.metrics}
    assert replace(table, metrics=other).headline == ("z", "grade", "seconds")
    named = table.provenance.model_copy(update={"primary": "seconds", "headline": ("seconds", "z")})
    assert replace(table, metrics=other, provenance=named).headline == ("seconds", "z")


def test_a_metric_that_there_is_none_of(table: Scores) -> None:
    assert table.metric("grade").label == "grade"
    with pytest.raises(MetricInputError, match="no metric 'grades'; did you mean 'grade'"):
        table.metric("grades")


# Parts.


def test_some_models_and_conditions(table: Scores) -> None:
    part = table.keep(groups=[("beta", "plain"), ("alpha", "stepwise"), ("nobody", "plain")])
    assert part.groups == (("alpha", "stepwise"), ("beta", "plain"))
    assert part.units.equals(table.units)
    assert (part.metrics, part.provenance) == (table.metrics, table.provenance)
    expected = table.values.filter(
        ((pl.col("model") == "beta") & (pl.col("condition") == "plain"))
        | ((pl.col("model") == "alpha") & (pl.col("condition") == "stepwise"))
    )
    assert part.values.equals(expected)


def test_some_units(table: Scores) -> None:
    part = table.keep(units=["q03", "q01", "q99"])
    assert part.units["unit"].to_list() == ["q01", "q03"]
    assert part.values.equals(table.values.filter(pl.col("unit").is_in(["q01", "q03"])))
    assert table.keep(units=iter(["q03", "q01"])).values.equals(part.values)


def test_parts_of_units_have_signatures_of_their_own() -> None:
    scores = scores_named("eibench")
    units = scores.units["unit"].to_list()
    parts = [scores.keep(units=chosen) for chosen in (units[:2], units[1:3])]
    # Each part has two scenarios; only what is hashed can tell one from the other.
    assert len({scores.sign(), *(part.sign() for part in parts)}) == 3
    assert parts[0].sign() == scores.keep(units=reversed(units[:2])).sign()
    held = parts[0].provenance
    assert (held.data, held.runs, held.codebook) == (None, None, scores.provenance.codebook)
    # Nothing is left out: the hashes are still those of what was scored.
    assert scores.keep(units=[*units, "elsewhere"]).provenance == scores.provenance
    assert scores.keep(groups=scores.groups[:1]).provenance == scores.provenance


def test_the_coverage_of_a_part() -> None:
    whole = scores_named("table")
    units = whole.units["unit"].to_list()

    def shares(expected: int, chosen: list[str]) -> set[float | None]:
        held = whole.provenance.model_copy(update={"expected": expected})
        part = replace(whole, provenance=held).keep(groups=whole.groups[:1], units=chosen)
        return {*part.summary(metrics=["grade"], resamples=5)["coverage"]}

    valued = whole.keep(groups=whole.groups[:1]).values.drop_nulls("grade")["unit"].to_list()[:2]
    assert shares(len(units), valued) == {1.0}
    # Which of the units without a result belong to the part is not known.
    assert shares(len(units) + 1, valued) == {None}
    assert shares(len(units), units) == {whole.summary(metrics=["grade"], resamples=5)["n"][0] / len(units)}


def test_a_group_without_a_condition_is_kept() -> None:
    scores = scores_named("sage")
    assert scores.keep(groups=[("a", None)]).models == ("a",)
    assert scores.keep(groups=[("a", "None")]).values.is_empty()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_and_everything_are_parts(name: str) -> None:
    scores = scores_named(name)
    everything = scores.keep(groups=scores.groups, units=scores.units["unit"])
    assert everything.values.equals(scores.values)
    assert everything.units.equals(scores.units)
    assert everything.detail == scores.detail
    for nothing in (scores.keep(groups=[]), scores.keep(units=[])):
        assert (nothing.values.height, nothing.units.height, nothing.groups) == (0, 0, ())
        assert nothing.summary().height == nothing.compare_all().height == nothing.rank().height == 0


def test_a_part_keeps_the_records_of_its_rows() -> None:
    scores = scores_named("attunebench")
    units = scores.units["unit"][3:5].to_list()
    part = scores.keep(groups=scores.groups[:2], units=units)
    assert part.detail is not None
    found = [(record["em_model"], record["mode"], record["conversationId"]) for record in part.detail]
    assert found == part.values.select(KEYS).rows()
    assert len(found) == 4


def test_a_part_is_of_the_variant_that_was_chosen() -> None:
    scores = scores_named("eibench").variant(failed="worst")
    part = scores.keep(groups=[("invented/rash", None)])
    assert part.values.equals(scores.values.filter(model="invented/rash"))
    assert part.provenance.variant == {"rule": "evaluation", "failed": "worst"}
    assert part.choices == scores.choices
    assert part.variant(failed="exclude").values.equals(
        scores.variant(failed="exclude").values.filter(model="invented/rash")
    )


# Variants.


def test_choices_have_the_default_first() -> None:
    scores = scores_named("eibench")
    assert scores.choices == {"rule": ("evaluation", "directed"), "failed": ("exclude", "start", "worst")}
    assert scores.provenance.variant == {"rule": "evaluation", "failed": "exclude"}
    assert [scores_named(name).choices for name in ("attunebench", "sage", "table")] == [{}, {}, {}]


def test_what_is_not_chosen_anew_stays_as_it_was() -> None:
    scores = scores_named("eibench")
    worst = scores.variant(failed="worst")
    assert worst.provenance.variant == {"rule": "evaluation", "failed": "worst"}
    both = worst.variant(rule="directed")
    assert both.provenance.variant == {"rule": "directed", "failed": "worst"}
    assert both.values.equals(scores.variant(failed="worst", rule="directed").values)
    assert both.choices == scores.choices
    assert scores.variant() is scores
    again = both.variant(rule="evaluation", failed="exclude")
    assert again.values.equals(scores.values)
    assert worst.values.columns == scores.values.columns
    assert not worst.values.equals(scores.values)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"failed": "wrost"}, "failed is 'wrost'; expected exclude, start, worst"),
        ({"rules": "directed"}, "these scores do not depend on 'rules'; their choices are rule, failed"),
    ],
)
def test_choices_that_there_are_none_of(chosen: dict[str, str], message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        scores_named("eibench").variant(**chosen)
    with pytest.raises(MetricInputError, match="they have no variants"):
        scores_named("sage").variant(**chosen)


# Words.


def test_notes_are_below_every_table(table: Scores) -> None:
    noted = table.note("One of ours.", "Another.").note("A third.")
    assert noted.provenance.notes == (*table.provenance.notes, "One of ours.", "Another.", "A third.")
    assert "One of ours." in noted.report(resamples=5)
    assert "One of ours." not in table.report(resamples=5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("attunebench", "<Scores of 3 models, 1 mode, 40 conversations, 76 metrics; protocol documented>"),
        ("eibench", "<Scores of 3 models, 32 scenarios, 6 metrics; rule evaluation, failed exclude>"),
        ("sage", "<Scores of 3 models, 30 scenarios, 3 metrics>"),
        ("table", "<Scores of 6 models, 2 conditions, 48 units, 2 metrics>"),
    ],
)
def test_repr(name: str, expected: str) -> None:
    assert repr(scores_named(name)) == expected


def test_a_table_gets_its_verbs(table: Scores) -> None:
    bare = ScoreTable(
        values=table.values, units=table.units, metrics=table.metrics, provenance=Provenance(issues=(_ISSUE,))
    )
    assert repr(bare) == "<ScoreTable of 6 models, 2 conditions, 48 units, 2 metrics>"
    scores = Scores.of(bare)
    assert scores.summary(resamples=20).equals(table.summary(resamples=20))
    assert scores.issues.rows() == [("a.json", "$", "r", "error", "1", "m", "left out", 1)]
    assert scores_named("sage").issues.height == 0
    # Every part and variant has verbs too.
    parts = scores.keep(units=["q01"]), scores.note("x"), scores_named("eibench").variant(failed="worst")
    assert {type(one) for one in parts} == {Scores}


_ISSUE = Issue("a.json", "$", "r", "error", "1", "m", "left out")


# Equal content.


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_equal_where_their_content_is(name: str, tmp_path: Path) -> None:
    scores = scores_named(name)
    scores.write(tmp_path / "scores.parquet")
    copies = [
        pickle.loads(pickle.dumps(scores)),  # noqa: S301  # its own
        deepcopy(scores),
        copy(scores),
        scores.keep(groups=scores.groups),
        Scores.read(tmp_path / "scores.parquet"),
    ]
    assert [(one == scores, hash(one) == hash(scores)) for one in copies] == [(True, True)] * 5
    assert len({scores, *copies}) == 1


def test_scores_are_not_equal_where_anything_differs(table: Scores) -> None:
    first = table.values.with_row_index().select(grade=pl.when(pl.col("index") == 0).then(9.0).otherwise("grade"))
    entry = replace(table.metrics["grade"], label="Grade")
    others = [
        replace(table, values=table.values.with_columns(first)),
        replace(table, values=table.values.reverse()),
        replace(table, units=table.units.with_columns(level=pl.lit("x"))),
        replace(table, metrics={**table.metrics, "grade": entry}),
        replace(table, metrics=dict([*table.metrics.items()][::-1])),
        replace(table, repeats=table.values.with_columns(repeat=pl.lit("1"))),
        replace(table, detail=JsonColumn.of([{}] * table.values.height)),
        table.note("x"),
        table.keep(groups=table.groups[1:]),
    ]
    assert [one == table for one in others] == [False] * 9
    assert table != ScoreTable(table.values, table.units, table.metrics, table.provenance)
    assert table != 1
    undefined = [replace(table, values=table.values.with_columns(grade=pl.lit(nan))) for _ in range(2)]
    assert undefined[0] == undefined[1] != table
    assert hash(table.provenance) == hash(table.provenance.model_copy(deep=True))


def test_the_function_of_a_metric_does_not_count() -> None:
    entry = CATALOG["anger_score"]
    assert isinstance(entry.function, partial)  # a copy of one is another
    scores = replace(scores_named("table"), metrics={"anger_score": entry})
    assert deepcopy(scores) == scores


@pytest.mark.parametrize("name", NAMES)
def test_units_are_categories_in_scores_and_texts_elsewhere(name: str, tmp_path: Path) -> None:
    scores = scores_named(name)
    frames = [scores.values, scores.units, scores.variants, scores.repeats]
    assert {frame.schema["unit"] for frame in frames if frame is not None} == {pl.Categorical()}
    assert scores.to_polars().schema["unit"] == pl.String
    scores.write(tmp_path / "scores.parquet")
    assert pl.read_parquet_schema(tmp_path / "scores.parquet")["unit"] == pl.String


# The rows of the long table.


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_rows(name: str) -> None:
    scores = scores_named(name)
    frame = scores.to_polars()
    rows = frame.rows(named=True)
    assert (len(scores), bool(scores)) == (frame.height, True)
    assert list(scores) == rows
    assert [scores[place] for place in (0, -1)] == [rows[0], rows[-1]]
    assert (
        scores[1:4] == scores[[1, 2, 3]] == scores[pl.int_range(len(scores), eager=True).is_between(1, 3)] == rows[1:4]
    )
    assert scores[np.arange(len(scores)) == 2] == [rows[2]]
    assert scores[:0] == scores[[]] == []
    assert ("repeat" in rows[0]) == (scores.repeats is not None) == (name == "emobench")


@pytest.mark.parametrize("name", NAMES)
def test_other_libraries_read_scores(name: str) -> None:
    scores = scores_named(name)
    frame = scores.to_polars()
    assert_frame_equal(pl.DataFrame(scores), frame)
    assert_frame_equal(pl.DataFrame(pa.table(scores)), frame)
    with pa.RecordBatchReader.from_stream(scores) as reader:
        assert reader.read_all().num_rows == len(scores)
    assert scores.to_pandas().shape == frame.shape


@pytest.mark.slow
def test_rows_need_no_pyarrow(spawn: Callable[..., Any]) -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
import polars as pl
from attune_bench import Scores
rows = {"model": ["a", "b"], "unit": ["u", "u"], "metric": ["hit", "hit"], "value": [1.0, None], "level": ["x", "x"]}
scores = Scores.from_table(pl.DataFrame(rows))
assert pl.DataFrame(scores).equals(scores.to_polars()) and len(scores) == 2, scores
"""
    assert spawn(code=code).stderr == b""


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (10**6, IndexError, "position 1000000 is out of range: there are 1152 rows of scores"),
        ([True], IndexError, "the mask has 1 values for 1152 rows of scores; give one for each"),
        (
            "grade",
            TypeError,
            "rows of scores are chosen by a position, a slice, a list of positions or a mask, not by str",
        ),
    ],
)
def test_what_chooses_no_row(key: Any, error: type[Exception], message: str, table: Scores) -> None:
    with pytest.raises(error, match=message):
        table[key]


def test_without_a_value_of_each_unit_there_are_no_rows(table: Scores) -> None:
    pooled = replace(table, metrics={name: replace(one, statistic="mcc") for name, one in table.metrics.items()})
    assert bool(pooled)
    assert not table.keep(groups=[])
    for call in (len, list, pl.DataFrame, Scores.to_polars):
        with pytest.raises(MetricInputError, match="none of the metrics has one value for each unit"):
            call(pooled)
