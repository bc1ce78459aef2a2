"""What the scenes of EIBench are, and what anger and trust stand for in each: ``codebook/eibench.toml``."""

import functools
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from attune_data.codebook import codebook_folder, read_toml
from attune_data.eibench.scenario import SCENES
from attune_data.entries import OWN_NAME, Entry, Keys, Named, Text

__all__ = ["SceneMeaning", "Scenes", "scenes"]


class SceneMeaning(Entry):
    """One scene: who talks to whom, what the two axes stand for, who speaks first."""

    name: str = Field(alias=OWN_NAME)
    title: Text = Field(description="The name to show.")
    person: Text = Field(description="Whom the simulator plays, `aggressor` in the files.")
    model: Text = Field(description="Whom the model under test plays, `defender` in the files.")
    anger: Text = Field(description="What the first axis stands for; lower is better.")
    trust: Text = Field(description="What the second axis stands for; higher is better.")
    opens: Literal["person", "model"] = Field(description="Who speaks first.")


class Scenes(Entry):
    """The file ``codebook/eibench.toml``: the four scenes."""

    scenes: Annotated[Named[SceneMeaning], Keys(SCENES)] = Field(description="The scenes by tag.")


@functools.cache
def scenes() -> Mapping[str, SceneMeaning]:
    """Return every scene by its tag.

    Examples
    --------
    >>> scenes()["charm"].opens, scenes()["support"].anger
    ('model', 'sadness, pain, despair')
    """
    return read_toml(codebook_folder() / "eibench.toml", Scenes).scenes
