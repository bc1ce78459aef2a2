"""A benchmark is found by its name, and somebody else's by its import path; no file of scores has a module imported."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from benchmark_scores import scores_named
from commands import QUICK, Call

from attune_bench import BENCHMARKS, Benchmark, Scores, benchmark_named
from attune_bench.benchmarks import benchmark_in_use

each = pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda benchmark: benchmark.name)

OWN = """
from pathlib import Path
from attune_bench import Benchmark

Path(__file__).with_name("imported").touch()
BENCHMARK = Benchmark(name="own", title="Own", results="attune_data.kinds:DIALOGUE", score="math:sqrt")
NUMBER = 3

def __getattr__(name):
    raise AssertionError(f"asked for {name}")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the name of a module that could be imported, and would leave the file ``imported`` beside it."""
    (tmp_path / "somebodys_benchmark.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    yield "somebodys_benchmark"
    sys.modules.pop("somebodys_benchmark", None)


@each
def test_a_benchmark_is_found_by_its_name(benchmark: Benchmark) -> None:
    assert benchmark_named(benchmark.name) is benchmark_in_use(benchmark.name) is benchmark


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("eibenhc", "no benchmark 'eibenhc'; did you mean 'eibench'"),
        ("EIBench", "no benchmark 'EIBench'"),
        ("", "no benchmark ''"),
        (":", "':' is not of the form module:NAME"),
        ("no_such_module:X", "no module 'no_such_module'"),
        ("somebodys_benchmark:NUMBER", "somebodys_benchmark:NUMBER is int, not a Benchmark"),
        ("attune_bench.benchmarks.sage:BENCHMARKS", "has no 'BENCHMARKS'"),
    ],
)
def test_a_name_of_no_benchmark_is_refused(module: str, name: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        benchmark_named(name)
    assert benchmark_in_use(name) is None
    assert (module in sys.modules) == name.startswith(module)


def test_one_of_somebody_elses_is_in_use_once_it_was_named(module: str, tmp_path: Path) -> None:
    path = f"{module}:BENCHMARK"
    assert benchmark_in_use(path) is None
    assert not (tmp_path / "imported").exists()
    named = benchmark_named(path)
    assert named.title == "Own"
    assert benchmark_in_use(path) is named
    # Only names that the module has, and only those of benchmarks.
    assert [benchmark_in_use(f"{module}{rest}") for rest in ("", ":", ":NUMBER", ":OTHER", ":BENCHMARK.name")] == [
        None
    ] * 5
    assert benchmark_in_use(None) is None


@pytest.mark.slow
def test_no_file_of_scores_makes_us_import_a_module(module: str, call: Call, tmp_path: Path) -> None:
    scores = scores_named("sage")
    held = scores.provenance.model_copy(update={"benchmark": f"{module}:BENCHMARK"})
    path = tmp_path / "scores.parquet"
    replace(scores, provenance=held).write(path)
    read = Scores.read(path)
    assert read.provenance == held
    assert "somebodys_benchmark" in read.sign()
    assert read.report(format="html", resamples=20).startswith("<!DOCTYPE html>")
    with pytest.raises(ValueError, match="no JSON file of their own"):
        read.write(tmp_path / "scores.json")
    for command in (
        ["report"],
        ["compare"],
        ["rank"],
        ["analyze", "win_rates"],
        ["report", "--html", tmp_path / "p.html"],
    ):
        status, _, err = call(command[0], *command[1:], "--scores", path, *QUICK)
        assert (status, err) == (0, ""), command
    assert not (tmp_path / "imported").exists()
    assert module not in sys.modules
    # Whoever runs the command can name it.
    assert call("report", "--scores", path, "--benchmark", f"{module}:BENCHMARK", *QUICK)[0] == 0
    assert (tmp_path / "imported").exists()
