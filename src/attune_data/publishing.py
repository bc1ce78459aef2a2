"""Publishing a collection as a data set of the Hub: its tables, its records, a card, in one commit."""

import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import TYPE_CHECKING, Any, cast

from attune_data.card import dataset_card
from attune_data.collection import Collection
from attune_data.io.hub_address import is_commit
from attune_data.io.hub_client import (
    ANSWER_LIMIT,
    NO_HUB,
    SLOWEST,
    Connections,
    GaveUpError,
    bounded,
    refuse_encoded,
)
from attune_data.io.hub_settings import endpoint, is_offline, is_token, redacted, shown_endpoint, timeout
from attune_data.issues import PublishError, shown
from attune_data.kinds import KINDS
from attune_data.licences import permitted
from attune_data.text import plural, printable

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import DatasetInfo

__all__ = ["check_writable", "publish", "writing"]

# In the order of the card. What was published before and is not written any more is deleted.
_NAMES = [name for kind in KINDS if kind.tables for name in kind.tables.names]
_OURS = [f"{name}.parquet" for name in dict.fromkeys((*_NAMES, "records"))]
# Seconds. Only a connection has to come as soon as where loading asks; a large commit takes its time.
_ANY_ANSWER = 300
_LONGEST_WAIT = 60


def publish(collection: Collection[Any], repo_id: str, *, licence: str, private: bool = True) -> str:
    """Publish a collection as a data set of the Hugging Face Hub, in one commit.

    The repository has what `to_parquet` writes, every table as a config that ``datasets.load_dataset(repo_id,
    "turns")`` loads, the default being the first table, and ``records``, from which the loader of ``hf://owner/name``
    gives equal records; and a card: fields, counts, licence, how to load it, what the authors of the benchmark ask for.
    The token is that of ``hf auth login`` or ``HF_TOKEN``; ``HF_ENDPOINT`` is asked if it is set.

    Parameters
    ----------
    collection : Collection
        What to publish.
    repo_id : str
        ``owner/name``. It is created if it does not exist; else the card and the tables are replaced, tables of an
        earlier publication that are not written any more are deleted, and other files stay.
    licence : str
        What the data are published under: an id of the Hub, for instance ``cc-by-4.0``, that
        ``codebook/publishing.toml`` describes.
    private : bool
        Who sees a repository that is created: its owner, or everybody. With True an existing one that is public
        is refused; an existing private one stays private.

    Returns
    -------
    str
        ``hf://owner/name@commit``, which the loader takes.

    Raises
    ------
    PublishError
        Where the licence that a record states, or that of its benchmark, does not allow this one (see
        `attune_data.licences.permitted`), or the repository cannot be written. One that was created is deleted then.

    Examples
    --------
    >>> from attune_data import Conversations, PublishError, load
    >>> own = load("demo")[0].model_copy(update={"licence": "CC BY-NC 4.0"})
    >>> try:
    ...     publish(Conversations([own]), "owner/name", licence="mit")
    ... except PublishError as error:
    ...     print(str(error).partition(": ")[2].partition(";")[0])
    it is under cc-by-nc-4.0, which does not allow publishing under 'mit'
    """
    import polars as pl
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    _check_name(repo_id)
    if not len(collection):
        raise PublishError(f"nothing to publish as {repo_id}: the collection is empty")
    chosen, benchmarks = permitted(collection, licence)
    check_writable(repo_id)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary, "tables")
        collection.to_parquet(folder)
        paths = sorted(folder.iterdir(), key=lambda path: _OURS.index(path.name))
        frames = {path.stem: pl.scan_parquet(path) for path in paths}
        card = str(dataset_card(repo_id, collection.kind, collection, frames, chosen, benchmarks))
        with _created(repo_id) as created, writing(repo_id, sum(path.stat().st_size for path in paths)) as api:
            before = _repository(api, repo_id, private=private, created=created)
            there = {file.rfilename for file in before.siblings or ()}
            gone = there.intersection(_OURS).difference(path.name for path in paths)
            commit = api.create_commit(
                repo_id,
                [
                    CommitOperationAdd("README.md", card.encode()),
                    *(CommitOperationAdd(path.name, path) for path in paths),
                    *(CommitOperationDelete(name) for name in sorted(gone)),
                ],
                commit_message=f"Publish {plural(len(collection), 'record')} with attune-bench",
                repo_type="dataset",
                parent_commit=before.sha,
            )
            if not is_commit(commit.oid):
                raise GaveUpError(NO_HUB)
    return f"hf://{repo_id}@{commit.oid}"


def check_writable(repo_id: str) -> None:
    """Raise a `PublishError` where nothing can be written to a repository: its name is none, no token, no network."""
    from huggingface_hub import get_token

    _check_name(repo_id)
    token = get_token()
    if token is None or not is_token(token):
        what = "needs a token of the Hub" if token is None else "needs a token, and this has a character that none has"
        raise PublishError(f"writing to {repo_id} {what}: hf auth login, or set HF_TOKEN")
    if is_offline():
        raise PublishError(f"writing to {repo_id} needs the network, and HF_HUB_OFFLINE is set")


@contextmanager
def writing(repo_id: str, size: int) -> Iterator["HfApi"]:
    """Give the client library to write so many bytes to a repository; what goes wrong is one `PublishError`."""
    from huggingface_hub import HfApi

    with _explained(repo_id), _bounded(size):
        yield HfApi(endpoint=endpoint())


def _check_name(repo_id: str) -> None:
    """Refuse a name that is not ``owner/name``; the finer rules for names are the client library's."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", str(repo_id), re.ASCII):
        inner = re.search(r"[\w.-]+/[\w.-]+$", str(repo_id), re.ASCII)
        hint = f"; did you mean {inner[0]!r}?" if inner else ""
        raise PublishError(f"{shown(repo_id)} is not the name of a repository, owner/name{hint}")


@contextmanager
def _created(repo_id: str) -> Iterator[list[str | None]]:
    """Yield the list of the first commits of a repository that is created here, empty where it is not.

    Where the writing fails, the repository that was created is deleted, unless it has another commit by now: the answer
    to a commit may be lost although the commit came.
    """
    first: list[str | None] = []
    try:
        yield first
    except BaseException as error:
        left = _deleted(repo_id, first[-1]) if first else ""
        if left and isinstance(error, PublishError):
            raise PublishError(f"{error}; {left}") from None
        raise


def _deleted(repo_id: str, commit: str | None) -> str:
    """Delete a repository that has this commit alone; return in words what is left of it."""
    try:
        with writing(repo_id, 0) as api:
            now = commit and api.dataset_info(repo_id, timeout=timeout()).sha
            if now != commit:
                return f"but the repository has a commit of what was sent, hf://{repo_id}@{now}"
            api.delete_repo(repo_id, repo_type="dataset", missing_ok=True)
    except PublishError:
        return "the empty repository that was created for it could not be deleted: delete it on the Hub"
    return ""


def _repository(api: "HfApi", repo_id: str, *, private: bool, created: list[str | None]) -> "DatasetInfo":
    """Return the repository as it is; one that was not there is created, and its first commit added to `created`."""
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        found = api.dataset_info(repo_id, timeout=timeout())
    except RepositoryNotFoundError:
        api.create_repo(repo_id, repo_type="dataset", private=private)
        created.append(None)
        made = api.dataset_info(repo_id, timeout=timeout())
        created.append(made.sha)
        return made
    if private and not found.private:
        raise PublishError(f"{repo_id} is public: private=False publishes there, or make it private before")
    return found


@contextmanager
def _bounded(size: int) -> Iterator[None]:
    """Bound every answer that the client library waits for, and keep the token from other origins than the Hub's.

    Left alone it waits without end, reads without end, and sends the token wherever the Hub says uploads are verified.
    Uploads go by HTTP: another program makes uploads to the Hub's storage Xet, and knows none of these bounds.
    """
    import httpx2
    from huggingface_hub import constants, set_client_factory
    from huggingface_hub.utils import _http, parse_ratelimit_headers  # type: ignore[attr-defined]  # see below

    hub, seconds, connections = httpx2.URL(endpoint()).origin, _ANY_ANSWER + size / SLOWEST, Connections()

    def request(request: httpx2.Request) -> None:
        if connections.are_ended:
            raise GaveUpError(f"does not take it within {seconds:,.0f} seconds")
        request.extensions["trace"] = connections.note
        request.headers["accept-encoding"] = "identity"
        if request.url.origin != hub:
            request.headers.pop("authorization", None)

    def response(response: httpx2.Response) -> None:
        refuse_encoded(response)
        rate, after = parse_ratelimit_headers(response.headers), response.headers.get("retry-after", "")
        wait = max(rate.reset_in_seconds if rate else 0, int(after) if after.isdecimal() else 0)
        if response.status_code >= 400 and wait > _LONGEST_WAIT:
            raise GaveUpError(f"asks to wait {wait:,} seconds (status {response.status_code})")
        stream = cast("httpx2.SyncByteStream", response.stream)
        with closing(stream):
            response.stream = httpx2.ByteStream(b"".join(bounded(stream, ANSWER_LIMIT)))

    def client() -> httpx2.Client:
        made = before()
        made.timeout = httpx2.Timeout(_ANY_ANSWER, connect=timeout())
        hooks = made.event_hooks
        made.event_hooks = {"request": [*hooks["request"], request], "response": [*hooks["response"], response]}
        return made

    # Where a connection fails the library goes on with a new client. Nothing but this name tells how it makes one.
    before = _http._GLOBAL_CLIENT_FACTORY
    set_client_factory(client)
    uses_no_xet, constants.HF_HUB_DISABLE_XET = constants.HF_HUB_DISABLE_XET, True
    timer = Timer(seconds, connections.end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        constants.HF_HUB_DISABLE_XET = uses_no_xet
        set_client_factory(before)


_ANSWERS = {
    401: "the Hub does not accept the token; hf auth login, or set HF_TOKEN to a valid one",
    403: "the token may not write there; it needs write permission for this owner",
    409: "the name is taken by a repository that the token cannot see, or somebody else writes to it now",
    412: "it was changed while this was published, and is as that change left it; publish again",
}


@contextmanager
def _explained(repo_id: str) -> Iterator[None]:
    """Turn what the client library raises into one error that says what to do."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    try:
        yield
    except PublishError:
        raise
    except (
        *(GaveUpError, OSError, RuntimeError, ValueError, httpx2.HTTPError, httpx2.InvalidURL),
        # What the client library raises where a server answers that is no Hub.
        *(LookupError, TypeError, AttributeError, AssertionError),
        ImportError,  # A proxy of SOCKS needs a package.
    ) as error:
        # Errors of an upload come wrapped.
        cause = error.__cause__ if type(error) is RuntimeError and error.__cause__ else error
        hub = f"the Hub at {shown_endpoint()}"
        if isinstance(cause, HfHubHTTPError):
            status = cause.response.status_code
            said = f"the Hub answered {status} {_line(cause.server_message or '')[:200]}".strip()
            why = _ANSWERS.get(status, said)
        elif isinstance(cause, httpx2.TimeoutException):
            why = f"{hub} does not answer"
        elif isinstance(cause, GaveUpError):
            why = f"{hub} {cause}"
        elif isinstance(cause, httpx2.HTTPError | OSError):
            why = f"{hub} cannot be reached: {_line(cause)[:200]}"
        elif isinstance(cause, ImportError) or (
            isinstance(cause, ValueError) and not isinstance(cause, json.JSONDecodeError | UnicodeError)
        ):
            why = _line(cause)[:300]
        else:
            why = f"{hub} {NO_HUB}"
        raise PublishError(f"{repo_id} was not published: {why}") from None


def _line(text: object) -> str:
    """Return a text in which the Hub may have a say as one line without the token."""
    return printable(" ".join(redacted(str(text)).split()))
