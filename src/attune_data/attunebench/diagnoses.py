"""Self-reported diagnoses, as participants worded them, into the groups that analyses compare."""

import functools
import re
import tomllib
from collections.abc import Iterable

from attune_data.codebook import codebook_folder

__all__ = ["NO_DIAGNOSIS", "OTHER", "UNKNOWN", "diagnosis_group_names", "diagnosis_groups"]

OTHER, NO_DIAGNOSIS, UNKNOWN = "other", "none", "unknown"


def diagnosis_groups(raw: Iterable[str]) -> tuple[str, ...]:
    """Return the groups of one participant's answers, in the order of `diagnosis_group_names`.

    Parameters
    ----------
    raw : iterable of str
        The answers as they stand in ``demographics.diagnoses``.

    Returns
    -------
    tuple of str
        Every group of ``codebook/diagnoses.toml`` that an answer fits, and ``other`` where one fits none;
        ``("none",)`` where the only answer is `None of the above`; ``("unknown",)`` where there is no answer.

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
    patterns, none = _codebook()
    answers = {answer.strip().casefold() for answer in raw} - {""}
    if not answers:
        return (UNKNOWN,)
    named = answers - {none}
    if not named:
        return (NO_DIAGNOSIS,)
    fitting = [{group for group, pattern in patterns.items() if pattern.search(answer)} for answer in named]
    found = set().union(*fitting)
    return (*(group for group in patterns if group in found), *([] if all(fitting) else [OTHER]))


def diagnosis_group_names() -> tuple[str, ...]:
    """Return the name of every group: those of the codebook, then ``other``, ``none`` and ``unknown``.

    Examples
    --------
    >>> diagnosis_group_names()
    ('AnxDep', 'ADHD', 'ASD', 'other', 'none', 'unknown')
    """
    return (*_codebook()[0], OTHER, NO_DIAGNOSIS, UNKNOWN)


@functools.cache
def _codebook() -> tuple[dict[str, re.Pattern[str]], str]:
    """Return the pattern of each group and the answer that means no diagnosis, both for casefolded text."""
    data = tomllib.loads((codebook_folder() / "diagnoses.toml").read_text(encoding="utf-8"))

    def pattern(stems: list[str], words: list[str]) -> re.Pattern[str]:
        return re.compile("|".join([*map(re.escape, stems), *(rf"\b{re.escape(word)}\b" for word in words)]))

    return {name: pattern(**group) for name, group in data["groups"].items()}, data["none"].casefold()
