"""Every command with standard streams that are closed, full or read by nobody: one error at most, and an end."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click import Context
from interrupts import SCRIPT

from attune_bench import score
from attune_bench.annotate.store import Store
from attune_bench.cli.verbs import app
from attune_data import load, load_runs

pytestmark = pytest.mark.slow

LIMIT = 120  # seconds of a command that takes two
SERVER = "--base-url http://127.0.0.1:9/v1 -o runs"
LABELS = "model,unit,rating\nsynthetic/hasty,4efd4f90-903b-4d76-96bd-e0f73f874014,0.5\n"
COMMANDS = {
    "demo": "",
    "show": "demo 4efd4f90-903b-4d76-96bd-e0f73f874014",
    "describe": "demo",
    "validate": "demo",
    "columns": "mood_tags",
    "score": "--results demo --data demo --output again.json",
    "signature": "rank scores.json",
    **dict.fromkeys(("report", "compare", "rank"), "scores.json"),
    "judge": "correct scores.json --labels labels.csv --metric avg_draft_judge_score",
    "annotate": "backup study.db -o copy.db",
    "figure": "scores.json -o figure.svg",
    "plan": "scores.json --difference 2",
    "subset": "scores.json --by gender",
    "leaderboard": "scores.json -o site",
    "analyze": "scores.json",
    "run": f"local m demo {SERVER} --limit 1 --dry-run",
    "export": "scores.json --format csv -o tables",
    "batch": "export local m demo --limit 1 -o calls.jsonl",
    "lm-eval-path": "",
    "profile": f"local m demo {SERVER} --limit 1 --call-timeout 0.1",
    "rejudge": f"runs --judge-model j --data demo {SERVER}",
}
STREAMS = ("2>&-", "<&- >&- 2>&-", ">/dev/full", "2>&1 | true")


def test_every_command_is_tried() -> None:
    assert COMMANDS.keys() == {*app.list_commands(Context(app))}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of what commands are given."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "runs").mkdir()
    (folder / "labels.csv").write_text(LABELS, encoding="utf-8")
    score(load("demo"), load_runs("demo")).write(folder / "scores.json")
    Store.create(folder / "study.db", "rate", {}).close()
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_streams_that_are_closed_or_full(
    command: str, files: Path, scale: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    env = {**os.environ, "PYTHONWARNINGS": "error", "A": f"{sys.executable} {SCRIPT} {command} {COMMANDS[command]}"}
    # For a submission every other command has each of them.
    for streams in STREAMS if scale > 1 else STREAMS[[*COMMANDS].index(command) % 2 :: 2]:
        # The status of the command, not that of the reader of its pipe.
        line = f"{{ $A; echo $? >status; }} {streams}"
        done = subprocess.run(
            ["/bin/sh", "-c", line], capture_output=True, env=env, check=False, stdin=subprocess.DEVNULL, timeout=LIMIT
        )
        said = streams, done.stderr.decode()
        assert Path("status").read_text(encoding="utf-8").strip() in ("0", "1", "2"), said
        assert "Traceback" not in said[1], said
        assert "Exception ignored" not in said[1], said
        if "/dev/full" in streams and done.stderr:
            assert said[1].count("standard output cannot be written") <= 1, said
