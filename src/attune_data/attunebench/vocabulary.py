"""What the codes and labels of AttuneBench mean: emotions, questions, options, branches, modes, strategies, subsets."""

from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, Field, Strict, model_validator

from attune_data.display.entries import entries_html
from attune_data.entries import (
    ABSENT,
    NOT_IN_FILE,
    OWN_NAME,
    Entry,
    Items,
    Keys,
    Named,
    RefersTo,
    Text,
    UniqueSet,
    refuse,
)
from attune_data.record import Mode, Strategy
from attune_data.text import meant

__all__ = [
    "BinaryQuestion",
    "Codebook",
    "Emotion",
    "PairwiseQuestion",
    "Subset",
    "Subsets",
    "WideQuestion",
]

Unit = Annotated[float, Field(ge=0, le=1)]
Subset = UniqueSet[Annotated[int, Strict(), Field(ge=0)]]

Subsets = Annotated[
    Named[Subset],
    Field(
        title="Subsets",
        description="The numbers of the files of each subset, by its name: 7 means conversation_7.json.",
    ),
]
"""What the file of the subsets is read as."""


class Emotion(Entry):
    """An emotion word: its PANAS scale, and its place on scales of valence and arousal from 0 to 1."""

    word: str = Field(alias=OWN_NAME)
    affect: Literal["positive", "negative"] = Field(description="The PANAS scale that the word belongs to.")
    valence: Unit = Field(description="How pleasant, 0 to 1.")
    arousal: Unit = Field(description="How activated, 0 to 1.")


class BinaryQuestion(Entry):
    """A yes/no question about a response, in the words for the participant (HP) and for an observer."""

    id: str = Field(alias=OWN_NAME)
    category: Annotated[Text, RefersTo("categories")] = Field(description="A name in `categories`.")
    extended: bool = Field(description="Whether the question was added to the 20 core questions.")
    text: Text = Field(description="The question to the participant, about `your message`.")
    observer_text: Text = Field(description="The question to an observer, about `the HP's message`.")


class PairwiseQuestion(Entry):
    """A question that compares two responses."""

    id: str = Field(alias=OWN_NAME)
    text: Text | None = Field(None, description="The question to the participant; absent where the text is not known.")


class WideQuestion(Entry):
    """A question about the whole conversation, under the name of its field in the data."""

    id: str = Field(alias=OWN_NAME)
    text: Text = Field(description="The question to the participant.")
    multiple: bool = Field(description="Whether several options may be chosen.")
    options: Items[Text] = Field(description="The options as the data spell them, in order; empty for any text.")
    negative: Items[Text] = Field((), description="The options after which the follow-up question is asked.")

    @model_validator(mode="after")
    def _negative_is_an_option(self) -> Self:
        refuse(
            (("negative", place), option, f"not in options; {meant(option, self.options)}")
            for place, option in enumerate(self.negative)
            if option not in self.options
        )
        return self


def _by_lower_word(emotions: Named[Emotion]) -> Named[Emotion]:
    found: dict[str, Emotion] = {}
    for name, emotion in emotions.items():
        if found.setdefault(emotion.word.lower(), emotion) is not emotion:
            refuse([((name,), ABSENT, f"the same word as {found[emotion.word.lower()].word!r}")])
    return Named(found)


_PARTS = {"emotions": "emotions", "binary": "yes/no questions", "pairwise": "comparing questions"}
_OTHERS = ("conversation_wide", "categories", "branches", "modes", "panas_strategies", "subsets")


class Codebook(Entry):
    """The vocabulary of AttuneBench.

    `emotions` are by lower-case word, everything else by the name that a file gives it.

    Examples
    --------
    >>> from attune_data import load_codebook
    >>> codebook = load_codebook()
    >>> codebook.binary["B7"].category
    'understanding'
    >>> codebook.emotions["proud"].valence
    0.85
    >>> len(codebook.subsets["Sample200"])
    200
    """

    emotions: Annotated[Named[Emotion], AfterValidator(_by_lower_word)] = Field(
        description="The emotions, by word in title case."
    )
    categories: Named[Text] = Field(description="What a category of binary questions is about, by name.")
    binary: Named[BinaryQuestion] = Field(description="The yes/no questions about a response, by id.")
    pairwise: Named[PairwiseQuestion] = Field(description="The questions that compare two responses, by id.")
    conversation_wide: Annotated[
        Named[WideQuestion],
        Keys(("q1_lookingFor", "q2_emotionClarity", "q3_modelFit", "q3_followUp_whatFeltOff")),
    ] = Field(description="The questions about the whole conversation, by their field in the data.")
    branches: Annotated[Named[Text], Keys(("perceiving", "facilitating", "understanding", "managing"))] = Field(
        description="What each of the four branches of emotional intelligence is, in a sentence."
    )
    modes: Annotated[Named[Text], Keys(get_args(Mode))] = Field(
        description="What the evaluated model is shown and asked for in each mode, in a sentence."
    )
    panas_strategies: Annotated[Named[Text], Keys(get_args(Strategy))] = Field(
        description="How the PANAS after the conversation is asked for, in a sentence."
    )
    subsets: Named[Subset] = Field(
        Named({}), description="The numbers of the conversation files of each subset, by its name."
    )
    issues: tuple[str, ...] = Field(
        (),
        alias=NOT_IN_FILE,
        description="What a data set's own codebook lacks, or what was not understood in it.",
    )

    def __repr__(self) -> str:
        """Return one line; `model_dump` gives every entry."""
        parts = [f"{len(getattr(self, name))} {noun}" for name, noun in _PARTS.items()]
        return f"<Codebook of {', '.join(parts)}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return entries_html(repr(self)[1:-1], {name: getattr(self, name) for name in (*_PARTS, *_OTHERS)}, self.issues)

    @property
    def q1_options(self) -> tuple[str, ...]:
        """What the HP may have been looking for."""
        return self.conversation_wide["q1_lookingFor"].options

    @property
    def q2_options(self) -> tuple[str, ...]:
        """How clear the emotions were."""
        return self.conversation_wide["q2_emotionClarity"].options

    @property
    def q3_options(self) -> tuple[str, ...]:
        """How well the model fitted, best to worst."""
        return self.conversation_wide["q3_modelFit"].options

    @property
    def q3_negative(self) -> tuple[str, ...]:
        """The Q3 options after which the follow-up is asked."""
        return self.conversation_wide["q3_modelFit"].negative
