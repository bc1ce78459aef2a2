"""A report is made of scores alone: it scores nothing, and reads no file."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from benchmark_scores import NAMES, dialogues, predictions, scores_named
from episodes import episodes_of, scenarios_of
from pages import headings
from slow_cases import slow_except

from attune_bench import Scores, score
from attune_bench.benchmarks import BENCHMARKS
from attune_bench.report.document import FORMATS
from attune_data import Scenarios, load, load_records, load_runs, load_scenarios
from attune_data.kinds import ITEM
from attune_data.references import resolve
from attune_metrics.catalog import CATALOG

QUICK: dict[str, Any] = {"resamples": 20}
pytestmark = pytest.mark.filterwarnings("ignore:[0-9]+ resamples are too few")

SCORING = {resolve(benchmark.score).__code__ for benchmark in BENCHMARKS} | {score.__code__}
FUNCTIONS = {
    getattr(metric.function, "func", metric.function).__code__
    for metric in CATALOG.values()
    if metric.function is not None
}
SCORED = SCORING | FUNCTIONS
ROOMS = ("attune_metrics.attunebench.", "attune_metrics.eibench", "attune_metrics.sage")
FORMATS_AND_PAGE = (*FORMATS, "html")


class Calls:
    """Calls seen in a block: of scoring functions, of a benchmark's mathematics, openings of files."""

    def __init__(self) -> None:
        self.scoring: list[str] = []
        self.mathematics: list[str] = []
        self.opened: list[str] = []

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call" and argument.__name__ == "open":
            self.opened.append(f"{argument.__module__} in {frame.f_code.co_filename}")
        if event != "call" or not (module := str(frame.f_globals.get("__name__"))).startswith("attune_"):
            return
        name = frame.f_code.co_qualname
        mathematics = module.startswith(ROOMS)
        if mathematics:
            self.mathematics.append(f"{module}:{name}")
        if frame.f_code in SCORED or (mathematics and name.startswith(("score_", "count_"))):
            self.scoring.append(f"{module}:{name}")


@contextmanager
def counted() -> Iterator[Calls]:
    calls, before = Calls(), sys.getprofile()
    sys.setprofile(calls)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def records_of(name: str) -> dict[str, Any]:
    """Return what the scores of that name were made of."""
    if name == "attunebench":
        return {"data": load("demo"), "results": load_runs("demo")}
    if name == "eibench":
        scenarios = Scenarios(scenarios_of(load_scenarios("demo"), 2))
        return {"data": scenarios, "results": episodes_of(scenarios, failures=["invented/rash"])}
    if name == "emobench":
        return {"data": load_records("demo", ITEM), "results": predictions()}
    return {"results": dialogues()}


@pytest.mark.parametrize("name", slow_except(NAMES[:-1], "eibench", "sage"))
def test_the_count_sees_scoring(name: str) -> None:
    sources = records_of(name).values()
    with counted() as calls:
        score(*sources)
    assert any(called.endswith(":score") for called in calls.scoring)
    assert calls.mathematics or name in ("sage", "emobench")


def test_the_count_sees_files(tmp_path: Path) -> None:
    with counted() as calls:
        (tmp_path / "a").write_text("x")
    assert len(calls.opened) == 1


# The formats are made of one report, and only the page of more.
@pytest.mark.parametrize("name", slow_except(NAMES, "eibench"))
@pytest.mark.parametrize("format_", slow_except(FORMATS_AND_PAGE, "table", "html"))
def test_a_report_scores_nothing_and_opens_no_file(name: str, format_: Any) -> None:
    scores = scores_named(name)
    scores = scores.keep(groups=scores.groups[:2])
    # What a report is made with is imported, and the codebook read, with the first.
    first = scores.report(format=format_, **QUICK)
    with counted() as calls:
        again = scores.report(format=format_, **QUICK)
    assert (calls.scoring, calls.mathematics, calls.opened) == ([], [], [])
    assert again == first


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attunebench", "eibench"])
def test_a_page_with_data_and_results_scores_nothing(name: str) -> None:
    scores, given = scores_named(name), records_of(name)
    scores = scores.keep(groups=[group for group in scores.groups if not group[0].startswith("baseline/")])
    first = scores.report(format="html", **given, **QUICK)
    assert {"attunebench": "Agreement by question", "eibench": "Trajectories"}[name] in " ".join(headings(first))
    with counted() as calls:
        scores.report(format="html", **given, **QUICK)
    assert (calls.scoring, calls.opened) == ([], [])


@pytest.mark.parametrize("name", slow_except(NAMES, "sage"))
def test_scores_that_were_read_need_their_file_no_more(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "scores.parquet"
    scores = scores_named(name)
    scores = scores.keep(groups=scores.groups[:2])
    scores.write(path)
    read = Scores.read(path)
    path.unlink()
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    for format_ in FORMATS_AND_PAGE:
        assert read.report(format=format_, **QUICK) == scores.report(format=format_, **QUICK)  # type: ignore[arg-type]
    assert list(empty.iterdir()) == []
