"""The client of the Hugging Face Hub, bounded: no request takes or is repeated for minutes, a failure is one error."""

import logging
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attune_data.io.hub_address import Address
from attune_data.issues import SourceError

if TYPE_CHECKING:
    import httpx2

__all__ = ["GaveUpError", "NotCachedError", "asking", "endpoint", "is_offline", "shown_endpoint", "timeout"]

_TRIES = 2
_LOG_IN = "log in with `hf auth login` or set HF_TOKEN"
_ONE_AT_A_TIME = threading.Lock()  # The hooks count the requests of one load.


class NotCachedError(Exception):
    """Nothing is in the cache, and the Hub may not be asked."""


class GaveUpError(Exception):
    """The Hub was asked often enough; the text says what it did."""


class _Limits:
    """Hooks of the client that bound the requests about one data set, in time and in number.

    Left alone, the client waits without end for a list of files, and asks five times and more in growing intervals.
    """

    def __init__(self, repo: str) -> None:
        self._repo = f"datasets/{repo}/"
        self._tries: Counter[tuple[str, str, str | None]] = Counter()
        self.answered = False
        self.status: int | None = None

    def _key(self, request: "httpx2.Request") -> tuple[str, str, str | None] | None:
        if self._repo not in f"{request.url.path}/":
            return None
        # A download that goes on where it was cut is a new request.
        return request.method, str(request.url), request.headers.get("Range")

    def request(self, request: "httpx2.Request") -> None:
        key = self._key(request)
        if key is None:
            return
        self._tries[key] += 1
        if self._tries[key] > _TRIES:
            raise GaveUpError("does not answer")
        request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), timeout())

    def response(self, response: "httpx2.Response") -> None:
        key = self._key(response.request)
        if key is None:
            return
        self.status = response.status_code
        if self.status == 429:
            raise GaveUpError("asks to wait (status 429, too many requests; a token raises the limit)")
        if self.status < 400:
            self.answered = True
        elif self.status >= 500 and self._tries[key] >= _TRIES:
            raise GaveUpError(f"answers with status {self.status}")


@contextmanager
def asking(address: Address) -> Iterator[_Limits]:
    """Bound the client's requests, keep it from logging each of its tries, and turn its errors into one of ours."""
    from huggingface_hub import get_session

    limits = _Limits(address.repo)
    handlers = logging.getLogger("huggingface_hub").handlers
    hooks: dict[str, Callable[..., object]] = {"request": limits.request, "response": limits.response}

    def quiet(record: logging.LogRecord) -> bool:
        return record.levelno >= logging.ERROR

    with _ONE_AT_A_TIME:
        client = get_session()
        before = client.event_hooks
        client.event_hooks = {name: [*before[name], hook] for name, hook in hooks.items()}
        for handler in handlers:
            handler.addFilter(quiet)
        try:
            with _explained(address):
                yield limits
        finally:
            client.event_hooks = before
            for handler in handlers:
                handler.removeFilter(quiet)


@contextmanager
def _explained(address: Address) -> Iterator[None]:
    import httpx2
    from huggingface_hub import constants, errors

    text, repo = address.text, address.repo
    try:
        yield
    except errors.GatedRepoError:
        page = f"{shown_endpoint()}/datasets/{repo}"
        raise SourceError(
            f"{text}: access is granted on request; accept its conditions at {page}, then {_LOG_IN}"
        ) from None
    except errors.RepositoryNotFoundError:
        raise SourceError(
            f"{text}: the Hub has no data set {repo}, or it is private, which looks the same without its token;"
            f" check the spelling, or {_LOG_IN}"
        ) from None
    except errors.RevisionNotFoundError:
        hint = "; in a name / is written %2F" if address.path else ""
        raise SourceError(f"{text}: {repo} has no branch, tag or commit {address.revision!r}{hint}") from None
    except errors.HFValidationError as error:
        raise SourceError(f"{text}: {repo} cannot be the name of a data set: {error}") from None
    except NotCachedError:
        raise _not_cached(address) from None
    except (
        GaveUpError,
        errors.RevisionResolutionError,
        errors.HfHubHTTPError,
        errors.LocalEntryNotFoundError,
    ) as error:
        raise _unreachable(address, error) from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _unreachable(address, error) from None
    except OSError as error:
        if error.errno is None:
            raise SourceError(f"{_what(address, error)}: it came incomplete; load it again") from None
        raise SourceError(
            f"{text}: the cache {constants.HF_HUB_CACHE} cannot be written: {error.strerror};"
            " make room, or set HF_HOME to a folder elsewhere"
        ) from None
    # What the client's code raises where a server answers that is no Hub.
    except (ValueError, TypeError, KeyError, AssertionError) as error:
        raise _unreachable(address, error) from None


def _what(address: Address, error: BaseException | None) -> str:
    """Return what was asked for: the address, and the file in it that the error's note names."""
    return ", file ".join([address.text, *(path for path in getattr(error, "__notes__", ()) if path != address.path)])


def _unreachable(address: Address, error: BaseException | None) -> SourceError:
    """Say why the Hub did not give what was asked for, and what to do; never what was sent to it."""
    import httpx2
    from huggingface_hub import errors

    asked, hub = _what(address, error), f"the Hub at {shown_endpoint()}"
    if isinstance(error, errors.RevisionResolutionError | errors.LocalEntryNotFoundError):
        error = error.__cause__
        if error is None or isinstance(error, errors.OfflineModeIsEnabled):
            return _not_cached(address)
    if isinstance(error, errors.HfHubHTTPError) and error.response.status_code in (401, 403):
        what = f"refuses access (status {error.response.status_code})"
        return SourceError(f"{asked}: {hub} {what}; {_LOG_IN}, to a token that is valid and may read it")
    if isinstance(error, errors.HfHubHTTPError):
        what = f"answers with status {error.response.status_code}"
    elif isinstance(error, httpx2.TimeoutException):
        what = f"does not answer within {timeout():g} seconds"
    elif isinstance(error, GaveUpError):
        what = str(error)
    elif isinstance(error, httpx2.HTTPError):
        what = f"cannot be reached: {error}"
    else:
        what = "does not answer as a Hub does; check HF_ENDPOINT and the proxy"
    return SourceError(f"{asked}: {hub} {what}; it is not in the cache, so try again later")


def _not_cached(address: Address) -> SourceError:
    from huggingface_hub import constants

    return SourceError(
        f"{address.text} is not in the cache {constants.HF_HUB_CACHE}, and HF_HUB_OFFLINE forbids to ask the Hub;"
        " unset it and load once"
    )


def timeout() -> float:
    """Return the seconds within which the Hub must begin to answer."""
    from huggingface_hub import constants

    return float(constants.HF_HUB_ETAG_TIMEOUT)


def endpoint() -> str | None:
    """Return HF_ENDPOINT as it is now; the client reads it once, when it is imported."""
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None


def shown_endpoint() -> str:
    """Return the Hub's address without a name and password in it."""
    from huggingface_hub import constants

    return re.sub(r"//[^/]*@", "//", endpoint() or constants.ENDPOINT)


def is_offline() -> bool:
    """Tell whether the user forbids the network."""
    from huggingface_hub import is_offline_mode

    return is_offline_mode() or os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
