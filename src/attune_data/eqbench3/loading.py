"""Situations of EQ-Bench 3 with the notes that lie beside them."""

from pathlib import Path

from attune_data.collection import Collection
from attune_data.eqbench3 import SITUATION, EQBench3Situation, notes_of
from attune_data.io.documents import read_input
from attune_data.issues import Issue
from attune_data.loading import load_records


def load_situations(prompts: str | Path, notes: str | Path | None = None) -> Collection[EQBench3Situation]:
    r"""Load the situations of the repository, with the notes for the judge of comparisons.

    Parameters
    ----------
    prompts : str or path
        The file `scenario_prompts.txt`.
    notes : str or path, optional
        The file of notes; by default `scenario_notes.txt` beside it, where there is one.

    Returns
    -------
    Collection of EQBench3Situation
        Issues name the situations without a prompt, which are left out, and the notes without a situation.

    Raises
    ------
    SourceError
        Where the file does not exist or has no situation.
    OSError
        Where the file of notes cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "scenario_prompts.txt")
    ...     _ = path.write_text("######## 9 | Family | Night\n####### Prompt1\nIt is late.")
    ...     _ = Path(folder, "scenario_notes.txt").write_text("# 9\nShe has not slept.")
    ...     load_situations(path)[0].note
    'She has not slept.'
    """
    found = load_records(prompts, SITUATION)
    beside = Path(prompts).with_name("scenario_notes.txt") if notes is None else Path(notes)
    if notes is None and not beside.is_file():
        return found
    texts = notes_of(read_input(beside).decode("utf-8-sig", "replace"))
    known = [one.model_copy(update={"note": texts[one.id]}) if one.id in texts else one for one in found]
    unused = [name for name in texts if name not in {one.id for one in found}]
    issues = [
        Issue(beside.name, "$", "note-of-no-situation", "note", name, "there is no situation of this id", "not used")
        for name in unused
    ]
    return SITUATION.collection(known, [*found.found, *issues], files=found.files)
