"""Ray and the processes of datasets: the scores of one place, also where a worker is killed."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import ray_scoring
from environments import new_environment

from attune_bench import score
from attune_bench.adapters.arrow import read_results
from attune_data import load, load_runs


def test_without_ray_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray.data", None)
    with pytest.raises(ImportError, match=r"attune-bench\[ray\]"):
        read_results("runs")


@pytest.mark.slow
def test_a_local_cluster_gives_the_scores_of_one_place(tmp_path: Path) -> None:
    python = str(new_environment(tmp_path, "ray,datasets") / "python")
    (tmp_path / "runs").mkdir()
    runs = load_runs("demo")
    for place, run in enumerate(runs):
        # A line separator within a text ends no line of JSONL.
        odd = run.model_copy(update={"note": "a\u2028b"}) if place == 3 else run
        (tmp_path / "runs" / f"run_{place:02}.json").write_bytes(odd.to_line())
    for name in (".sources.json", "_skipped_model.json"):
        (tmp_path / "runs" / name).write_bytes(b"[]")
    load("demo").to_jsonl(tmp_path / "data.jsonl")
    command = [python, ray_scoring.__file__, *(str(tmp_path / name) for name in ("data.jsonl", "runs", ""))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    found = json.loads(done.stdout.splitlines()[-1])
    means = found.pop("means")
    same = dict.fromkeys(("folder", ".jsonl", ".parquet", "after a kill", "datasets"), True)
    assert found == {**same, "killed": 1}
    frame = score(load("demo"), runs).values
    assert means == pytest.approx(dict(frame.group_by("model").agg(pl.mean("composite_score")).iter_rows()))
