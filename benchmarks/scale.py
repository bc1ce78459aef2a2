"""`attune-bench score` of 2,000 and of 50,000 run files, and a table of scores of 100,000 units.

    PYTHONPATH=tools python benchmarks/scale.py

Prints each figure with its bound, and exits with 1 where one does not hold. The files are a few hundred generated
conversations and runs under new ids, in a temporary folder of 1 GB. Memory is the most that all processes of the
command had at one time, what they share counted once.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from figures import Figure, report
from processes import measured
from synthetic.conversations import conversations
from synthetic.runs import SimulatedModel, runs

from attune_bench import Scores
from attune_bench.scores.parts import Provenance
from attune_metrics.metric import Metric

MODELS, DISTINCT = 10, 200
FEW, MANY = 2_000, 50_000
MOST_BYTES = 1.2e9
MOST_GROWTH = 1.1  # of the seconds of a file
TABLE_UNITS, TABLE_MODELS, TABLE_METRICS = 100_000, 20, 40
MOST_TABLE_BYTES, MOST_TABLE_SECONDS = 700e6, 10


def figures() -> list[Figure]:
    """Measure."""
    return [*files_figures(), *table_figures()]


def files_figures() -> list[Figure]:
    """Measure the scoring of files."""
    data, made = made_data()
    measured_of = {}
    for count in (FEW, MANY):
        with TemporaryDirectory() as name:
            folder = Path(name)
            write(folder, data, made, count)
            command = [str(Path(sys.executable).with_name("attune-bench")), "score", "-o", str(folder / "scores.json")]
            options = ["--results", str(folder / "runs"), "--data", str(folder / "data")]
            with subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL) as process:
                seconds, most = measured_of[count] = measured(process)
            print(f"{count} run files: {seconds:.1f} s, {most / 1e6:.0f} MB", file=sys.stderr)
    growth = (measured_of[MANY][0] / MANY) / (measured_of[FEW][0] / FEW)
    size = measured_of[MANY][1] / 1e6
    return [
        Figure(f"`score` of {MANY:,} run files: memory of all processes", size, MOST_BYTES / 1e6, "MB"),
        Figure(f"time a file, {MANY:,} run files against {FEW:,}", growth, MOST_GROWTH),
    ]


def made_data() -> tuple[list[tuple[str, bytes]], list[tuple[str, str, bytes]]]:
    """Return generated conversations, by id, and their run files, with the id and the model."""
    truth = conversations(DISTINCT, seed=1, turns=(5, 7))
    models = [SimulatedModel(f"vendor/model-{number}") for number in range(MODELS)]
    made = [(one.conversation_id, one.em_model, one.to_json()) for one in runs(truth, models, seed=2)]
    return [(one.id, one.to_json()) for one in truth], made


def write(folder: Path, data: list[tuple[str, bytes]], made: list[tuple[str, str, bytes]], count: int) -> None:
    """Write so many run files and their conversations, copies under ids of their own."""
    (folder / "data").mkdir()
    (folder / "runs").mkdir()
    for copy, start in enumerate(range(0, count, len(made))):
        for old, text in data:
            new = f"{copy:04}{old[4:]}"
            (folder / "data" / f"conversation_{new}.json").write_bytes(text.replace(old.encode(), new.encode()))
        for old, model, text in made[: count - start]:
            new = f"{copy:04}{old[4:]}"
            name = f"{new}_{model.replace('/', '_')}_default.json"
            (folder / "runs" / name).write_bytes(text.replace(old.encode(), new.encode()))


def table_figures() -> list[Figure]:
    """Measure a large table of scores: its size, writing it, and reading it in a process of its own."""
    scores = large_scores()
    size = scores.values.estimated_size() + scores.units.estimated_size()
    with TemporaryDirectory() as folder:
        path = Path(folder, "scores.parquet")
        start = time.perf_counter()
        scores.write(path)
        written = time.perf_counter() - start
        code = (
            "import json, sys, time; from attune_bench import Scores; start = time.perf_counter();"
            "scores = Scores.read(sys.argv[1]);"
            "print(json.dumps([time.perf_counter() - start, scores.values.estimated_size()]))"
        )
        done = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True)
        read, size_read = json.loads(done.stdout)
    name = f"scores of {TABLE_UNITS:,} units, {TABLE_MODELS} models, {TABLE_METRICS} means"
    return [
        Figure(f"{name}: memory", max(size, size_read) / 1e6, MOST_TABLE_BYTES / 1e6, "MB"),
        Figure(f"{name}: written as Parquet", written, MOST_TABLE_SECONDS, "s"),
        Figure(f"{name}: read", read, MOST_TABLE_SECONDS, "s"),
    ]


def large_scores() -> Scores:
    """Return the table."""
    generator = np.random.default_rng(1)
    units = pl.Series("unit", [f"{unit:08}-4f3a-4c1e-9d2b-1234567890ab" for unit in range(TABLE_UNITS)])
    names = [f"metric_{number}" for number in range(TABLE_METRICS)]
    parts = [
        pl.DataFrame({name: generator.random(TABLE_UNITS) for name in names}).select(
            pl.lit(f"vendor/model-{model:02}").alias("model"), pl.lit(None, pl.String).alias("condition"), units, *names
        )
        for model in range(TABLE_MODELS)
    ]
    people = pl.DataFrame({"unit": units, "cluster": [f"p{unit // 2:06}" for unit in range(TABLE_UNITS)]})
    metrics = {name: Metric(name=name, label=name) for name in names}
    return Scores(values=pl.concat(parts), units=people, metrics=metrics, provenance=Provenance())


if __name__ == "__main__":
    sys.exit(report(figures()))
