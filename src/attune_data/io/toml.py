"""Parsing TOML that somebody else may have written, in bounded time and memory."""

import re
import tomllib
from typing import Any

__all__ = ["SIZE_LIMIT", "parse_toml"]

SIZE_LIMIT = 2**20
"""Bytes of a TOML file."""

# The time that tomllib takes grows with the square of the number of parts of a key.
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:"[^"\n]*"|'[^'\n]*'|[\w-]++)[ \t]*\.[ \t]*){100}""")


def parse_toml(data: bytes) -> dict[str, Any]:
    """Parse TOML.

    Parameters
    ----------
    data : bytes
        UTF-8, of 1 MiB at most.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        Where it is not TOML in UTF-8, is too large, or is nested too deeply.

    Examples
    --------
    >>> parse_toml(b'red = "warm"')
    {'red': 'warm'}
    """
    if len(data) > SIZE_LIMIT:
        raise ValueError(f"larger than {SIZE_LIMIT:,} bytes, the limit of a TOML file")
    text = data.decode("utf-8-sig")
    if _LONG_KEY.search(text):
        raise ValueError("a key of more than 100 parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
