"""Refuse an older Python in one line, before pip looks for dependencies: pip 23 would complain of one of these.

The README's links and pictures get whole addresses too, as the package index has no files of the repository. A hook of
hatchling, which makes the metadata of the package; ``pyproject.toml`` names it.
"""

import re
import sys
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class PackageMetadata(MetadataHookInterface):  # type: ignore[misc]  # hatchling is not installed where mypy runs.
    """Ends the build where Python is older than the metadata allow, and adds the README to them."""

    def update(self, metadata: "dict[str, Any]") -> None:
        """Set the README, whose links lead to the repository as it was at the tag of the version."""
        oldest = metadata["requires-python"].strip(">=")
        if sys.version_info < tuple(map(int, oldest.split("."))):
            raise SystemExit(
                f"attune-bench needs Python {oldest} or newer, and this is Python {sys.version.split()[0]}: "
                f"make an environment with a newer one, such as python{oldest} -m venv .venv"
            )
        repository, tag = metadata["urls"]["Homepage"], f"v{metadata['version']}"
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = re.sub(r"\]\((?=pictures/)", f"]({repository}/raw/{tag}/", text)
        text = re.sub(r"\]\((?!https://)", f"]({repository}/blob/{tag}/", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
