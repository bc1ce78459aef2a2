"""The built wheel, installed alone into a new environment, does its main job."""

import os
import subprocess
from pathlib import Path

import pytest
from environments import new_environment

SOURCE = Path(__file__).parents[1] / "src"


@pytest.mark.slow
def test_wheel_alone_runs_the_demo(tmp_path: Path) -> None:
    programs = new_environment(tmp_path)
    script = str(programs / "attune-bench")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [script, "demo"],
        cwd=elsewhere,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "SYNTHETIC" in done.stdout
    assert all(f"baseline/{name}" in done.stdout for name in ("chance", "prior", "lexicon"))
    assert done.stderr == ""
    for benchmark in ("eibench", "sage", "emobench", "eqbench"):
        command = [script, "demo", "--benchmark", benchmark]
        subprocess.run(command, cwd=elsewhere, env=environment, stdout=subprocess.DEVNULL, check=True)
    command = [script, "lm-eval-path"]
    tasks = subprocess.run(command, cwd=elsewhere, env=environment, capture_output=True, check=True).stdout
    assert Path(tasks.decode().strip(), "attunebench.yaml").is_file()
    for line in ("score --results demo --data demo --output demo.parquet", "leaderboard demo.parquet -o site"):
        command = [script, *line.split()]
        subprocess.run(command, cwd=elsewhere, env=environment, stdout=subprocess.DEVNULL, check=True)
    assert "#panel" in (elsewhere / "site" / "index.html").read_text(encoding="utf-8")
    codebook = (
        "from attune_data import json_schema, load_codebook; load_codebook(); json_schema('publishing');"
        "from attune_data.codebook import codebook_folder;"
        "from attune_data.attunebench.profile import instruments;"
        "from attune_bench.runner.task import load_prompts;"
        "load_prompts('attune_bench.benchmarks.attunebench', 'v2').texts['system'];"
        "load_prompts('attune_bench.benchmarks.eibench', 'eibench-v2');"
        "load_prompts('attune_bench.benchmarks', 'emobench-v1');"
        "print(len(instruments), codebook_folder())"
    )
    found = subprocess.run(
        [programs / "python", "-c", codebook], cwd=elsewhere, env=environment, capture_output=True, check=True
    )
    assert str(programs.parent) in found.stdout.decode()
    [installed] = programs.parent.glob("lib/python*/site-packages/attune_bench")
    files = [path.relative_to(SOURCE) for path in SOURCE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {"templates", "static", "texts"} <= {path.parent.name for path in files}
    assert [path for path in files if not (installed.parent / path).is_file()] == []
