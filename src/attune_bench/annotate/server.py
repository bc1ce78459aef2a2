"""Serving a study: on which address, and the links that let people in."""

import logging
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn

from attune_bench.annotate.admin import Administration
from attune_bench.annotate.app import Application
from attune_bench.annotate.guard import LOG
from attune_bench.annotate.screens import Job
from attune_bench.annotate.store import Store

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class AddressError(ValueError):
    """An address at which a study may not be served; the text says what to do."""


def origin_of(host: str, port: int, public_url: str | None) -> str:
    """Return where people reach the server: scheme, host and port.

    Parameters
    ----------
    host, port
        Where the server listens.
    public_url : str, optional
        The https address of the reverse proxy in front of the server, without which only this machine is served.

    Raises
    ------
    AddressError
        The server would be reached by others without TLS, or the address is no origin.

    Examples
    --------
    >>> origin_of("127.0.0.1", 8017, None)
    'http://127.0.0.1:8017'
    >>> origin_of("127.0.0.1", 8017, "https://study.example.org")
    'https://study.example.org'
    """
    if public_url is None:
        if host not in _LOOPBACK:
            raise AddressError(
                f"--host {host} serves other machines: put a server that speaks TLS in front (nginx, Caddy), and name "
                "the address that people open by --public-url https://..."
            )
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"
    parts = urlsplit(public_url)
    if parts.scheme != "https" or not parts.netloc or parts.path.strip("/") or parts.query or parts.fragment:
        raise AddressError(
            f"--public-url is {public_url!r}; expected https:// and a host alone, such as https://study.example.org"
        )
    return f"https://{parts.netloc.lower()}"


def serve(
    store: Store, job: Job, *, administrator: str, output: Path, host: str, port: int, public_url: str | None
) -> None:
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
    host, port, public_url
        As of `origin_of`.
    """
    application = Application(store, job, origin=origin_of(host, port, public_url), output=output)
    Administration(application, administrator)
    LOG.setLevel(logging.INFO)
    LOG.addHandler(logging.StreamHandler())
    uvicorn.run(
        application.asgi,
        host=host,
        port=port,
        proxy_headers=public_url is not None,
        forwarded_allow_ips="127.0.0.1",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=5,
        limit_concurrency=1000,
    )
    application.export()
