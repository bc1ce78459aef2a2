"""Benchmarks and kinds of record of installed packages are found by entry points, and a broken package costs itself."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import Call
from environments import new_environment
from model_server import ModelServer

import attune_bench.benchmarks
import attune_data.kinds
from attune_bench import Benchmark, Scores, benchmark_named, score
from attune_bench.benchmarks import benchmark_in_use, benchmark_names
from attune_bench.cli import verbs
from attune_data import load_records
from attune_data.collection import Kind
from attune_data.references import EntryPoints

PAGE = Path(__file__).parents[3] / "docs" / "adding-a-benchmark.md"


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def installed(folder: Path, package: str, module: str, code: str, **points: str) -> None:
    """Write a module into a folder, and beside it what the installation of its package would write."""
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    about = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    groups = {"benchmark": "attune_bench.benchmarks", "kind": "attune_data.kinds"}
    lines = [f"[{groups[name.partition('_')[0]]}]\n{point}\n" for name, point in points.items()]
    (about / "entry_points.txt").write_text("".join(lines))


MODULES = ("kinder", "other", "broken", "own_sage", "odd")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder from which Python imports, with the package of the page in it."""
    site = tmp_path / "site"
    site.mkdir()
    points = {
        "benchmark": "kinder = kinder:BENCHMARK",
        "kind": "kinder-question = kinder:QUESTION\nkinder-answer = kinder:ANSWER",
    }
    installed(site, "kinder-bench", "kinder", block("python"), **points)
    (tmp_path / "questions.jsonl").write_text(block("json"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(site)
    # As in a new process.
    known = attune_bench.benchmarks.INSTALLED
    fresh = EntryPoints(known.group, Benchmark, known.taken)
    monkeypatch.setattr(attune_bench.benchmarks, "INSTALLED", fresh)
    monkeypatch.setattr(verbs, "INSTALLED", fresh)
    known_kinds = attune_data.kinds.INSTALLED
    monkeypatch.setattr(attune_data.kinds, "INSTALLED", EntryPoints(known_kinds.group, Kind, known_kinds.taken))
    yield site
    for module in MODULES:
        sys.modules.pop(module, None)


VALID = (0, "2 questions loaded; 0 errors, 0 warnings, 0 notes\n", "")


@pytest.mark.usefixtures("folder")
def test_commands_know_an_installed_benchmark_and_its_records(call: Call) -> None:
    assert "kinder" not in sys.modules
    assert call("validate", "questions.jsonl") == VALID
    assert call("validate", "questions.jsonl", "--benchmark", "kinder") == VALID
    assert re.search(r"Benchmarks of installed packages:\n +kinder +Kinder\n", call("--help")[1])
    status, _, err = call("validate", "questions.jsonl", "--benchmark", "kindr")
    assert status == 2
    assert "no benchmark 'kindr'; did you mean 'kinder'?" in err


@pytest.mark.usefixtures("folder")
def test_records_and_scores_of_an_installed_benchmark_are_recognised() -> None:
    data = load_records("questions.jsonl")
    assert repr(data) == "<Collection of 2 questions, no issues>"
    answer = sys.modules["kinder"].Answer
    results = [answer(question=one.id, model=model, choice="first") for one in data for model in ("a", "b")]
    score(data, results).write("scores.parquet")
    scores = Scores.read("scores.parquet")
    assert scores.provenance.benchmark == "kinder"
    assert benchmark_in_use("kinder") is sys.modules["kinder"].BENCHMARK


@pytest.mark.usefixtures("folder")
def test_no_package_is_imported_before_it_is_needed() -> None:
    assert benchmark_named("sage").name == "sage"
    assert benchmark_names()[-1] == "kinder"
    assert "kinder" not in sys.modules
    assert benchmark_named("kinder").title == "Kinder"
    assert "kinder" in sys.modules


BROKEN = {
    "import no_such_module": "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'",
    "1 / 0": "cannot be imported: ZeroDivisionError: division by zero",
    "BENCHMARK = KIND = 3": "is of type int, not ",
}


@pytest.mark.parametrize("code", BROKEN)
def test_a_broken_package_costs_a_warning_and_breaks_no_other(folder: Path, code: str, call: Call) -> None:
    points = {"benchmark": "broken = broken:BENCHMARK", "kind": "broken-kind = broken:KIND"}
    installed(folder, "broken-bench", "broken", code, **points)
    said = f"^the entry point broken-kind .broken:KIND. of the package broken-bench {BROKEN[code]}.*; it is left out$"
    with pytest.warns(UserWarning, match=said):
        assert call("validate", "questions.jsonl") == VALID
    assert call("validate", "questions.jsonl", "--benchmark", "kinder") == VALID  # and no second warning
    status, _, err = call("validate", "questions.jsonl", "--benchmark", "broken")
    assert status == 2
    assert f"the entry point broken (broken:BENCHMARK) of the package broken-bench {BROKEN[code]}" in err


@pytest.mark.slow
def test_the_warning_of_a_broken_package_is_one_line_of_a_command(folder: Path) -> None:
    installed(folder, "broken-bench", "broken", "1 / 0", kind="broken-kind = broken:KIND")
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from attune_bench.cli import main; main()", "validate", "questions.jsonl"],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == VALID[:2]
    assert re.fullmatch("attune-bench: the entry point broken-kind .*; it is left out\n", done.stderr)


def test_a_name_that_is_taken_is_an_error_that_names_both(folder: Path, call: Call) -> None:
    installed(folder, "other-bench", "other", block("python"), benchmark="kinder = other:BENCHMARK")
    code = block("python").replace('name="kinder"', 'name="sage"')
    installed(folder, "sage-bench", "own_sage", code, benchmark="sage = own_sage:BENCHMARK")
    both = r"kinder \(\w+:BENCHMARK\) of the package (kinder|other)-bench and .* (kinder|other)-bench have one name"
    with pytest.raises(ValueError, match=both):
        benchmark_named("kinder")
    with pytest.raises(
        ValueError, match=r"sage \(own_sage:BENCHMARK\) of the package sage-bench .* attune-bench itself"
    ):
        benchmark_named("sage")
    assert call("validate", "demo", "--benchmark", "eibench")[0] == 0


def test_an_entry_point_has_the_name_of_its_benchmark(folder: Path) -> None:
    installed(folder, "odd-bench", "odd", block("python"), benchmark="odd = odd:BENCHMARK")
    said = r"the entry point odd \(odd:BENCHMARK\) of the package odd-bench is named 'kinder'"
    with pytest.raises(ValueError, match=said):
        benchmark_named("odd")


@pytest.mark.slow
def test_a_package_that_pip_installs_takes_part_in_every_command(tmp_path: Path) -> None:
    """The package of the page is installed with pip beside the wheel of this project."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "kinder.py").write_text(block("python"), encoding="utf-8")
    (package / "pyproject.toml").write_text(block("toml"), encoding="utf-8")
    programs = new_environment(tmp_path)
    pip = [
        str(programs / "python"),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
        "--no-deps",
        str(package),
    ]
    subprocess.run(pip, check=True)
    (tmp_path / "questions.jsonl").write_text(block("json"), encoding="utf-8")

    def command(line: str) -> str:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(
            [programs / "attune-bench", *line.split()],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), line
        return done.stdout

    assert "kinder" in command("--help")
    assert command("validate questions.jsonl") == VALID[1]
    with ModelServer(answer=lambda _: "The first one.") as server:
        command(f"run local model-a questions.jsonl --benchmark kinder --base-url {server.url}")
    said = command("score --results results --data questions.jsonl --output scores.parquet")
    assert said.startswith("scores.parquet: 2 answers of 1 model\n")
    assert "Agreement" in command("report scores.parquet")
