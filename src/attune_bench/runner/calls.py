"""Calls: messages, schemas, providers and their credentials; names of files."""

import json
import math
import os
import re
import unicodedata
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

import orjson

from attune_data.text import did_you_mean

_SET_HERE: Mapping[str, str] = {
    "model": "the argument MODEL names it",
    "models": "the argument MODEL names it",
    "messages": "the benchmark writes them, and --prompts changes their wording",
    "temperature": "use --temperature",
    "seed": "use --seed",
    "max_tokens": "use --max-tokens",
    "max_completion_tokens": "use --max-tokens",
    "max_output_tokens": "use --max-tokens",
    "reasoning_effort": "use --reasoning-effort",
    "response_format": "the benchmark has a schema for each answer, and --free-json sends none",
    "stream": "an answer is read whole",
    "n": "a call asks for one answer, and --repeats asks again",
    "best_of": "a call asks for one answer, and --repeats asks again",
    "usage": "the cost that a server states is asked for where it can be",
}
"""Parameters that the library sets itself, with the option to use instead."""

# Of a name in small letters without its separators; "tokens" counts tokens, and an "eos_token" is one.
_CREDENTIAL = re.compile(
    "apikey|accesskey|privatekey|secret(?!ary)|passw|pwd$|passphrase|credential|authorization|^x?auth(header)?$|bearer|"
    "cookie|jwt|(?<!bos)(?<!eos)(?<!pad)(?<!stop)(?<!unk)token$"
)


def json_bytes(value: object) -> bytes:
    """Return a value as JSON, of native code where it can write the value.

    Examples
    --------
    >>> json_bytes({"seed": 1}), json_bytes([2**70])
    (b'{"seed":1}', b'[1180591620717411303424]')
    """
    try:
        return orjson.dumps(value)
    except TypeError:  # Half of a surrogate pair, which is no UTF-8, or an integer of more than 64 bits.
        return json.dumps(value).encode()


def check_extra_body(body: Mapping[str, Any]) -> None:
    """Check that an object can be merged into the body of requests, and be written to result files.

    Raises
    ------
    ValueError
        It is no JSON object, or reads otherwise than it was given (tuples, names that are numbers), has a parameter
        that the library sets, or a name that looks like a credential. The text has names and no values.

    Examples
    --------
    >>> check_extra_body({"top_p": 0.9, "chat_template_kwargs": {"enable_thinking": False}})
    >>> check_extra_body({"seed": 1})
    Traceback (most recent call last):
        ...
    ValueError: extra_body has seed, which is set here: use --seed
    """
    try:
        if not isinstance(body, Mapping):
            raise TypeError
        written = json.dumps(dict(body), allow_nan=False, ensure_ascii=False).encode()
        if json.loads(written) != dict(body):
            raise ValueError
    except (TypeError, ValueError, RecursionError):
        raise ValueError('extra_body is no JSON object; expected one such as {"top_p": 0.9}') from None
    for name, instead in _SET_HERE.items():
        if name in body:
            raise ValueError(f"extra_body has {name}, which is set here: {instead}")
    for name in _names(body):
        if _CREDENTIAL.search(re.sub("[^a-z0-9]", "", name.casefold())):
            raise ValueError(
                f"extra_body has {name}, which looks like a credential; result files would contain it. The key of a "
                "provider is read from the environment"
            )


def _names(value: Any) -> Iterator[str]:
    """Yield the names of an object and of all objects within it."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _names(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _names(inner)


Provider = Literal["openrouter", "openai", "prime", "openai-compatible", "local", "ollama", "vllm", "lmstudio"]
"""The providers by name; ``openai-compatible`` is any server of the OpenAI protocol, given its URL."""

OPENAI_COMPATIBLE: Provider = "openai-compatible"

USUAL_URLS: Mapping[str, str] = {
    "ollama": "http://localhost:11434/v1",
    "vllm": "http://localhost:8000/v1",
    "lmstudio": "http://localhost:1234/v1",
}
"""The URL of each OpenAI-compatible server that is a provider by its own name, unless another is given."""

_STARTED_BY = {"ollama": "ollama serve", "vllm": "vllm serve MODEL", "lmstudio": "lms server start"}
_ALIASES: dict[str, Provider] = dict.fromkeys(("local", *USUAL_URLS), OPENAI_COMPATIBLE)

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
    """A server and the credentials for it. Neither its repr nor any stored field contains a secret.

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
        The texts to redact in every text of the server's, in all spellings; longer ones first.
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

    @property
    def how_to_reach(self) -> str:
        """What to do where nothing answers at the URL."""
        if self.provider != OPENAI_COMPATIBLE:
            return "is this machine connected to the internet?"
        command = next((_STARTED_BY[name] for name, url in USUAL_URLS.items() if url == self.url), "")
        if command:
            return f"start the server ({command}), or give another address with --base-url"
        return "start the server, or correct the address after --base-url"

    def redact(self, text: str, *, min_length: int = 0) -> str:
        """Return a text of the server's with every secret of some length redacted, also where JSON escapes it."""
        secrets = tuple(secret for secret in self.secrets if len(secret) >= min_length)
        return _pattern(secrets).sub("[redacted]", text) if secrets else text


def provider_name(provider: str) -> str:
    """Return the name of a provider as results record it: of a server of one's own ``openai-compatible``.

    Raises
    ------
    ProviderError
        The provider is unknown.

    Examples
    --------
    >>> provider_name("local"), provider_name("ollama"), provider_name("openai")
    ('openai-compatible', 'openai-compatible', 'openai')
    """
    known = get_args(Provider)
    if provider not in known:
        near = did_you_mean(provider, known)
        meant = f"{near} The providers are" if near.endswith("?") else "expected one of"
        raise ProviderError(f"unknown provider {provider!r}; {meant} {', '.join(known)}")
    return _ALIASES.get(provider, provider)


def endpoint(
    provider: str, *, base_url: str | None = None, api_key: str | None = None, ask: Callable[[str], str] | None = None
) -> Endpoint:
    """Find a provider's address and key.

    Parameters
    ----------
    provider : {"openrouter", "openai", "prime", "openai-compatible", "local", "ollama", "vllm", "lmstudio"}
        Who serves the model. ``local`` is an alias of ``openai-compatible``, and the last three are OpenAI-compatible
        servers with a usual URL, see `USUAL_URLS`.
    base_url : str, optional
        Of an OpenAI-compatible server, e.g. ``http://localhost:8000/v1``; may contain a user part and a query.
    api_key : str, optional
        The key; by default from the environment (``OPENROUTER_API_KEY``, ``OPENAI_API_KEY``,
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
    >>> endpoint("ollama").url
    'http://localhost:11434/v1'
    """
    base_url, asked_for = base_url or USUAL_URLS.get(provider), provider
    provider = provider_name(provider)
    takes_url = provider == OPENAI_COMPATIBLE
    if bool(base_url) != takes_url:
        if takes_url:
            usual = f"{' or '.join(USUAL_URLS)} for a server at its usual address"
            raise ProviderError(f"{asked_for} needs the URL of its server: --base-url http://HOST:PORT/v1, or {usual}")
        raise ProviderError(f"{provider} takes no URL of its own: {OPENAI_COMPATIBLE} takes one")
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
    # A shorter text is no secret, and to redact it would remove half of what a server says.
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
    """Return the pattern of a character in JSON, as it is or escaped; backslashes match any number of them."""
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
    is_plain = given.isascii() and given.isprintable() and " " not in given
    if parts.scheme not in ("http", "https") or not host or not is_plain:
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


Role: TypeAlias = str
"""As what a model is asked: ``model`` is the evaluated model; a benchmark names its others, such as ``judge``."""

FinishReason = Literal["length", "content_filter", "error"]
"""Why an answer is incomplete: it reached the most tokens, was filtered, or broke off in an error of the server."""

WHERE_SET = ("reasoning_effort", "extra_body")
"""Attributes of `Decoding` that results and keys name only where they are set."""

Message = Mapping[str, str]
"""One message of a request: its ``role`` and its ``content``."""


def message(role: str, content: str) -> Message:
    """Return one message of a request."""
    return {"role": role, "content": content}


class CallFailedError(Exception):
    """The endpoint gave no response, however often it was asked. The message contains no key."""


class IncompleteAnswerError(CallFailedError):
    """The answer ended early, see `FinishReason`; its text is not used, and another attempt may be made."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a response is decoded, and what else the server is told about it; sent with every call.

    Attributes
    ----------
    temperature : float or None
        None for the server's own.
    seed : int or None
        None for none; each attempt after the first adds 1.
    max_tokens : int or None
        The most tokens of a response; None for the server's own limit.
    reasoning_effort : str or None
        How much the model is to think, in a word that its server knows; None to send none.
    extra_body : mapping
        Further parameters of the request, by name.

    Raises
    ------
    ValueError
        The temperature is negative or no number, max_tokens is not positive, the reasoning effort is no word, or the
        further parameters cannot be sent, see `attune_bench.runner.calls.check_extra_body`.

    Examples
    --------
    >>> Decoding(0.0, None, 4096)
    Decoding(temperature=0.0, seed=None, max_tokens=4096, reasoning_effort=None, extra_body={})
    """

    temperature: float | None
    seed: int | None
    max_tokens: int | None
    reasoning_effort: str | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.temperature is not None and not 0 <= self.temperature < math.inf:
            raise ValueError(f"temperature is {self.temperature}; expected a number that is not negative")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError(f"max_tokens is {self.max_tokens}; expected a positive number")
        effort = self.reasoning_effort
        if effort is not None and not (effort.strip() and effort.isprintable()):
            raise ValueError(f"reasoning_effort is {effort!r}; expected a word such as low")
        check_extra_body(self.extra_body)

    def of_attempt(self, attempt: int) -> "Decoding":
        """Return how an attempt is decoded: the same seed would give the same answer again."""
        return self if self.seed is None else replace(self, seed=self.seed + attempt)

    def where_set(self) -> dict[str, Any]:
        """Return the attributes of `WHERE_SET` that are set."""
        return {name: value for name in WHERE_SET if (value := getattr(self, name))}

    def content(self) -> dict[str, Any]:
        """Return all attributes as JSON, for keys; an attribute that is not set changes no key."""
        always = {"temperature": self.temperature, "seed": self.seed, "max_tokens": self.max_tokens}
        return always | self.where_set()

    def for_other_role(self, max_tokens: int) -> "Decoding":
        """Return how a judge or simulator is asked beside the model: without what was set for the model alone.

        `max_tokens` holds where the model has no limit.
        """
        return Decoding(self.temperature, self.seed, self.max_tokens or max_tokens)


@dataclass(frozen=True, slots=True)
class Response:
    """What a model answered to one request.

    Attributes
    ----------
    text : str
        The text; empty where the model said nothing.
    prompt_tokens, completion_tokens : int or None
        As the server counted them.
    cost : float or None
        US dollars; None where neither the server nor a price tells.
    bound : float or None
        The most that it may have cost, where the cost was limited.
    seconds : float or None
        From sending the request that was answered to the end of the response; None where it was not measured.
    finish_reason : {"length", "content_filter", "error"} or None
        Why the text is incomplete; None for a complete one.
    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    bound: float | None = None
    seconds: float | None = None
    finish_reason: FinishReason | None = None


def attempt_id(id: str, attempt: int) -> str:  # noqa: A002 - the name of the attribute
    """Return the id of an attempt at a call: first the id of the call, then with ``#2``, ``#3`` behind it.

    Examples
    --------
    >>> attempt_id("turn-3/read", 0), attempt_id("turn-3/read", 1)
    ('turn-3/read', 'turn-3/read#2')
    """
    return f"{id}#{attempt + 1}" if attempt else id


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a model.

    Attributes
    ----------
    id : str
        Unique within one unit and its settings, for instance ``turn-3/read`` or ``turn-3/judge/<judge model>``.
    model : str
        The model that is asked.
    role : str
        The role of the model, ``model`` for the evaluated one, else a role of the benchmark, such as ``judge``. It
        decides which server is asked, how the response is decoded and under which name its cost is recorded.
    messages : tuple of Message
        The request.
    schema : mapping
        JSON schema of the answer, which is sent with the call; empty for an answer in free text.
    schema_name : str
        Its name, the kind of the call: letters and ``_`` only.
    attempt : int
        0, and 1 more each time that the answer is asked for again.
    sample : int
        Which of several answers to one request it asks for, from 0; a seed is that much higher.
    pending : int
        How many answers the request will quote that are not known yet; 0 in a call that can be made.
    decoding : mapping
        Attributes of `Decoding` in which the call differs from other calls of its role.

    Examples
    --------
    >>> call = Call("post", "vendor/model", "model", ({"role": "user", "content": "Hello"},))
    >>> call.size, call.again("Please answer in JSON.").id
    (5, 'post#2')
    """

    id: str
    model: str
    role: Role
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] = field(default_factory=dict)
    schema_name: str = "answer"
    attempt: int = 0
    sample: int = 0
    pending: int = 0
    decoding: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def size(self) -> int:
        """The number of bytes of text that are sent, from which the number of tokens can be estimated."""
        return sum(len(message["content"].encode("utf-8", "surrogatepass")) for message in self.messages)

    def without_schema(self) -> "Call":
        """Return the same call for an answer in free text."""
        return replace(self, schema={})

    def again(self, note: str = "") -> "Call":
        """Return the call that asks for the same once more, with a note below the request."""
        first = self.id.removesuffix(f"#{self.attempt + 1}") if self.attempt else self.id
        *before, last = self.messages
        if note:
            last = message(last["role"], f"{last['content']}\n\n{note}")
        attempt = self.attempt + 1
        return replace(self, id=attempt_id(first, attempt), attempt=attempt, messages=(*before, last))


Complete = Callable[[Call, int], Awaitable[str]]
"""Returns the text that the model answered.

The number is 0 at first and one more each time that an answer could not be read.
Raises `CallFailedError` where there is no answer, and of these `IncompleteAnswerError` where it ended early.
"""


_LONGEST_NAME = 200  # bytes; file systems allow 255, and the temporary name needs room too


_DEVICE = re.compile(r"(?:aux|con|nul|prn|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
"""What Windows takes for a device and not for a file, whatever its ending."""


def safe_part(text: str) -> str:
    """Return text as a part of a file name: all but letters, digits, ``_``, ``.`` and ``-`` become ``-``."""
    return re.sub(r"[^\w.-]", "-", unicodedata.normalize("NFC", text))


def safe_name(parts: Iterable[str], whole: str) -> str:
    """Return parts joined by ``_`` as the name of a file or folder, without an ending.

    A name that would be too long, hidden, or changed or taken for a device by Windows, is changed; where it is cut it
    ends in a digest of `whole`.

    Examples
    --------
    >>> safe_name(["vendor", "large:free"], "vendor/large:free"), safe_name(["..", "a"], "../a")
    ('vendor_large-free', '-a')
    >>> safe_name(["aux"], "aux"), safe_name(["large."], "large.")
    ('-aux', 'large-')
    """
    stem = re.sub(r"^[._]+|\.+$", "-", "_".join(map(safe_part, parts)))
    if _DEVICE.fullmatch(stem):
        stem = f"-{stem}"
    if len(stem.encode()) > _LONGEST_NAME - len(".json"):
        ending = "-" + sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        stem = stem.encode()[: _LONGEST_NAME - len(".json") - len(ending)].decode(errors="ignore") + ending
    return stem


def in_repeat(name: str, repeat: int) -> str:
    """Return the name of a file of a repeat: from the second on it is in a folder of its own.

    Examples
    --------
    >>> in_repeat("c1_vendor_large_default.json", 1), in_repeat("c1_vendor_large_default.json", 2)
    ('c1_vendor_large_default.json', 'repeat-2/c1_vendor_large_default.json')
    """
    return name if repeat == 1 else f"repeat-{repeat}/{name}"


def model_folder(model: str) -> str:
    """Return the path of a folder for a model: ``<vendor>/<model>``, or the model's name alone.

    Examples
    --------
    >>> model_folder("vendor/large:free"), model_folder("../a")
    ('vendor/large-free', '-/a')
    """
    return "/".join(safe_name([part], model) for part in model.split("/", 1))


def unit_file_name(unit_id: str, model: str, condition: str | None = None) -> str:
    """Return the name of the file that is made of one unit: ``<unit>_<vendor>_<model>_<condition>.json``.

    Parameters
    ----------
    unit_id : str
        Id of the unit.
    model : str
        The model; vendor and model are the two sides of its first ``/``.
    condition : str, optional
        The condition, for a benchmark that has several.

    Returns
    -------
    str
        Characters other than letters, digits, ``_``, ``.`` and ``-`` become ``-``. A name of more than 200 bytes is
        cut and ends in a digest.

    Examples
    --------
    >>> unit_file_name("c1", "vendor/large:free", "default")
    'c1_vendor_large-free_default.json'
    """
    conditions = [] if condition is None else [condition]
    return f"{safe_name([unit_id, *model.split('/', 1), *conditions], '/'.join([unit_id, model, *conditions]))}.json"


Schema = Mapping[str, Any]

TEXT: Schema = {"type": "string"}
"""Any text."""

YES_NO: Schema = {"type": "string", "enum": ["yes", "no"]}
"""``yes`` or ``no``."""


def object_schema(properties: Mapping[str, Schema]) -> Schema:
    """Return the schema of an object with these keys and no others.

    Examples
    --------
    >>> object_schema({"answer": YES_NO})["required"]
    ['answer']
    """
    named = {"properties": dict(properties), "required": list(properties)}
    return {"type": "object", **named, "additionalProperties": False}


def integer_schema(low: int, high: int) -> Schema:
    """Return the schema of an integer from low to high."""
    # Not every server knows minimum and maximum.
    return {"type": "integer", "enum": list(range(low, high + 1))}


def choice_schema(options: Iterable[str]) -> Schema:
    """Return the schema of one of some options, or of any text where no options are given."""
    given = list(options)
    return {"type": "string", "enum": given} if given else TEXT


def list_schema(items: Schema, most: int) -> Schema:
    """Return the schema of a list; where no most number of items is known (0), of ten at most.

    Without a limit a small model may write a list without end.
    """
    return {"type": "array", "items": items, "maxItems": most or 10}
