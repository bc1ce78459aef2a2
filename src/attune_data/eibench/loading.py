"""Loading scenarios and episodes of EIBench and dialogues of SAGE."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Literal, TypeVar, get_args

from attune_data.collection import Collection
from attune_data.eibench.scenario import SCENES, Episode, Scenario
from attune_data.io.documents import FILES
from attune_data.io.rows import is_dataset
from attune_data.io.sources import Document, Source, documents
from attune_data.issues import Issue, Severity, shown
from attune_data.loading import OnError, collect, counted, gc_paused, strictness
from attune_data.reading import DIALOGUE, EPISODE, LEFT_OUT, SCENARIO, Kind, read_document
from attune_data.record import Record
from attune_data.sage.dialogue import SageDialogue

__all__ = ["load_episodes", "load_sage", "load_scenarios"]

Split = Literal["test", "train"]
_SPLITS: tuple[Split, ...] = get_args(Split)
Progress = Callable[[int], object] | None

Keyed = TypeVar("Keyed", Scenario, Episode, SageDialogue)


def load_scenarios(
    source: Source, *, split: Split | None = None, on_error: OnError = "report", progress: Progress = None
) -> Collection[Scenario]:
    """Load scenarios of EIBench.

    Parameters
    ----------
    source : str, path-like or datasets.Dataset
        ``"demo"``, 16 synthetic scenarios in English, four a scene; else a file, a folder, an archive, an address on
        the Hub or a Dataset, as in `attune_data.load`. Of a folder the files ``*_final.jsonl`` are read, where there
        are any. EIBench's own data are CC BY-NC 4.0 and stay with who has fetched them.
    split : {"test", "train"}, optional
        Only the scenarios of this split. What a record says counts, else the name of the folder that its file is in,
        else the form of its id; a record of which none of these tells the split is an issue, and so is a source that
        holds the other split only. Where the source has folders of that name, only these are read.
    on_error : {"report", "raise"}
        ``"raise"`` raises one error where any record had to be left out.
    progress : callable, optional
        Called with the number of records read so far.

    Returns
    -------
    Collection of Scenario
        In the order of the files; of two with one id the first. How many there are of each scene is in its repr.

    Raises
    ------
    SourceError
        Where the source does not exist, cannot be reached or holds nothing to read.
    LoadError
        With ``on_error="raise"``, where any record had to be left out.
    ValueError
        Where `split` or `on_error` is none of its choices.

    Examples
    --------
    >>> load_scenarios("demo")
    <Collection of 16 scenarios (4 support, 4 defense, 4 repair, 4 charm), no issues>
    """
    if split is not None and split not in _SPLITS:
        raise ValueError(f"split is {split!r}; expected 'test' or 'train'")
    found: list[Issue] = []
    others: Counter[str] = Counter()

    def choose(names: list[str]) -> list[str]:
        return [name for name in names if split in PurePosixPath(name).parts[:-1]] or names

    def place(scenario: Scenario, document: Document) -> Scenario | None:
        placed = scenario.placed(split=_folder_split(source, document) or scenario.split_of_id)
        if split is None or placed.split == split:
            return placed
        if placed.split is None:
            message = f"neither the record nor its folder or id tells whether it is {split}; leave split out"
            value = shown(scenario.id)
            found.append(Issue(document.name, "$.id", "unknown-split", "error", value, message, LEFT_OUT))
        else:
            others[placed.split] += 1
        return None

    read = documents(
        source,
        choose if split else None,
        prefer="*_final.jsonl",
        demo="eibench/demo_scenarios.jsonl",
        columns=("id", "scene_tag"),
    )
    strict = strictness(on_error)
    kept = _load(SCENARIO, counted(read, progress), place, found, strict)
    found += _missing_scenes(source, kept)
    if others and not kept:
        message = f"no scenario is of the split {split}; is this the right folder?"
        found.append(
            Issue(_name(source), "$", "missing-split", "warning", shown(dict(others)), message, "all left out")
        )
    return collect(SCENARIO, kept, found, strict)


def load_episodes(source: Source, *, on_error: OnError = "report", progress: Progress = None) -> Collection[Episode]:
    """Load episodes of EIBench: the official ``results.jsonl``, or what this library recorded.

    Parameters
    ----------
    source : str, path-like or datasets.Dataset
        A file, a folder, an archive, an address on the Hub or a Dataset, as in `attune_data.load`. Of a folder the
        files ``results.jsonl`` are read, where there are any.
    on_error : {"report", "raise"}
        ``"raise"`` raises one error where any record had to be left out.
    progress : callable, optional
        Called with the number of records read so far.

    Returns
    -------
    Collection of Episode
        Failed ones too, each an issue. Of two of one scenario, model, simulator and configuration the first without
        an error counts.

    Raises
    ------
    SourceError
        Where the source does not exist, cannot be reached or holds nothing to read.
    LoadError
        With ``on_error="raise"``, where any record had to be left out.
    ValueError
        Where `on_error` is neither choice.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "results.jsonl")
    ...     _ = path.write_text('{"profile_id": "demo_support_01", "model": "m", "final_anger": 40, "final_trust": 60}')
    ...     episodes = load_episodes(path)
    >>> episodes[0].model, episodes[0].final_anger
    ('m', 40)
    """
    strict, found = strictness(on_error), list[Issue]()
    read = documents(source, prefer="results.jsonl", demo=None, columns=("profile_id", "model"))
    kept = _load(EPISODE, counted(read, progress), lambda episode, _: episode, found, strict)
    return collect(EPISODE, kept, found, strict)


def load_sage(source: Source, *, on_error: OnError = "report", progress: Progress = None) -> Collection[SageDialogue]:
    """Load dialogues of SAGE, as its authors publish them: a file a model, named after it.

    Parameters
    ----------
    source : str, path-like or datasets.Dataset
        A file, a folder, an archive, an address on the Hub or a Dataset, as in `attune_data.load`. Of a folder the
        files ``*_result.jsonl`` are read, where there are any. A line ends at a line feed only: the texts hold
        U+2028. Where a record does not say its ``model``, it is the name of the file, without ``_result``.
    on_error : {"report", "raise"}
        ``"raise"`` raises one error where any record had to be left out.
    progress : callable, optional
        Called with the number of records read so far.

    Returns
    -------
    Collection of SageDialogue
        In the order of the files; of two of one scenario and model the first.

    Raises
    ------
    SourceError
        Where the source does not exist, cannot be reached or holds nothing to read.
    LoadError
        With ``on_error="raise"``, where any record had to be left out.
    ValueError
        Where `on_error` is neither choice.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "gpt-4.1_result.jsonl")
    ...     _ = path.write_text('{"id": "s1", "emo_point": 57, "history": []}')
    ...     dialogues = load_sage(path)
    >>> dialogues[0].model, dialogues[0].emo_point
    ('gpt-4.1', 57)
    """

    def place(dialogue: SageDialogue, document: Document) -> SageDialogue:
        return dialogue.placed(model=None if is_dataset(source) else _stem(document).removesuffix("_result") or None)

    strict, found = strictness(on_error), list[Issue]()
    read = documents(source, prefer="*_result.jsonl", demo=None, columns=("id", "history"))
    kept = _load(DIALOGUE, counted(read, progress), place, found, strict)
    return collect(DIALOGUE, kept, found, strict)


def _load(
    kind: Kind[Keyed],
    read: Iterator[Document],
    place: Callable[[Keyed, Document], Keyed | None],
    found: list[Issue],
    strict: bool,
) -> list[tuple[Keyed, Document]]:
    """Return the records to keep, in the order in which each key was first read; findings go to `found`."""
    kept: dict[object, tuple[Keyed, Document]] = {}
    with gc_paused():
        for document in read:
            record = read_document(kind, document, found=found, strict=strict)
            placed = None if record is None else place(record, document)
            if placed is None:
                continue
            before = kept.setdefault(placed.key, (placed, document))
            if before[1] is not document:
                kept[placed.key] = _counting(before, (placed, document), found)
    return list(kept.values())


def _counting(
    first: tuple[Keyed, Document], second: tuple[Keyed, Document], found: list[Issue]
) -> tuple[Keyed, Document]:
    """Return the record that counts, of two with one key: the first, but a result before an error."""
    counts, other = first, second
    if _failed(first[0]) and not _failed(second[0]):
        counts, other = second, first
    same = counts[0] == other[0]
    resumed = _failed(other[0]) and not _failed(counts[0])
    message = f"{counts[1].name} holds the same {', '.join(_KEYS[type(counts[0])])}, and counts"
    if same:
        message += "; the content is the same"
    severity: Severity = "note" if same or resumed else "error"
    found.append(Issue(other[1].name, "$", "duplicate-record", severity, shown(other[0].id), message, LEFT_OUT))
    return counts


_KEYS: dict[type[Record], tuple[str, ...]] = {
    Scenario: ("id",),
    Episode: ("scenario", "model", "simulator", "configuration"),
    SageDialogue: ("scenario", "model"),
}


def _failed(record: Record) -> bool:
    return isinstance(record, Episode) and record.error is not None


def _missing_scenes(source: Source, kept: Sequence[tuple[Scenario, Document]]) -> list[Issue]:
    """Report the scenes that a set of several files does not hold: a file may be missing."""
    counts = Counter(scenario.scene for scenario, _ in kept)
    missing = [scene for scene in SCENES if not counts[scene]]
    if not missing or len({_file(document) for _, document in kept}) < 2:
        return []
    message = f"no scenario of the scene {' or '.join(missing)}; is a file missing?"
    return [Issue(_name(source), "$", "missing-scene", "warning", shown(dict(counts)), message, "read as it is")]


def _name(source: Source) -> str:
    return "the source" if is_dataset(source) else os.fspath(source)


def _folder_split(source: Source, document: Document) -> str | None:
    """Return the split after which the folder of a record's file is named."""
    if is_dataset(source):
        return None
    name = _file(document)
    if len(name.parts) > 1:
        folder = name.parts[-2]
    else:
        path = PurePosixPath(os.fspath(source).replace(os.sep, "/"))
        folder = path.parent.name if path.name.lower().endswith(FILES) else path.name
    return folder if folder in _SPLITS else None


def _file(document: Document) -> PurePosixPath:
    """Return the path of a record's file within the source, without the number of its line."""
    return PurePosixPath(re.sub(r":\d+$", "", document.name))


def _stem(document: Document) -> str:
    name = _file(document).name
    suffix = next((suffix for suffix in FILES if name.lower().endswith(suffix)), "")
    return name[: len(name) - len(suffix)]
