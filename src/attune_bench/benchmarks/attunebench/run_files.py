"""Run files on disk: one JSON file per evaluated model, mode and conversation."""

import os
from collections.abc import Iterable
from pathlib import Path

from attune_bench.runner.file_names import in_repeat, unit_file_name
from attune_data import Run
from attune_data.io.documents import write_whole

__all__ = ["run_file_name", "write_runs"]


def run_file_name(run: Run) -> str:
    """Return ``<conversationId>_<provider>_<model>_<mode>.json``, from the second repeat on in a folder ``repeat-2``.

    Parameters
    ----------
    run : Run
        Provider and model are the two sides of the first ``/`` of its ``em_model``.

    Returns
    -------
    str
        Safe as the name of a file in any folder: characters other than letters, digits, ``_``, ``.`` and ``-`` become
        ``-``. A name of more than 200 bytes is cut and ends in a digest of the run's id instead of its mode.

    Examples
    --------
    >>> run_file_name(Run(conversation_id="c1", em_model="vendor/large:free"))
    'c1_vendor_large-free_default.json'
    """
    return in_repeat(unit_file_name(run.conversation_id, run.em_model, run.mode), run.repeat)


def write_runs(runs: Iterable[Run], folder: str | os.PathLike[str]) -> list[Path]:
    """Write each run to its own file, which `attune_data.load_runs` reads.

    A file appears whole or not at all; one of the same name is replaced.

    Parameters
    ----------
    runs : iterable of Run
        Each conversation, model, mode and repeat once.
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
        name = run_file_name(run)
        # Some file systems do not tell upper from lower case.
        _, other = named.setdefault(name.casefold(), (Path(folder, name), run))
        if other is not run:
            raise ValueError(f"the runs {other.id!r} and {run.id!r} have the same file name, {name}")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for path, run in named.values():
        path.parent.mkdir(exist_ok=True)
        write_whole(path, [run.to_json(indent=2) + b"\n"])
    return [path for path, _ in named.values()]
