"""Reading one record: its bytes into a checked record, and every finding into an issue.

A record is first validated straight from its bytes, which accepts current spelling only. What does not validate, or
holds an older key, goes through the second stage: it is parsed leniently, brought into current form (every change an
issue) and validated again.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from attune_data.attunebench.conversation import Conversation
from attune_data.attunebench.rules import check_conversation, check_run
from attune_data.attunebench.run import Run
from attune_data.attunebench.spellings import conversation_is_old, fix_conversation, fix_run, run_is_old
from attune_data.eibench.rules import check_episode, check_scenario, fix_episode, fix_scenario
from attune_data.eibench.scenario import Episode, Scenario
from attune_data.fixes import Fix, Report
from attune_data.io.sources import Document
from attune_data.issues import Issue
from attune_data.sage.dialogue import SageDialogue
from attune_data.sage.rules import check_dialogue, fix_dialogue

__all__ = [
    "CONVERSATION",
    "DIALOGUE",
    "EPISODE",
    "LEFT_OUT",
    "RUN",
    "SCENARIO",
    "AnyRecord",
    "Kind",
    "read_document",
    "without_surrogates",
]

AnyRecord = TypeVar("AnyRecord", Conversation, Run, Scenario, Episode, SageDialogue)

LEFT_OUT = "record left out"
_MOST_ERRORS = 20


def _never(_: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Kind(Generic[AnyRecord]):
    """One kind of record: its model, how files of it are mended, and the rules it is held to.

    A document that has none of `keys`, or that `is_other` tells to be of another kind, is something else. `is_old`
    tells that a valid record is to be mended all the same.
    """

    model: type[AnyRecord]
    fix: Fix
    check: Callable[[AnyRecord, Report], None]
    name: str
    loader: str
    keys: frozenset[str]
    is_old: Callable[[AnyRecord], bool] = _never
    is_other: Callable[[Mapping[str, Any]], bool] = _never


_CONVERSATION_ONLY = frozenset(("participant_profile", "prePanas", "postPanas", "conversationWideQuestions"))


def _is_run(keys: Mapping[str, Any]) -> bool:
    return isinstance(keys.get("em_model"), str) and _CONVERSATION_ONLY.isdisjoint(keys)


def _is_conversation(keys: Mapping[str, Any]) -> bool:
    return "em_model" not in keys and not _CONVERSATION_ONLY.isdisjoint(keys)


CONVERSATION = Kind(
    Conversation,
    fix_conversation,
    check_conversation,
    "conversation",
    "load",
    frozenset(("conversationId", "turns")),
    conversation_is_old,
    _is_run,
)
RUN = Kind(
    Run,
    fix_run,
    check_run,
    "run file",
    "load_runs",
    frozenset(("conversationId", "em_model", "turns")),
    run_is_old,
    _is_conversation,
)
SCENARIO = Kind(
    Scenario,
    fix_scenario,
    check_scenario,
    "scenario",
    "load_scenarios",
    frozenset(("aggressor_profile", "initial_calibration", "rub_goals", "worst_case", "row")),
)
EPISODE = Kind(Episode, fix_episode, check_episode, "episode", "load_episodes", frozenset(("profile_id",)))
DIALOGUE = Kind(
    SageDialogue,
    fix_dialogue,
    check_dialogue,
    "SAGE dialogue",
    "load_sage",
    frozenset(("emo_point", "emo_state")),
)
_KINDS: tuple[Kind[Any], ...] = (CONVERSATION, RUN, SCENARIO, EPISODE, DIALOGUE)


def read_document(
    kind: Kind[AnyRecord], document: Document, *, found: list[Issue], strict: bool = False
) -> AnyRecord | None:
    """Return the record of a document, or None; findings go to `found`."""
    if document.problem is not None:
        severity = document.severity
        consequence = document.consequence or (LEFT_OUT if severity == "error" else "passed over")
        found.append(Issue(document.name, "$", document.rule, severity, "null", document.problem, consequence))
        return None
    report = Report(document.name, strict)
    try:
        record = kind.model.model_validate_json(document.data, by_alias=True, by_name=False)
        # A run file is a valid conversation with extra keys; the second stage tells whether it is meant to be one.
        old = kind.is_old(record) or "em_model" in (record.model_extra or ())
    except ValidationError:
        old = True
    if old:
        mended = _mend(kind, document, report)
        if mended is None:
            found.extend(report.issues)
            return None
        record = mended
    kind.check(record, report)
    found.extend(report.issues)
    return record


def _mend(kind: Kind[AnyRecord], document: Document, report: Report) -> AnyRecord | None:
    """Take a document through the second stage."""
    try:
        parsed = _parse(document.data, report)
        if not isinstance(parsed, dict) or kind.keys.isdisjoint(parsed) or kind.is_other(parsed):
            report.add("$", "not-a-record", "error", _outline(parsed), _guess(kind, parsed), LEFT_OUT)
            return None
        record = kind.model.model_validate(kind.fix(parsed, "$", report), by_alias=True, by_name=False)
        record.to_json()  # The lenient parser takes deeper nesting than can be written.
    except json.JSONDecodeError as error:
        _report_syntax(error, report)
    except ValidationError as error:
        _report_invalid(error, report)
    except (RecursionError, PydanticSerializationError):
        report.add("$", "invalid-json", "error", None, "nested too deeply to be a record", LEFT_OUT)
    except (ValueError, OverflowError) as error:
        report.add("$", "invalid-json", "error", None, str(error), LEFT_OUT)
    else:
        rejected = any(issue.severity == "error" for issue in report.issues)
        return None if rejected else record
    return None


def _report_syntax(error: json.JSONDecodeError, report: Report) -> None:
    if not error.doc.strip():
        message = "the file is empty"
    else:
        place = f"line {error.lineno}, column {error.colno}" if "\n" in error.doc else f"column {error.colno}"
        at_end = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
        message = f"not JSON at {place}: {error.msg}" + ("; is the file cut off?" if at_end else "")
    found = error.doc[error.pos : error.pos + 20] or None
    report.add("$", "invalid-json", "error", found, message, LEFT_OUT)


_EXPECTED = {
    "missing": "the key is missing",
    "tuple_type": "expected a list",
    "dict_type": "expected an object",
    "model_type": "expected an object",
    "model_attributes_type": "expected an object",
    "string_type": "expected text",
    "int_type": "expected a whole number",
}


def _report_invalid(error: ValidationError, report: Report) -> None:
    """Report what cannot be mended; a value that was first read as null is reported as it was."""
    details = error.errors(include_url=False)
    for detail in details[:_MOST_ERRORS]:
        path = "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"])
        message = _EXPECTED.get(detail["type"], detail["msg"])
        before = next((issue for issue in report.issues if issue.path == path and issue.rule == "unknown-value"), None)
        if before is None:
            value = None if detail["type"] == "missing" else detail["input"]
            report.add(path, "invalid-value", "error", value, message, LEFT_OUT)
        else:
            report.issues.remove(before)
            report.issues.append(replace(before, rule="invalid-value", severity="error", consequence=LEFT_OUT))
    if len(details) > _MOST_ERRORS:
        more = f"{len(details) - _MOST_ERRORS} more values of this record are of the wrong kind"
        report.add("$", "invalid-value", "error", None, more, LEFT_OUT)


def _parse(data: bytes, report: Report) -> Any:
    """Parse JSON leniently: any Unicode encoding, bytes and surrogates that are no text replaced and reported."""
    encoding = json.detect_encoding(data)
    text = data.decode(encoding, "replace")
    if encoding != "utf-8":
        report.add("$", "encoding", "note", encoding, "files are UTF-8 without a byte order mark", "decoded")
    elif text.count("\ufffd") > data.count("\ufffd".encode()):
        report.add("$", "encoding", "warning", None, "bytes that are not UTF-8", "each replaced by U+FFFD")
    parsed = json.loads(text)
    if "\\ud" in text.lower():
        clean = without_surrogates(parsed)
        if clean != parsed:
            report.add("$", "lone-surrogate", "warning", None, "half of a surrogate pair", "replaced by U+FFFD")
        return clean
    return parsed


def without_surrogates(value: Any) -> Any:
    """Replace halves of surrogate pairs in the texts of a parsed JSON value by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value


def _outline(parsed: Any) -> Any:
    return list(parsed)[:8] if isinstance(parsed, dict) else parsed


def _guess(kind: Kind[AnyRecord], parsed: Any) -> str:
    """Say what a JSON document that is no record of this kind may be instead."""
    if isinstance(parsed, list):
        return f"a list; expected one {kind.name} a file, or one a line in a .jsonl file"
    if isinstance(parsed, dict) and {"conversations", "aggregates"} <= parsed.keys():
        return f"a file of scores, not {_with_article(kind.name)}"
    if isinstance(parsed, dict) and {"overall", "by_scene"} <= parsed.keys():
        return f"a summary, not {_with_article(kind.name)}; the episodes are in the results.jsonl beside it"
    if isinstance(parsed, dict):
        for other in _KINDS:
            if other is not kind and not other.keys.isdisjoint(parsed) and not other.is_other(parsed):
                return f"not {_with_article(kind.name)}; is it {_with_article(other.name)}, which {other.loader} reads?"
    return f"not {_with_article(kind.name)}: it has none of {', '.join(sorted(kind.keys))}"


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
