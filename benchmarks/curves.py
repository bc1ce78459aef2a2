"""How long scoring takes and what memory it needs, by how many runs and in which way.

    PYTHONPATH=tools python benchmarks/curves.py [RUNS ...]

Scores 1,000, 10,000 and 100,000 runs with `attune-bench score` in one process and in as many as there are processors,
with `datasets.map` and on a local Ray cluster (extra ``ray``), and prints a table. Each way ends with a file of scores;
exits with 1 where these are not equal. Memory is the most that all processes of a way had at one time, what they share
counted once. Runs are copies under ids of their own, in a temporary folder of up to 4 GB.
"""

import os
import subprocess
import sys
from hashlib import sha256
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from processes import measured
from scale import made_data, write

from attune_bench.verbs.workers import processors

COUNTS = (1_000, 10_000, 100_000)

_DATASETS = """
import sys
from datasets import load_dataset
from attune_bench.adapters.arrow import score_batch, scores_of

data, runs, output, jobs = sys.argv[1:]
given = load_dataset("parquet", data_files=runs, split="train").with_format("arrow")
scored = given.map(score_batch, batched=True, batch_size=256, fn_kwargs={"data": data},
                   remove_columns=given.column_names, num_proc=int(jobs))
scores_of(scored[:], data=data).write(output)
"""
_RAY = """
import sys
import pyarrow as pa
import ray
from attune_bench.adapters.arrow import scores_of
from attune_bench.adapters.arrow import read_results, score_dataset

data, runs, output, jobs = sys.argv[1:]
ray.init(num_cpus=int(jobs), include_dashboard=False, log_to_driver=False)
ray.data.DataContext.get_current().execution_options.preserve_order = True
scored = score_dataset(read_results(runs), data).iter_batches(batch_format="pyarrow", batch_size=None)
table = pa.concat_tables(scored).sort_by("file")  # Of many blocks, Ray gives some out of order all the same.
scores_of(table, data=data).write(output)
"""


def main(counts: list[int]) -> int:
    """Measure, print; return the exit status."""
    jobs = str(processors())
    command = [str(Path(sys.executable).with_name("attune-bench")), "score"]
    same = True
    print("| runs | | seconds | ms a run | MB |\n| --- | --- | --- | --- | --- |")
    for count in counts:
        with TemporaryDirectory() as name:
            folder = Path(name)
            write(folder, *made_data(), count)
            data, rows, output = folder / "data", folder / "runs.parquet", folder / "scores.parquet"
            plain = [*command, "--data", str(data), "--results", str(folder / "runs"), "-o", str(output), "--jobs"]
            of_rows = [str(data), str(rows), str(output), jobs]
            ways = {
                "one process": [*plain, "1"],
                f"`--jobs {jobs}`": [*plain, jobs],
                f"`datasets`, {jobs} processes": [sys.executable, "-c", _DATASETS, *of_rows],
                f"Ray, {jobs} processors": [sys.executable, "-c", _RAY, *of_rows],
            }
            if find_spec("ray") is None:
                ways.popitem()
                print("without Ray, which the extra ray installs", file=sys.stderr)
            rows_of_files(folder / "runs", rows)
            written = {}
            for way, words in ways.items():
                environment = {**os.environ, "HF_HOME": str(folder / "hub"), "HF_HUB_OFFLINE": "1"}
                quiet = subprocess.DEVNULL
                with subprocess.Popen(words, stdout=quiet, stderr=quiet, env=environment) as process:
                    seconds, most = measured(process)
                print(f"| {count:,} | {way} | {seconds:.1f} | {1000 * seconds / count:.2f} | {most / 1e6:,.0f} |")
                written[way] = sha256(output.read_bytes()).hexdigest()
            if len({*written.values()}) > 1:
                print(f"the ways give different scores: {written}", file=sys.stderr)
                same = False
    return int(not same)


def rows_of_files(folder: Path, target: Path) -> None:
    """Write run files as the rows of a Parquet file."""
    schema = pa.schema({"record": pa.binary(), "file": pa.string()})
    names = iter(sorted(folder.iterdir()))
    with pq.ParquetWriter(target, schema) as writer:
        while group := list(islice(names, 1_000)):
            columns = [[path.read_bytes() for path in group], [path.name for path in group]]
            writer.write_table(pa.table(columns, schema=schema))


if __name__ == "__main__":
    sys.exit(main([int(count) for count in sys.argv[1:]] or [*COUNTS]))
