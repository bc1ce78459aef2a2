"""The tables of coverage on the pages are what the benchmark prints, and its numbers are those of its simulations."""

from pathlib import Path

import interval_coverage
import pytest

ROOT = Path(__file__).parents[1]


def test_pages_have_the_tables_that_the_benchmark_prints() -> None:
    rows = interval_coverage.read()
    pages = {
        "docs/intervals.md": interval_coverage.coverage_table(rows),
        "docs/decisions/0011-the-default-interval.md": interval_coverage.candidate_table(rows),
    }
    for page, table in pages.items():
        assert f"```text\n{table}\n```" in (ROOT / page).read_text(encoding="utf-8"), page


def test_numbers_are_complete() -> None:
    rows = interval_coverage.read()
    expected = [
        (design.participants, design.sizes, design.icc, method)
        for design in interval_coverage.DESIGNS
        for method in (*interval_coverage.LIBRARY, *interval_coverage.CANDIDATES)
    ]
    assert [row[:4] for row in rows] == expected
    assert {row.simulations for row in rows} == {interval_coverage.SIMULATIONS}


@pytest.mark.slow
@pytest.mark.parametrize("design", interval_coverage.DESIGNS[:18], ids=str)
def test_numbers_are_those_of_the_simulation(design: interval_coverage.Design) -> None:
    key = design.participants, design.sizes, design.icc
    known = {row.method: row for row in interval_coverage.read() if row[:3] == key}
    for row in interval_coverage.simulate(design):
        # Another order of additions can move an end across the mean.
        assert abs(row.covered - known[row.method].covered) <= 2
        assert row.width == pytest.approx(known[row.method].width, abs=2e-6)
