"""Reading a data set's own `annotation_codebook.json`."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from attune_data.codebook import BinaryQuestion, Codebook, CodebookError, Named, PairwiseQuestion, WideQuestion

__all__ = ["read_codebook_file"]

# The layout of a data set's own codebook is not published, so entries are found by their ids, wherever they
# stand. Keys are compared folded: lower case, letters and digits only.
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
    """Return the id that a spelling stands for."""
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
    return ascii(value[:60] if isinstance(value, bytes) else value)[:60]


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
        return tuple(filter(None, (self.text(row, ("label", "text", "value", "option"), path) for row in rows)))


def read_codebook_file(path: Path, base: Codebook) -> Codebook:
    raw = path.read_bytes()
    reader = _Reader()
    try:
        document = json.loads(raw)
        reader.walk(document, "$")
    except (RecursionError, ValueError) as error:
        hint = "is this one JSON document, not a web page, JSON Lines or a Git LFS pointer?"
        raise CodebookError(f"{path}: {_short(raw)}: {error}; {hint}") from None
    first = document[0] if isinstance(document, list) and document else document
    if not reader.found or (isinstance(first, dict) and "conversationId" in first):
        raise CodebookError(f"{path}: $, {_short(raw)}: no questions or options; is this a conversation file?")
    return _over_bundled(reader.found, reader.issues, base)


def _over_bundled(found: dict[str, dict[str, Any]], issues: list[str], base: Codebook) -> Codebook:
    """Lay what a file gives over the bundled codebook."""
    categories = {_fold(question.category): question.category for question in base.binary.values()}
    questions: dict[str, BinaryQuestion | PairwiseQuestion | WideQuestion]
    questions = {**base.binary, **base.pairwise, **base.conversation_wide}
    issues += [f"{name}: not in the file; bundled question used" for name in questions if name not in found]
    for name, given in found.items():
        if "category" in given:
            given["category"] = categories.get(_fold(given["category"]), given["category"])
        if name not in questions:
            issues.append(f"{name}: not in the bundled codebook; kept")
            text = given.get("text") or given["observer_text"]
            questions[name] = PairwiseQuestion(name, text)
            if name.startswith("B"):
                questions[name] = replace(BinaryQuestion(name, "unknown", True, text, text), **given)
            continue
        question = questions[name]
        for key in ("text", "observer_text", "category", "options"):
            if hasattr(question, key) and key not in given:
                instead = "bundled wording used" if getattr(question, key) else "none bundled either"
                issues.append(f"{name}: no {key}; {instead}")
        if isinstance(question, WideQuestion) and question.options and "options" in given:
            options = given["options"]
            if {*map(str.casefold, options)} == {*map(str.casefold, question.options)}:
                given["options"] = question.options
            else:
                issues.append(f"{name}: {_short(options)} are not the bundled options; the file's are used")
                given["negative"] = options[-2:] if question.negative else ()
        questions[name] = replace(question, **given)
    return replace(
        base,
        binary=Named({name: q for name, q in questions.items() if isinstance(q, BinaryQuestion)}),
        pairwise=Named({name: q for name, q in questions.items() if isinstance(q, PairwiseQuestion)}),
        conversation_wide=Named({name: q for name, q in questions.items() if isinstance(q, WideQuestion)}),
        issues=tuple(issues),
    )
