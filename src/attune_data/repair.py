"""The second stage of loading: functions that each mend one kind of JSON value, and the collector of issues.

A `Fix` takes a parsed value, its JSON path and an `IssueCollector`; it returns the value in current form and reports
every change. A value that it cannot mend it returns unchanged, and the validation by the model names the value.

`fix_of` makes the fix of a model: a choice is read in any letter case, a number from its text, a text from a number, a
list from its only item. A number out of range costs the record.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

from attune_data.issues import Issue, IssueLog, Severity, shown
from attune_data.record import LARGEST, Record

_NUMBER = re.compile(r"[+-]?(\d{1,300}(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass
class IssueCollector:
    """Where one record comes from and what was noticed about it."""

    file: str
    strict: bool = False
    issues: IssueLog = field(default_factory=IssueLog)

    def add(self, path: str, rule: str, severity: Severity, value: Any, message: str, consequence: str) -> None:
        """Add an issue at a JSON path."""
        self.issues.append(Issue(self.file, path, rule, severity, shown(value), message, consequence))

    def unknown(self, path: str, value: Any, expected: str, consequence: str = "read as null") -> None:
        """Add the issue of a value that is none of those expected."""
        self.add(path, "unknown-value", "warning", value, f"expected {expected}", consequence)


Fix = Callable[[Any, str, IssueCollector], Any]


def number(low: int | None = None, high: int | None = None, *, whole: bool = True, clamps_always: bool = False) -> Fix:
    """Fix a number: text is parsed, a fraction rounded where an integer belongs, the range enforced."""

    def fix(value: Any, path: str, findings: IssueCollector) -> Any:
        found = _from_text(value, path, findings)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int | float):
            return findings.unknown(path, value, "a number")
        if (isinstance(found, float) and math.isnan(found)) or (low is None and abs(found) > LARGEST):
            return findings.unknown(path, value, "a number of ordinary size")
        if whole and isinstance(found, float) and math.isfinite(found):
            severity: Severity = "note" if found.is_integer() else "warning"
            findings.add(path, "fraction", severity, value, "an integer belongs here", f"rounded to {round(found)}")
            found = round(found)
        clamped = min(max(found, low), high) if low is not None and high is not None else found
        if clamped != found:
            rejected = findings.strict and not clamps_always
            findings.add(
                path,
                "out-of-range",
                "error" if rejected else "warning",
                value,
                f"outside {low}-{high}; is this another scale?",
                "record left out" if rejected else f"clamped to {clamped}",
            )
        return clamped

    return fix


def _from_text(value: Any, path: str, findings: IssueCollector) -> Any:
    """Return the number that a text is the writing of; anything else as it is."""
    if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()):
        return value
    written = value.strip()
    found = int(written) if written.lstrip("+-").isdigit() else float(written)
    findings.add(path, "number-as-text", "note", value, "a number written as text", f"read as {found}")
    return found


def scored(low: int, high: int) -> Fix:
    """Fix a number that is scored: out of range it costs the record, and it is never rounded."""
    fix_number = number(low, high)

    def fix(value: Any, path: str, findings: IssueCollector) -> Any:
        """Fix a value, or leave it to be refused."""
        value = _from_text(value, path, findings)
        if isinstance(value, float) and not value.is_integer():
            return value
        return fix_number(value, path, IssueCollector(findings.file, strict=True, issues=findings.issues))

    return fix


def closed(accepted: Mapping[str, str], expected: str, default: str | None = None) -> Fix:
    """Fix a value of a closed set; text outside it is null, or `default` where there is one."""

    def fix(value: Any, path: str, findings: IssueCollector) -> Any:
        if value is None and default is None:
            return None
        key = str(value).strip().lower() if isinstance(value, str | bool | int) else ""
        if key in accepted:
            if accepted[key] != value:
                consequence = f"read as {accepted[key]}"
                findings.add(path, "old-spelling", "note", value, f"current spelling is {accepted[key]!r}", consequence)
            return accepted[key]
        findings.unknown(path, value, expected, "read as null" if default is None else f"read as {default}")
        return default

    return fix


def text(value: Any, path: str, findings: IssueCollector) -> Any:
    """Fix a text: a number is written out; any other value, infinity and nan become null."""
    if _is_number(value):
        findings.add(path, "number-where-text", "note", value, "text belongs here", f"read as {str(value)[:40]!r}")
        return str(value)[:400]
    return value if value is None or isinstance(value, str) else findings.unknown(path, value, "text")


def texts(value: Any, path: str, findings: IssueCollector) -> Any:
    """Fix a list of texts: a bare string is a list of one, an item that is not text is left out."""
    if isinstance(value, str) or _is_number(value):
        findings.add(path, "bare-string", "note", value, "a list belongs here", "read as a list of one")
        value = [value]
    if not isinstance(value, list):
        return value if value is None else findings.unknown(path, value, "a list of texts")
    kept = []
    for index, item in enumerate(value):
        if isinstance(item, str) or _is_number(item):
            kept.append(text(item, f"{path}[{index}]", findings))
        else:
            findings.unknown(f"{path}[{index}]", item, "text", "item left out")
    return kept


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf


def each(fix: Fix, required: str | None = None, *, needed: bool = False) -> Fix:
    """Fix every item of a list; an item without a text under the key `required` is left out.

    Any other value is null, or stays as it is where the list is `needed`.
    """

    def fix_all(value: Any, path: str, findings: IssueCollector) -> Any:
        if needed and not isinstance(value, list):
            return value
        if isinstance(value, str) and value.strip():
            findings.add(path, "bare-string", "note", value, "a list belongs here", "read as a list of one")
            value = [value]
        if not isinstance(value, list):
            return value if value is None else findings.unknown(path, value, "a list")
        kept = []
        for index, item in enumerate(value):
            item_path = f"{path}[{index}]"
            readable = required is None or isinstance(item, dict | str)
            fixed = fix(item, item_path, findings) if readable else None
            if required is None or (isinstance(fixed, dict) and isinstance(fixed.get(required), str)):
                kept.append(fixed)
            else:
                findings.unknown(item_path, item, f"an object with a text {required!r}", "item left out")
        return kept

    return fix_all


def values(fix: Fix) -> Fix:
    """Fix every value of an object that has data as keys; any other value is null."""

    def fix_all(value: Any, path: str, findings: IssueCollector) -> Any:
        if not isinstance(value, dict):
            return value if value is None else findings.unknown(path, value, "an object")
        return {key: fix(item, f"{path}.{key}", findings) for key, item in value.items()}

    return fix_all


def keep(value: Any, path: str, findings: IssueCollector) -> Any:  # noqa: ARG001 - a Fix like the others
    """Leave a value that nothing reads as it is."""
    return value


def rename(value: dict[str, Any], renames: Mapping[str, str], path: str, findings: IssueCollector) -> dict[str, Any]:
    """Rename keys; of two spellings of one key the current one wins, then the one named first in `renames`."""
    renamed = {key: item for key, item in value.items() if renames.get(key, key) == key}
    for old, current in renames.items():
        if old == current or old not in value:
            continue
        message = f"current spelling is {current!r}"
        if current in renamed:
            consequence = f"ignored, {current!r} is there too"
            findings.add(f"{path}.{old}", "two-spellings", "warning", value[old], message, consequence)
        else:
            renamed[current] = value[old]
            findings.add(f"{path}.{old}", "old-spelling", "note", old, message, f"read as {current!r}")
    return renamed


def record(fixes: Mapping[str, Fix], renames: Mapping[str, str] | None = None) -> Fix:
    """Fix an object: rename its keys, then fix their values; any other value is null."""

    def fix(value: Any, path: str, findings: IssueCollector) -> Any:
        if not isinstance(value, dict):
            return value if value is None else findings.unknown(path, value, "an object")
        renamed = rename(value, renames, path, findings) if renames else value
        return {key: fixes.get(key, keep)(item, f"{path}.{key}", findings) for key, item in renamed.items()}

    return fix


Special = Mapping[type[Record], Mapping[str, Fix]]


def fix_of(model: type[Record], special: Special | None = None) -> Fix:
    """Return the fix of the documents of a model.

    `special` has, by model and key of the file, the fixes of fields that are not mended by their type alone.

    Examples
    --------
    >>> from attune_data.repair import IssueCollector
    >>> class Note(Record):
    ...     id: str
    ...     tone: Literal["kind", "harsh"]
    >>> fix_of(Note)({"id": 3, "tone": "Kind"}, "$", IssueCollector("notes.jsonl"))
    {'id': '3', 'tone': 'kind'}
    """
    given = special or {}
    fields = {info.alias or name: info for name, info in model.model_fields.items()}
    fixes = {key: _fix(info.annotation, info.metadata, given) for key, info in fields.items()}
    return record(fixes | dict(given.get(model, {})))


def _fix(annotation: Any, metadata: Any, special: Special) -> Fix:
    marks = [mark for item in metadata for mark in (item.metadata if isinstance(item, FieldInfo) else [item])]
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        return _fix(inner, [*more, *marks], special)
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        if {get_args(kind)[0] if get_origin(kind) is Annotated else kind for kind in kinds} == {int, float}:
            return number(whole=False)
        return _fix(kinds[0], marks, special) if len(kinds) == 1 else keep
    return _of_type(annotation, marks, special)


def _of_type(annotation: Any, marks: list[Any], special: Special) -> Fix:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        # Where letter case alone tells two choices apart, each is read as it is written.
        accepted = {choice.lower(): choice for choice in inner if isinstance(choice, str)}
        return closed(accepted, " or ".join(inner)) if len(accepted) == len(inner) else keep
    if origin is tuple:
        return texts if inner[0] is str else each(_fix(inner[0], (), special), needed=True)
    if origin is dict:
        return values(_fix(inner[1], (), special))
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return fix_of(annotation, special)
    if annotation in (int, float):
        low: Any = next((mark.ge for mark in marks if isinstance(mark, Ge)), None)
        high: Any = next((mark.le for mark in marks if isinstance(mark, Le)), None)
        is_bounded = annotation is int and None not in (low, high) and high != LARGEST
        return scored(low, high) if is_bounded else number(whole=annotation is int)
    return text if annotation is str else keep


def check_change(step: tuple[int | None, int | None, int | None], path: str, findings: IssueCollector) -> None:
    """Report a recorded change that does not lead from the state before to the one after, within 0-100."""
    before, delta, after = step
    if before is None or delta is None or after is None:
        return
    if min(max(before + delta, 0), 100) != after:
        message = f"the state went from {before} to {after}"
        findings.add(path, "state-change", "warning", delta, message, "kept; the states count")
