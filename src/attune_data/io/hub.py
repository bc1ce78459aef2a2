"""Data sets on the Hugging Face Hub: their files listed, and those that are wanted brought into the client's cache.

The client keeps what it downloads by commit, beside the list of the commit's files.
"""

import glob
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from attune_data.io.hub_address import Address
from attune_data.io.hub_client import GaveUpError, NotCachedError, asking, endpoint, is_offline, timeout
from attune_data.issues import SourceError
from attune_data.text import listed, plural

if TYPE_CHECKING:
    from huggingface_hub import HfApi

__all__ = ["Listing", "listing"]

_TYPE = "dataset"
_AT_ONCE = 8
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a commit at or below an address, by their paths from there; `note` says where it is not current.

    Of a file the one path is ``""``.
    """

    address: Address
    commit: str
    names: list[str]
    note: str | None

    def fetch(self, names: Sequence[str]) -> dict[str, Path]:
        """Bring files into the cache, those that are there already excepted; return where each is, by name."""
        from huggingface_hub import try_to_load_from_cache

        repo, paths = self.address.repo, {name: str(PurePosixPath(self.address.path, name)) for name in names}
        found: dict[str, Path] = {}
        for name, path in paths.items():
            cached = try_to_load_from_cache(repo, path, repo_type=_TYPE, revision=self.commit)
            if isinstance(cached, str):
                found[name] = Path(cached)
        missing = [name for name in names if name not in found]
        if missing and is_offline():
            raise SourceError(
                f"{self.address.text}: {len(missing)} of {plural(len(paths), 'file')} are not in the cache, and"
                " HF_HUB_OFFLINE forbids to download them; unset it and load once"
            )
        if missing:
            with asking(self.address):
                downloaded = _download(repo, self.commit, [paths[name] for name in missing])
            found |= dict(zip(missing, downloaded, strict=True))
        return {name: found[name] for name in names}


def _download(repo: str, commit: str, paths: Sequence[str]) -> list[Path]:
    """Download files several at a time, with a bar where there is a terminal; an error has its file as a note."""
    from huggingface_hub import hf_hub_download, snapshot_download
    from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]

    options: dict[str, Any] = {"repo_type": _TYPE, "revision": commit, "endpoint": endpoint()}
    if len(paths) > 1:
        options["tqdm_class"] = _quiet_bar()

    def download(path: str) -> Path:
        try:
            return Path(hf_hub_download(repo, path, **options))
        except Exception as error:
            error.add_note(path)
            raise

    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        done = pool.map(download, paths)
        bar = tqdm(done, desc=f"Fetching {repo}", total=len(paths), disable=None)  # type: ignore[no-untyped-call]
        found = list(bar)
    finally:
        pool.shutdown(cancel_futures=True)
    # This keeps the list of files too, by which a later load without the Hub knows that none is missing.
    snapshot_download(repo, allow_patterns=[glob.escape(paths[0])], **options)
    return found


def _quiet_bar() -> type[Any]:
    """Return a progress bar that is never shown, for each of many small files."""
    from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]

    class Quiet(tqdm):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **{**options, "disable": True})  # type: ignore[no-untyped-call]

    return Quiet


def listing(address: Address) -> Listing:
    """List the files at an address: one request, none where a commit that is in the cache is asked for.

    Raises
    ------
    SourceError
        Where there is nothing, or it cannot be reached and is not in the cache.
    """
    from huggingface_hub import HfApi, RepoFile

    api, offline = HfApi(endpoint=endpoint()), is_offline()
    note = None
    with asking(address) as limits:
        commit = _commit(api, address, offline)
        paths = _cached_paths(address, commit)
        if not limits.answered and not offline and commit != address.revision:
            why = f"answers with status {limits.status}" if limits.status else "cannot be reached"
            if paths is None:
                raise GaveUpError(why)
            note = f"the Hub {why}; read from the cache as it was when last asked for, commit {commit}"
        if paths is None and offline:
            raise NotCachedError
        if paths is None:
            entries = api.list_repo_tree(address.repo, recursive=True, revision=commit, repo_type=_TYPE)
            paths = [entry.path for entry in entries if isinstance(entry, RepoFile)]
    return Listing(address, commit, _below(address, paths), note)


def _commit(api: "HfApi", address: Address, offline: bool) -> str:
    """Return the commit that is asked for."""
    if address.revision is None or not _COMMIT.fullmatch(address.revision):
        found = api.resolve_revision(address.repo, repo_type=_TYPE, revision=address.revision, local_files_only=offline)
        return found.resolved
    if not offline and _cached_paths(address, address.revision) is None:
        # This fails at once where listing would try again for half a minute.
        api.dataset_info(address.repo, revision=address.revision, timeout=timeout())
    return address.revision


def _cached_paths(address: Address, commit: str) -> list[str] | None:
    from huggingface_hub import get_cached_repo_tree
    from huggingface_hub.errors import CachedRepoTreeNotFoundError

    try:
        return [file.path for file in get_cached_repo_tree(address.repo, repo_type=_TYPE, revision=commit)]
    except CachedRepoTreeNotFoundError:
        return None


def _below(address: Address, paths: Sequence[str]) -> list[str]:
    """Return the paths of what lies below the address, relative to it; hidden files and folders are passed over."""
    if address.path in paths:
        return [""]
    start = f"{address.path}/" if address.path else ""
    inside = [path[len(start) :] for path in paths if path.startswith(start)]
    if address.path and not inside:
        parent = PurePosixPath(address.path).parent
        while str(parent) != "." and not any(path.startswith(f"{parent}/") for path in paths):
            parent = parent.parent
        start = "" if str(parent) == "." else f"{parent}/"
        there = sorted({path[len(start) :].split("/")[0] for path in paths if path.startswith(start)})
        where = f"{address.repo}/{start}".rstrip("/")
        raise SourceError(f"{address.text}: there is no {address.path!r} in it; in {where} there are: {listed(there)}")
    return [name for name in inside if not any(part[:1] in "._" for part in name.split("/"))]
