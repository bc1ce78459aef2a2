"""Tables kept as Parquet in the user's cache folder, each entry named by a hash over all that they were made from.

An entry is a folder with the tables, the issues and the digest of each file. What does not match it is no entry.
"""

import functools
import hashlib
import io
import json
import os
import shutil
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from errno import ENOTEMPTY
from importlib import resources
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from attune_data.attunebench.tables import TABLES, Tables
from attune_data.codebook import codebook_folder
from attune_data.export import parquet_bytes
from attune_data.io.files import whole_folder, write_whole
from attune_data.io.sources import Document
from attune_data.issues import Issue, issues_frame

if TYPE_CHECKING:
    import polars as pl

__all__ = ["cached_tables"]

_ISSUES = "issues"
_DIGESTS = "digests.json"
_about = attrgetter(*(field.name for field in fields(Document) if field.name != "data"))


def cached_tables(read: Callable[[], Iterator[Document]], build: Callable[[Iterable[Document]], Tables]) -> Tables:
    """Return the tables of a source's documents from the cache, else build and keep them.

    Parameters
    ----------
    read : callable
        Gives the documents, from the first; is called twice where there is no entry.
    build : callable
        From all documents to tables.

    Returns
    -------
    Tables
        Each table is decoded when first asked for.
    """
    stated = _Fingerprint()
    deque(stated.of(read()), maxlen=0)
    kept = _kept(stated)
    if kept is not None:
        return kept
    # The source may have changed since: the entry is named by what was built from.
    actual = _Fingerprint()
    tables = build(actual.of(read()))
    try:
        _keep(actual, tables)
    except (OSError, RuntimeError) as error:
        message = f"the tables are not kept in the cache: {error}; ATTUNE_CACHE names another folder"
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    return tables


class _Fingerprint:
    """A hash over documents in order, and over the library that makes tables of them."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256(_library())

    def of(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents, taking each in."""
        for document in documents:
            head = json.dumps([*_about(document), len(document.data)])
            self._hash.update(head.encode())
            self._hash.update(document.data)
            yield document

    @property
    def entry(self) -> Path:
        return _folder() / "tables" / self._hash.hexdigest()


@functools.cache
def _library() -> bytes:
    """Return a hash over everything but the source that the tables depend on: code, codebook, what reads and writes."""
    digest = hashlib.sha256(repr([sys.version_info, version("pydantic"), version("polars")]).encode())
    for folder, suffix in ((resources.files("attune_data"), ".py"), (codebook_folder(), ".toml")):
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if file.name.endswith(suffix):
                content = file.read_bytes()
                digest.update(f"{file.name} {len(content)} ".encode() + content)
    return digest.digest()


def _folder() -> Path:
    """Return the library's folder among the user's caches."""
    if given := os.environ.get("ATTUNE_CACHE"):
        return Path(given).expanduser()
    usual = {"win32": os.environ.get("LOCALAPPDATA", "~/AppData/Local"), "darwin": "~/Library/Caches"}
    caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not caches.is_absolute():  # By its specification, a relative one does not count.
        caches = Path(usual.get(sys.platform, "~/.cache"))
    return caches.expanduser() / "attune-bench"


def _kept(fingerprint: _Fingerprint) -> Tables | None:
    """Return the tables of an entry, or None where there is none or it is damaged."""
    import polars as pl

    try:
        entry = fingerprint.entry
        digests = json.loads((entry / _DIGESTS).read_bytes())
        # Read at once, so that nothing that happens to the entry later matters; the tables are decoded when asked for.
        contents = {name: (entry / f"{name}.parquet").read_bytes() for name in (*TABLES, _ISSUES)}
    except (OSError, RuntimeError, ValueError):  # no entry, no home, no JSON
        return None
    if digests != _digests(contents):
        return None
    found = [Issue(*row) for row in pl.read_parquet(io.BytesIO(contents[_ISSUES])).iter_rows()]
    return Tables(functools.partial(_decoded, contents), found)


def _decoded(contents: dict[str, bytes], name: str) -> "pl.DataFrame":
    import polars as pl

    return pl.read_parquet(io.BytesIO(contents[name]))


def _keep(fingerprint: _Fingerprint, tables: Tables) -> None:
    entry = fingerprint.entry
    frames = {**{name: getattr(tables, name) for name in TABLES}, _ISSUES: issues_frame(tables.found)}
    contents = {name: parquet_bytes(name, frame) for name, frame in frames.items()}
    entry.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.rmtree(entry, ignore_errors=True)  # A damaged one: what is whole was read.
    try:
        with whole_folder(entry) as folder:
            for name, content in contents.items():
                write_whole(folder / f"{name}.parquet", [content])
            write_whole(folder / _DIGESTS, [json.dumps(_digests(contents)).encode()])
    except OSError as error:
        # Another process has written it meanwhile, which a third may already have taken for damaged and removed.
        if not (isinstance(error, FileExistsError) or error.errno == ENOTEMPTY):
            raise


def _digests(contents: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
