"""Tables of 200 and of 20,000 conversations: their cost against loading, how it grows, their memory, reading them.

    python benchmarks/tables.py

Prints each figure with its bound, and exits with 1 where one does not hold. The 20,000 are a few hundred generated
conversations under new ids, in one JSONL file in a temporary folder. Memory is that of a process of its own.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pairs import compare

from attune_data import Conversation, load
from attune_data.attunebench.synthetic.generator import conversations
from attune_data.attunebench.tables import TABLES

DISTINCT = 200
LENGTHENED = 3  # The replies of stories are shorter than those of the models people talk to.
MANY = 20_000
MOST_BYTES = 1.6e9
MOST_GROWTH = 1.2  # of the cost of one conversation, from 200 to 20,000
MOST_QUERY = 0.1  # seconds
MOST_REOPEN = 0.25  # of a fresh load, every table read

_LOAD_TABLES = """
import json, resource, sys, time
from attune_data import load_tables
from attune_data.attunebench.tables import TABLES
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

_REOPEN = """
import json, sys, time
from attune_data import load_tables
from attune_data.attunebench.tables import TABLES
load_tables(sys.argv[1]).to_parquet(sys.argv[2])
start = time.perf_counter()
tables = load_tables(sys.argv[2])
opened = time.perf_counter() - start
for name in TABLES:
    getattr(tables, name)
print(json.dumps([opened, time.perf_counter() - start]))
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
        opened, decoded = _run(_REOPEN, many, Path(folder, "written"))
        reopen = decoded / seconds_many
        growth = (seconds_many / MANY) / (seconds / DISTINCT)
        print(f"load_tables: {1000 * seconds / DISTINCT:.2f} ms each of {DISTINCT}, "
              f"{1000 * seconds_many / MANY:.2f} ms each of {MANY}, {growth:.2f}x; bound {MOST_GROWTH}x")  # fmt: skip
        print(f"{many.stat().st_size / 1e6:.0f} MB of JSONL, peak memory {peak / 1e6:.0f} MB; bound 1600 MB")
        print(f"where(diagnosis=...) {1000 * where:.0f} ms; bound {1000 * MOST_QUERY:.0f} ms; "
              f"with its binary rows {1000 * rows:.0f} ms")  # fmt: skip
        print(f"reopened what was written in {opened:.1f} s, every table read in {decoded:.1f} s, "
              f"{reopen:.2f}x of {seconds_many:.1f} s; bound {MOST_REOPEN}x")  # fmt: skip
        print(heights)
    holds = ratio.ratio <= ratio.bound and growth <= MOST_GROWTH and peak <= MOST_BYTES and where <= MOST_QUERY
    return int(not (holds and reopen <= MOST_REOPEN))


def _lengthened(conversation: Conversation) -> Conversation:
    content = json.loads(conversation.to_json())
    turns = content["turns"]
    replies = [(turn["llmResponse"], turn["annotations"]["alternateResponses"]["llmImproved"]) for turn in turns]
    for index, turn in enumerate(turns):
        following = [replies[(index + step) % len(replies)] for step in range(LENGTHENED)]
        originals, improved = zip(*following, strict=True)
        turn["llmResponse"] = "\n\n".join(originals)
        turn["annotations"]["alternateResponses"]["llmImproved"] = "\n\n".join(improved)
    return Conversation.model_validate(content)


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
    seconds, where, rows, peak, heights = _run(_LOAD_TABLES, path)
    return seconds, where, rows, peak, heights


def _run(code: str, *arguments: Path) -> Any:
    """Return what the code prints as JSON, in a process of its own."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    sys.exit(main())
