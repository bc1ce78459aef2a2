"""The published subsets of AttuneBench: which files of a source belong to one, and which are missing."""

import re
from functools import partial
from pathlib import Path, PurePosixPath

from attune_data.attunebench.codebook import load_codebook
from attune_data.io.documents import FILES, Choice
from attune_data.io.hub import is_address, parse_address
from attune_data.io.sources import Source, archive_stem, is_dataset, source_text
from attune_data.issues import Issue, IssueLog, SourceError, shown
from attune_data.text import did_you_mean


def subset_choice(source: Source, subset: str, found: IssueLog) -> Choice:
    """Return the choice of a subset's files among those of a source; missing and extra numbers go to `found`.

    Raises
    ------
    ValueError
        No subset has that name.
    SourceError
        The source is neither a folder nor an archive nor an address on the Hub.
    """
    subsets = load_codebook().subsets
    if subset not in subsets:
        raise ValueError(f"unknown subset {subset!r}; {did_you_mean(subset, subsets)}")
    named = _named(source)
    if named is None:
        given = "a Dataset" if is_dataset(source) else source
        raise SourceError(f"subset={subset!r} needs a folder or archive of conversation_<n>.json files, not {given}")
    name, folder = named
    return partial(_choose, source=name, folder=folder, subset=subset, wanted=subsets[subset], found=found)


def _named(source: Source) -> tuple[str, str] | None:
    """Return what issues call a source of many files, and the name of its folder; None for any other source."""
    if is_dataset(source):
        return None
    text = source_text(source)
    if is_address(text):
        address = parse_address(text)
        path, name, is_folder = Path(address.path or address.repo), text, not address.path.lower().endswith(FILES)
    else:
        path = Path(text)
        # A path that does not exist is reported where it is read.
        is_folder = path.is_dir() or (text != "demo" and not path.exists())
        name = path.resolve().name if is_folder else path.name
    stem = archive_stem(path)
    if stem is not None and not path.is_dir():
        return name, stem
    return (name, path.resolve().name) if is_folder else None


def _choose(
    names: list[str], *, source: str, folder: str, subset: str, wanted: frozenset[int], found: IssueLog
) -> list[str]:
    """Choose from the subset's own folder if it exists, else by file number from all; each number once."""
    own = [name for name in names if subset in PurePosixPath(folder, name).parts[:-1]]
    by_number: dict[int, str] = {}
    for name in own or names:
        if numbered := re.fullmatch(r"conversation_([0-9]+)\.json", PurePosixPath(name).name, re.IGNORECASE):
            by_number.setdefault(int(numbered[1]), name)
    missing = sorted(wanted - by_number.keys())
    chosen = sorted(by_number[number] for number in wanted & by_number.keys())
    if not chosen:
        raise SourceError(f"{source} has none of the {len(wanted)} files conversation_<n>.json of {subset}")
    extra = sorted(set(own) - set(chosen))
    if missing:
        message = f"{len(missing)} files of {subset} are missing: {', '.join(map(str, missing))}"
        found.append(Issue(source, "$", "subset-missing", "warning", shown(missing), message, "loaded without them"))
    if extra:
        message = f"{len(extra)} files are not part of {subset}: {', '.join(extra)}"
        found.append(Issue(source, "$", "subset-extra", "warning", shown(extra), message, "left out"))
    return chosen
