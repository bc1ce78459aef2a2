"""Fields of collecting and of predicting: ratings, emotions, what a response did, the conversation as a whole."""

from typing import Literal

from attune_bench.annotate.screens import Choice, Option, Tags
from attune_bench.annotate.texts import Texts
from attune_bench.benchmarks.attunebench.annotation.wording import Wording

LONGEST = 4_000
"""The most characters of a text."""

HIGHEST = 7
"""Of every rating and intensity."""


def rating(one: Option, of: Literal["panas", "branch"], t: Texts) -> Choice:
    """Return the rating of a word of the PANAS, or of a branch."""
    return Choice.of_steps(one.value, one.text, HIGHEST, low=t(f"{of}_low"), high=t(f"{of}_high"))


def emotions(name: str, label: str, wording: Wording, t: Texts) -> Tags:
    """Return the emotion words, each with an intensity."""
    low, high = t("mood_low"), t("mood_high")
    return Tags(name=name, label=label, options=wording.emotions(), highest=HIGHEST, low=low, high=high)


def judgements(question: str, text: str, wanted: str, options: tuple[Option, ...]) -> tuple[Choice, Choice]:
    """Return a yes/no question twice: what the response did, and whether the person would have wanted that."""
    return (
        Choice(name=f"{question}.observed", label=text, options=options),
        Choice(name=f"{question}.preferred", label=wanted, options=options),
    )


def wide(name: str, wording: Wording, *, multiple: bool, required: bool = True) -> Choice:
    """Return a question about the whole conversation, by its field in the data."""
    label, options = wording.wide(name), wording.options(name)
    return Choice(name=name, label=label, options=options, multiple=multiple, required=required)
