"""Parameters of a request beyond those that the library sets: which may be given."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

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
"""Parameters that the library sets itself, and what is to be done instead."""

# Of a name in small letters without its separators; "tokens" counts tokens, and an "eos_token" is one.
_CREDENTIAL = re.compile(
    "apikey|accesskey|privatekey|secret(?!ary)|passw|pwd$|passphrase|credential|authorization|^x?auth(header)?$|bearer|"
    "cookie|jwt|(?<!bos)(?<!eos)(?<!pad)(?<!stop)(?<!unk)token$"
)


def check_extra_body(body: Mapping[str, Any]) -> None:
    """Check that an object can be merged into the body of requests, and be written to result files.

    Raises
    ------
    ValueError
        It is no JSON object, or reads otherwise than it was given (tuples, names that are numbers), has a parameter
        that the library sets, or a name that looks like that of a credential. The text has names and no values.

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
