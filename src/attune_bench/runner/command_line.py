"""What command lines of runs share: the servers that options name, and the command that repeats a run."""

import shlex
import sys
from collections.abc import Callable, Mapping
from typing import Any

from attune_bench.runner.calls import Role
from attune_bench.runner.console import warn
from attune_bench.runner.providers import OPENAI_COMPATIBLE, Endpoint, ProviderError, endpoint, provider_name

__all__ = ["command_line", "endpoints"]


def endpoints(
    provider: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    role: Role | None = None,
    role_provider: str | None = None,
    role_base_url: str | None = None,
) -> dict[Role, Endpoint]:
    """Return where the model is served and, in a run that asks others too, where these are.

    Parameters
    ----------
    provider : str
        Who serves the model.
    base_url : str, optional
        URL of the OpenAI-compatible server: the model's, or that of the others where only they are served by one.
    api_key : str, optional
        The key for the provider of the model; it is sent to no other server.
    role : {"judge", "simulator"}, optional
        The other role.
    role_provider : str, optional
        Who serves it; by default the provider of the model.
    role_base_url : str, optional
        URL of its OpenAI-compatible server, where it is another.

    Returns
    -------
    dict of str to Endpoint
        By role. Keys that are found nowhere are asked for on a terminal.

    Raises
    ------
    ProviderError
        As `attune_bench.runner.endpoint`; or a URL is given that no provider takes.
    """
    if api_key is not None:
        warn("--api-key can be read by other users of this machine; better set it in the environment")
    ask: Callable[[str], str] | None = None
    if sys.stdin.isatty() and sys.stderr.isatty():
        from getpass import getpass as ask
    provider = provider_name(provider)
    other = provider if role_provider is None else provider_name(role_provider)
    if base_url and OPENAI_COMPATIBLE not in (provider, other):
        raise ProviderError(f"{other} has a URL of its own; --base-url is for the provider {OPENAI_COMPATIBLE}")
    own_url = base_url if provider == OPENAI_COMPATIBLE else None
    servers: dict[Role, Endpoint] = {"model": endpoint(provider, base_url=own_url, api_key=api_key, ask=ask)}
    if role is not None:
        if other == provider and role_base_url is None:
            servers[role] = servers["model"]
        else:
            url = (role_base_url or base_url) if other == OPENAI_COMPATIBLE else role_base_url
            servers[role] = endpoint(other, base_url=url, ask=ask)
    return servers


def command_line(name: str, arguments: tuple[str, ...], options: Mapping[str, Any]) -> str:
    """Return a command line of what was parsed, so that no key can be in it; options of None are left out."""
    words = ["attune-bench", name, *arguments]
    for option, value in options.items():
        if value is not None:
            words += [option, *(value if isinstance(value, tuple) else [str(value)])]
    return shlex.join(words)
