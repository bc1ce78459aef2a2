"""What a person reads, in several languages, for the questions and values of the codebook."""

from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

from attune_bench.annotate.screens import Option
from attune_data import Codebook
from attune_data.codebook import Entry, Keys, Named, Text, read_toml

_ANSWERS = {"yes": "Yes", "no": "No", "na": "Does not apply"}
_CUSTOM = "custom:"


class _Binary(Entry):
    text: Text
    observer_text: Text


class _Wide(Entry):
    text: Text
    options: Named[Text]


class Translation(Entry):
    """A file ``wording.LANGUAGE.toml``: translations of the bundled codebook, by its ids and option texts."""

    unofficial: Literal[True]
    note: Text
    emotions: Named[Text]
    answers: Annotated[Named[Text], Keys(tuple(_ANSWERS))]
    branches: Named[Text]
    binary: Named[_Binary]
    pairwise: Named[Text]
    conversation_wide: Named[_Wide]


@cache
def translation(language: str) -> Translation:
    """Return the translation of a language other than English."""
    return read_toml(files(__package__) / f"wording.{language}.toml", Translation)


class Wording:
    """The texts of a codebook in one language; what is stored stays the codebook's own value.

    English is the codebook that is given. Other languages translate the bundled codebook, and a question of the same
    id is shown in that translation however the given codebook words it. What has no translation is shown in English.

    Parameters
    ----------
    language : str
        One of `attune_bench.annotate.texts.LANGUAGES`.
    codebook : Codebook
        Gives the questions, the words and the options.

    Attributes
    ----------
    note : str
        The sentence that says, in the language, that the translation is unofficial; empty for English.

    Examples
    --------
    >>> from attune_data import load_codebook
    >>> wording = Wording("de", load_codebook())
    >>> wording.binary("B13")
    'Stellt die Antwort eine Rückfrage zu Ihrer Nachricht?'
    >>> wording.options("q2_emotionClarity")[1]
    Option(value='Implied or indirect', text='Angedeutet oder indirekt')
    """

    def __init__(self, language: str, codebook: Codebook) -> None:
        self.language = language
        self._codebook = codebook
        self._translation = translation(language) if language != "en" else None
        self.note = self._translation.note if self._translation else ""

    def emotions(self) -> tuple[Option, ...]:
        """Return the emotion words in the order of the codebook."""
        known = self._translation.emotions if self._translation else {}
        words = (emotion.word for emotion in self._codebook.emotions.values())
        return tuple(Option(word, known.get(word.title(), word)) for word in words)

    def answers(self) -> tuple[Option, ...]:
        """Return yes, no and na."""
        return tuple(Option(*item) for item in (self._translation.answers if self._translation else _ANSWERS).items())

    def branches(self) -> tuple[Option, ...]:
        """Return the four branches, each with its name and what it is."""
        known = self._translation.branches if self._translation else {}
        return tuple(
            Option(name, known.get(name, f"{name.capitalize()}: {text[:1].lower()}{_without_hp(text[1:])}"))
            for name, text in self._codebook.branches.items()
        )

    def binary(self, question: str, *, observer: bool = False) -> str:
        """Return a yes/no question, to the participant or to an observer."""
        entry = self._codebook.binary[question]
        if self._translation and question in self._translation.binary:
            translated = self._translation.binary[question]
            return translated.observer_text if observer else translated.text
        return _without_hp(entry.observer_text) if observer else entry.text

    def pairwise(self, question: str) -> str | None:
        """Return a question that compares two responses; None where its wording is not known.

        ``custom:`` begins a question in the participant's own words, which are returned as they are.
        """
        if question.startswith(_CUSTOM):
            return question.removeprefix(_CUSTOM).strip() or None
        if self._translation and question in self._translation.pairwise:
            return self._translation.pairwise[question]
        return self._codebook.pairwise[question].text if question in self._codebook.pairwise else None

    def wide(self, question: str) -> str:
        """Return a question about the whole conversation, by its field in the data."""
        known = self._translation.conversation_wide if self._translation else {}
        return (known if question in known else self._codebook.conversation_wide)[question].text

    def options(self, question: str) -> tuple[Option, ...]:
        """Return the options of a question about the whole conversation; none where any text is an answer."""
        known = self._translation.conversation_wide if self._translation else {}
        translated = known[question].options if question in known else {}
        options = self._codebook.conversation_wide[question].options
        return tuple(Option(option, translated.get(option, option)) for option in options)


def _without_hp(text: str) -> str:
    """Return a text of the codebook in words for people, who do not know the participant as HP."""
    return text.replace("the HP", "the person").replace("The HP", "The person")
