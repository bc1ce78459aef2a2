"""The lexicon's word lists, read from lexicon.toml."""

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

__all__ = ["Words", "load_words"]


@dataclass(frozen=True, slots=True)
class Words:
    """Word lists, ready for use.

    Attributes
    ----------
    entries, stems
        Emotions by word or phrase of two words, and by the beginning of a word.
    negations, emphasis
        Words that undo an emotion word, and words that change its intensity, with the change.
    cues
        Patterns over lower-case text by name.
    common
        Words without meaning of their own.
    wanted, guidance
        Binary questions to which a person wishes a yes: always, and when they seek advice.
    """

    entries: Mapping[str, tuple[str, ...]]
    stems: Mapping[str, tuple[str, ...]]
    negations: frozenset[str]
    emphasis: Mapping[str, int]
    cues: Mapping[str, re.Pattern[str]]
    common: frozenset[str]
    wanted: frozenset[str]
    guidance: frozenset[str]


@cache
def load_words() -> Words:
    """Read the word lists; once."""
    data = tomllib.loads((resources.files(__package__) / "lexicon.toml").read_text(encoding="utf-8"))
    told: defaultdict[str, list[str]] = defaultdict(list)
    for emotion, entries in data["emotions"].items():
        for entry in entries:
            told[entry].append(emotion)
    modifiers, preferred = data["modifiers"], data["preferred"]
    return Words(
        entries={entry: tuple(emotions) for entry, emotions in told.items() if not entry.endswith("*")},
        stems={entry[:-1]: tuple(emotions) for entry, emotions in told.items() if entry.endswith("*")},
        negations=frozenset(modifiers["negations"]),
        emphasis=dict.fromkeys(modifiers["stronger"], 1) | dict.fromkeys(modifiers["weaker"], -1),
        cues={name: re.compile(rf"\b(?:{'|'.join(cue)})") for name, cue in data["cues"].items()},
        common=frozenset(data["words"]["common"]),
        wanted=frozenset(preferred["always"]),
        guidance=frozenset(preferred["when_advice_is_sought"]),
    )
