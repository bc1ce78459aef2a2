"""Writing a file so that it appears whole or not at all."""

import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, parts: Iterable[bytes]) -> None:
    """Write to a temporary file in the same folder, then rename; what was there before stays until then."""
    # In a hidden name, so that loading the folder passes over what a killed process leaves.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.writelines(parts)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
