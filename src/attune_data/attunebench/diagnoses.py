"""Self-reported diagnoses, as participants worded them, into the groups that analyses compare."""

import functools
import re
from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from attune_data.codebook import codebook_folder, read_toml
from attune_data.entries import ABSENT, Entry, Items, Named, Text, refuse

__all__ = [
    "NO_DIAGNOSIS",
    "OTHER",
    "UNKNOWN",
    "Diagnoses",
    "DiagnosisGroup",
    "diagnosis_group_names",
    "diagnosis_groups",
]

OTHER = "other"
NO_DIAGNOSIS = "none"
UNKNOWN = "unknown"


def _lower(text: str) -> str:
    if text != text.casefold():
        refuse([((), text, f"answers are compared in lower case; write {text.casefold()!r}")])
    return text


Lower = Annotated[Text, AfterValidator(_lower)]


class DiagnosisGroup(Entry):
    """What an answer has in it that belongs to a group of diagnoses, in lower case."""

    stems: Items[Lower] = Field(description="Parts of an answer, found anywhere in it.")
    words: Items[Lower] = Field(description="Whole words of an answer.")

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        if not self.stems and not self.words:
            refuse([(("stems",), self.stems, "neither stems nor words; no answer fits such a group")])
        return self

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        """The expression that finds the group in an answer in lower case."""
        words = (rf"\b{re.escape(word)}\b" for word in self.words)
        return re.compile("|".join([*map(re.escape, self.stems), *words]))


def _unlike_ours(groups: Named[DiagnosisGroup]) -> Named[DiagnosisGroup]:
    ours = (OTHER, NO_DIAGNOSIS, UNKNOWN)
    refuse(((name,), ABSENT, "the library has a group of this name") for name in groups if name in ours)
    return groups


class Diagnoses(Entry):
    """The file ``codebook/diagnoses.toml``: the groups of self-reported diagnoses."""

    none: Text = Field(description="The answer that means no diagnosis, in any letter case.")
    groups: Annotated[Named[DiagnosisGroup], AfterValidator(_unlike_ours)] = Field(
        description="The groups by name; an answer that fits several is in each."
    )


def diagnosis_groups(raw: Iterable[str]) -> tuple[str, ...]:
    """Return the groups of one participant's answers, in the order of `diagnosis_group_names`.

    Parameters
    ----------
    raw : iterable of str
        The answers as ``demographics.diagnoses`` has them.

    Returns
    -------
    tuple of str
        Every group of ``codebook/diagnoses.toml`` that an answer fits, and ``other`` where one fits none;
        ``("none",)`` where the only answer is `None of the above`; ``("unknown",)`` without an answer.

    Examples
    --------
    >>> diagnosis_groups(["Generalised anxiety", "Attention Deficit Disorder", "Migraine"])
    ('AnxDep', 'ADHD', 'other')
    >>> diagnosis_groups(["None of the above"]), diagnosis_groups([])
    (('none',), ('unknown',))
    """
    return _groups(tuple(raw))


@functools.cache
def _groups(raw: tuple[str, ...]) -> tuple[str, ...]:
    book = _bundled()
    answers = {answer.strip().casefold() for answer in raw} - {""}
    if not answers:
        return (UNKNOWN,)
    named = answers - {book.none.casefold()}
    if not named:
        return (NO_DIAGNOSIS,)
    fitting = [{name for name, group in book.groups.items() if group.pattern.search(answer)} for answer in named]
    found = set().union(*fitting)
    return (*(name for name in book.groups if name in found), *([] if all(fitting) else [OTHER]))


def diagnosis_group_names() -> tuple[str, ...]:
    """Return the name of every group: those of the codebook, then ``other``, ``none`` and ``unknown``.

    Examples
    --------
    >>> diagnosis_group_names()
    ('AnxDep', 'ADHD', 'ASD', 'other', 'none', 'unknown')
    """
    return (*_bundled().groups, OTHER, NO_DIAGNOSIS, UNKNOWN)


@functools.cache
def _bundled() -> Diagnoses:
    return read_toml(codebook_folder() / "diagnoses.toml", Diagnoses)
