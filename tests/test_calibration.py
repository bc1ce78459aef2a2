"""The tables of coverage on the pages are what the benchmark prints, and its numbers are those of its simulations."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import calibration
import interval_coverage
import pair_coverage
import pair_planning
import participants
import pytest
from slow_cases import nightly_except

ROOT = Path(__file__).parents[1]


def test_pages_have_the_tables_that_the_benchmark_prints() -> None:
    rows = interval_coverage.read()
    pages = {
        "docs/intervals.md": interval_coverage.coverage_table(rows),
        "docs/decisions/0011-the-default-interval.md": interval_coverage.candidate_table(rows),
    }
    for page, table in pages.items():
        assert f"```text\n{table}\n```" in (ROOT / page).read_text(encoding="utf-8"), page


def test_the_page_has_the_tables_of_participants_means() -> None:
    rows = participants.read()
    page = (ROOT / "docs/intervals.md").read_text(encoding="utf-8")
    for kind, methods in (("mean", participants.MEANS), ("difference", participants.DIFFERENCES)):
        assert f"```text\n{participants.table(rows, kind, methods)}\n```" in page
    assert participants.width_line(rows) in page
    # What the page says of the default.
    assert min(row.found / row.simulations for row in rows if row[3:5] == ("mean", "logit-t")) >= 0.93


def test_the_page_of_judged_pairs_has_the_table_that_the_benchmark_prints() -> None:
    rows = pair_coverage.read()
    page = (ROOT / "docs/metrics/judged-pairs.md").read_text(encoding="utf-8")
    assert f"```text\n{pair_coverage.table(rows)}\n```" in page
    shares = [row.covered / row.intervals for row in rows if row.kind == "strength"]
    assert min(shares) >= 0.93
    # What covers too often has few units.
    assert {row.units for row, share in zip(rows[::2], shares, strict=True) if share > 0.97} == {10}


def test_numbers_of_judged_pairs_are_those_of_the_simulation() -> None:
    design = pair_coverage.Design(10, 3, "all", pair_coverage.EFFECT)
    first, _ = pair_coverage.simulate(design, 60)
    assert (first.simulations, first.intervals + 1) == (20, 61)
    assert first.covered >= 50


@pytest.mark.parametrize("name", ["stages", "planned at 95%"])
def test_a_new_model_is_placed(name: str) -> None:
    found = pair_planning.simulate(pair_planning.WAYS[name], 0)
    calls = [one.calls for one in found]
    assert calls == sorted(calls)
    assert calls[0] == (20 if name == "stages" else 8)  # ten models on one scenario, one on four: in two orders
    assert found[-1].ranks_off <= 3
    assert pair_planning.within(found, calls[1]) == [one for one in found if one.calls == calls[1]][-1]


def test_numbers_are_complete() -> None:
    rows = interval_coverage.read()
    expected = [
        (design.participants, design.sizes, design.icc, method)
        for design in interval_coverage.DESIGNS
        for method in (*interval_coverage.LIBRARY, *interval_coverage.CANDIDATES)
    ]
    assert [row[:4] for row in rows] == expected
    assert {row.simulations for row in rows} == {interval_coverage.SIMULATIONS}


class _Serial:
    """A pool of this process."""

    def __init__(self, workers: int) -> None:
        assert workers == 2

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        return map(function, items)


@pytest.mark.parametrize(("power", "status"), [(0.8, 0), (0.6, 1)])
def test_numbers_are_replaced_only_where_all_bounds_hold(
    power: float, status: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = interval_coverage.read()
    monkeypatch.setattr(interval_coverage, "NUMBERS", tmp_path / "numbers.csv")
    interval_coverage.NUMBERS.write_text("before", encoding="utf-8")
    for module, name, value in (
        (interval_coverage, "simulate", lambda design: [row for row in rows if row[:3] == _key(design)]),
        (calibration, "coverage", lambda _: 0.95),
        (calibration, "rejection", lambda _: 0.05),
        (calibration, "power", lambda _: power),
        (calibration, "ProcessPoolExecutor", _Serial),
    ):
        monkeypatch.setattr(module, name, value)
    assert calibration.main() == status
    if status:
        assert interval_coverage.NUMBERS.read_text(encoding="utf-8") == "before"
    else:
        assert interval_coverage.read() == rows
    out = capsys.readouterr().out
    assert ("DOES NOT HOLD" in out) == bool(status)
    # sqrt(0.95 x 0.05 / 2000) and sqrt(0.8 x 0.2 / 2000).
    assert "2000 simulations with a standard error of 0.49% at 95% and 0.89% at 80%" in out


def test_numbers_are_written_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(interval_coverage, "NUMBERS", tmp_path / "numbers.csv")
    row = interval_coverage.Row(5, "equal", 0.0, "wild", 10, 9, 0.5)
    interval_coverage.write([row])
    with pytest.raises(Exception, match="iterable expected"):
        interval_coverage.write([row, None])  # type: ignore[list-item]  # no row
    assert interval_coverage.read() == [row]
    assert [path.name for path in tmp_path.iterdir()] == ["numbers.csv"]


def _key(design: interval_coverage.Design) -> tuple[int, str, float]:
    return design.participants, design.sizes, design.icc


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    nightly_except(
        participants.DESIGNS[:11],
        participants.Participants(5, "skewed", 0.0),
        participants.Participants(5, "informative", 0.7),
    ),
    ids=str,
)
def test_numbers_of_participants_are_those_of_the_simulation(design: participants.Participants) -> None:
    known = {row[3:5]: row for row in participants.read() if row[:3] == _key(design)}
    for row in participants.simulate(design):
        assert abs(row.found - known[row[3:5]].found) <= 2
        assert row.width == pytest.approx(known[row[3:5]].width, abs=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    nightly_except(
        interval_coverage.DESIGNS[:18],
        interval_coverage.Design(5, "dominant", 0.3),
        interval_coverage.Design(10, "skewed", 0.7),
    ),
    ids=str,
)
def test_numbers_are_those_of_the_simulation(design: interval_coverage.Design) -> None:
    known = {row.method: row for row in interval_coverage.read() if row[:3] == _key(design)}
    for row in interval_coverage.simulate(design):
        # Another order of additions can move an end across the mean.
        assert abs(row.covered - known[row.method].covered) <= 2
        assert row.width == pytest.approx(known[row.method].width, abs=2e-6)
