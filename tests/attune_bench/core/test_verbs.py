"""Every verb on scores of every benchmark and of somebody else's table: the same columns, and numbers that fit."""

import csv
import json
from decimal import ROUND_HALF_UP, Decimal
from io import StringIO
from itertools import combinations
from math import isfinite
from statistics import fmean
from typing import Any

import polars as pl
import pytest
from benchmark_scores import NAMES, TRAITS, scores_named
from pages import Tags, headings, section, tables
from polars.testing import assert_frame_equal
from slow_cases import slow_except

from attune_bench import Scores
from attune_bench.report.document import FORMATS, Format
from attune_bench.stats.compare import exchanges_of_all
from attune_bench.stats.options import FEW, MIN_CLUSTERS, sorted_groups
from attune_metrics.metric import Metric
from attune_metrics.signature import Signature, short_signature
from attune_metrics.stats.bootstrap import STATISTICS

pytestmark = pytest.mark.filterwarnings("ignore:[0-9]+ resamples are too few")

QUICK: dict[str, Any] = {"resamples": 100}
COLUMNS = {
    "summary": "model condition metric value low high n clusters coverage excluded reason",
    "compare": "model_a model_b condition metric difference low high p p_min p_holm significant n clusters mde reason",
    "by": "stratum n clusters metric model condition value low high mark reason",
    "by_compared": "difference difference_low difference_high p p_holm significant",
    "rank": "condition metric model value rank low high n clusters reason",
}

each = pytest.mark.parametrize("name", NAMES)
# For what is done with all scores in the same way.
some = pytest.mark.parametrize("name", slow_except(NAMES, "attunebench", "sage"))


def made_of_units(scores: Scores) -> list[str]:
    return [metric.name for metric in scores.metrics.values() if metric.statistic in STATISTICS]


def rows_of(frame: pl.DataFrame, model: str, condition: str | None) -> pl.DataFrame:
    return frame.filter(pl.col("condition").eq_missing(pl.lit(condition)), model=model)


def check(frame: pl.DataFrame) -> None:
    """Check what every frame keeps to: finite numbers or none, counts, intervals around what they are of."""
    for column in frame.iter_columns():
        if column.dtype.is_float():
            assert all(isfinite(value) for value in column.drop_nulls()), column.name
    assert (frame["clusters"] <= frame["n"]).all()
    assert (frame["n"] >= 0).all()
    known = frame.drop_nulls("low")
    assert (known["low"] <= known["high"]).all()
    assert frame.filter(pl.col("low").is_null())["reason"].is_not_null().all()
    assert frame["low"].is_null().to_list() == frame["high"].is_null().to_list()


@each
def test_summary(name: str) -> None:
    scores = scores_named(name)
    frame = scores.summary(**QUICK)
    assert frame.columns == COLUMNS["summary"].split()
    expected = [(*group, metric) for group in scores.groups for metric in scores.metrics]
    assert frame.select("model", "condition", "metric").rows() == expected
    check(frame)
    for model, condition in scores.groups:
        values = rows_of(scores.values, model, condition)
        rows = rows_of(frame, model, condition)
        assert set(rows["n"] + rows["excluded"]) == {values.height}
        for row in rows.iter_rows(named=True):
            if scores.metrics[row["metric"]].statistic in {"mean", "share"}:
                own = values[row["metric"]].drop_nulls().to_list()
                assert row["value"] == (fmean(own) if own else None)
                assert row["n"] == len(own)


@each
def test_compare(name: str) -> None:
    scores = scores_named(name)
    a, b = scores.models[:2]
    frame = scores.compare(a, b, **QUICK)
    assert frame.columns == COLUMNS["compare"].split()
    assert set(frame.select("model_a", "model_b").rows()) == {(a, b)}
    assert frame.select("condition", "metric").rows() == [
        (condition, metric) for condition in scores.conditions for metric in made_of_units(scores)
    ]
    check(frame)
    turned = scores.compare(b, a, **QUICK)
    for row, other in zip(frame.to_dicts(), turned.to_dicts(), strict=True):
        same = ("p", "p_holm", "significant", "n", "clusters", "reason")
        assert [row[key] for key in same] == [other[key] for key in same]
        if row["difference"] is not None:
            assert row["difference"] == -other["difference"]
            assert row["mde"] == other["mde"] or row["mde"] == pytest.approx(other["mde"], rel=1e-12)
            # Alone, a pair is a family of one.
            assert row["p"] == row["p_holm"]


@each
def test_compare_all(name: str) -> None:
    scores = scores_named(name)
    frame = scores.compare_all(**QUICK)
    assert frame.columns == COLUMNS["compare"].split()
    check(frame)
    of_condition: dict[str | None, list[str]] = {}
    for model, condition in sorted_groups(scores):
        of_condition.setdefault(condition, []).append(model)
    pairs = {condition: list(combinations(models, 2)) for condition, models in of_condition.items()}
    assert frame.height == len(next(iter(pairs.values()))) * len(scores.conditions) * len(made_of_units(scores))
    for (condition, metric), rows in frame.group_by("condition", "metric", maintain_order=True):
        assert rows.select("model_a", "model_b").rows() == pairs[condition]
        tested = rows.drop_nulls("p")
        assert (tested["p_holm"] >= tested["p"]).all()
        assert tested["significant"].to_list() == [p < 0.05 for p in tested["p_holm"]]
        assert rows.filter(pl.col("p").is_null())["significant"].null_count() == rows.height - tested.height
        if tested.height == rows.height:
            assert tested["p_holm"].min() == pytest.approx(min(1, rows.height * min(tested["p"])), abs=1e-12)
        assert condition in scores.conditions
        assert metric in scores.metrics
    a, b = frame.select("model_a", "model_b").row(0)
    of_both = frame.filter(model_a=a, model_b=b).drop("p", "p_min", "p_holm", "significant")
    # In another condition b may be the better one.
    same = pl.col("condition").is_in(of_both["condition"].unique().to_list(), nulls_equal=True)
    one = scores.compare(a, b, **QUICK).drop("p", "p_min", "p_holm", "significant").filter(same)
    # Products of matrices of other sizes may differ in the last bit of a resample.
    rounded = ["low", "high", "mde"]
    assert of_both.drop(rounded).equals(one.drop(rounded))
    assert_frame_equal(of_both.select(rounded), one.select(rounded), abs_tol=0, rel_tol=1e-12)
    # Of as many exchanges as the family needs, a pair has the same p-values alone.
    resamples = exchanges_of_all(scores, QUICK["resamples"])
    alone = scores.compare(a, b, resamples=resamples).filter(same)
    among = frame.filter(model_a=a, model_b=b)
    assert among.select("p", "p_min").equals(alone.select("p", "p_min"))


@each
@pytest.mark.parametrize("compared", [False, True], ids=["alone", "compared"])
def test_by(name: str, compared: bool) -> None:
    scores, trait = scores_named(name), TRAITS[name]
    frame = scores.by(trait, compare=compared, **QUICK)
    columns = COLUMNS["by"].split() + (COLUMNS["by_compared"].split() if compared else [])
    assert frame.columns == columns
    check(frame)
    strata = dict(scores.units.select("unit", trait).iter_rows())
    assert set(frame["stratum"]) == set(strata.values())
    assert frame.height == len(set(strata.values())) * len(scores.groups) * len(made_of_units(scores))
    whole = scores.summary(metrics=made_of_units(scores), **QUICK)
    for model, condition in scores.groups:
        for metric in made_of_units(scores):
            rows = rows_of(frame, model, condition).filter(metric=metric)
            assert rows["n"].sum() == rows_of(whole, model, condition).filter(metric=metric)["n"].item()
    for (stratum,), rows in frame.group_by("stratum"):
        part = scores.keep(units=[unit for unit, own in strata.items() if own == stratum])
        expected = part.summary(metrics=made_of_units(scores), **QUICK)
        keys = ["model", "condition", "metric"]
        both = rows.join(expected, on=keys, nulls_equal=True, suffix="_alone", maintain_order="left")
        assert both.height == rows.height
        for column in ("value", "low", "high", "n", "clusters"):
            assert both[column].to_list() == both[f"{column}_alone"].to_list(), column
    for row in frame.iter_rows(named=True):
        few = "too few" if row["clusters"] < MIN_CLUSTERS else "few" if row["clusters"] < FEW else ""
        assert row["mark"] == few


@each
def test_rank(name: str) -> None:
    scores = scores_named(name)
    frame = scores.rank(metrics=list(scores.headline), **QUICK)
    assert frame.columns == COLUMNS["rank"].split()
    check(frame)
    assert scores.rank(**QUICK).equals(frame.filter(metric=scores.primary))
    for (condition, metric), rows in frame.group_by("condition", "metric", maintain_order=True):
        assert condition in scores.conditions
        assert sorted(rows["model"]) == list(scores.models)
        better = scores.metrics[str(metric)].higher_is_better
        known = rows.drop_nulls("rank")
        assert known["rank"].sum() == known.height * (known.height + 1) / 2
        assert known["value"].to_list() == sorted(known["value"], reverse=bool(better))
        assert rows["rank"].is_null().to_list() == sorted(rows["rank"].is_null())


@each
def test_sign(name: str) -> None:
    scores = scores_named(name)
    held = scores.provenance
    line = scores.sign(metrics=[scores.primary], **QUICK)
    signature = Signature.parse(line)
    assert str(signature) == line
    assert signature.benchmark == (None if name == "table" else name)
    assert (signature.metric, signature.protocol, signature.boot) == (scores.primary, held.protocol, 100)
    assert signature.variant == (",".join(f"{key}={value}" for key, value in held.variant.items()) or None)
    assert signature.mode == {"attunebench": "default", "emobench": "plain", "table": "plain,stepwise"}.get(name)
    assert (signature.data, signature.runs) == (held.data, held.runs)
    assert (signature.scores is None) == (name != "table")
    valued = scores.values.drop_nulls(scores.primary)["unit"].n_unique()
    assert (signature.n, signature.excluded) == (valued, scores.units.height - valued)
    assert Signature.parse(scores.sign()).metric == "all"
    assert scores.sign(metrics=list(scores.metrics)) == scores.sign()


@each
@pytest.mark.parametrize("format_", FORMATS)
def test_report(name: str, format_: Format) -> None:
    scores = scores_named(name)
    text = scores.report(format=format_, **QUICK)
    # AttuneBench's other metrics have tables of their own.
    shown = [scores.primary] if name == "attunebench" else list(scores.headline)
    board = scores.summary(metrics=shown, **QUICK)
    expected = board.filter(metric=scores.primary)
    metric = scores.metrics[scores.primary]
    called = scores.provenance.condition
    if format_ == "json":
        content = json.loads(text)
        assert list(content)[:3] == ["metadata", "models", "summary"]
        assert content["summary"] == board.rename({"condition": called}).to_dicts()
        models = content["models"]
    elif format_ == "csv":
        models = list(csv.DictReader(StringIO(text)))
        assert {row["signature"] for row in models} == {scores.sign(**QUICK)}
        assert [row["metric"] for row in models] == list(scores.metrics) * len(scores.groups)
        models = [{**row, row["metric"]: row["value"], f"{row['metric']}_n": row["n"]} for row in models]
        models = [row for row in models if row["metric"] == scores.primary]
    else:
        for row in expected.iter_rows(named=True):
            # Ties are rounded away from 0, as in published tables.
            tenths = Decimal(1).scaleb(-metric.digits)
            shown_value = str(Decimal(repr(row["value"] * metric.scale)).quantize(tenths, ROUND_HALF_UP))
            assert f"{shown_value.replace('-', '$-$') if format_ == 'latex' else shown_value} " in text
        assert scores.provenance.title in text
        signature = scores.sign(metrics=shown, **QUICK)
        end = f"signature: {short_signature(signature)}" if format_ == "table" else signature
        assert text.strip("`\n").endswith(end)
        return
    assert [(row["model"], row[called] or None) for row in models] == list(scores.groups)
    for row, known in zip(models, expected.iter_rows(named=True), strict=True):
        assert (float(row[scores.primary]), int(row[f"{scores.primary}_n"])) == (known["value"], known["n"])


@pytest.mark.slow
@some
def test_page(name: str) -> None:
    scores = scores_named(name)
    scores = scores.keep(groups=scores.groups[:2])
    page = scores.report(format="html", **QUICK)
    assert Tags(page).open == []
    assert {"Scores", "Methods", "Limits"} <= set(headings(page))
    [(head, *rows)] = tables(section(page, "Scores"))
    metric = scores.metrics[scores.primary]
    found = {row[0]: row[head.index(_label(metric))] for row in rows}
    for row in scores.summary(metrics=[scores.primary], **QUICK).iter_rows(named=True):
        shown = row["model"] if len(scores.conditions) < 2 else f"{row['model']} [{row['condition']}]"
        assert found[shown].startswith(f"{row['value'] * metric.scale:.{metric.digits}f}")


def _label(metric: Metric) -> str:
    return f"{metric.label}{', lower is better' if metric.higher_is_better is False else ''}"
