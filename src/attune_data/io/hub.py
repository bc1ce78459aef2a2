"""The Hugging Face Hub as a source: addresses, requests with limits, the cache.

Requests to the Hugging Face Hub, whose answers are not trusted: each is bounded in bytes, time and redirects.

The token goes to the origin of HF_ENDPOINT and to no other.
"""

import hashlib
import json
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar
from urllib.parse import quote, unquote

from attune_data.io import documents as limits
from attune_data.io.documents import Document, write_whole
from attune_data.issues import SourceError, shown
from attune_data.text import listed, plural, printable

if TYPE_CHECKING:
    import httpx2

__all__ = [
    "ANSWER_LIMIT",
    "NO_HUB",
    "SLOWEST",
    "Address",
    "Cache",
    "Connections",
    "File",
    "GaveUpError",
    "Hub",
    "Listing",
    "asking",
    "bounded",
    "endpoint",
    "is_address",
    "is_commit",
    "is_offline",
    "is_token",
    "listing",
    "parse_address",
    "redacted",
    "refuse_encoded",
    "shown_endpoint",
    "timeout",
    "token",
]

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


def is_address(source: str) -> bool:
    """Tell whether a source is meant as an address on the Hub, well formed or not."""
    return re.match(r"\s*(?:hf:|https?:/)", source, re.IGNORECASE) is not None


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
        raise SourceError(f"{printable(text[:200])!r}: no branch, tag or commit can have the name {revision[:200]!r}")
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


def token() -> str | None:
    """Return the token to read with, unless there is none or HF_HUB_DISABLE_IMPLICIT_TOKEN forbids to send it."""
    from huggingface_hub import constants, get_token

    return None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()


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


ANSWER_LIMIT = 2**24
"""Bytes of one answer of the API."""

LIST_LIMIT = 2**26
"""Bytes of a list of files, all its pages together."""

PAGES_LIMIT = 1_000
"""Pages of a list of files."""

LIST_SECONDS = 300
"""Seconds for a list of files."""

SLOWEST = 2**14
"""Bytes a second that an answer has at least, after the seconds within which it must begin."""

REDIRECTS_LIMIT = 10
"""Redirects of one request."""

_REDIRECT_LIMIT = 2**16
_PAUSE = 0.5
_LOG_IN = "log in with `hf auth login` or set HF_TOKEN"
NO_HUB = "does not answer as a Hub does; check HF_ENDPOINT and the proxy"

T = TypeVar("T")


class GaveUpError(Exception):
    """The Hub did not give what was asked for; the text says what it did, a note names the file.

    `is_down`: it cannot be reached or does not work, so that the cache may serve; `may_pass`: asking again may help.
    """

    def __init__(self, what: str, *, is_down: bool = False, may_pass: bool = False) -> None:
        super().__init__(what)
        self.is_down = is_down
        self.may_pass = may_pass


class Connections:
    """The connections that a client makes, told by the trace of its requests; another thread may end them all."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self.are_ended: bool = False

    def note(self, event: str, info: dict[str, Any]) -> None:
        """Take note of a connection when it is made."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._sockets.append(info["return_value"].get_extra_info("socket"))
            if self.are_ended:
                self.end()

    def end(self) -> None:
        """Let everything fail at once that waits for one of them or will."""
        self.are_ended = True
        for each in self._sockets:
            # To close it would not wake the thread that waits for it; the method of a subclass would touch its TLS.
            with suppress(OSError):
                socket.socket.shutdown(each, socket.SHUT_RDWR)


class Hub:
    """A client for one load of one data set; `asking` makes it and explains what it raises."""

    def __init__(self, address: Address) -> None:
        import httpx2

        self._address = address
        # Not the headers of the client library: to know what to say of itself it asks the Hub, without our bounds.
        self._headers = {"accept-encoding": "identity", "user-agent": "attune-bench"}
        secret = token()
        self._authorization = f"Bearer {secret}" if secret else None
        if not is_token(secret or "-"):
            raise SourceError(f"{address.text}: the token of the Hub has a character that no token has; {_LOG_IN}")
        try:
            self._origin = httpx2.URL(endpoint()).origin
        except (httpx2.InvalidURL, ValueError):
            raise GaveUpError(NO_HUB) from None
        try:
            certificates = _certificates()
        except OSError as error:
            raise SourceError(
                f"{address.text}: the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read: {error}"
            ) from None
        try:
            self._client = httpx2.Client(timeout=timeout(), verify=certificates)
        except (httpx2.InvalidURL, ValueError, ImportError):  # The text may have the password of the proxy.
            raise SourceError(
                f"{address.text}: a proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names cannot be used; expected"
                " http://host:port (one of SOCKS needs the package socksio)"
            ) from None
        self._connections = Connections()
        self._is_late = False

    def close(self) -> None:
        """Close every connection, which no other thread may use then."""
        self._client.close()

    def abort(self) -> None:
        """Let everything fail at once that other threads ask or will ask."""
        self._connections.end()

    def commit(self) -> str:
        """Return the commit that the address means now."""
        revision = self._address.revision
        answer, _, _ = self._json(self._api("" if revision is None else f"/revision/{quote(revision, safe='')}"))
        commit = answer.get("sha") if isinstance(answer, dict) else None
        if not is_commit(commit):
            raise GaveUpError(NO_HUB)
        return commit

    def tree(self, commit: str) -> Iterator[Any]:
        """Yield the entries of the list of a commit's files and folders, as they come."""
        url = self._api(f"/tree/{commit}?recursive=true&expand=false")
        left, ends = LIST_LIMIT, time.monotonic() + LIST_SECONDS
        for _ in range(PAGES_LIMIT):
            entries, following, size = self._json(url)
            if not isinstance(entries, list):
                raise GaveUpError(NO_HUB)
            left -= size
            if left < 0:
                raise GaveUpError(f"sends a list of files of more than {LIST_LIMIT:,} bytes, the limit")
            yield from entries
            if following is None:
                return
            url = following
            if time.monotonic() > ends:
                raise GaveUpError(f"takes more than {LIST_SECONDS} seconds for the list of files, the limit")
        raise GaveUpError(f"sends the list of files in more than {PAGES_LIMIT:,} pages, the limit")

    def content(self, commit: str, path: str, size: int, blob: str) -> Iterator[bytes]:
        """Yield the content of a file, and raise where it is not of this size and hash, as git or LFS has it."""
        digest = hashlib.sha256() if len(blob) == 64 else hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        received = 0
        with self._get(f"{endpoint()}/datasets/{self._address.repo}/resolve/{commit}/{quote(path)}") as response:
            for chunk in self._body(response, size, "the size in its list of files"):
                digest.update(chunk)
                received += len(chunk)
                yield chunk
        if received < size or digest.hexdigest() != blob:
            what = f"{received:,} of {size:,} bytes" if received < size else f"other content than {blob}"
            raise GaveUpError(f"sends {what}, which its list of files states; load it again, or check HF_ENDPOINT")

    def twice(self, ask: Callable[[], T]) -> T:
        """Ask, and once more where that may help."""
        try:
            return ask()
        except GaveUpError as error:
            if not error.may_pass:
                raise
        time.sleep(_PAUSE)
        return ask()

    def _api(self, rest: str) -> str:
        return f"{endpoint()}/api/datasets/{self._address.repo}{rest}"

    def _json(self, url: str) -> tuple[Any, str | None, int]:
        """Return an answer, the URL of the page that follows it, and how many bytes it has."""

        def ask() -> tuple[bytes, str | None]:
            with self._get(url) as response:
                return b"".join(self._body(response, ANSWER_LIMIT)), self._following(response)

        data, following = self.twice(ask)
        try:
            return json.loads(data), following, len(data)
        except (ValueError, RecursionError):
            raise GaveUpError(NO_HUB) from None

    def _following(self, response: "httpx2.Response") -> str | None:
        link = response.links.get("next", {}).get("url")
        if link is None:
            return None
        url = _joined(response.url, link)
        if url.origin != self._origin:
            raise GaveUpError(
                f"continues its list of files at another place, {url.scheme}://{printable(url.netloc.decode())}, which"
                " is not asked"
            )
        return str(url)

    @contextmanager
    def _get(self, address: str) -> Iterator["httpx2.Response"]:
        """Give the answer with status 200 to which redirects lead."""
        import httpx2

        url = httpx2.URL(address)
        for _ in range(REDIRECTS_LIMIT + 1):
            headers = dict(self._headers)
            if self._authorization and url.origin == self._origin:
                headers["authorization"] = self._authorization
            with self._bounded(timeout()):
                request = self._client.build_request(
                    "GET", url, headers=headers, extensions={"trace": self._connections.note}
                )
                response = self._client.send(request, stream=True, follow_redirects=False)
            try:
                if not response.has_redirect_location:
                    self._check(response)
                    yield response
                    return
                for _ in self._body(response, _REDIRECT_LIMIT):
                    pass
                url = _joined(url, response.headers["location"])
            finally:
                response.close()
        raise GaveUpError(f"redirects more than {REDIRECTS_LIMIT} times, the limit")

    def _body(self, response: "httpx2.Response", limit: int, name: str = "the limit") -> Iterator[bytes]:
        with self._bounded(timeout() + limit / SLOWEST):
            yield from bounded(response.iter_raw(), limit, name)

    @contextmanager
    def _bounded(self, seconds: float) -> Iterator[None]:
        """Let requests fail after so many seconds, also where each byte comes in time; explain why one fails."""
        import httpx2

        timer = threading.Timer(seconds, self._give_up)
        timer.daemon = True
        timer.start()
        try:
            yield
        # ValueError is an address that the server made up.
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            if self._is_late or isinstance(error, httpx2.TimeoutException):
                raise GaveUpError(f"does not answer within {timeout():g} seconds", is_down=True) from None
            if not isinstance(error, httpx2.TransportError):
                raise GaveUpError(NO_HUB) from None
            may_pass = not self._connections.are_ended and isinstance(
                error, httpx2.NetworkError | httpx2.RemoteProtocolError
            )
            what = redacted(printable(error))[:200]
            raise GaveUpError(f"cannot be reached: {what}", is_down=True, may_pass=may_pass) from None
        finally:
            timer.cancel()

    def _give_up(self) -> None:
        self._is_late = True
        self.abort()

    def _check(self, response: "httpx2.Response") -> None:
        """Raise where an answer is none; say what to do where access is refused."""
        status, code, text = response.status_code, response.headers.get("X-Error-Code"), self._address.text
        repo, revision = self._address.repo, self._address.revision
        if status == 200:
            refuse_encoded(response)
            return
        if response.url.origin == self._origin and 400 <= status < 500:
            if code == "GatedRepo":
                page = f"{shown_endpoint()}/datasets/{repo}"
                raise SourceError(
                    f"{text}: access is granted on request; accept its conditions at {page}, then {_LOG_IN}"
                )
            if code == "RevisionNotFound":
                hint = "; in a name / is written %2F" if self._address.path else ""
                raise SourceError(f"{text}: {repo} has no branch, tag or commit {revision!r}{hint}")
            # Without a token the Hub does not say which data sets it has.
            if code == "RepoNotFound" or (status == 401 and self._authorization is None):
                raise SourceError(
                    f"{text}: the Hub has no data set {repo}, or it is private, which looks the same without its token;"
                    f" check the spelling, or {_LOG_IN}"
                )
            if status in (401, 403):
                raise GaveUpError(
                    f"refuses access (status {status}); {_LOG_IN}, to a token that is valid and may read it"
                )
        if status == 429:
            what = "asks to wait (status 429, too many requests; a token raises the limit)"
            raise GaveUpError(what, is_down=True)
        raise GaveUpError(f"answers with status {status}", is_down=status >= 500, may_pass=status >= 500)


@contextmanager
def asking(address: Address) -> Iterator[Hub]:
    """Give a client for one load, and turn what it and the cache raise into one error.

    Raises
    ------
    SourceError
        Where the Hub gives no usable answer, or what it gives cannot be written.
    """
    from huggingface_hub import constants

    try:
        with closing(Hub(address)) as hub:
            yield hub
    except GaveUpError as error:
        asked = ", file ".join([address.text, *(path for path in getattr(error, "__notes__", ()))])
        hint = "; it is not in the cache, so try again later" if error.is_down else ""
        raise SourceError(f"{asked}: the Hub at {shown_endpoint()} {error}{hint}") from None
    except OSError as error:
        raise SourceError(
            f"{address.text}: the cache {constants.HF_HUB_CACHE} cannot be written: {error.strerror};"
            " make room, or set HF_HOME to a folder elsewhere"
        ) from None


@cache
def _certificates() -> ssl.SSLContext:
    """Read the certificates that are trusted, which takes longer than a small answer."""
    import httpx2

    return httpx2.create_ssl_context()


def _joined(url: "httpx2.URL", link: str) -> "httpx2.URL":
    import httpx2

    with suppress(httpx2.InvalidURL, ValueError):
        joined = url.join(link)
        if joined.is_absolute_url:
            return joined
    raise GaveUpError(NO_HUB)


def bounded(chunks: Iterable[bytes], limit: int, name: str = "the limit") -> Iterator[bytes]:
    """Yield the body of an answer; raise where it is too large or too slow."""
    began, size = time.monotonic(), 0
    for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise GaveUpError(f"sends an answer of more than {limit:,} bytes, {name}")
        if time.monotonic() > began + timeout() + size / SLOWEST:
            raise GaveUpError(f"sends less than {SLOWEST:,} bytes a second, the limit", is_down=True)
        yield chunk


def refuse_encoded(response: "httpx2.Response") -> None:
    """Raise where an answer is compressed, for it was asked not to be: what it unpacks to is not bounded."""
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise GaveUpError("compresses an answer, which it was asked not to do; check HF_ENDPOINT and the proxy")


_FORMAT = 1  # Of the lists of files.
_CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class File:
    """What the list of a commit states of a file: its bytes, and its hashes of git and, where it has one, of LFS."""

    size: int
    blob_id: str
    lfs_sha256: str | None = None

    @classmethod
    def stated(cls, size: Any, blob_id: Any, lfs_sha256: Any) -> "File":
        """Return a file as a list states it.

        Raises
        ------
        ValueError
            Where that cannot be; says what, as a clause.
        """
        if type(size) is not int or not 0 <= size < 2**63:
            raise ValueError(f"its size is {shown(size)} in the Hub's list of files; expected a number of bytes")
        for value, length in ((blob_id, 40), (lfs_sha256 or "0" * 64, 64)):
            # The hash is the name of the content on disk.
            if not isinstance(value, str) or not re.fullmatch(rf"[0-9a-f]{{{length}}}", value):
                raise ValueError(f"its hash is {shown(value)} in the Hub's list of files; expected {length} hex digits")
        return cls(size, blob_id, lfs_sha256 or None)

    @property
    def hash(self) -> str:
        """The hash by which the cache names the content."""
        return self.lfs_sha256 or self.blob_id


class Cache:
    """What the cache has of one data set."""

    def __init__(self, repo: str) -> None:
        from huggingface_hub import constants
        from huggingface_hub.file_download import repo_folder_name

        self._folder = Path(constants.HF_HUB_CACHE).expanduser() / repo_folder_name(repo_id=repo, repo_type="dataset")

    def commit(self, revision: str) -> str | None:
        """Return the commit that a revision meant when it was last asked for."""
        try:
            text = (self._folder / "refs" / revision).read_text("ascii").strip()
        except (OSError, ValueError):
            return None
        return text if is_commit(text) else None

    def files(self, commit: str) -> dict[str, File] | None:
        """Return the list of a commit's files."""
        try:
            stored = json.loads(self._list(commit).read_bytes())
            if stored["format_version"] != _FORMAT:
                return None
            return {
                path: File.stated(file["size"], file["blob_id"], file.get("lfs_sha256"))
                for path, file in stored["files"].items()
            }
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None

    def keep_files(self, commit: str, files: Mapping[str, File]) -> None:
        """Keep the list of a commit's files, where the cache can be written."""
        stored: dict[str, dict[str, Any]] = {}
        for path, file in files.items():
            lfs = {"lfs_sha256": file.lfs_sha256, "lfs_size": file.size} if file.lfs_sha256 else {}
            stored[path] = {"size": file.size, "blob_id": file.blob_id, **lfs}
        data = json.dumps({"format_version": _FORMAT, "files": stored}).encode()
        with suppress(OSError):
            _write(self._list(commit), [data])

    def keep_commit(self, revision: str, commit: str) -> None:
        """Keep which commit a revision means, where the cache can be written."""
        with suppress(OSError):
            _write(self._folder / "refs" / revision, [commit.encode()])

    def place(self, commit: str, path: str, file: File) -> Path | None:
        """Return where a file's content is, if it is there.

        Content before link: of two names that differ by case only a disk may have one link.
        """
        for place in (self._content(file), self.link(commit, path)):
            with suppress(OSError, ValueError):
                if place.is_file() and place.stat().st_size == file.size:
                    return place
        return None

    def keep_content(self, file: File, parts: Iterable[bytes]) -> None:
        """Write a file's content, whole or not at all."""
        _write(self._content(file), parts)

    def link(self, commit: str, path: str) -> Path:
        """Return where the link to the content of a commit's file belongs."""
        return self._folder / "snapshots" / commit / path

    def make_link(self, commit: str, path: str, file: File) -> None:
        """Link to a content for the `hf` tools, where the disk can have that name."""
        link, content = self.link(commit, path), self._content(file)
        with suppress(OSError):
            link.parent.mkdir(parents=True, exist_ok=True)
            if link.is_file() and link.stat().st_size == file.size:
                return
            link.unlink(missing_ok=True)
            try:
                link.symlink_to(os.path.relpath(content, link.parent))
            except FileExistsError:  # Another process was faster.
                pass
            except OSError:  # Not every user of Windows may make links.
                with content.open("rb") as parts:
                    _write(link, iter(partial(parts.read, _CHUNK), b""))

    def _content(self, file: File) -> Path:
        return self._folder / "blobs" / file.hash

    def _list(self, commit: str) -> Path:
        return self._folder / "trees" / f"{commit}.json"


def _write(path: Path, parts: Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, parts)


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
