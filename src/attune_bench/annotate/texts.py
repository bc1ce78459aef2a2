"""The sentences of the interface in several languages."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from attune_data.codebook import parse_toml

LANGUAGES: Mapping[str, str] = {"en": "English", "de": "Deutsch", "zh": "中文"}
"""The languages of the interface, by their codes, each in its own words."""


class Texts:
    """The sentences of one language.

    Parameters
    ----------
    language : str
        One of `LANGUAGES`.

    Examples
    --------
    >>> texts = Texts("en")
    >>> texts("progress", done=3, total=10)
    '3 of 10'
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self._sentences = sentences(language)

    def __call__(self, key: str, **values: Any) -> str:
        """Return a sentence with its values; a value is inserted as text, never read as a sentence."""
        return self._sentences[key].format(**values)


@cache
def sentences(language: str) -> Mapping[str, str]:
    """Return the sentences of a language by key."""
    name = f"{language}.toml"
    found: Mapping[str, str] = parse_toml((files(__package__) / "texts" / name).read_bytes())
    return found
