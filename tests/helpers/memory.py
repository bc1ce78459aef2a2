"""The memory of this process: now and at most.

Not ru_maxrss, which begins with that of the process that started this one and so hides what this one takes.
"""

import re
from pathlib import Path

__all__ = ["peak", "start_peak"]


def peak() -> int:
    """Return the most bytes that this process has had in memory."""
    return _bytes("VmHWM")


def start_peak() -> int:
    """Let the peak begin anew at what the process has in memory now; return that."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    return _bytes("VmRSS")


def _bytes(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
    assert found is not None
    return int(found[1]) * 1024
