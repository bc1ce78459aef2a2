"""What the scenes of EIBench are, and what anger and trust stand for in each: ``codebook/eibench.toml``."""

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from attune_data.codebook import Named, codebook_folder

__all__ = ["SceneMeaning", "scenes"]


@dataclass(frozen=True, slots=True)
class SceneMeaning:
    """One scene: who talks to whom, what the two axes stand for, who speaks first."""

    name: str
    title: str
    person: str
    model: str
    anger: str
    trust: str
    opens: Literal["person", "model"]


@functools.cache
def scenes() -> Mapping[str, SceneMeaning]:
    """Return every scene by its tag.

    Examples
    --------
    >>> scenes()["charm"].opens, scenes()["support"].anger
    ('model', 'sadness, pain, despair')
    """
    data = tomllib.loads((codebook_folder() / "eibench.toml").read_text(encoding="utf-8"))
    return Named({name: SceneMeaning(name, **row) for name, row in data["scenes"].items()})
