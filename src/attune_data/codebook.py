"""What the codes and labels of AttuneBench mean: emotions, questions, options, branches, modes, subsets."""

import difflib
import functools
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, TypeVar

__all__ = [
    "BinaryQuestion",
    "Codebook",
    "CodebookError",
    "Emotion",
    "Named",
    "PairwiseQuestion",
    "WideQuestion",
    "codebook_folder",
    "load_codebook",
]

T = TypeVar("T")


class CodebookError(ValueError):
    """A file that cannot be read as a codebook."""


class Named(Mapping[str, T]):
    """A read-only mapping whose `KeyError` names the nearest known key.

    Examples
    --------
    >>> colours = Named({"red": 1, "green": 2})
    >>> colours["gren"]
    Traceback (most recent call last):
    KeyError: "the codebook has no 'gren'; the nearest is 'green'"
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[str, T]) -> None:
        self._entries = dict(entries)

    def __getitem__(self, key: str) -> T:
        try:
            return self._entries[key]
        except KeyError:
            known = {name.lower(): name for name in self._entries}
            near = difflib.get_close_matches(str(key).lower(), known, n=1, cutoff=0)
            hint = "".join(f"; the nearest is {known[name]!r}" for name in near)
            raise KeyError(f"the codebook has no {key!r}{hint}") from None

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Named({', '.join(self._entries)})"


@dataclass(frozen=True, slots=True)
class Emotion:
    """One of the 20 PANAS words, in title case, with its place on the 0-1 valence and arousal scales."""

    word: str
    affect: Literal["positive", "negative"]
    valence: float
    arousal: float


@dataclass(frozen=True, slots=True)
class BinaryQuestion:
    """A yes/no question about a response, once as asked of the HP and once as asked of an observer."""

    id: str
    category: str
    extended: bool
    text: str
    observer_text: str


@dataclass(frozen=True, slots=True)
class PairwiseQuestion:
    """A question that compares two responses; `text` is None where no codebook at hand gives it."""

    id: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class WideQuestion:
    """A question about the whole conversation; `id` is its field in the data.

    After an answer in `negative` the follow-up question is asked.
    """

    id: str
    text: str
    multiple: bool
    options: tuple[str, ...]
    negative: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Codebook:
    """The vocabulary of AttuneBench.

    Attributes
    ----------
    emotions
        By lower-case word.
    binary, pairwise, conversation_wide
        Questions by id.
    branches, modes, panas_strategies
        Name to a sentence that says what it is.
    subsets
        Name to the numbers of its conversation files.
    issues
        What was not understood, or not given, in the file that was read; empty for the bundled codebook.

    Examples
    --------
    >>> codebook = load_codebook()
    >>> codebook.binary["B7"].category
    'understanding'
    >>> codebook.emotions["proud"].valence
    0.85
    >>> len(codebook.subsets["Sample200"])
    200
    """

    emotions: Named[Emotion]
    binary: Named[BinaryQuestion]
    pairwise: Named[PairwiseQuestion]
    conversation_wide: Named[WideQuestion]
    branches: Named[str]
    modes: Named[str]
    panas_strategies: Named[str]
    subsets: Named[frozenset[int]]
    issues: tuple[str, ...] = ()

    @property
    def q1_options(self) -> tuple[str, ...]:
        """What the HP may have been looking for."""
        return self.conversation_wide["q1_lookingFor"].options

    @property
    def q2_options(self) -> tuple[str, ...]:
        """How clear the emotions were."""
        return self.conversation_wide["q2_emotionClarity"].options

    @property
    def q3_options(self) -> tuple[str, ...]:
        """How well the model fitted, best to worst."""
        return self.conversation_wide["q3_modelFit"].options

    @property
    def q3_negative(self) -> tuple[str, ...]:
        """The Q3 options after which the follow-up is asked."""
        return self.conversation_wide["q3_modelFit"].negative


def codebook_folder() -> Traversable:
    """Return the folder of the bundled codebooks: the packaged copy, else the repository's.

    Raises
    ------
    FileNotFoundError
        Neither is there.

    Examples
    --------
    >>> (codebook_folder() / "attunebench.toml").is_file()
    True
    """
    packaged = resources.files("attune_data") / "codebook"
    repository = Path(__file__).parents[2] / "codebook"
    for folder in (packaged, repository):
        if (folder / "attunebench.toml").is_file():
            return folder
    raise FileNotFoundError(f"no attunebench.toml in {packaged} or {repository}; is the installation whole?")


def load_codebook(path: str | os.PathLike[str] | None = None) -> Codebook:
    """Load the bundled codebook, or a data set's own `annotation_codebook.json`.

    Parameters
    ----------
    path
        A JSON file with question texts and option lists in any arrangement; None for the bundled codebook.

    Returns
    -------
    Codebook
        What the file does not give is taken from the bundled codebook, and `issues` says so.

    Raises
    ------
    CodebookError
        The file is not JSON or holds no question and no option list.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> load_codebook().q2_options[1]
    'Implied or indirect'
    """
    if path is None:
        return _bundled()
    from attune_data._codebook_file import read_codebook_file

    return read_codebook_file(Path(path), _bundled())


@functools.cache
def _bundled() -> Codebook:
    folder = codebook_folder()
    data = tomllib.loads((folder / "attunebench.toml").read_text(encoding="utf-8"))
    subsets = tomllib.loads((folder / "subsets.toml").read_text(encoding="utf-8"))
    return Codebook(
        emotions=Named({word.lower(): Emotion(word, **row) for word, row in data["emotions"].items()}),
        binary=_records(BinaryQuestion, data["binary"]),
        pairwise=_records(PairwiseQuestion, data["pairwise"]),
        conversation_wide=_records(WideQuestion, data["conversation_wide"]),
        branches=Named(data["branches"]),
        modes=Named(data["modes"]),
        panas_strategies=Named(data["panas_strategies"]),
        subsets=Named({name: frozenset(numbers) for name, numbers in subsets.items()}),
    )


def _records(kind: Callable[..., T], rows: dict[str, dict[str, Any]]) -> Named[T]:
    def frozen(value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    return Named({name: kind(name, **{k: frozen(v) for k, v in row.items()}) for name, row in rows.items()})
