"""The wording of requests, in versioned files, and the fence that marks text as data."""

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import count
from string import Template

from attune_data.entries import Named

__all__ = ["Fence", "Prompts", "load_prompts"]


@dataclass(frozen=True, slots=True)
class Prompts:
    """One version of the wording.

    Attributes
    ----------
    version : str
        Name of its folder.
    texts : Named of str
        The templates, by the name of their file, with that of its folder where it is in one: ``en/turn``.
    hash : str
        SHA-256 over all of its files, names and contents.
    """

    version: str
    texts: Named[str]
    hash: str

    def render(self, name: str, **values: str) -> str:
        """Fill a template in; what is filled in is not a template again.

        Parameters
        ----------
        name : str
            Name of the file, without its ending.
        **values : str
            By name, those that the template has.

        Returns
        -------
        str
            The text, without white space at its ends.

        Raises
        ------
        KeyError
            The template is unknown, or it has a name that is not given.

        Examples
        --------
        >>> prompts = load_prompts("attune_bench.benchmarks.attunebench", "v2")
        >>> prompts.render("system", mode=" $boundary", boundary="94bf5b05").count("$boundary")
        1
        """
        return Template(self.texts[name]).substitute(values).strip()


@functools.cache
def load_prompts(package: str, version: str) -> Prompts:
    """Load a version of the wording of a benchmark.

    Parameters
    ----------
    package : str
        The package that has it, in the folder ``prompts``.
    version : str
        Its name.

    Returns
    -------
    Prompts
        Templates and hash.

    Raises
    ------
    ValueError
        The version is unknown.

    Examples
    --------
    >>> load_prompts("attune_bench.benchmarks.eibench", "eibench-v2").version
    'eibench-v2'
    """
    versions = resources.files(package) / "prompts"
    known = sorted(folder.name for folder in versions.iterdir() if folder.is_dir())
    if version not in known:
        raise ValueError(f"unknown prompts {version!r}; expected one of {', '.join(known)}")
    files = sorted(_files(versions / version), key=lambda file: file[0])
    # Line ends depend on how the package was unpacked, the hash must not.
    texts = {name.removesuffix(".md"): file.read_text(encoding="utf-8").replace("\r\n", "\n") for name, file in files}
    digest = sha256()
    for name, text in texts.items():
        digest.update(f"{name}\0{text}\0".encode())
    return Prompts(version, Named(texts), digest.hexdigest())


def _files(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield the templates below a folder with their paths in it."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".md"):
            yield f"{prefix}{entry.name}", entry


@dataclass(frozen=True, slots=True)
class Fence:
    """A code that none of the texts contains, so that no text can end the block it is put in.

    Examples
    --------
    >>> fence = Fence.around("c1", ["Hello"])
    >>> print(fence.block("message", "Hello"))
    <<<BEGIN 94bf5b05ac5c12e4 message>>>
    Hello
    <<<END 94bf5b05ac5c12e4>>>
    """

    code: str

    @classmethod
    def around(cls, name: str, texts: Iterable[str]) -> "Fence":
        """Derive the code of texts from their name: the same each time, another where a text contains it.

        Parameters
        ----------
        name : str
            For instance the id of the conversation.
        texts : iterable of str
            Everything that will be put in blocks or beside them.

        Returns
        -------
        Fence
            A fence for these texts.
        """
        every = "\n".join(texts).lower()
        codes = (sha256(f"{name}/{n}".encode("utf-8", "surrogatepass")).hexdigest()[:16] for n in count())
        return cls(next(code for code in codes if code not in every))

    def block(self, title: str, text: str) -> str:
        """Return text as a block.

        Parameters
        ----------
        title : str
            What it is, in our words.
        text : str
            The text as it is.

        Returns
        -------
        str
            The block, without a line end behind it.
        """
        return f"<<<BEGIN {self.code} {title}>>>\n{text}\n<<<END {self.code}>>>"
