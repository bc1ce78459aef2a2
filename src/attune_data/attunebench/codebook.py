"""The codebook of AttuneBench: its questions, options and emotions, bundled, and as a data set's own file has them."""

import functools
import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, Field, Strict, model_validator

from attune_data.codebook import (
    ABSENT,
    NOT_IN_FILE,
    OWN_NAME,
    CodebookError,
    Entry,
    Items,
    Keys,
    Named,
    RefersTo,
    Text,
    UniqueSet,
    checked,
    codebook_folder,
    read_toml,
    refuse,
)
from attune_data.columns import Column, Question
from attune_data.display import entries_html
from attune_data.io.documents import parse_json, read_input
from attune_data.issues import shown
from attune_data.record import Mode, Strategy
from attune_data.text import did_you_mean

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
            (("negative", place), option, f"not in options; {did_you_mean(option, self.options)}")
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
        Named[WideQuestion], Keys(("q1_lookingFor", "q2_emotionClarity", "q3_modelFit", "q3_followUp_whatFeltOff"))
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
        (), alias=NOT_IN_FILE, description="What a data set's own codebook lacks, or what was not understood in it."
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


# The layout of a data set's own codebook is not published, so entries are found by their ids, at any place.
# Keys are compared folded: lower case, letters and digits only.
_ID_KEYS = ("id", "questionid", "code")
_TEXT_KEYS = ("text", "hptext", "hp", "question", "questiontext", "prompt", "wording", "label", "description")
_OBSERVER_KEYS = ("observertext", "observerquestion", "observerphrasing", "observerprompt", "observer")
_GROUP_KEYS = ("texts", "phrasings", "wordings", *_TEXT_KEYS)
_OPTION_KEYS = ("options", "choices", "answers")
_ENTRY_KEYS = {*_ID_KEYS, *_GROUP_KEYS, *_OBSERVER_KEYS, *_OPTION_KEYS}
_OTHER_IDS = {
    r"general": "general",
    r"(q1|(q1)?lookingfor)(options)?": "q1_lookingFor",
    r"(q2|(q2)?emotionclarity)(options)?": "q2_emotionClarity",
    r"(q3|(q3)?modelfit)(options)?": "q3_modelFit",
    r"(q3)?(followup|whatfeltoff|followupwhatfeltoff)(options)?": "q3_followUp_whatFeltOff",
}


def _fold(key: str) -> str:
    return re.sub(r"[^a-z0-9]", "", key.lower())


def _question_id(raw: object) -> str | None:
    """Return the id that a spelling means."""
    if not isinstance(raw, str):
        return None
    if re.fullmatch(r"(b|pw)[0-9]+", raw.strip(), re.IGNORECASE):
        return raw.strip().upper()
    return next((name for form, name in _OTHER_IDS.items() if re.fullmatch(form, _fold(raw))), None)


def _readable(value: object) -> str | None:
    """Return a text without outer white space; None for anything else, a blank text and lone surrogates."""
    usable = isinstance(value, str) and not re.search("[\ud800-\udfff]", value)
    return str(value).strip() or None if usable else None


def _short(value: object) -> str:
    return ascii(value)[:60]


class _Reader:
    """Collects from a JSON document the fields that it gives of each question."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}
        self.issues: list[str] = []

    def walk(self, node: object, path: str) -> None:
        if isinstance(node, list):
            for index, item in enumerate(node):
                self.walk(item, f"{path}[{index}]")
        if not isinstance(node, dict):
            return
        folded = {_fold(key): value for key, value in node.items()}
        ids = [folded[key] for key in _ID_KEYS if key in folded]
        name = next(filter(None, map(_question_id, ids)), None)
        inner = {key: value for key, value in node.items() if not (ids and _fold(key) in _ENTRY_KEYS)}
        is_section = any(isinstance(value, dict | list) for value in inner.values())
        if name and not (name == "general" and is_section):
            self.take(name, folded, path)
        elif ids and not is_section and any(_readable(folded.get(key)) for key in _TEXT_KEYS):
            self.issues.append(f"{path}: the id {_short(ids[0])} is none of B, PW, general, Q1-Q3; left out")
        pairwise = "pair" in path.lower() or any((_question_id(key) or "").startswith("PW") for key in node)
        for key, value in inner.items():
            place = f"{path}.{key}" if re.fullmatch(r"\w+", key, re.ASCII) else f"{path}[{json.dumps(key)}]"
            keyed = _question_id(key)
            if keyed is None or (keyed == "general" and not pairwise):
                self.walk(value, place)
            elif isinstance(value, dict):
                self.walk({k: v for k, v in value.items() if _fold(k) not in _ID_KEYS} | {"id": keyed}, place)
            elif isinstance(value, list):
                self.walk({"id": keyed, "options": value} if keyed.startswith("q") else value, place)
            else:
                self.walk({"id": keyed, "text": value}, place)

    def take(self, name: str, entry: dict[str, Any], path: str) -> None:
        for group in [entry[key] for key in _GROUP_KEYS if isinstance(entry.get(key), dict)]:
            own = {key: value for key, value in entry.items() if value is not group}
            entry = {_fold(key): value for key, value in group.items()} | own
        fields: dict[str, Any] = {"text": self.text(entry, _TEXT_KEYS, path)}
        if name.startswith("q"):
            fields["options"] = self.options(entry, path)
        elif name.startswith("B"):
            fields["observer_text"] = self.text(entry, _OBSERVER_KEYS, path)
            fields["category"] = self.text(entry, ("category",), path)
            observing = "observer" in path.lower() or re.search(r"\bthe HP\b", fields["text"] or "")
            if observing and not fields["observer_text"]:
                fields["observer_text"] = fields.pop("text")
        fields = {field: value for field, value in fields.items() if value}
        if not fields.keys() - {"category"}:
            self.issues.append(f"{path}: nothing about {name} was understood")
            return
        known = self.found.setdefault(name, {})
        for field, value in fields.items():
            if known.setdefault(field, value) != value:
                self.issues.append(f"{path}: a second {field} of {name}, {_short(value)}; the first counts")

    def text(self, entry: dict[str, Any], keys: tuple[str, ...], path: str) -> str | None:
        for key in keys:
            if text := _readable(entry.get(key)):
                return text
            if entry.get(key) is not None:
                self.issues.append(f"{path}: the {key} {_short(entry[key])} is not a readable text")
        return None

    def options(self, entry: dict[str, Any], path: str) -> tuple[str, ...]:
        given: Any = next((entry[key] for key in _OPTION_KEYS if entry.get(key) is not None), [])
        items = given.values() if isinstance(given, dict) else given if isinstance(given, list) else [given]
        rows = [{"option": item} | (item if isinstance(item, dict) else {}) for item in items]
        texts = [text for row in rows if (text := self.text(row, ("label", "text", "value", "option"), path))]
        repeated = {text for text in texts if texts.count(text) > 1}
        self.issues += [
            f"{path}: the option {_short(text)} is in the list twice; kept once" for text in sorted(repeated)
        ]
        return tuple(dict.fromkeys(texts))


def read_annotation_codebook(document: object, file: str, base: Codebook) -> Codebook:
    """Return the codebook of a data set, what its file does not give taken from another.

    Parameters
    ----------
    document
        The parsed JSON file.
    file : str
        What the error calls it.
    base : Codebook
        What the rest is taken from.

    Raises
    ------
    CodebookError
        The document has no question and no option list, or is nested too deeply.

    Examples
    --------
    >>> from attune_data import load_codebook
    >>> book = read_annotation_codebook({"B7": "Does it hedge?"}, "own.json", load_codebook())
    >>> book.binary["B7"].text, book.issues[0]
    ('Does it hedge?', 'B1: not in the file; bundled question used')
    """
    reader = _Reader()
    try:
        reader.walk(document, "$")
    except RecursionError:
        raise CodebookError(f"{file}: nested too deeply to be a codebook") from None
    first = document[0] if isinstance(document, list) and document else document
    if not reader.found or (isinstance(first, dict) and "conversationId" in first):
        raise CodebookError(f"{file}: $ = {shown(document)}: no questions or options; is this a conversation file?")
    return _over(base, reader.found, reader.issues)


def _over(base: Codebook, found: dict[str, dict[str, Any]], issues: list[str]) -> Codebook:
    """Lay what a file gives over another codebook."""
    categories = dict(base.categories)
    spelt = {_fold(name): name for name in categories}
    questions: dict[str, BinaryQuestion | PairwiseQuestion | WideQuestion]
    questions = {**base.binary, **base.pairwise, **base.conversation_wide}
    issues += [f"{name}: not in the file; bundled question used" for name in questions if name not in found]
    for name, given in found.items():
        if "category" in given:
            given["category"] = spelt.get(_fold(given["category"]), given["category"])
        if name in questions:
            questions[name] = _changed(questions[name], given, issues)
        else:
            issues.append(f"{name}: not in the bundled codebook; kept")
            questions[name] = _new(name, given)
        category = getattr(questions[name], "category", None)
        if category is not None and category not in categories:
            categories[category] = "What it is about is not known."
            issues.append(f"{name}: the category {_short(category)} is not in the bundled codebook; kept")
    kinds: dict[str, type] = {"binary": BinaryQuestion, "pairwise": PairwiseQuestion, "conversation_wide": WideQuestion}
    tables = {
        table: {name: question for name, question in questions.items() if isinstance(question, kind)}
        for table, kind in kinds.items()
    }
    return Codebook.model_validate({**dict(base), **tables, "categories": categories, "issues": tuple(issues)})


def _new(name: str, given: dict[str, Any]) -> BinaryQuestion | PairwiseQuestion:
    text = given.get("text") or given["observer_text"]
    if not name.startswith("B"):
        return PairwiseQuestion(id=name, text=text)
    unknown = {"category": "unknown", "extended": True, "text": text, "observer_text": text}
    return BinaryQuestion.model_validate({"id": name, **unknown, **given})


def _changed(
    question: BinaryQuestion | PairwiseQuestion | WideQuestion, given: dict[str, Any], issues: list[str]
) -> BinaryQuestion | PairwiseQuestion | WideQuestion:
    for key in ("text", "observer_text", "category", "options"):
        if hasattr(question, key) and key not in given:
            instead = "bundled wording used" if getattr(question, key) else "none bundled either"
            issues.append(f"{question.id}: no {key}; {instead}")
    if isinstance(question, WideQuestion) and question.options and "options" in given:
        options = given["options"]
        if {*map(str.casefold, options)} == {*map(str.casefold, question.options)}:
            given["options"] = question.options
        else:
            issues.append(f"{question.id}: {_short(options)} are not the bundled options; the file's are used")
            given["negative"] = options[-2:] if question.negative else ()
    return question.model_validate({**dict(question), **given})


def load_codebook(path: str | os.PathLike[str] | None = None) -> Codebook:
    """Load the bundled codebook, a codebook of your own, or a data set's own ``annotation_codebook.json``.

    Parameters
    ----------
    path
        None for the bundled codebook. A file with a name in ``.toml`` has the layout of
        ``codebook/attunebench.toml``, and may have the subsets as a table ``subsets``. A JSON file has that layout, as
        `attune_data.json_schema` describes it, or any other with question texts and option lists: it is read as the
        former where at least half of the tables of that layout are in it.

    Returns
    -------
    Codebook
        A codebook in our layout is complete. What a file of another layout does not give is taken from the bundled
        codebook and listed in `issues`.

    Raises
    ------
    CodebookError
        The file is neither TOML nor JSON, has mistakes, or has no question and no option list. The message lists every
        mistake.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> load_codebook().q2_options[1]
    'Implied or indirect'
    """
    if path is None:
        return _bundled()
    file = Path(path)
    if file.suffix.lower() == ".toml":
        return read_toml(file, Codebook)
    document, repeated = _parse_json(file)
    if not _is_ours(document):
        return read_annotation_codebook(document, str(file), _bundled())
    if repeated:
        raise CodebookError(f"{file}: {', '.join(map(shown, repeated))}: twice in one object; which of the two counts?")
    return checked(document, Codebook, str(file))


@functools.cache
def _bundled() -> Codebook:
    folder = codebook_folder()
    book, subsets = read_toml(folder / "attunebench.toml", Codebook), read_toml(folder / "subsets.toml", Named[Subset])
    return book.model_copy(update={"subsets": subsets})


def asked_questions(wide: Mapping[str, Column]) -> list[Question]:
    """Return the questions that participants answer; `wide` are the columns of answers about the whole conversation.

    Examples
    --------
    >>> asked_questions({"felt_off": Column("What felt off.", source="q3_followUp_whatFeltOff")})[-1]
    Question(table='conversation_wide', question_id='felt_off', text="What felt off about the model's responses?", \
answers=())
    """
    book = load_codebook()
    found = [Question("binary", name, one.text, ("yes", "no", "na")) for name, one in book.binary.items()]
    found += [Question("pairwise", name, one.text or "", ("A", "B")) for name, one in book.pairwise.items()]
    for column, about in wide.items():
        if one := book.conversation_wide.get(about.source):
            found.append(Question("conversation_wide", column, one.text, one.options))
    return found


def _is_ours(document: Any) -> bool:
    needed = [name for name, field in Codebook.model_fields.items() if field.is_required()]
    given = [name for name in needed if isinstance(document, dict) and isinstance(document.get(name), dict)]
    return 2 * len(given) >= len(needed)


def _parse_json(file: Path) -> tuple[Any, list[str]]:
    """Return what a JSON file says, and the keys that repeat in an object."""
    repeated: list[str] = []

    def joined(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            repeated.extend(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        return entries

    raw = read_input(file)
    try:
        return parse_json(raw, object_pairs_hook=joined), repeated
    except ValueError as error:
        hint = "is this one JSON document, not a web page, JSON Lines or a Git LFS pointer?"
        raise CodebookError(f"{file}: {ascii(raw[:60])[:60]}: {error}; {hint}") from None
