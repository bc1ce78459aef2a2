"""Run files on disk: one JSON file per evaluated model, mode and conversation."""

import os
import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from attune_data import Run
from attune_data.io.files import write_whole

__all__ = ["run_file_name", "safe_name", "safe_part", "write_runs"]

_LONGEST_NAME = 200  # bytes; file systems allow 255, and the temporary name needs room too


def safe_part(text: str) -> str:
    """Return text as a part of a file name: all but letters, digits, ``_``, ``.`` and ``-`` become ``-``."""
    return re.sub(r"[^\w.-]", "-", unicodedata.normalize("NFC", text))


def run_file_name(run: Run) -> str:
    """Return ``<conversationId>_<provider>_<model>_<mode>.json``, safe as the name of a file in any folder.

    Parameters
    ----------
    run : Run
        Provider and model are the two sides of the first ``/`` of its ``em_model``.

    Returns
    -------
    str
        Characters other than letters, digits, ``_``, ``.`` and ``-`` become ``-``. A name of more than 200 bytes is
        cut and ends in a digest of the run's id instead of its mode.

    Examples
    --------
    >>> run_file_name(Run(conversation_id="c1", em_model="vendor/large:free"))
    'c1_vendor_large-free_default.json'
    """
    parts = [run.conversation_id, *run.em_model.split("/", 1), run.mode]
    return f"{safe_name(parts, run.id)}.json"


def safe_name(parts: Iterable[str], whole: str) -> str:
    """Return parts joined by ``_`` as the name of a file or folder, without an ending.

    A name that would be too long, or hidden, is changed; where it is cut it ends in a digest of `whole`.

    Examples
    --------
    >>> safe_name(["vendor", "large:free"], "vendor/large:free"), safe_name(["..", "a"], "../a")
    ('vendor_large-free', '-a')
    """
    stem = re.sub(r"^[._]+", "-", "_".join(map(safe_part, parts)))
    if len(stem.encode()) > _LONGEST_NAME - len(".json"):
        ending = "-" + sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        stem = stem.encode()[: _LONGEST_NAME - len(".json") - len(ending)].decode(errors="ignore") + ending
    return stem


def write_runs(runs: Iterable[Run], folder: str | os.PathLike[str]) -> list[Path]:
    """Write each run to its own file, which `attune_data.load_runs` reads.

    A file appears whole or not at all; one of the same name is replaced.

    Parameters
    ----------
    runs : iterable of Run
        Each conversation, model and mode once.
    folder : str or path-like
        Created where it does not exist.

    Returns
    -------
    list of Path
        The files, in the order of the runs.

    Raises
    ------
    ValueError
        Two runs would have the same file name; nothing is written then.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_runs([Run(conversation_id="c1", em_model="vendor/model")], folder)]
    ['c1_vendor_model_default.json']
    """
    named: dict[str, tuple[Path, Run]] = {}
    for run in runs:
        path = Path(folder, run_file_name(run))
        # Some file systems do not tell upper from lower case.
        _, other = named.setdefault(path.name.casefold(), (path, run))
        if other is not run:
            raise ValueError(f"the runs {other.id!r} and {run.id!r} have the same file name, {path.name}")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for path, run in named.values():
        write_whole(path, [run.to_json(indent=2) + b"\n"])
    return [path for path, _ in named.values()]
