"""Reading a data set's own ``annotation_codebook.json``, whatever its layout."""

import json
import re
from typing import Any

from attune_data.attunebench.vocabulary import BinaryQuestion, Codebook, PairwiseQuestion, WideQuestion
from attune_data.codebook import CodebookError
from attune_data.issues import shown

__all__ = ["read_annotation_codebook"]

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
    kinds: dict[str, type] = {
        "binary": BinaryQuestion,
        "pairwise": PairwiseQuestion,
        "conversation_wide": WideQuestion,
    }
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
