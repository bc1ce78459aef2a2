"""The codebook of AttuneBench: the bundled one, somebody's own in the same layout, or that of a data set."""

import functools
import os
from collections import Counter
from pathlib import Path
from typing import Any

from attune_data.attunebench.annotation_codebook import read_annotation_codebook
from attune_data.attunebench.vocabulary import Codebook, Subset
from attune_data.codebook import CodebookError, checked, codebook_folder, read_toml
from attune_data.entries import Named
from attune_data.io.files import read_input
from attune_data.io.limits import parse_json
from attune_data.issues import shown

__all__ = ["load_codebook"]


def load_codebook(path: str | os.PathLike[str] | None = None) -> Codebook:
    """Load the bundled codebook, a codebook of your own, or a data set's own ``annotation_codebook.json``.

    Parameters
    ----------
    path
        None for the bundled codebook. A file whose name ends in ``.toml`` has the layout of
        ``codebook/attunebench.toml``, and may have the subsets as a table ``subsets``. A JSON file has that layout, as
        `attune_data.json_schema` describes it, or any other with question texts and option lists: it is read as the
        former where at least half of the tables of that layout are in it.

    Returns
    -------
    Codebook
        A codebook in our layout is complete. What a file of another layout does not give is taken from the bundled
        codebook and listed in `issues`.

    Raises
    ------
    CodebookError
        The file is neither TOML nor JSON, has mistakes, or has no question and no option list. The message lists every
        mistake.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> load_codebook().q2_options[1]
    'Implied or indirect'
    """
    if path is None:
        return _bundled()
    file = Path(path)
    if file.suffix.lower() == ".toml":
        return read_toml(file, Codebook)
    document, repeated = _parse_json(file)
    if not _is_ours(document):
        return read_annotation_codebook(document, str(file), _bundled())
    if repeated:
        raise CodebookError(f"{file}: {', '.join(map(shown, repeated))}: twice in one object; which of the two counts?")
    return checked(document, Codebook, str(file))


@functools.cache
def _bundled() -> Codebook:
    folder = codebook_folder()
    book, subsets = read_toml(folder / "attunebench.toml", Codebook), read_toml(folder / "subsets.toml", Named[Subset])
    return book.model_copy(update={"subsets": subsets})


def _is_ours(document: Any) -> bool:
    tables = [name for name, field in Codebook.model_fields.items() if field.is_required()]
    return isinstance(document, dict) and 2 * sum(isinstance(document.get(name), dict) for name in tables) >= len(
        tables
    )


def _parse_json(file: Path) -> tuple[Any, list[str]]:
    """Return what a JSON file says, and the keys that repeat in an object."""
    repeated: list[str] = []

    def joined(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            repeated.extend(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        return entries

    raw = read_input(file)
    try:
        return parse_json(raw, object_pairs_hook=joined), repeated
    except ValueError as error:
        hint = "is this one JSON document, not a web page, JSON Lines or a Git LFS pointer?"
        raise CodebookError(f"{file}: {ascii(raw[:60])[:60]}: {error}; {hint}") from None
