"""Data sets on the Hugging Face Hub: their files listed, and those that are wanted brought into the cache."""

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath, PureWindowsPath

from attune_data.io import limits
from attune_data.io.documents import Document
from attune_data.io.hub_address import Address, is_commit
from attune_data.io.hub_cache import Cache, File
from attune_data.io.hub_client import GaveUpError, Hub, asking
from attune_data.io.hub_settings import is_offline
from attune_data.issues import SourceError, shown
from attune_data.text import listed, plural, printable

__all__ = ["Listing", "listing"]

FILES_LIMIT = 100_000
"""Files and folders of a data set."""

Problem = tuple[str | None, str]  # The path in the data set, where there is one, and what is wrong with it.

_AT_ONCE = 8
_ONE_AT_A_TIME = threading.Lock()  # Two loads in one process would write the same temporary files.
_NOT_IN_NAMES = re.compile(r"[\\\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a commit at or below an address, by their paths from there; `note` says where it is not current.

    Of a file the one path is ``""``. The `problems` are those files that cannot be read. The list of the whole commit
    is `unproven` while it is not in the cache: it is kept once files have come as it states them. That it leaves out
    files cannot be told.
    """

    address: Address
    commit: str
    files: Mapping[str, File]
    problems: list[Document]
    note: str | None
    unproven: Mapping[str, File] | None = None

    def fetch(self, names: Sequence[str]) -> dict[str, Path]:
        """Bring files into the cache, those that are there already excepted; return where each is, by name.

        Raises
        ------
        SourceError
            Where the Hub does not send one as its list states it, or they are larger than one source may be.
        """
        with _ONE_AT_A_TIME:
            return self._fetch({name: "/".join(filter(None, (self.address.path, name))) for name in names})

    def _fetch(self, paths: Mapping[str, str]) -> dict[str, Path]:
        cache, text = Cache(self.address.repo), self.address.text
        missing = {
            path: self.files[name]
            for name, path in paths.items()
            if cache.place(self.commit, path, self.files[name]) is None
        }
        if missing and is_offline():
            raise SourceError(
                f"{text}: {len(missing)} of {plural(len(paths), 'file')} are not in the cache, and"
                " HF_HUB_OFFLINE forbids to download them; unset it and load once"
            )
        size = sum(file.size for file in missing.values())
        if size > limits.ALL_LIMIT:
            raise SourceError(
                f"{text}: {plural(len(missing), 'file')} of {size:,} bytes, more than {limits.ALL_LIMIT:,}, the limit"
                " of one source; nothing was downloaded (if that is right, bring it into the cache with `hf download`)"
            )
        if missing:
            _download(self.address, self.commit, missing, cache)
        if paths and self.unproven is not None:
            cache.keep_files(self.commit, self.unproven)
        found = {}
        for name, path in paths.items():
            cache.make_link(self.commit, path, self.files[name])
            place = cache.place(self.commit, path, self.files[name])
            # A single file is read by the end of its name, which only the link has.
            found[name] = cache.link(self.commit, path) if not name or place is None else place
        return found


def _download(address: Address, commit: str, files: Mapping[str, File], cache: Cache) -> None:
    """Download files several at a time, with a bar where there is a terminal; an error has its file as a note."""
    from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]  # exported, but not by name

    # One content may have several names.
    paths = {file.hash: path for path, file in files.items()}

    def download(path: str) -> None:
        file = files[path]
        try:
            hub.twice(lambda: cache.keep_content(file, hub.content(commit, path, file.size, file.hash)))
        except GaveUpError as error:
            if path != address.path:
                error.add_note(printable(path))
            raise

    with asking(address) as hub:
        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            done = pool.map(download, paths.values())
            list(tqdm(done, desc=f"Fetching {address.repo}", total=len(paths), disable=None))  # type: ignore[no-untyped-call]
        except BaseException:
            hub.abort()  # Nobody waits for the other files.
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def listing(address: Address) -> Listing:
    """List the files at an address: one request, none where a commit that is in the cache is asked for.

    Raises
    ------
    SourceError
        Where there is nothing, or it cannot be reached and is not in the cache.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # exported, but not by name

    try:
        validate_repo_id(address.repo)
    except HFValidationError as error:
        raise SourceError(f"{address.text}: {address.repo} cannot be the name of a data set: {error}") from None
    with _ONE_AT_A_TIME:
        return _listing(address, Cache(address.repo))


def _listing(address: Address, cache: Cache) -> Listing:
    revision = address.revision or "main"
    commit = revision if is_commit(revision) else cache.commit(revision)
    files = cache.files(commit) if commit else None
    if commit and files is not None and (commit == revision or is_offline()):
        return _below(address, commit, files, [], None)
    if is_offline():
        raise _not_cached(address)
    problems: list[Problem] = []
    note = unproven = None
    with asking(address) as hub:
        if commit is None or commit != revision:
            try:
                current = hub.commit()
                commit, files = current, cache.files(current)
            except GaveUpError as error:
                if commit is None or files is None or not error.is_down:
                    raise
                note = f"the Hub {error}; read from the cache as it was when last asked for, commit {commit}"
        if files is None:
            files, problems = _listed(hub, commit)
            unproven = None if problems else files
        if commit != revision:
            cache.keep_commit(revision, commit)
    return replace(_below(address, commit, files, problems, note), unproven=unproven)


def _not_cached(address: Address) -> SourceError:
    """Return the error of a data set that is not in the cache where the Hub may not be asked."""
    from huggingface_hub import constants

    return SourceError(
        f"{address.text} is not in the cache {constants.HF_HUB_CACHE}, and HF_HUB_OFFLINE forbids to ask the Hub;"
        " unset it and load once"
    )


def _listed(hub: Hub, commit: str) -> tuple[dict[str, File], list[Problem]]:
    """Return the files of a commit, and what the Hub's list has that is none."""
    files: dict[str, File] = {}
    problems: list[Problem] = []
    for number, entry in enumerate(hub.tree(commit), start=1):
        if number > FILES_LIMIT:
            raise GaveUpError(f"lists more than {FILES_LIMIT:,} files and folders, the limit")
        known = entry if isinstance(entry, dict) else {}
        kind, path, lfs = known.get("type"), known.get("path"), known.get("lfs")
        if isinstance(kind, str) and kind != "file":
            continue
        if not kind or not isinstance(path, str) or not path:
            problems.append((None, f"entry {number} of the Hub's list of files is {shown(entry)}; expected a file"))
            continue
        try:
            files[path] = File.stated(
                known.get("size"), known.get("oid"), lfs.get("oid") if isinstance(lfs, dict) else lfs
            )
        except ValueError as error:
            problems.append((path, str(error)))
    return files, problems


def _below(
    address: Address, commit: str, files: Mapping[str, File], problems: Sequence[Problem], note: str | None
) -> Listing:
    """Return what lies below the address; hidden files and folders are passed over."""
    if address.path in files:
        return Listing(address, commit, {"": files[address.path]}, [], note)
    start = f"{address.path}/" if address.path else ""
    inside = {path[len(start) :]: file for path, file in files.items() if path.startswith(start)}
    found = [(path and path[len(start) :], what) for path, what in problems if path is None or path.startswith(start)]
    if address.path and not inside and not found:
        raise _nothing_there(address, files)
    found += [(name, what) for name in inside if (what := _problem(name))]
    wrong = {name for name, _ in found}
    documents = [
        Document(printable(address.text if name is None else name), b"", f"{what}; not read") for name, what in found
    ]
    shown_ones = {
        name: file
        for name, file in inside.items()
        if name not in wrong and not any(part[0] in "._" for part in PurePosixPath(name).parts)
    }
    return Listing(address, commit, shown_ones, documents, note)


def _nothing_there(address: Address, paths: Iterable[str]) -> SourceError:
    parent = PurePosixPath(address.path).parent
    while str(parent) != "." and not any(path.startswith(f"{parent}/") for path in paths):
        parent = parent.parent
    start = "" if str(parent) == "." else f"{parent}/"
    there = sorted({path[len(start) :].split("/")[0] for path in paths if path.startswith(start)})
    where = f"{address.repo}/{start}".rstrip("/")
    return SourceError(
        f"{address.text}: there is no {address.path!r} in it; in {where} there are: {listed([*map(printable, there)])}"
    )


def _problem(name: str) -> str | None:
    """Say why no file may have this name, as for a member of an archive."""
    path = PurePosixPath(name.replace("\\", "/"))
    if PureWindowsPath(path).anchor or ".." in path.parts:
        return "its name leads out of the data set"
    if str(PurePosixPath(name)) != name:
        return "its name is not as git has names"
    if character := _NOT_IN_NAMES.search(name):
        return f"its name has {character[0]!r}, which not every system has in names"
    return None
