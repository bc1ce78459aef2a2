"""Loading: the bytes of each record become a checked record, and every finding becomes an issue.

A record is first validated straight from its bytes, which accepts current spelling only. What does not validate, or
has an older key, goes through the second stage: it is parsed leniently, brought into current form (every change an
issue) and validated again.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Generic, Literal, TypeVar, overload

from pydantic import ValidationError

from attune_data.collection import Collection, ForeignFile, Kind, Place
from attune_data.io import documents as limits
from attune_data.io.documents import FILES, VALUES_LIMIT, Budget, Choice, Document, check_json, may_have_values, reason
from attune_data.io.pieces import pieces
from attune_data.io.sources import Source, documents, is_dataset, source_text
from attune_data.issues import LEFT_OUT, Issue, IssueLog, LoadError, Severity, SourceError, file_of, shown
from attune_data.kinds import all_kinds, kind_of_document, other_file
from attune_data.record import Record, gc_paused
from attune_data.repair import IssueCollector
from attune_data.text import plural, without_surrogates

R = TypeVar("R", bound=Record)

_MOST_ERRORS = 20
_TOO_MANY_ERRORS = 10_000
_MANY = VALUES_LIMIT // 4
_LIST = "a list; expected one {} a file, or one a line in a .jsonl file"


@dataclass
class Reader(Generic[R]):
    """Reads the documents of one kind of record, and notes every finding and every other document.

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
    others: Counter[Kind[Any, Any] | ForeignFile] = field(default_factory=Counter)
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
        findings = IssueCollector(document.name, self.strict)
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

    def _fixed(self, document: Document, findings: IssueCollector, may_be_deep: bool) -> R | None:
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
                outline = list(parsed)[:8] if isinstance(parsed, dict) else parsed
                findings.add("$", "not-a-record", severity, outline, self._guess(parsed), consequence)
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
    """Tell whether pydantic refused a document because it is no JSON, not because of its values."""
    if error.error_count() > 1:
        return False
    (detail,) = error.errors(include_url=False, include_context=False, include_input=False)
    return detail["type"] == "json_invalid"


def _syntax(error: json.JSONDecodeError) -> str:
    """Say where a document is not JSON."""
    if not error.doc.strip():
        return "the file is empty"
    if (comma := _trailing_comma(error.doc, error.pos)) is not None:
        line, column = error.doc.count("\n", 0, comma) + 1, comma - error.doc.rfind("\n", 0, comma)
        place = f"line {line}, column {column}" if "\n" in error.doc else f"column {column}"
        return f"not JSON at {place}: remove the comma before {error.doc[comma + 1 :].lstrip()[0]}"
    place = f"line {error.lineno}, column {error.colno}" if "\n" in error.doc else f"column {error.colno}"
    at_end = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
    return f"not JSON at {place}: {error.msg}" + ("; is the file cut off?" if at_end else "")


def _trailing_comma(text: str, place: int) -> int | None:
    """Return where the comma is that a closing bracket follows, None where this is not the mistake at a place.

    Versions of Python name the comma or the bracket.

    Examples
    --------
    >>> _trailing_comma("[1, 2, ]", 7), _trailing_comma("[1, 2, ]", 5), _trailing_comma("[1 2]", 3)
    (5, 5, None)
    """
    before = text[:place].rstrip()
    comma = place if text[place : place + 1] == "," else len(before) - 1
    follows = text[comma + 1 :].lstrip()[:1]
    return comma if text[comma : comma + 1] == "," and follows in ("]", "}") else None


_EXPECTED = {
    "missing": "the key is missing",
    "tuple_type": "expected a list",
    "dict_type": "expected an object",
    "model_type": "expected an object",
    "model_attributes_type": "expected an object",
    "string_type": "expected text",
    "int_type": "expected a whole number",
}


def _report_invalid(error: ValidationError, findings: IssueCollector) -> None:
    """Report the errors that cannot be mended; a value that was first read as null is reported as it was."""
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


def _parse(data: bytes, findings: IssueCollector) -> Any:
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
        parsed = _parse(data, IssueCollector(""))
    except json.JSONDecodeError as error:
        raise ValueError(_syntax(error)) from None
    if isinstance(parsed, list):
        raise ValueError(_LIST.format("record"))
    if not isinstance(parsed, dict):
        raise ValueError(f"not an object but {shown(parsed)}")
    return parsed


def unpacked(document: Document, kind: Kind[Any, Any]) -> Iterator[Document]:
    """Yield the documents of the records that a document has; the document itself where it is one record, or none."""
    if kind.unpack is not None and document.path is not None:
        yield from _of_large_file(document, document.path, kind.unpack)
        return
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


def _first_piece(document: Document) -> dict[str, Any] | None:
    """Return the first piece of a file that is too large for one record, None of any other document."""
    with suppress(OSError, EOFError, ValueError):
        return None if document.path is None else next(pieces(document.path))
    return None


def _of_large_file(
    document: Document, path: Path, unpack: Callable[[Mapping[str, Any]], Sequence[Any] | None]
) -> Iterator[Document]:
    """Yield the documents of the records of a file that is too large for one record; `document` says that it is."""
    number, budget = 0, Budget()
    try:
        for piece in pieces(path):
            parts = unpack(piece)
            if parts is None and not number:
                yield document
                return
            for part in parts or ():
                number += 1
                budget.count_record()
                yield Document(f"{document.name}:{number}", json.dumps(part).encode())
    except (OSError, EOFError, ValueError) as error:
        after = f" after {plural(number, 'record')}" if number else ""
        yield Document(document.name, b"", f"the file cannot be read{after}: {reason(error)}")


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


C = TypeVar("C")

OnError = Literal["report", "raise"]
Progress = Callable[[int], object] | None
Keep = Callable[[R, Document], bool]

_FEW = 20


@overload
def load_records(
    source: Source, kind: None = None, *, on_error: OnError = "report", progress: Progress = None
) -> Collection[Any]: ...
@overload
def load_records(source: Source, kind: Kind[R, C], *, on_error: OnError = "report", progress: Progress = None) -> C: ...
def load_records(
    source: Source, kind: Kind[Any, Any] | None = None, *, on_error: OnError = "report", progress: Progress = None
) -> Any:
    """Load records of any kind.

    Parameters
    ----------
    source : str, path-like or datasets.Dataset
        ``"demo"``, a ``.json`` or ``.json.gz`` file, a ``.jsonl`` or ``.jsonl.gz`` file, a ``.parquet`` file with
        a column ``record``, a folder (read recursively, in name order; also one that ``to_parquet`` wrote), a
        ``.zip``, ``.tar``, ``.tar.gz`` or ``.tgz`` archive, read as a folder,
        ``hf://owner/name[@revision][/path]``, a data set on the Hugging Face Hub, read as a folder (``HF_TOKEN``,
        ``HF_ENDPOINT``, ``HF_HOME`` and ``HF_HUB_OFFLINE`` are honoured), or a ``datasets.Dataset`` with one record a
        row, as JSON text in a column ``record`` or as its columns; a null in a column counts as absent.
    kind : Kind, optional
        The kind of the records, one of `attune_data.kinds.KINDS` or your own; by default it is recognised from the
        first documents, see `recognise`.
    on_error : {"report", "raise"}
        ``"report"`` leaves a bad record out and lists it in ``.issues``; ``"raise"`` raises one error that lists all of
        it.
    progress : callable, optional
        Called with the number of records read so far.

    Returns
    -------
    Collection
        The good records, in the collection of their kind: `Conversations`, `Runs`, `Scenarios`, `Episodes`,
        `Dialogues`. ``.issues`` says what was wrong, changed or contradictory.

    Raises
    ------
    SourceError
        Where the source does not exist, cannot be reached or has nothing to read; where all its records are of another
        kind, with the loader of that kind.
    LoadError
        With ``on_error="raise"``, where any record had to be left out.
    ValueError
        Where `on_error` is neither choice.

    Examples
    --------
    >>> from attune_data.kinds import SCENARIO
    >>> load_records("demo")
    <Collection of 40 conversations, 24 participants, no issues>
    >>> load_records("demo", SCENARIO)
    <Collection of 16 scenarios (4 support, 4 defense, 4 repair, 4 charm), no issues>
    """
    if not is_dataset(source):
        source_text(source)
    chosen = recognise(source) if kind is None else _checked_kind(kind)
    return load_chosen(source, chosen, on_error=on_error, progress=progress)


def kinds_meant(given: object) -> list[Kind[Any, Any]]:
    """Return the kinds that a name, a class or a benchmark in the place of a kind is likely to mean.

    Examples
    --------
    >>> kinds_meant("emobench"), kinds_meant("Runs"), kinds_meant(3)
    ([<Kind item>, <Kind prediction>], [<Kind run>], [])
    """
    word = str(getattr(given, "__name__", getattr(given, "name", given))).lower()
    words: dict[str, list[Kind[Any, Any]]] = {}
    for kind in all_kinds():
        named = (kind.noun, kind.plural, kind.model.__name__, kind.collection.__name__, kind.tables.__name__, kind.docs)
        for name in {one.removesuffix(".md").lower() for one in named if one}:
            words.setdefault(name, []).append(kind)
    return [kind for name in get_close_matches(word, words, n=1) for kind in words[name]]


def _checked_kind(kind: object) -> Kind[Any, Any]:
    if isinstance(kind, Kind):
        return kind
    given = shown(kind) if isinstance(kind, str) else f"of type {type(kind).__name__}"
    names = [f"attune_data.kinds.{one.noun.upper()}" for one in kinds_meant(kind) or all_kinds()]
    raise TypeError(f"the kind is {given}; expected a Kind: {' or '.join(names)}")


def recognise(source: Source, kinds: Sequence[Kind[Any, Any]] | None = None) -> Kind[Any, Any]:
    """Tell of what kind the records of a source are, from its first documents.

    Parameters
    ----------
    source : str, path-like or datasets.Dataset
        As for `load_records`. Several kinds have demonstration data; ``"demo"`` stands for the first of `kinds` here.
    kinds : sequence of Kind, optional
        The kinds to choose from; by default all kinds of the library and of installed packages.

    Returns
    -------
    Kind
        The kind of the first document that is a record.

    Raises
    ------
    SourceError
        Where the source cannot be read, or none of its first 20 documents is a record of one of the kinds.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from attune_data import load_scenarios
    >>> with TemporaryDirectory() as folder:
    ...     load_scenarios("demo").to_parquet(Path(folder, "written"))
    ...     recognise(Path(folder, "written"))
    <Kind scenario>
    """
    given = [*all_kinds()] if kinds is None else kinds if isinstance(kinds, list | tuple) else [kinds]
    kinds = [_checked_kind(kind) for kind in given]
    if not is_dataset(source) and source_text(source) == "demo" == source:
        return kinds[0]
    prefer = tuple(kind.prefer for kind in kinds if kind.prefer)
    columns = [kind.columns for kind in kinds]
    found = documents(source, lambda names: names[:_FEW], prefer=prefer, columns=columns)
    other: ForeignFile | None = None
    problem = passed_over = ""
    for document in islice(found, _FEW):
        parsed = _first_piece(document)
        if document.problem is not None and (parsed is None or kind_of_document(parsed, kinds) is None):
            problem = problem or document.problem * (document.severity == "error")
            passed_over = passed_over or f"; {document.problem}" * (document.severity == "note")
            continue
        try:
            parsed = parse_object(document.data) if parsed is None else parsed
        except ValueError as error:
            problem = problem or f"{document.name}: {error}"
            continue
        if (kind := kind_of_document(parsed, kinds)) is not None:
            return kind
        other = other or other_file(parsed)
    known = ", ".join(kind.plural for kind in kinds)
    why = f"it is {other.noun}; {other.hint}" if other else problem or f"none of {known} is among its records"
    raise SourceError(f"{source_name(source)} is of no known kind: {why}{passed_over}")


def load_chosen(
    source: Source,
    kind: Kind[R, C],
    *,
    choose: Choice | None = None,
    keep: Keep[R] | None = None,
    issues: IssueLog | None = None,
    on_error: OnError = "report",
    progress: Progress = None,
) -> C:
    """Load records of a kind: `load_records` with a choice among files and records.

    Parameters
    ----------
    source, kind, on_error, progress
        As for `load_records`.
    choose : callable, optional
        Picks among the names of a folder's files before any is read.
    keep : callable, optional
        Tells of a record and its document whether it is wanted.
    issues : IssueLog, optional
        Where findings are added, also by `choose` and `keep`.
    """
    if on_error not in ("report", "raise"):
        raise ValueError(f"on_error is {on_error!r}; expected 'report' or 'raise'")
    reader = Reader(kind, IssueLog() if issues is None else issues, on_error == "raise")
    found = (
        (record, document.name)
        for record, document in records_of(source, reader, choose=choose, progress=progress)
        if keep is None or keep(record, document)
    )
    return collect(source, kind, found, reader.issues, on_error=on_error)


def collect(
    source: Source, kind: Kind[R, C], found: Iterable[tuple[R, str]], issues: IssueLog, *, on_error: OnError = "report"
) -> C:
    """Return the collection of the records of a source, one record for each key, with all issues.

    Parameters
    ----------
    source, kind, on_error
        As for `load_records`.
    found : iterable of (Record, str)
        Every good record with the name of its document, in the order of the source.
    issues : IssueLog
        What was noticed while they were read, by the time that the last one is; findings are added.
    """
    kept: dict[object, tuple[Any, str]] = {}
    with gc_paused() as scan_new:
        for pair in found:
            scan_new()
            first = kept.setdefault(kind.key(pair[0]), pair)
            if first is not pair:
                duplicate = kind.duplicate(first[0], pair[0])
                counts, other = (pair, first) if duplicate.second_counts else (first, pair)
                issues.append(kind.left_out(duplicate, other[0], other[1], counts[1]))
                kept[kind.key(pair[0])] = counts
        records = [record for record, _ in kept.values()]
        if kind.check_all is not None:
            findings = IssueCollector(source_name(source))
            kind.check_all(records, len({file_of(name) for _, name in kept.values()}), findings)
            issues.extend(findings.issues)
        if on_error == "raise" and issues.has_errors:
            raise LoadError(issues)
        return kind.collection(records, [*issues], files={record.id: name for record, name in kept.values()})


def records_of(
    source: Source, reader: Reader[R], *, choose: Choice | None = None, progress: Progress = None
) -> Iterator[tuple[R, Document]]:
    """Yield every good record of a source with its document, repeated ones too; findings go to the reader.

    Raises
    ------
    SourceError
        At the end, where all that the source has is of another kind.
    """
    kind = reader.kind
    for count, document in enumerate(documents_of(source, kind, choose), start=1):
        record = reader.read(document)
        if progress:
            progress(count)
        if record is not None:
            yield record if kind.place is None else kind.place(record, _place(source, document)), document
    if not reader.own and reader.others:
        raise SourceError(_of_another_kind(source, reader))


def documents_of(source: Source, kind: Kind[Any, Any], choose: Choice | None = None) -> Iterator[Document]:
    """Return the documents of a source that may have records of a kind, each of one record."""
    prefer = (kind.prefer,) if kind.prefer else ()
    found = documents(source, choose, prefer=prefer, demo=kind.demo, columns=[kind.columns])
    return (one for document in found for one in unpacked(document, kind))


def _of_another_kind(source: Source, reader: Reader[Any]) -> str:
    """Return a sentence about a source of another kind: its records, and their loader."""
    counted, readers = [], []
    for other, count in reader.others.most_common():
        if isinstance(other, Kind):
            counted.append(plural(count, other.noun, other.plural))
            readers.append(f"{other.loader} reads {other.plural}")
        else:
            counted.append(other.noun if count == 1 else f"{count} times {other.noun}")
            readers.append(other.hint)
    return f"{source_name(source)} contains {' and '.join(counted)} and no {reader.kind.noun}; {', '.join(readers)}"


def source_name(source: Source) -> str:
    """Return what messages and issues call a source."""
    return "the Dataset" if is_dataset(source) else os.fspath(source)


def _place(source: Source, document: Document) -> Place | None:
    """Return where a record's file is; its folder may be known by the source only."""
    if is_dataset(source):
        return None
    file = PurePosixPath(file_of(document.name))
    if len(file.parts) > 1:
        return Place(file, file.parts[-2])
    path = PurePosixPath(os.fspath(source).replace(os.sep, "/"))
    return Place(file, path.parent.name if path.name.lower().endswith(FILES) else path.name)
