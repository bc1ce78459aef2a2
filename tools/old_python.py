"""Refuse an older Python in one line, before pip looks for dependencies: pip 23 would complain of one of these.

A hook of hatchling, which makes the metadata of the package; ``pyproject.toml`` names it.
"""

import sys
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class OldPython(MetadataHookInterface):  # type: ignore[misc]  # hatchling is not installed where mypy runs.
    """Ends the build where Python is older than the metadata allow."""

    def update(self, metadata: "dict[str, Any]") -> None:
        """Leave the metadata as they are."""
        oldest = metadata["requires-python"].strip(">=")
        if sys.version_info < tuple(map(int, oldest.split("."))):
            raise SystemExit(
                f"attune-bench needs Python {oldest} or newer, and this is Python {sys.version.split()[0]}: "
                f"make an environment with a newer one, such as python{oldest} -m venv .venv"
            )
