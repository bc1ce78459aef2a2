"""Where models are served, and the credentials for it."""

import json
import os
import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

__all__ = [
    "OPENAI_COMPATIBLE",
    "PROVIDERS",
    "SHORTEST_SECRET",
    "Endpoint",
    "Provider",
    "ProviderError",
    "endpoint",
    "provider_name",
]

Provider = Literal["openrouter", "openai", "prime", "openai-compatible", "local"]
"""The providers by name; ``openai-compatible`` is any server of the OpenAI protocol, given its URL."""

OPENAI_COMPATIBLE: Provider = "openai-compatible"
_ALIASES: dict[str, Provider] = {"local": OPENAI_COMPATIBLE}

PROVIDERS: tuple[Provider, ...] = tuple(name for name in get_args(Provider) if name not in _ALIASES)

SHORTEST_SECRET = 12
"""Letters of a secret that is looked for in texts where words such as "none", which may be a key, occur."""

_URLS = {
    "openrouter": "https://openrouter.ai/api/v1",
    "openai": "https://api.openai.com/v1",
    "prime": "https://api.pinference.ai/api/v1",
}
_VARIABLES = {
    "openrouter": ("OPENROUTER_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "prime": ("RLVR_PRIME_API_KEY", "PRIME_API_KEY"),
    OPENAI_COMPATIBLE: ("OPENAI_COMPATIBLE_API_KEY", "LOCAL_API_KEY"),
}
_PRIME_CONFIG = Path(".prime", "config.json")
# Each level of JSON within JSON doubles them. So few that a text of nothing else costs linear time.
_DOUBLED = 16
_BACKSLASHES = rf"\\(?:\\|u005[cC]){{0,{_DOUBLED - 1}}}"
_URL_SAFE = str.maketrans("+/", "-_")
_PARTS = re.compile(r"\\+|[^\\]")


class ProviderError(ValueError):
    """A provider cannot be used as asked; the text says what to do and contains no key."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server and the credentials for it. Neither its repr nor what is stored of it contains a secret.

    Attributes
    ----------
    provider : str
        Name of the provider.
    url : str
        Base URL without user part and query.
    headers : tuple of (str, str)
        Sent with every request; the secret part.
    query : str
        The query of the URL that was given, sent and never stored.
    secrets : tuple of str
        What is redacted in every text of the server's, in all spellings; longer ones first.
    """

    provider: str
    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    query: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine."""
        host = urlsplit(self.url).hostname or ""
        try:
            address = ip_address(host)
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")
        return address.is_loopback or address.is_unspecified

    def redact(self, text: str, *, min_length: int = 0) -> str:
        """Return a text of the server's with every secret of some length redacted, also where JSON escapes it."""
        secrets = tuple(secret for secret in self.secrets if len(secret) >= min_length)
        return _pattern(secrets).sub("[redacted]", text) if secrets else text


def provider_name(provider: str) -> str:
    """Return the name of a provider in place of its alias.

    Raises
    ------
    ProviderError
        The provider is unknown.

    Examples
    --------
    >>> provider_name("local"), provider_name("openai")
    ('openai-compatible', 'openai')
    """
    named = _ALIASES.get(provider, provider)
    if named not in PROVIDERS:
        raise ProviderError(f"unknown provider {provider!r}; expected one of {', '.join(PROVIDERS)}")
    return named


def endpoint(
    provider: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    ask: Callable[[str], str] | None = None,
) -> Endpoint:
    """Find a provider's address and key.

    Parameters
    ----------
    provider : {"openrouter", "openai", "prime", "openai-compatible"}
        Who serves the model; ``local`` is an alias of ``openai-compatible``.
    base_url : str, optional
        Of an OpenAI-compatible server, e.g. ``http://localhost:8000/v1``; may contain a user part and a query.
    api_key : str, optional
        The key; by default that of the environment (``OPENROUTER_API_KEY``, ``OPENAI_API_KEY``,
        ``RLVR_PRIME_API_KEY`` or ``PRIME_API_KEY``, ``OPENAI_COMPATIBLE_API_KEY`` or ``LOCAL_API_KEY``), then of
        ``~/.prime/config.json``.
    ask : callable, optional
        Asked, with a prompt, for a key that is found nowhere; for instance `getpass.getpass`.

    Returns
    -------
    Endpoint
        The server.

    Raises
    ------
    ProviderError
        The provider is unknown, it has no key, or its URL cannot be used.

    Examples
    --------
    >>> endpoint("openai-compatible", base_url="http://me:secret@localhost:8000/v1/?token=secret")
    Endpoint(provider='openai-compatible', url='http://localhost:8000/v1')
    """
    provider = provider_name(provider)
    takes_url = provider == OPENAI_COMPATIBLE
    if bool(base_url) != takes_url:
        fault = f"{provider} needs the URL of its server" if takes_url else f"{provider} takes no URL of its own"
        raise ProviderError(f"{fault}: {OPENAI_COMPATIBLE} with --base-url http://HOST:PORT/v1")
    config = _prime_config() if provider == "prime" else {}
    key = api_key or next(filter(None, map(os.environ.get, _VARIABLES[provider])), None) or config.get("api_key")
    if key is None and not takes_url:
        name = _VARIABLES[provider][-1]
        if ask is None:
            raise ProviderError(f"no key for {provider}: set {name}")
        try:
            key = ask(f"Key for {provider} ({name} is not set): ")
        except EOFError:
            key = ""
    key = (key or "").strip()
    if not key and not takes_url:
        raise ProviderError(f"the key for {provider} is empty")
    team = config.get("team_id", "")
    for what, value in ((f"the key for {provider}", key), (f"team_id in ~/{_PRIME_CONFIG}", team)):
        if not value.isascii() or not value.isprintable():
            raise ProviderError(f"{what} contains characters that no key has; was it copied whole?")
    headers, secrets = {}, [key]
    url, query, user = _split(base_url or config.get("inference_url") or _URLS[provider], is_given=bool(base_url))
    if user:
        headers["Authorization"] = "Basic " + b64encode(user.encode()).decode()
        name, _, password = user.partition(":")
        secrets += [headers["Authorization"].removeprefix("Basic "), user, password or name]
    if key:
        headers["Authorization"] = f"Bearer {key}"
    if team:
        headers["X-Prime-Team-ID"] = team
    secrets.append(query)
    secrets += [part.partition("=")[2] for part in query.split("&")]
    spelled = {spelling for secret in secrets for spelling in _spellings(secret)}
    # What is shorter is no secret, and would blot out half of what a server says.
    found = sorted((spelling for spelling in spelled if len(spelling) > 3), key=lambda text: (-len(text), text))
    return Endpoint(provider, url, tuple(headers.items()), query, tuple(found))


def _spellings(secret: str) -> tuple[str, ...]:
    """Return how a server may write a secret that it was sent: as it is, in a URL, read from a URL, in Base64."""
    in_url = quote(secret), quote(secret, safe=""), quote_plus(secret)
    # Without its end, which some leave out; of the secret alone, and behind the word that it is sent with.
    plain = unquote(secret)
    encoded = [b64encode(text.encode()).decode().rstrip("=") for text in (secret, plain, f"Bearer {secret}") if plain]
    in_base64 = encoded + [text.translate(_URL_SAFE) for text in encoded]
    return secret, *in_url, plain, unquote_plus(secret), *in_base64


@lru_cache
def _pattern(secrets: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of secrets in which any character may be escaped, as in JSON within texts of JSON."""
    return re.compile("|".join("".join(map(_escapable, _PARTS.findall(secret))) for secret in secrets))


def _escapable(part: str) -> str:
    """Return the pattern of a character in JSON, as it is or escaped; of backslashes in a row, that of any number."""
    if part.startswith("\\"):
        # Each for itself could match the others too, in exponentially many ways.
        return rf"\\(?:\\|u005[cC]){{0,{_DOUBLED * len(part) - 1}}}"
    units = part.encode("utf-16-be", "surrogatepass").hex()
    escaped = "".join(rf"(?>{_BACKSLASHES})u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4))
    before = f"(?:{_BACKSLASHES})?" if part in '"/' else ""
    return f"(?:{before}{re.escape(part)}|{escaped})"


def _split(given: str, *, is_given: bool) -> tuple[str, str, str]:
    """Return a base URL without its secrets, its query, and its user part."""
    what = "the URL of the server" if is_given else f"inference_url in ~/{_PRIME_CONFIG}"
    fault = f"{what} is not of the form http://HOST:PORT/v1"
    given = given.strip()
    try:
        parts = urlsplit(given)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ProviderError(fault) from None
    if (
        parts.scheme not in ("http", "https")
        or not host
        or not given.isascii()
        or not given.isprintable()
        or " " in given
    ):
        raise ProviderError(fault)
    place = f"[{host}]" if ":" in host else host
    if port is not None:
        place += f":{port}"
    user = unquote(parts.netloc.rpartition("@")[0])
    return f"{parts.scheme}://{place}{parts.path.rstrip('/')}", parts.query, user


def _prime_config() -> dict[str, str]:
    """Return the texts of the configuration of Prime Intellect's own command line, if there is one."""
    path = Path.home() / _PRIME_CONFIG
    try:
        config = json.loads(path.read_bytes()).items()
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError):
        raise ProviderError(f"~/{_PRIME_CONFIG} cannot be read as JSON; mend or remove it") from None
    return {name: value for name, value in config if isinstance(value, str) and value}
