"""The Hugging Face Hub as a source: addresses, the list of a data set's files, downloads into the shared cache.

huggingface_hub does the asking and keeps the cache. It is imported where it is used, for it takes half a second.
"""

import glob
import os
import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeGuard
from urllib.parse import quote, unquote

from attune_data.io import documents as limits
from attune_data.issues import SourceError
from attune_data.text import listed, plural, sanitize

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_FORM = "hf://owner/name, hf://owner/name@revision or hf://owner/name@revision/folder"
_ADDRESS = re.compile(
    r"hf://(?:datasets/)?(?!(?:datasets|models|spaces|kernels|buckets)/)(?P<repo>[\w.-]+/[\w.-]+)"
    r"(?:@(?P<revision>refs/(?:convert|pr)/[^/@]+|[^/@]+))?(?:/(?P<path>[^@]*))?"
)
# As git has it, which keeps the name of one within the folder of the cache.
_REVISION = re.compile(
    r"(?!.*(?:\.\.|//|/\.))[^./\x00-\x20\x7f\\:?*~^\[\ud800-\udfff][^\x00-\x20\x7f\\:?*~^\[\ud800-\udfff]*(?<!/)"
)
_PAGE = re.compile(
    r"https?:/+(?:huggingface\.co|hf\.co)/+(?:datasets/)?([^/]+/[^/?]+)(?:/(?:tree|blob|resolve)/([^/?]+)(/[^?]*)?)?/*(?:\?.*)?"
)


@dataclass(frozen=True, slots=True)
class Address:
    """What ``hf://owner/name[@revision][/path]`` says; `text` is the address as it was given."""

    text: str
    repo: str
    revision: str | None
    path: str


def is_commit(text: object) -> TypeGuard[str]:
    """Tell whether a text is the full hash of a commit."""
    return isinstance(text, str) and re.fullmatch(r"[0-9a-f]{40}", text) is not None


def parse_address(text: str) -> Address:
    """Return the parts of an address; in a revision ``/`` is written ``%2F``.

    Raises
    ------
    SourceError
        Where it is not of that form; names the nearest address that is.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None:
        near = _nearest(text.strip())
        hint = f"did you mean {near}?" if _ADDRESS.fullmatch(near) else f"the form is {_FORM}"
        raise SourceError(f"{text[:200]!r} is not the address of a data set on the Hub; {hint}")
    revision = match["revision"] and unquote(match["revision"])
    if revision and not _REVISION.fullmatch(revision):
        raise SourceError(f"{sanitize(text[:200])!r}: no branch, tag or commit can have the name {revision[:200]!r}")
    return Address(text, match["repo"], revision, (match["path"] or "").strip("/"))


def _nearest(text: str) -> str:
    if page := _PAGE.fullmatch(text):
        revision = f"@{page[2]}" if page[2] else ""
        return f"hf://{page[1]}{revision}{page[3] or ''}"
    rest = re.sub(r"(?i)^hf:/*(?:datasets/+)?", "", text)
    before, at, after = rest.partition("@")
    parts = [part for part in before.split("/") if part]
    if after and len(parts) > 2:  # The revision comes after the folder.
        return f"hf://{'/'.join(parts[:2])}@{quote(unquote(after), safe='')}/{'/'.join(parts[2:])}"
    return f"hf://{'/'.join(parts)}{at if after else ''}{after}"


def is_token(text: str) -> bool:
    """Tell whether a text can be a token; an error about a header that cannot be sent would show it."""
    return re.fullmatch("[!-~]+", text) is not None


def redacted(text: str) -> str:
    """Return a text from the Hub, which may repeat what was sent to it, without the token."""
    from huggingface_hub import get_token

    secret = get_token()
    return text.replace(secret, "[token]") if secret else text


def timeout() -> float:
    """Return the seconds within which the Hub must begin to answer."""
    from huggingface_hub import constants

    return float(constants.HF_HUB_ETAG_TIMEOUT)


def endpoint() -> str:
    """Return HF_ENDPOINT as it is now; the client library reads it once, when it is imported."""
    from huggingface_hub import constants

    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or constants.ENDPOINT


def shown_endpoint() -> str:
    """Return the Hub's address without a name and password in it."""
    return re.sub(r"//[^/]*@", "//", endpoint())


def is_offline() -> bool:
    """Tell whether the user forbids the network."""
    from huggingface_hub import is_offline_mode

    return is_offline_mode() or os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


FILES_LIMIT = 100_000
"""Files and folders of a data set."""

_AT_ONCE = 8
_CERTIFICATES = {"SSL_CERT_FILE", "SSL_CERT_DIR"}
_LOG_IN = "log in with `hf auth login` or set HF_TOKEN"


def client() -> "HfApi":
    """Return the client of HF_ENDPOINT as it is now; it finds the token by itself."""
    from huggingface_hub import HfApi

    return HfApi(endpoint=endpoint(), library_name="attune-bench")


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a commit at or below an address: their bytes by their paths from there.

    Of a file the one path is ``""``. Hidden files and folders are passed over. `note` says where it is not current.
    """

    address: Address
    commit: str
    files: Mapping[str, int]
    note: str | None

    def fetch(self, names: Sequence[str]) -> dict[str, Path]:
        """Bring files into the cache, those that are there already excepted; return where each is, by name.

        Raises
        ------
        SourceError
            Where one does not come with the size that the list states, or they are larger than one source may be.
        """
        from huggingface_hub import try_to_load_from_cache

        address = self.address
        paths = {name: "/".join(filter(None, (address.path, name))) for name in names}
        cached = partial(try_to_load_from_cache, address.repo, revision=self.commit, repo_type="dataset")
        missing = [name for name, path in paths.items() if not isinstance(cached(path), str)]
        if missing and is_offline():
            raise SourceError(
                f"{address.text}: {len(missing)} of {plural(len(paths), 'file')} are not in the cache, and"
                " HF_HUB_OFFLINE forbids to download them; unset it and load once"
            )
        size = sum(self.files[name] for name in missing)
        if size > limits.ALL_LIMIT:
            raise SourceError(
                f"{address.text}: {plural(len(missing), 'file')} of {size:,} bytes, more than {limits.ALL_LIMIT:,},"
                " the limit of one source; nothing was downloaded (if that is right, bring it into the cache with"
                " `hf download`)"
            )
        places = dict(zip(paths, _downloaded(address, self.commit, [*paths.values()]), strict=True))
        for name, place in places.items():
            if (found := place.stat().st_size) != self.files[name]:
                raise SourceError(
                    f"{address.text}, file {sanitize(paths[name])}: {found:,} bytes are in the cache,"
                    f" {self.files[name]:,} in the Hub's list of files; delete {place} and load it again"
                )
        return places


def _downloaded(address: Address, commit: str, paths: Sequence[str]) -> list[Path]:
    """Return where files are in the cache, into which those are downloaded that are not there, with one bar for all."""
    from huggingface_hub import hf_hub_download, snapshot_download
    from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]  # exported, but not by name

    class NoBar(tqdm):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **{**options, "disable": True})  # type: ignore[no-untyped-call]

    given: dict[str, Any] = {"repo_type": "dataset", "revision": commit, "endpoint": endpoint(), "tqdm_class": NoBar}
    is_kept = is_offline() or _cached(address.repo, commit) is not None

    def download(path: str) -> Path:
        try:
            if path == paths[0] and not is_kept:
                # Of the library's functions this alone keeps the list of files. It compares every file with every
                # pattern, and so gets one.
                snapshot_download(address.repo, allow_patterns=glob.escape(path), **given)
            return Path(hf_hub_download(address.repo, path, **given))
        except Exception as error:
            if path != address.path:
                error.add_note(sanitize(path))
            raise

    with _explained(address), ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            done = pool.map(download, paths)
            return list(tqdm(done, desc=f"Fetching {address.repo}", total=len(paths), disable=None))  # type: ignore[no-untyped-call]
        except BaseException:
            pool.shutdown(cancel_futures=True)  # Nobody waits for the other files.
            raise


def _cached(repo: str, commit: str) -> dict[str, int] | None:
    """Return the bytes of a commit's files by their paths, where the cache has the list of them."""
    from huggingface_hub import get_cached_repo_tree
    from huggingface_hub.errors import CachedRepoTreeNotFoundError

    try:
        return {file.path: file.size for file in get_cached_repo_tree(repo, repo_type="dataset", revision=commit)}
    except CachedRepoTreeNotFoundError:
        return None


def listing(address: Address) -> Listing:
    """List the files at an address: no request where a commit that is in the cache is asked for.

    Raises
    ------
    SourceError
        Where there is nothing, or it cannot be reached and is not in the cache.
    """
    from huggingface_hub import get_token
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # exported, but not by name

    try:
        validate_repo_id(address.repo)
    except HFValidationError as error:
        raise SourceError(f"{address.text}: {address.repo} cannot be the name of a data set: {error}") from None
    if not is_token(get_token() or "-"):
        raise SourceError(f"{address.text}: the token of the Hub has a character that no token has; {_LOG_IN}")
    with _explained(address):
        commit, note = _commit(address)
        files = _cached(address.repo, commit)
        if files is None and is_offline():
            raise _not_cached(address)
        return _below(address, commit, _listed(address, commit) if files is None else files, note)


def _commit(address: Address) -> tuple[str, str | None]:
    """Return the commit that an address means; where the Hub is down, the commit of the cache and a note."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, RevisionResolutionError

    api, repo, revision = client(), address.repo, address.revision
    known = None
    with suppress(RevisionResolutionError):
        known = api.resolve_revision(repo, repo_type="dataset", revision=revision, local_files_only=True).resolved
    if known is None and is_offline():
        raise _not_cached(address)
    if known and (is_offline() or (is_commit(revision) and _cached(repo, known) is not None)):
        return known, None
    try:
        commit = api.dataset_info(repo, revision=revision, timeout=timeout()).sha
        if commit != known:  # This keeps the commit, but waits without end and does not say what is old.
            commit = api.resolve_revision(repo, repo_type="dataset", revision=revision).resolved
    except (HfHubHTTPError, httpx2.TransportError) as error:
        is_down = not isinstance(error, HfHubHTTPError) or error.response.status_code in (429, *range(500, 600))
        if not is_down or known is None or _cached(repo, known) is None:
            raise
        return known, f"{trouble(error)}; read from the cache as it was when last asked for, commit {known}"
    if not is_commit(commit):
        raise LookupError("its commit is no hash")
    return commit, None


def _listed(address: Address, commit: str) -> dict[str, int]:
    from huggingface_hub import RepoFile

    entries = client().list_repo_tree(address.repo, recursive=True, revision=commit, repo_type="dataset")
    first = list(islice(entries, FILES_LIMIT + 1))
    if len(first) > FILES_LIMIT:
        raise SourceError(f"{address.text}: the Hub lists more than {FILES_LIMIT:,} files and folders, the limit")
    return {entry.path: entry.size for entry in first if isinstance(entry, RepoFile)}


def _not_cached(address: Address) -> SourceError:
    """Return the error of a data set that is not in the cache where the Hub may not be asked."""
    from huggingface_hub import constants

    return SourceError(
        f"{address.text} is not in the cache {constants.HF_HUB_CACHE}, and HF_HUB_OFFLINE forbids to ask the Hub;"
        " unset it and load once"
    )


def _below(address: Address, commit: str, files: Mapping[str, int], note: str | None) -> Listing:
    if address.path in files:
        return Listing(address, commit, {"": files[address.path]}, note)
    start = f"{address.path}/" if address.path else ""
    inside = {path[len(start) :]: size for path, size in files.items() if path.startswith(start)}
    if address.path and not inside:
        raise _nothing_there(address, files)
    shown = {
        name: size for name, size in inside.items() if not any(part[0] in "._" for part in PurePosixPath(name).parts)
    }
    return Listing(address, commit, shown, note)


def _nothing_there(address: Address, paths: Mapping[str, int]) -> SourceError:
    parent = PurePosixPath(address.path).parent
    while str(parent) != "." and not any(path.startswith(f"{parent}/") for path in paths):
        parent = parent.parent
    start = "" if str(parent) == "." else f"{parent}/"
    there = sorted({path[len(start) :].split("/")[0] for path in paths if path.startswith(start)})
    where = f"{address.repo}/{start}".rstrip("/")
    return SourceError(
        f"{address.text}: there is no {address.path!r} in it; in {where} there are: {listed([*map(sanitize, there)])}"
    )


def trouble(error: BaseException) -> str:
    """Return the problem of the Hub, or of the way to it, from an error of its client library; without the token."""
    import httpx2
    from huggingface_hub.errors import FileMetadataError, HfHubHTTPError

    hub = f"the Hub at {shown_endpoint()}"
    if isinstance(error, HfHubHTTPError):
        wait = ", too many requests; a token raises the limit" if error.response.status_code == 429 else ""
        return f"{hub} answers with status {error.response.status_code}{wait}"
    if isinstance(error, httpx2.TimeoutException):
        return f"{hub} does not answer"
    if isinstance(error, httpx2.TransportError | OSError) and not isinstance(error, FileMetadataError):
        return f"{hub} cannot be reached: {redacted(sanitize(error))[:200]}"
    proxies = "HTTP_PROXY, HTTPS_PROXY and ALL_PROXY"
    return f"{hub} cannot be asked, or does not answer as a Hub does; check HF_ENDPOINT and, of proxies, {proxies}"


@contextmanager
def _explained(address: Address) -> Iterator[None]:
    """Turn what the client library and the cache raise into one error that says what to do."""
    import httpx2
    from huggingface_hub import constants, get_token
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        yield
    except SourceError:
        raise
    except (
        *(OSError, RuntimeError, ValueError, httpx2.HTTPError, httpx2.InvalidURL),
        # What the client library raises where a server answers that is no Hub, and for proxies that it cannot use.
        *(LookupError, TypeError, AttributeError, AssertionError, ImportError),
    ) as error:
        cause = error.__cause__ if isinstance(error, LocalEntryNotFoundError | RuntimeError) else None
        cause = cause or error
        asked = ", file ".join([address.text, *getattr(error, "__notes__", ())])
        status = cause.response.status_code if isinstance(cause, HfHubHTTPError) else None
        if isinstance(cause, GatedRepoError):
            page = f"{shown_endpoint()}/datasets/{address.repo}"
            why = f"access is granted on request; accept its conditions at {page}, then {_LOG_IN}"
        elif isinstance(cause, RevisionNotFoundError):
            hint = "; in a name / is written %2F" if address.path else ""
            why = f"{address.repo} has no branch, tag or commit {address.revision!r}{hint}"
        elif isinstance(cause, RepositoryNotFoundError) or (status == 401 and not get_token()):
            # Without a token the Hub does not say which data sets it has.
            why = (
                f"the Hub has no data set {address.repo}, or it is private, which looks the same without its token;"
                f" check the spelling, or {_LOG_IN}"
            )
        elif status in (401, 403):
            refused = f"the Hub at {shown_endpoint()} refuses access (status {status})"
            why = f"{refused}; {_LOG_IN}, to a token that is valid and may read it"
        elif isinstance(cause, ssl.SSLError | FileNotFoundError) and os.environ.keys() & _CERTIFICATES:
            why = f"the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read: {cause.strerror}"
        elif isinstance(cause, OSError) and cause.errno and status is None:
            why = (
                f"the cache {constants.HF_HUB_CACHE} cannot be written: {cause.strerror};"
                " make room, or set HF_HOME to a folder elsewhere"
            )
        else:
            why = trouble(cause)
        raise SourceError(f"{asked}: {why}") from None
