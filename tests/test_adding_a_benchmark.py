"""The page on adding a benchmark does what it says: its files and commands, word for word, in an empty folder."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from model_server import ModelServer

from attune_bench import Scores

PAGE = Path(__file__).parents[1] / "docs" / "adding-a-benchmark.md"
MOST_LINES = 120


def whole_benchmark() -> str:
    """Return the page without its section on judges, whose examples `tests/test_docs.py` runs."""
    return PAGE.read_text(encoding="utf-8").partition("\n## Judges\n")[0]


def block(language: str) -> str:
    """Return the blocks of a language on the page, one below the other."""
    return "".join(re.findall(rf"^```{language}\n(.*?)^```$", whole_benchmark(), re.MULTILINE | re.DOTALL))


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, which is not among those that Python imports from, as with the installed command."""
    return subprocess.run(
        [sys.executable, "-P", "-c", "from attune_bench.cli import main; main()", *words],
        cwd=folder,
        env={**os.environ, "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what each command printed, by the command, in the folder that is under ``folder``."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "kinder.py").write_text(block("python"), encoding="utf-8")
    (folder / "questions.jsonl").write_text(block("json"), encoding="utf-8")
    found = {"folder": str(folder)}

    # Model A names the kinder reply each time, model B the first.
    def answer(body: dict[str, object]) -> str:
        return "The second." if body["model"] == "model-a" and "dog" in str(body["messages"]) else "The first one."

    with ModelServer(answer=answer) as server:
        for line in block("sh").splitlines():
            _, *words = shlex.split(line.replace("http://localhost:8000/v1", server.url))
            done = command(folder, *words)
            assert (done.returncode, done.stderr) == (0, ""), line
            found[line] = done.stdout
    return found


def of(said: dict[str, str], start: str) -> str:
    return next(text for line, text in said.items() if line.startswith(f"attune-bench {start}"))


def test_the_first_example_is_short() -> None:
    example, *_ = PAGE.read_text(encoding="utf-8").partition("\n## ")
    assert len(example.splitlines()) <= MOST_LINES


@pytest.mark.slow
def test_the_records_are_valid(said: dict[str, str]) -> None:
    assert of(said, "validate") == "2 questions loaded; 0 errors, 0 warnings, 0 notes\n"


@pytest.mark.slow
def test_models_are_asked_and_scored(said: dict[str, str]) -> None:
    assert of(said, "run local model-a").startswith("results: 2 answers, one question each\n")
    assert of(said, "score").startswith("scores.parquet: 4 answers of 2 models\n")
    values = pl.read_parquet(Path(said["folder"], "scores.parquet")).select("model", "unit", "agreement").sort(pl.all())
    assert values.rows() == [("model-a", "q1", 1), ("model-a", "q2", 1), ("model-b", "q1", 0), ("model-b", "q2", 1)]


@pytest.mark.slow
def test_they_are_compared(said: dict[str, str]) -> None:
    text = of(said, "compare")
    # 2 of 2 against 1 of 2.
    assert re.search(r"^model-a +model-b +\+0\.500 ", text, re.MULTILINE)
    assert re.search(r"^signature: [0-9a-f]{12} \(whole: attune-bench signature compare .*\)$", text, re.MULTILINE)


@pytest.mark.slow
def test_the_page_of_scores_is_written(said: dict[str, str]) -> None:
    page = Path(said["folder"], "page.html").read_text(encoding="utf-8")
    assert "Kinder" in page
    assert "model-b" in page


def test_the_commands_go_through_every_stage() -> None:
    verbs = {line.split()[1] for line in block("sh").splitlines()}
    assert verbs == {"validate", "run", "score", "compare", "report", "analyze"}


@pytest.mark.slow
def test_a_model_that_is_asked_three_times_has_the_mean_of_its_answers(said: dict[str, str]) -> None:
    scores = Scores.read(Path(said["folder"], "repeats.parquet"))
    assert scores.values.select("unit", "agreement").rows() == [("q1", 1), ("q2", 1)]
    assert scores.repeats is not None
    assert scores.repeats["repeat"].to_list() == ["1", "1", "2", "2", "3", "3"]
    assert "repeat" in of(said, "analyze repeats.parquet")


@pytest.mark.slow
def test_repeats_need_a_field_of_the_results(said: dict[str, str]) -> None:
    words = ("run", "local", "model-a", "questions.jsonl", "--benchmark", "kinder:BENCHMARK", "--repeats", "2")
    folder = Path(said["folder"], "without")
    folder.mkdir()
    code = block("python").replace("    repeat: Repeat = 1\n", "").replace("{repeat_suffix(self.repeat)}", "")
    (folder / "kinder.py").write_text(code, encoding="utf-8")
    (folder / "questions.jsonl").write_text(block("json"), encoding="utf-8")
    done = command(folder, *words, "--base-url", "http://127.0.0.1:9/v1")
    assert done.returncode == 2
    assert done.stderr.endswith("answers of Kinder have no field repeat; each repeat needs a folder of its own\n")
