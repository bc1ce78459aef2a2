"""Tables of 200 and of 20,000 conversations: their cost against loading, how it grows, their memory, reading them.

    PYTHONPATH=tools python benchmarks/tables.py

Prints each figure with its bound, and exits with 1 where one does not hold. The 20,000 are a few hundred generated
conversations under new ids, in one JSONL file in a temporary folder. Memory is that of a process of its own.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from figures import Figure, report
from pairs import compare
from synthetic.conversations import conversations

from attune_data import Conversation, load
from attune_data.attunebench.tables import TABLES

DISTINCT = 200
LENGTHENED = 3  # The replies of stories are shorter than those of the models people talk to.
MANY = 20_000
MOST_BYTES = 1.6e9
MOST_GROWTH = 1.2  # of the cost of one conversation, from 200 to 20,000
MOST_QUERY = 0.1  # seconds
MOST_REOPEN = 0.25  # of a fresh load, every table read

_LOAD_TABLES = """
import json, re, sys, time
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
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
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


def figures() -> list[Figure]:
    """Generate, and measure."""
    with TemporaryDirectory() as folder:
        lines = [_lengthened(conversation).to_json() for conversation in conversations(DISTINCT, seed=1, turns=(5, 8))]
        few = _write(Path(folder, "few.jsonl"), lines, DISTINCT)
        many = _write(Path(folder, "many.jsonl"), lines, MANY)
        records = load(few)
        ratio = compare(
            f"all tables of {DISTINCT} conversations, against loading them",
            lambda: [getattr(records[:].tables, name) for name in TABLES],
            lambda: load(few),
            bound=0.5,
        )
        seconds, *_ = _run(_LOAD_TABLES, few)
        seconds_many, where, rows, peak, heights = _run(_LOAD_TABLES, many)
        opened, decoded = _run(_REOPEN, many, Path(folder, "written"))
        growth = (seconds_many / MANY) / (seconds / DISTINCT)
        print(f"{many.stat().st_size / 1e6:.0f} MB of JSONL, {heights}", file=sys.stderr)
    return [
        ratio,
        Figure(f"seconds of `load_tables` a conversation, {MANY:,} against {DISTINCT}", growth, MOST_GROWTH),
        Figure(f"memory of `load_tables` of {MANY:,} conversations", peak / 1e6, MOST_BYTES / 1e6, "MB"),
        Figure("`where(diagnosis=...)`", where, MOST_QUERY, "s", detail=f"{rows:.3f} s with its binary rows"),
        Figure(
            "reading all tables that were written, against `load_tables`",
            decoded / seconds_many,
            MOST_REOPEN,
            detail=f"opened in {opened:.1f} s",
        ),
    ]


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


def _run(code: str, *arguments: Path) -> Any:
    """Return what the code prints as JSON, in a process of its own."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    sys.exit(report(figures()))
