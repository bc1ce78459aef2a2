"""Reading one record: its bytes into a checked record, and every finding into an issue.

A record is first validated straight from its bytes, which accepts current spelling only. What does not validate, or
has an older key, goes through the second stage: it is parsed leniently, brought into current form (every change an
issue) and validated again.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from attune_data.fixes import Findings
from attune_data.io import limits
from attune_data.io.documents import Document
from attune_data.io.limits import VALUES_LIMIT, check_json, may_have_values
from attune_data.issues import LEFT_OUT, Issue, IssueLog, Severity, shown
from attune_data.kind import Kind, OtherFile
from attune_data.kinds import kind_of_document, other_file
from attune_data.record import Record
from attune_data.text import without_surrogates

__all__ = ["Reader", "parse_object", "unpacked"]

R = TypeVar("R", bound=Record)

_MOST_ERRORS = 20
_TOO_MANY_ERRORS = 10_000
_MANY = VALUES_LIMIT // 4
_LIST = "a list; expected one {} a file, or one a line in a .jsonl file"


@dataclass
class Reader(Generic[R]):
    """Reads the documents of one kind of record, and notes every finding and what else it was given.

    Attributes
    ----------
    kind : Kind
        What the documents should be.
    issues : IssueLog
        What was noticed.
    strict : bool
        Whether a number outside its range costs the record.
    others : Counter
        How many documents are of another kind, or known to be no record, by what they are.
    own : int
        How many documents are of this kind, broken ones included.
    """

    kind: Kind[R, Any]
    issues: IssueLog = field(default_factory=IssueLog)
    strict: bool = False
    others: Counter[Kind[Any, Any] | OtherFile] = field(default_factory=Counter)
    own: int = 0

    def __post_init__(self) -> None:
        # A document without any of these is no record, which the second stage tells in less time.
        self._keys = [key.encode() for key in self.kind.keys]

    def read(self, document: Document) -> R | None:
        """Return the record of a document, or None where it cannot be used."""
        kind = self.kind
        if document.problem is not None:
            severity = document.severity
            consequence = document.consequence or (LEFT_OUT if severity == "error" else "passed over")
            self.issues.append(
                Issue(document.name, "$", document.rule, severity, "null", document.problem, consequence)
            )
            return None
        findings = Findings(document.name, self.strict)
        record: R | None
        # The errors of the first stage have copies of what they are about.
        old = may_be_deep = may_have_values(document.data, _MANY) or not any(key in document.data for key in self._keys)
        if not old:
            try:
                record = kind.model.model_validate_json(document.data, by_alias=True, by_name=False)
                old = kind.is_old(record)
            except ValidationError as error:
                old, may_be_deep = True, _is_syntax(error)
        if old:
            record = self._fixed(document, findings, may_be_deep)
        if record is not None:
            self.own += 1
            kind.check(record, findings)
        self.issues.extend(findings.issues)
        return record

    def _fixed(self, document: Document, findings: Findings, may_be_deep: bool) -> R | None:
        """Take a document through the second stage."""
        kind = self.kind
        try:
            if may_be_deep:
                check_json(document.data)
            parsed = _parse(document.data, findings)
            if not isinstance(parsed, dict) or not kind.reads(parsed):
                # What lies beside records by its nature, such as a file of scores, is no fault of the data.
                beside = isinstance(parsed, dict) and other_file(parsed) is not None
                severity: Severity = "note" if beside else "error"
                consequence = "passed over" if beside else LEFT_OUT
                findings.add("$", "not-a-record", severity, _outline(parsed), self._guess(parsed), consequence)
                return None
            parsed = kind.fix(parsed, "$", findings)
            record = kind.model.model_validate(parsed, by_alias=True, by_name=False)
        except json.JSONDecodeError as error:
            found = error.doc[error.pos : error.pos + 20] or None
            findings.add("$", "invalid-json", "error", found, _syntax(error), LEFT_OUT)
        except ValidationError as error:
            self.own += 1
            _report_invalid(error, findings)
        except (ValueError, OverflowError) as error:
            findings.add("$", "invalid-json", "error", None, str(error), LEFT_OUT)
        else:
            if not findings.issues.has_errors:
                return record
            self.own += 1
        return None

    def _guess(self, parsed: Any) -> str:
        """Say what a JSON document of another kind may be."""
        noun = _with_article(self.kind.noun)
        if isinstance(parsed, list):
            return _LIST.format(self.kind.noun)
        if isinstance(parsed, dict) and (known := other_file(parsed)) is not None:
            self.others[known] += 1
            return f"{known.noun}, not {noun}; {known.hint}"
        if isinstance(parsed, dict) and (other := kind_of_document(parsed)) is not None:
            self.others[other] += 1
            return f"not {noun}; is it {_with_article(other.noun)}, which {other.loader} reads?"
        return f"not {noun}: it has none of {', '.join(sorted(self.kind.keys))}"


def _is_syntax(error: ValidationError) -> bool:
    """Tell whether a document was refused for what is no JSON to pydantic, and not for its values."""
    if error.error_count() > 1:
        return False
    (detail,) = error.errors(include_url=False, include_context=False, include_input=False)
    return detail["type"] == "json_invalid"


def _syntax(error: json.JSONDecodeError) -> str:
    """Say where a document is not JSON."""
    if not error.doc.strip():
        return "the file is empty"
    place = f"line {error.lineno}, column {error.colno}" if "\n" in error.doc else f"column {error.colno}"
    at_end = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
    return f"not JSON at {place}: {error.msg}" + ("; is the file cut off?" if at_end else "")


_EXPECTED = {
    "missing": "the key is missing",
    "tuple_type": "expected a list",
    "dict_type": "expected an object",
    "model_type": "expected an object",
    "model_attributes_type": "expected an object",
    "string_type": "expected text",
    "int_type": "expected a whole number",
}


def _report_invalid(error: ValidationError, findings: Findings) -> None:
    """Report what cannot be mended; a value that was first read as null is reported as it was."""
    count = error.error_count()
    if count > _TOO_MANY_ERRORS:  # Each would take a kilobyte.
        findings.add(
            "$", "invalid-value", "error", None, f"{count:,} values are missing or of the wrong kind", LEFT_OUT
        )
        return
    details = error.errors(include_url=False)
    for detail in details[:_MOST_ERRORS]:
        path = "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"])
        message = _EXPECTED.get(detail["type"], detail["msg"])
        before = next(
            (issue for issue in findings.issues if issue.path == path and issue.rule == "unknown-value"), None
        )
        if before is None:
            value = None if detail["type"] == "missing" else detail["input"]
            findings.add(path, "invalid-value", "error", value, message, LEFT_OUT)
        else:
            after = replace(before, rule="invalid-value", severity="error", consequence=LEFT_OUT)
            findings.issues.replace(before, after)
    if count > _MOST_ERRORS:
        more = f"{count - _MOST_ERRORS} more values of this record are of the wrong kind"
        findings.add("$", "invalid-value", "error", None, more, LEFT_OUT)


def _parse(data: bytes, findings: Findings) -> Any:
    """Parse JSON leniently: any Unicode encoding, bytes and surrogates that are not text are replaced and reported."""
    encoding = json.detect_encoding(data)
    text = data.decode(encoding, "replace")
    if encoding != "utf-8":
        findings.add("$", "encoding", "note", encoding, "files are UTF-8 without a byte order mark", "decoded")
    elif text.count("\ufffd") > data.count("\ufffd".encode()):
        findings.add("$", "encoding", "warning", None, "bytes that are not UTF-8", "each replaced by U+FFFD")
    parsed = json.loads(text)
    if "\\ud" in text or "\\uD" in text:
        clean = without_surrogates(parsed)
        if clean != parsed:
            findings.add("$", "lone-surrogate", "warning", None, "half of a surrogate pair", "replaced by U+FFFD")
        return clean
    return parsed


def parse_object(data: bytes) -> dict[str, Any]:
    """Return the JSON object that a document is.

    Raises
    ------
    ValueError
        Where it is none; says at which place, or what it is.
    """
    check_json(data)
    try:
        parsed = _parse(data, Findings(""))
    except json.JSONDecodeError as error:
        raise ValueError(_syntax(error)) from None
    if isinstance(parsed, list):
        raise ValueError(_LIST.format("record"))
    if not isinstance(parsed, dict):
        raise ValueError(f"not an object but {shown(parsed)}")
    return parsed


def unpacked(document: Document, kind: Kind[Any, Any]) -> Iterator[Document]:
    """Yield the documents of the records that a document has; the document itself where it is one record, or none."""
    parts: Sequence[Any] | None = None
    if kind.unpack is not None and document.problem is None:
        with suppress(ValueError):  # Reading it says what is wrong.
            parts = kind.unpack(parse_object(document.data))
    if parts is None:
        yield document
        return
    size = 0
    for number, part in enumerate(parts, start=1):
        data = json.dumps(part).encode()
        size += len(data)
        if size > limits.RECORD_LIMIT:  # Parts may repeat what they share.
            problem = f"its {kind.plural} have together more than {limits.RECORD_LIMIT:,} bytes"
            yield Document(document.name, b"", f"{problem}; the others are not read")
            return
        yield Document(f"{document.name}:{number}", data)


def _outline(parsed: Any) -> Any:
    return list(parsed)[:8] if isinstance(parsed, dict) else parsed


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
