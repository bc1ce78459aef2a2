"""Score on a local Ray cluster and in processes of datasets; print as JSON whether it is the same as in one place.

Arguments: a file of conversations, a folder of runs, and a folder to write to.
"""

import json
import os
import signal
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from attune_bench import Scores, score
from attune_bench.adapters.arrow import read_results, score_batch, score_dataset, scores_of
from attune_data import load, load_runs

__all__ = ["main"]


def main(data: str, runs: str, folder: Path) -> None:
    """Compare."""
    ray, pa = import_module("ray"), import_module("pyarrow")
    # Of runs of which the time does not tell which counts, that counts which is read later.
    context = import_module("ray.data").DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    loaded = load_runs(runs)
    loaded.to_jsonl(folder / "runs.jsonl")
    loaded.to_parquet(folder / "tables")
    (folder / "tables" / "records.parquet").rename(folder / "records.parquet")
    plain = written(score(load(data), loaded), folder)
    found: dict[str, Any] = {}
    for source in (runs, folder / "runs.jsonl", folder / "records.parquet"):
        scored = score_dataset(read_results(source), data)
        table = pa.concat_tables(scored.iter_batches(batch_format="pyarrow", batch_size=None))
        found[Path(source).suffix or "folder"] = written(scores_of(table, data=data), folder) == plain
    killer = Killer()
    killer.start()
    lines = [read_results(folder / "runs.jsonl") for _ in range(5)]
    many = lines[0].union(*lines[1:])
    table = pa.concat_tables(score_dataset(many, data).iter_batches(batch_format="pyarrow"))
    killer.stopped = True
    killer.join()
    found["killed"] = killer.killed
    found["after a kill"] = written(scores_of(table, data=data), folder) == plain
    hub = import_module("datasets")
    given = hub.load_dataset("parquet", data_files=str(folder / "records.parquet"), split="train").with_format("arrow")
    mapped = given.map(
        score_batch, batched=True, fn_kwargs={"data": data}, remove_columns=given.column_names, num_proc=2
    )
    found["datasets"] = written(scores_of(mapped[:], data=data), folder) == plain
    mean = (
        score_dataset(read_results(runs), data).groupby("model", num_partitions=2).mean("composite_score").to_pandas()
    )
    found["means"] = dict(zip(mean["model"], mean["mean(composite_score)"], strict=True))
    json.dump(found, sys.stdout)


class Killer(threading.Thread):
    """Kills the first worker that scores."""

    killed = 0
    stopped = False

    def run(self) -> None:
        while not self.stopped and not self.killed:
            time.sleep(0.05)
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    name = (process / "cmdline").read_bytes()
                except OSError:
                    continue
                if name.startswith(b"ray::") and b"MapBatches(_score)" in name and not self.killed:
                    os.kill(int(process.name), signal.SIGKILL)
                    self.killed += 1


def written(scores: Scores, folder: Path) -> bytes:
    scores.write(folder / "scores.parquet")
    return (folder / "scores.parquet").read_bytes()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
