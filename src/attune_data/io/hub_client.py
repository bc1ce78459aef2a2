"""Requests to the Hugging Face Hub, whose answers are not trusted: each is bounded in bytes, time and redirects.

The token goes to the origin of HF_ENDPOINT and to no other.
"""

import hashlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from attune_data.io.hub_address import Address, is_commit
from attune_data.io.hub_settings import endpoint, is_token, redacted, shown_endpoint, timeout, token
from attune_data.issues import SourceError
from attune_data.text import printable

if TYPE_CHECKING:
    import httpx2

__all__ = [
    "ANSWER_LIMIT",
    "NO_HUB",
    "SLOWEST",
    "Connections",
    "GaveUpError",
    "Hub",
    "asking",
    "bounded",
    "refuse_encoded",
]

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
