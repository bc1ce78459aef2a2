"""Serving a study: on which address, and the links that let people in."""

import asyncio
import logging
import os
import re
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from attune_bench.annotate import LOG
from attune_bench.annotate.admin import Administration
from attune_bench.annotate.app import Application
from attune_bench.annotate.guard import Limits
from attune_bench.annotate.screens import Job
from attune_bench.annotate.store import Store, StoreError

SECONDS = Limits().seconds
"""The most seconds for the head of a request to arrive, and for a response to be taken."""

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class AddressError(ValueError):
    """An address at which a study may not be served; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a study is served.

    Attributes
    ----------
    host, port
        Where the server listens.
    public_url : str, optional
        The https address of the reverse proxy in front of the server, without which only this machine is served.

    Examples
    --------
    >>> Address("127.0.0.1", 8017).origin
    'http://127.0.0.1:8017'
    >>> Address("127.0.0.1", 8017, "https://study.example.org").origin
    'https://study.example.org'
    """

    host: str
    port: int
    public_url: str | None = None

    @property
    def origin(self) -> str:
        """Where people reach the server: scheme, host and port.

        Raises
        ------
        AddressError
            The server would be reached by others without TLS, or the address is no origin.
        """
        if self.public_url is None:
            if self.host not in _LOOPBACK:
                raise AddressError(
                    f"--host {self.host} serves other machines: put a server that speaks TLS in front (nginx, Caddy), "
                    "and name the address that people open by --public-url https://..."
                )
            # As browsers name it in what they send: without the port that http or https has anyway.
            host = f"[{self.host}]" if ":" in self.host else self.host
            return f"http://{host}" + (f":{self.port}" if self.port != 80 else "")
        # In ASCII too.
        found = re.fullmatch(r"https://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?/?", self.public_url.lower())
        if not found:
            raise AddressError(
                f"--public-url is {self.public_url!r}; expected https:// and a host alone, such as "
                "https://study.example.org (of a name that is not in ASCII the form xn--...)"
            )
        return f"https://{found[1]}" + (found[2] if found[2] and found[2] != ":443" else "")


def check_output(store: Store, output: Path) -> None:
    """Check that the folder of the results is empty, or has results of the study.

    Raises
    ------
    StoreError
        The folder has something else, which results might replace.
    """
    folder = output.resolve()
    if any(copy.kind == "export" and folder in Path(copy.path).parents for copy in store.copies()):
        return
    if others := sorted(path.name for path in folder.glob("[!.]*")):
        raise StoreError(f"{output} has {others[0]}, which is no result of this study; choose another --output")


def serve(store: Store, job: Job, *, administrator: str, output: Path, address: Address) -> None:
    """Serve a study until the process is told to stop; then write the results.

    Parameters
    ----------
    store : Store
        The file of the study.
    job : Job
        What people are asked.
    administrator : str
        The secret of the administrator's link.
    output : path
        The folder of the results.
    address : Address
        Where it is served.
    """
    os.umask(0o077)  # The answers are nobody else's business on a shared machine.
    application = Application(store, job, origin=address.origin, output=output)
    Administration(application, administrator)
    application.export()  # A server that was killed may have left results of somebody who had withdrawn.
    LOG.setLevel(logging.INFO)
    LOG.addHandler(logging.StreamHandler())
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # The results are written then too.
    with suppress(KeyboardInterrupt):
        uvicorn.Server(configuration(application, address)).run()
    application.export()


def configuration(application: Application, address: Address) -> uvicorn.Config:
    """Return how an application is served at an address."""
    return uvicorn.Config(
        application.asgi,
        host=address.host,
        port=address.port,
        proxy_headers=address.public_url is not None,
        forwarded_allow_ips="127.0.0.1,::1",
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=5,
        limit_concurrency=1000,
    )


class Connection(H11Protocol):
    """A connection that is closed when a client is slow to say what it wants, or to take what it asked for.

    Uvicorn itself waits for both for ever.
    """

    _stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._idle_since = self.loop.time()
        self._watch = self.loop.call_later(SECONDS, self._look)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Begin to wait for the client to take what is written."""
        super().pause_writing()
        self._stuck = self.loop.call_later(SECONDS, self._abort)

    def resume_writing(self) -> None:
        """Stop waiting for the client to take what is written."""
        super().resume_writing()
        if self._stuck:
            self._stuck.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._watch.cancel()
        if self._stuck:
            self._stuck.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        is_answering = self.cycle is not None and not self.cycle.response_complete  # type: ignore[redundant-expr]
        is_open = not self.transport.is_closing()  # Else it waits for the client to take the rest.
        left = SECONDS if is_answering and is_open else self._idle_since + SECONDS - self.loop.time()
        if left > 0:
            self._watch = self.loop.call_later(left, self._look)
        else:
            self._abort()

    def _abort(self) -> None:
        LOG.info("- - 408 %.0f ms", 1000 * SECONDS)
        self.transport.abort()
