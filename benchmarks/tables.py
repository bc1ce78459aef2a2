"""Tables of 200 and of 20,000 conversations: their cost against loading, how it grows, and the memory they need.

    python benchmarks/tables.py

Prints each figure with its bound, and exits with 1 where one does not hold. The 20,000 are a few hundred generated
conversations under new ids, in one JSONL file in a temporary folder. Memory is that of a process of its own.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from load_and_score import _lengthened
from pairs import compare

from attune_data import load
from attune_data.synthetic import conversations
from attune_data.tables import TABLES

DISTINCT = 200
MANY = 20_000
MOST_BYTES = 1.6e9
MOST_GROWTH = 1.2  # of the cost of one conversation, from 200 to 20,000
MOST_QUERY = 0.1  # seconds

_LOAD_TABLES = """
import json, resource, sys, time
from attune_data import load_tables
from attune_data.tables import TABLES
load_tables("demo").conversations
start = time.perf_counter()
tables = load_tables(sys.argv[1])
seconds = time.perf_counter() - start
def timed(ask):
    start = time.perf_counter()
    ask()
    return time.perf_counter() - start
where = min(timed(lambda: tables.where(diagnosis="ADHD")) for _ in range(3))
rows = min(timed(lambda: tables.where(diagnosis="ADHD").binary) for _ in range(3))
heights = {name: getattr(tables, name).height for name in TABLES}
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([seconds, where, rows, peak, heights]))
"""


def main() -> int:
    """Generate, time, print; return the exit status."""
    with TemporaryDirectory() as folder:
        lines = [_lengthened(conversation).to_json() for conversation in conversations(DISTINCT, seed=1, turns=(5, 8))]
        few = _write(Path(folder, "few.jsonl"), lines, DISTINCT)
        many = _write(Path(folder, "many.jsonl"), lines, MANY)
        records = load(few)
        ratio = compare(
            "all tables of 200 conversations, against loading them",
            lambda: [getattr(records[:].tables, name) for name in TABLES],
            lambda: load(few),
            bound=0.5,
        )
        print(ratio)
        seconds, *_ = _measured(few)
        seconds_many, where, rows, peak, heights = _measured(many)
        growth = (seconds_many / MANY) / (seconds / DISTINCT)
        print(f"load_tables: {1000 * seconds / DISTINCT:.2f} ms each of {DISTINCT}, "
              f"{1000 * seconds_many / MANY:.2f} ms each of {MANY}, {growth:.2f}x; bound {MOST_GROWTH}x")  # fmt: skip
        print(f"{many.stat().st_size / 1e6:.0f} MB of JSONL, peak memory {peak / 1e6:.0f} MB; bound 1600 MB")
        print(f"where(diagnosis=...) {1000 * where:.0f} ms; bound {1000 * MOST_QUERY:.0f} ms; "
              f"with its binary rows {1000 * rows:.0f} ms")  # fmt: skip
        print(heights)
    holds = ratio.ratio <= ratio.bound and growth <= MOST_GROWTH and peak <= MOST_BYTES and where <= MOST_QUERY
    return int(not holds)


def _write(path: Path, lines: list[bytes], count: int) -> Path:
    """Write `count` conversations, each line under ids of its own."""
    with path.open("wb") as file:
        for number in range(count):
            line = lines[number % len(lines)]
            old = json.dumps(json.loads(line)["conversationId"]).encode()
            file.write(line.replace(old, f'"00000000-0000-4000-8000-{number:012d}"'.encode(), 1) + b"\n")
    return path


def _measured(path: Path) -> tuple[float, float, float, float, dict[str, int]]:
    """Return seconds, seconds of a query, with rows of another table, peak bytes and heights, in a fresh process."""
    done = subprocess.run([sys.executable, "-c", _LOAD_TABLES, str(path)], check=True, capture_output=True, text=True)
    seconds, where, rows, peak, heights = json.loads(done.stdout)
    return seconds, where, rows, peak, heights


if __name__ == "__main__":
    sys.exit(main())
