"""The tables of shares and skewed scores are the numbers of the benchmark, and pages and warnings say what they say."""

import re
from pathlib import Path

import pytest
import skewed_scores
from skewed_scores import BAD, DESIGNS, SCORES, SHARES, SIMULATIONS

from attune_bench.stats import options

PAGE = (Path(__file__).parents[1] / "docs/intervals.md").read_text(encoding="utf-8")
ROWS = skewed_scores.read()
SKEWED = [row for row in ROWS if row.of in SCORES]


def test_the_page_has_the_tables_that_the_benchmark_prints() -> None:
    for table in (skewed_scores.share_table(ROWS), skewed_scores.skewed_table(ROWS)):
        assert f"```text\n{table}\n```" in PAGE


def test_numbers_are_complete() -> None:
    assert [row[:5] for row in ROWS] == [(one.of, one.participants, one.sizes, one.icc, SIMULATIONS) for one in DESIGNS]


def test_no_design_is_covered_below_92_percent_without_a_warning() -> None:
    shares = [row.logit / row.simulations for row in ROWS if row.of in SHARES]
    assert min(shares) >= BAD
    assert f"covers {min(shares):.1%} to {max(shares):.1%}, on average {sum(shares) / len(shares):.1%}" in PAGE
    bad = [row.warned / row.simulations for row in SKEWED if row.covered < BAD * row.simulations]
    assert min(bad) >= 0.5
    assert f"in {min(bad):.0%} of its data sets or more, on average in {sum(bad) / len(bad):.0%}" in PAGE
    good = [row.warned / row.simulations for row in SKEWED if row.covered >= 0.93 * row.simulations]
    assert f"the warning comes in {sum(good) / len(good):.0%} of data sets on average" in PAGE


def test_warnings_say_the_worst_of_the_tables() -> None:
    missed = max(1 - row.covered / row.simulations for row in SKEWED)
    found, same = (max(getattr(row, name) / row.simulations for row in SKEWED) for name in ("rejected", "same"))
    assert f"missed the true mean in up to {missed:.0%} of cases, not 5%" in options.MEANS
    assert f"missed the true difference in up to {missed:.0%} of cases, not 5%" in options.DIFFERENCES
    assert options.DIFFERENCES.endswith(f"where there was none in up to {found:.0%}")
    assert options.MARGINS.endswith(f"called the same in up to {same:.0%}")
    repeats = (Path(__file__).parents[1] / "docs/repeats.md").read_text(encoding="utf-8")
    covered = [float(share) for share in re.findall(r"lognormal +[\d.]+ +[\d.]+% +[\d.]+ +([\d.]+)%", repeats)]
    assert len(covered) == 6
    assert f"in up to {100 - min(covered):.0f}% of cases, not 5%" in options.VARIANCES


@pytest.mark.slow
@pytest.mark.parametrize("place", range(0, len(DESIGNS), 20))
def test_numbers_are_those_of_the_simulation(place: int) -> None:
    row, known = skewed_scores.simulate(DESIGNS[place]), ROWS[place]
    for name in ("expanded", "covered", "logit", "warned", "rejected", "same"):
        # Another order of additions can move an end across the mean.
        assert abs(getattr(row, name) - getattr(known, name)) <= 2
    assert row.width == pytest.approx(known.width, abs=1e-4)
