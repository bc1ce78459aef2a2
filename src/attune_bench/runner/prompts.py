"""Templates of requests, bundled or a user's own, and the blocks that quote texts in requests."""

import functools
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from itertools import count
from pathlib import Path
from string import Template

from attune_data.codebook import Named
from attune_data.io.documents import check_input, write_whole
from attune_data.text import did_you_mean, plural

_README = "README.md"
_NAMED = 10  # faults


class PromptError(ValueError):
    """Templates cannot be used; the text names each faulty template and its fault."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """One version of the wording.

    Attributes
    ----------
    version : str
        Name of its file among the bundled ones; ``custom`` for a user's own.
    texts : Named of str
        The templates by name, such as ``en/turn``; in a user's own folder the path of a file without its ending.
    hash : str
        SHA-256 over all templates, names and texts.
    """

    version: str
    texts: Named[str]
    hash: str

    def render(self, name: str, **values: str) -> str:
        """Fill a template in; placeholders within the values are not filled in.

        Parameters
        ----------
        name : str
            Name of the template.
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
        return (_format(self.texts[name]) % values).strip()

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write the templates as files, to begin one's own with.

        Parameters
        ----------
        folder : str or path-like
            A new folder.

        Raises
        ------
        FileExistsError
            The folder exists.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> bundled = load_prompts("attune_bench.benchmarks.attunebench", "profile-v1")
        >>> with TemporaryDirectory() as folder:
        ...     bundled.write(Path(folder, "mine"))
        ...     mine = read_prompts(Path(folder, "mine"), bundled)
        >>> mine == bundled
        True
        """
        Path(folder).mkdir(parents=True)
        for name, text in self.texts.items():
            path = Path(folder, f"{name}.md")
            path.parent.mkdir(exist_ok=True)
            write_whole(path, [text.encode()])


@functools.lru_cache
def _format(template: str) -> str:
    """Return a template as a format of ``%``, which is filled in faster."""
    each = Template(template.replace("%", "%%"))
    return each.substitute({name: f"%({name})s" for name in each.get_identifiers()})


@functools.cache
def load_prompts(package: str, version: str) -> Prompts:
    """Load a version of the wording of a benchmark.

    Parameters
    ----------
    package : str
        The package that has it, in the folder ``prompts``: a file of TOML per version, with a text per template.
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
    known = sorted(file.name.removesuffix(".toml") for file in versions.iterdir() if file.name.endswith(".toml"))
    if version not in known:
        raise ValueError(f"unknown prompts {version!r}; expected one of {', '.join(known)}")
    return _prompts(version, tomllib.loads((versions / f"{version}.toml").read_text(encoding="utf-8")))


def read_prompts(folder: str | os.PathLike[str] | None, bundled: Prompts) -> Prompts:
    """Read a user's own wording, which has the templates and placeholders of a bundled version.

    Parameters
    ----------
    folder : str or path-like, optional
        A folder with the files of the bundled version: ``*.md`` in UTF-8, under the same names; a ``README.md`` of
        one's own is passed over. By default the bundled version itself.
    bundled : Prompts
        The version; `Prompts.write` copies it.

    Returns
    -------
    Prompts
        Templates and hash; the version is ``custom``, for an unchanged copy the version of the bundled templates.

    Raises
    ------
    PromptError
        The folder cannot be read or has none of the templates, a template is missing, unknown, empty or not UTF-8, or
        a placeholder in one is missing or unknown; all of it in one text, which names the first ten.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> bundled = load_prompts("attune_bench.benchmarks.attunebench", "profile-v1")
    >>> with TemporaryDirectory() as folder:
    ...     bundled.write(Path(folder, "mine"))
    ...     _ = Path(folder, "mine", "retry.md").write_text("For $5, answer in JSON.")
    ...     read_prompts(Path(folder, "mine"), bundled)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    attune_bench.runner.prompts.PromptError: ...: retry.md, line 1: '$5, answer' begins no placeholder; write $$ ...
    """
    if folder is None:
        return bundled
    if not os.fspath(folder):
        raise PromptError("the name of the folder with the templates is empty")
    if not (root := Path(folder)).is_dir():
        raise PromptError(f"{root} is no folder; expected one with a file for each template")
    texts: dict[str, str] = {}
    faults: list[str] = []
    known = [f"{name}.md" for name in bundled.texts]
    if not any((root / name).exists() for name in known):
        raise PromptError(f"none of the templates is in {root}; expected {known[0]} and {len(known) - 1} more")
    folders = {(root / name).parent for name in known}
    for path in sorted(path for each in folders for path in each.glob("*.md")):
        name = path.relative_to(root).as_posix()
        if name not in known:
            if name == _README:
                continue
            faults.append(f"{name}: no such template; {did_you_mean(name, known)}")
            continue
        try:
            check_input(path)
            texts[name.removesuffix(".md")] = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            faults.append(f"{name}: byte {error.start + 1} is not UTF-8; save the file in that encoding")
        except OSError as error:
            faults.append(f"{name}: cannot be read: {error.strerror}")
    faults += [f"{name}: missing" for name in known if not (root / name).exists()]
    for name, text in texts.items():
        faults += [f"{name}.md{fault}" for fault in _faults(text, bundled.texts[name])]
    if faults:
        more = [f"and {len(faults) - _NAMED} more"] if len(faults) > _NAMED else []
        raise PromptError(f"{root}: {plural(len(faults), 'fault')}: {'; '.join([*faults[:_NAMED], *more])}")
    own = _prompts("custom", texts)
    return bundled if own.hash == bundled.hash else own


def _faults(text: str, bundled: str) -> Iterator[str]:
    """Yield the faults of a template, compared with the bundled template of its name."""
    if bundled.strip() and not text.strip():
        yield ": empty, and the bundled one is not"
        return
    for match in Template.pattern.finditer(text):
        if match["invalid"] is not None:
            line, here = text.count("\n", 0, match.start()) + 1, text[match.start() :].splitlines()[0][:10]
            yield f", line {line}: {here!r} begins no placeholder; write $$ for a dollar sign"
    own, known = (Template(one).get_identifiers() for one in (text, bundled))
    for name in own:
        if name not in known:
            yield f": ${name} is no placeholder here; {did_you_mean(name, known) if known else 'it has none'}"
    yield from (f": ${name} is missing" for name in known if name not in own)


def _prompts(version: str, texts: Mapping[str, str]) -> Prompts:
    """Return templates in the order of their files."""
    # Line ends depend on how the package was unpacked, or a file saved; the hash must not.
    in_order = sorted(texts.items(), key=lambda item: f"{item[0]}.md")
    texts = {name: text.replace("\r\n", "\n") for name, text in in_order}
    digest = sha256()
    for name, text in texts.items():
        digest.update(f"{name}\0{text}\0".encode())
    return Prompts(version, Named(texts), digest.hexdigest())


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
