"""Hostile cases in a process of their own, of which time, memory and standard error are watched.

A file of cases is a program: ``cases.py FOLDER FIRST LAST`` runs the cases of these seeds, so that one that fails can
be repeated by its seed.
"""

import faulthandler
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from memory import peak, start_peak

__all__ = ["failures", "main"]

_AT_ONCE = 50  # cases of a process
_MOST_SECONDS = 120  # a case that takes longer waits for something, also on a machine with other work


def failures(program: Path, folder: Path, cases: int) -> list[str]:
    """Run the cases of a program, and return what failed: the seed, and what went wrong."""

    def run(first: int) -> list[str]:
        last = min(first + _AT_ONCE, cases)
        command = [sys.executable, str(program), str(folder), str(first), str(last)]
        done = subprocess.run(command, capture_output=True, text=True, errors="backslashreplace", check=False)
        lines = done.stdout.splitlines()
        found = [line for line in lines if not line.startswith("began ")]
        if done.returncode:
            found.append(f"{lines[-1:]}: the process ended with {done.returncode}: {done.stderr[-3000:]}")
        return found

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [line for found in pool.map(run, range(0, cases, _AT_ONCE)) for line in found]


def main(case: Callable[[int, Path], Iterator[str]], *, most_bytes: int) -> None:
    """Run the cases that the command line names; each yields what went wrong.

    Parameters
    ----------
    case : callable
        Given the seed and the folder of the files that all cases share.
    most_bytes : int
        The most memory that a case may take beyond what the process took before it.
    """
    folder, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    # Cases may send their own output elsewhere.
    report, said = os.fdopen(os.dup(1), "w", buffering=1), os.fdopen(os.dup(2), "w")
    for seed in range(first, last):
        report.write(f"began {seed}\n")
        faulthandler.dump_traceback_later(_MOST_SECONDS, exit=True, file=said)
        before = start_peak()
        try:
            problems = list(case(seed, folder))
        except Exception:
            problems = [traceback.format_exc()]
        faulthandler.cancel_dump_traceback_later()
        if (taken := peak() - before) > most_bytes:
            problems.append(f"it took {taken / 2**20:.0f} MiB")
        for problem in problems:
            report.write(f"seed {seed}: {problem!r}\n")
