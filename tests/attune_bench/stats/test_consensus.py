"""Judges of counselling without experts: narrow intervals around what judges agree on, which is not the truth."""

from pathlib import Path

import polars as pl
import pytest

from attune_bench.report.consensus import consensus_warnings
from attune_bench.stats.consensus import judge_consensus

TESTS = Path(__file__).parents[2]
RATINGS = TESTS / "golden" / "mentalalign" / "ratings.parquet"
PAGE = TESTS.parent / "docs" / "judges.md"


@pytest.mark.slow
def test_what_the_page_says_of_judges_of_counselling() -> None:
    found = judge_consensus(RATINGS, judges=["claude", "gemini", "gpt-4o", "o4-mini"])
    people = pl.read_parquet(RATINGS).filter(rater="human").group_by("dimension", model="responder")
    rows = found.models.join(people.agg(people=pl.col("value").cast(pl.Float64).mean()), on=["dimension", "model"])
    page = PAGE.read_text(encoding="utf-8")
    therapist = rows.filter(model="human therapist")
    for row in therapist.iter_rows(named=True):
        interval = f"{row['level']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        assert f"{row['dimension']:15}{row['people']:9.2f}{interval:>19}{row['plain']:12.2f}\n" in page
    means = therapist.select(pl.col("people", "level", "plain").mean()).row(0)
    assert "all{:21.2f}{:19.2f}{:12.2f}\n".format(*means) in page
    assert means[1] - means[0] == pytest.approx(0.9, abs=0.05)
    known = rows.drop_nulls("low")
    within = known.filter(pl.col("people").is_between("low", "high")).height
    above = known.filter(pl.col("people") < pl.col("low")).height
    said = (
        f"Of {known.height} intervals, of ten responders and seven attributes, {within} have the experts' mean in them"
    )
    assert f"{said}, and {above} are above it." in page
    assert found.units.height == 70_000
    assert sum("they may share errors" in one for one in consensus_warnings(found, level=0.95)) == 4
