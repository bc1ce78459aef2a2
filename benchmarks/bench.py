"""The figures of speed and memory that have a target, in one table.

    make bench

Takes about twelve minutes on two quiet cores, and exits with 1 where a bound does not hold.
"""

import json
import platform
import re
import subprocess
import sys
from pathlib import Path

from figures import Figure, markdown

from attune_bench.verbs.workers import processors

_PARTS = (
    "startup",
    "load_and_score",
    "scale",
    "statistics_at_scale",
    "judged_pairs_at_scale",
    "resampling",
    "trajectory",
    "tables",
    "page_times",
    "runner",
)


def main() -> int:
    """Measure, print; return the exit status."""
    figures: list[Figure] = []
    for part in _PARTS:
        print(f"{part} ...", file=sys.stderr)
        command = [sys.executable, str(Path(__file__).with_name(f"{part}.py")), "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        if not done.stdout:
            raise RuntimeError(f"{part}.py measured nothing")
        figures += [Figure(**fields) for fields in json.loads(done.stdout)]
    print(f"{machine()}\n\n{markdown(figures)}")
    return int(not all(figure.is_met for figure in figures))


def machine() -> str:
    """Return what was measured on, in a sentence."""
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    name = found[1] if found else platform.processor() or "unknown processor"
    return f"{processors()} processors ({name}), Python {platform.python_version()}, {platform.system()}."


if __name__ == "__main__":
    sys.exit(main())
