"""The built wheel, installed alone into a new environment, does its main job."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_wheel_alone_runs_the_demo(tmp_path: Path) -> None:
    wheels, home = tmp_path / "wheels", tmp_path / "venv"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, ROOT], check=True)
    (wheel,) = wheels.glob("*.whl")
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", wheel], check=True)

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [home / "bin" / "attune-bench", "demo"],
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
        command = [str(home / "bin" / "attune-bench"), "demo", "--benchmark", benchmark]
        subprocess.run(command, cwd=elsewhere, env=environment, stdout=subprocess.DEVNULL, check=True)
    command = [str(home / "bin" / "attune-bench"), "lm-eval-path"]
    tasks = subprocess.run(command, cwd=elsewhere, env=environment, capture_output=True, check=True).stdout
    assert Path(tasks.decode().strip(), "attunebench.yaml").is_file()
    for line in ("score --results demo --data demo --output demo.parquet", "leaderboard demo.parquet -o site"):
        command = [str(home / "bin" / "attune-bench"), *line.split()]
        subprocess.run(command, cwd=elsewhere, env=environment, stdout=subprocess.DEVNULL, check=True)
    assert "#panel" in (elsewhere / "site" / "index.html").read_text(encoding="utf-8")
    codebook = (
        "from attune_data import json_schema, load_codebook; load_codebook(); json_schema('publishing');"
        "from attune_data.codebook import codebook_folder;"
        "from attune_data.attunebench.profile import instruments;"
        "from attune_bench.runner.task import load_prompts;"
        "load_prompts('attune_bench.benchmarks.attunebench', 'v2').texts['system'];"
        "load_prompts('attune_bench.benchmarks.eibench', 'eibench-v2');"
        "load_prompts('attune_bench.benchmarks.emobench', 'emobench-v1');"
        "print(len(instruments), codebook_folder())"
    )
    found = subprocess.run([python, "-c", codebook], cwd=elsewhere, env=environment, capture_output=True, check=True)
    assert str(home) in found.stdout.decode()
