"""Issues: what loading noticed, the errors that contain them, and how they are shown."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from attune_data.text import Tone, columns_of_terminal, plain, plural, sanitize, toned, wrapped

if TYPE_CHECKING:
    import polars as pl

LEFT_OUT = "record left out"
"""What the library did about a record that cannot be used."""

Severity = Literal["error", "warning", "note"]

_VALUE_LENGTH = 80
_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that loading or scoring noticed.

    Attributes
    ----------
    file : str
        The file within the source; ``name:line`` for a line of JSONL.
    path : str
        JSON path of the place in it, ``$`` for the whole record.
    rule : str
        Name of the rule, stable across versions.
    severity : {"error", "warning", "note"}
        error: the record is left out; warning: a value was changed or contradicts another; note: nothing is lost.
    value : str
        The value found, as JSON, shortened.
    message : str
        What is wrong and the likely mistake.
    consequence : str
        What the library did about it.
    count : int
        How many findings this is: 1, or as many as were counted only, beyond the first 1,000 of a rule in a file.
    """

    file: str
    path: str
    rule: str
    severity: Severity
    value: str
    message: str
    consequence: str
    count: int = 1

    @property
    def found(self) -> str:
        """The value found, empty where nothing or null was."""
        return "" if self.value == "null" else self.value

    def __str__(self) -> str:
        value = f" (found {self.found})" if self.found else ""
        return sanitize(
            f"{self.severity}: {self.file} {self.path}: {self.message}{value}; {self.consequence} [{self.rule}]"
        )


class IssueLog:
    """Issues in the order in which they were noticed: of a rule in a file the first 1,000, then how many more.

    A file of millions of mistakes would else take the memory of all of them.
    """

    def __init__(self) -> None:
        self._kept: list[Issue] = []
        self._counts: Counter[tuple[str, str, Severity]] = Counter()

    def append(self, issue: Issue) -> None:
        """Keep an issue, or count it."""
        key = _key(issue)
        self._counts[key] += issue.count
        if self._counts[key] <= _KEPT:
            self._kept.append(issue)

    def extend(self, issues: Iterable[Issue]) -> None:
        """Append issues."""
        for issue in issues:
            self.append(issue)

    def replace(self, before: Issue, after: Issue) -> None:
        """Append an issue in the place of one that was kept."""
        self._kept.remove(before)
        self._counts[_key(before)] -= 1
        self.append(after)

    @property
    def has_errors(self) -> bool:
        """Whether a record had to be left out."""
        return any(severity == "error" for _, _, severity in self._counts)

    def __iter__(self) -> Iterator[Issue]:
        yield from self._kept
        for (file, rule, severity), count in self._counts.items():
            if count > _KEPT:
                message = f"{count - _KEPT:,} more of the rule {rule} in this file"
                yield Issue(file, "$", rule, severity, "null", message, "counted, not listed", count - _KEPT)


def _key(issue: Issue) -> tuple[str, str, Severity]:
    return file_of(issue.file), issue.rule, issue.severity


def file_of(name: str) -> str:
    """Return the file of a record's name: without the number of a line or row."""
    return re.sub(r"[: ]\d+$", "", name)


def count_severities(issues: Iterable[Issue]) -> Counter[str]:
    """Return how many findings have each severity."""
    counts: Counter[str] = Counter()
    for issue in issues:
        counts[issue.severity] += issue.count
    return counts


def shown(value: Any) -> str:
    """Return a value as short JSON for an issue: one line, no more than 80 characters."""
    if isinstance(value, str):  # It may be a whole file.
        value = value[:_VALUE_LENGTH]
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)[: _VALUE_LENGTH + 1]
    except (ValueError, RecursionError):
        text = repr(type(value))
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _VALUE_LENGTH else text[: _VALUE_LENGTH - 3] + "..."


def issues_frame(issues: Iterable[Issue]) -> "pl.DataFrame":
    """Return issues as a polars frame, one row each, the columns being the fields of `Issue`."""
    import polars as pl

    names = [field.name for field in fields(Issue)]
    rows = [astuple(issue) for issue in issues]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String) | {"count": pl.Int64}, orient="row")


class SourceError(ValueError):
    """A source that cannot be read at all: no such file, nothing in it, or not the kind that was asked for."""

    def __str__(self) -> str:
        return sanitize(super().__str__())


class PublishError(ValueError):
    """What cannot be published: its licence forbids it, or the repository cannot be written."""


class LoadError(ValueError):
    """Raised by ``on_error="raise"``: lists every issue of severity error.

    Attributes
    ----------
    issues : tuple of Issue
        Everything that was noticed, warnings and notes included.
    """

    def __init__(self, issues: Iterable[Issue]) -> None:
        self.issues: tuple[Issue, ...] = tuple(issues)
        errors = [str(issue) for issue in self.issues if issue.severity == "error"]
        count = count_severities(self.issues)["error"]
        super().__init__("\n".join([f"{plural(count, 'error')} while loading:", *errors]))


class Html(str):
    """Markup, as opposed to text, which `element` escapes."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str) -> Html:
    """Return an element: `Html` as it is, other text and the values of attributes escaped, line breaks kept.

    In the names of attributes ``_`` is ``-``, and one at the end is left out.

    Examples
    --------
    >>> print(element("td", "a < b", element("b", "c"), data_value='"', class_="text"))
    <td data-value="&quot;" class="text">a &lt; b<b>c</b></td>
    """
    inside = "".join(child if isinstance(child, Html) else escape(plain(child)) for child in children)
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(sanitize(value))}"' for key, value in attributes.items()
    )
    return Html(f"<{name}{given}>{inside}</{name}>")


def tag(name: str, *children: str, **attributes: str) -> Html:
    """Return an `element` that finds its own direction, so that right-to-left text turns nothing around it."""
    return element(name, *children, **attributes, dir="auto")


def details(summary: str, *children: str, **attributes: str) -> Html:
    """Return children that are hidden until the summary is clicked."""
    return tag("details", tag("summary", summary), *children, **attributes)


def table(rows: Iterable[Sequence[str]], *, head: Sequence[str] | None = None) -> Html:
    """Return a table; without a head the first cell of each row is its name."""
    if head is None:
        named = [tag("tr", tag("th", name), *(tag("td", cell) for cell in cells)) for name, *cells in rows]
        return tag("table", tag("tbody", *named), class_="names")
    top = tag("thead", tag("tr", *(tag("th", cell) for cell in head)))
    body = tag("tbody", *(tag("tr", *(tag("td", cell) for cell in row)) for row in rows))
    return tag("table", top, body, class_="rows")


@cache
def style() -> str:
    """Return the style of records and tables, all of it within the class ``attune``."""
    return files("attune_data").joinpath("style.css").read_text(encoding="utf-8")


def page(title: str, *children: str) -> str:
    """Return the whole of what a notebook shows for one object."""
    return f"<style>{style()}</style>{tag('div', tag('h4', title), *children, class_='attune notebook')}"


_SEVERITIES = ("error", "warning", "note")
_TONES: dict[str, Tone] = {"error": "error", "warning": "warning", "note": "note"}
_FIRST = 3
_MOST = 20


@dataclass(frozen=True, slots=True)
class _Rule:
    """The issues of one rule and severity, by message with consequence."""

    severity: str
    name: str
    issues: list[Issue]

    @property
    def heading(self) -> str:
        return f"{self.name}, {_count(self.issues)} in {plural(_files(self.issues), 'file')}"

    @property
    def messages(self) -> dict[str, list[Issue]]:
        found: dict[str, list[Issue]] = {}
        for issue in self.issues:
            found.setdefault(f"{issue.message}; {issue.consequence}", []).append(issue)
        return found


class IssueReport:
    """Issues by rule, errors first: printed as text, shown by a notebook as HTML.

    Parameters
    ----------
    issues : iterable of Issue
        What was noticed, for instance the ``found`` of a collection or a part of it.

    Examples
    --------
    >>> IssueReport([Issue("a.json", "$.turns", "no-turns", "warning", "[]", "the record has no turns", "kept")])
    1 warning in 1 file
    <BLANKLINE>
    warning  no-turns, 1 in 1 file
      the record has no turns; kept
        a.json  $.turns  []
    """

    def __init__(self, issues: Iterable[Issue]) -> None:
        found: dict[tuple[str, str], _Rule] = {}
        for issue in issues:
            rule = found.setdefault((issue.severity, issue.rule), _Rule(issue.severity, issue.rule, []))
            rule.issues.append(issue)
        order = {severity: place for place, severity in enumerate(_SEVERITIES)}
        self._rules = sorted(found.values(), key=lambda rule: order.get(rule.severity, len(order)))

    def text(self, *, every: bool = False, colours: bool = False) -> str:
        """Return the issues as text, a paragraph a rule: the first messages and places of each.

        Parameters
        ----------
        every : bool
            Whether to list all errors and warnings; of notes the first all the same.
        colours : bool
            Whether for a terminal that shows colours.
        """
        columns = columns_of_terminal()
        return "\n\n".join(
            _text(rule, columns, None if every and rule.severity != "note" else _FIRST, colours=colours)
            for rule in self._rules
        )

    def __repr__(self) -> str:
        return "\n\n".join(filter(None, [sanitize(_summary(self._rules)), self.text()]))

    def _repr_html_(self) -> str:
        return page(_summary(self._rules), *(_rule_html(rule) for rule in self._rules))


def _summary(rules: list[_Rule]) -> str:
    issues = [issue for rule in rules for issue in rule.issues]
    listed = [plural(count, severity) for severity, count in count_severities(issues).items()]
    return f"{', '.join(listed)} in {plural(_files(issues), 'file')}" if rules else "no issues"


def _count(issues: Iterable[Issue]) -> int:
    return sum(issue.count for issue in issues)


def _files(issues: Iterable[Issue]) -> int:
    return len({file_of(issue.file) for issue in issues})


def _place(issue: Issue) -> str:
    return "  ".join(filter(None, [issue.file, issue.path, issue.found]))


def _text(rule: _Rule, columns: int, most: int | None, *, colours: bool) -> str:
    """Return a rule with as many messages and as many places of each, or all."""
    found = [f"{rule.severity:<8} {rule.heading}"]
    messages = list(rule.messages.items())
    for message, issues in messages[:most]:
        found += [f"  {line}" for line in wrapped(message, columns - 2)]
        # A place is copied, so it stays on one line.
        found += [f"    {_place(issue)}" for issue in issues[:most]]
        if left := issues[len(issues[:most]) :]:
            found.append(f"    ... and {_count(left)} more")
    if left := [issue for _, issues in messages[len(messages[:most]) :] for issue in issues]:
        found.append(f"  ... and {_count(left)} more of the rule {rule.name}")
    heading, *others = map(sanitize, found)
    severity, blank, rest = heading.partition(" ")
    tone = _TONES.get(severity, "") if colours else ""
    return "\n".join([f"{toned(severity, tone)}{blank}{rest}", *others])


def _rule_html(rule: _Rule) -> Html:
    messages = [_message_html(message, issues) for message, issues in rule.messages.items()]
    heading = tag("div", tag("b", rule.severity), Html(" "), rule.heading)
    kind = rule.severity if rule.severity in _SEVERITIES else "note"
    return tag("div", heading, *_opened(messages, "message"), class_=f"edge {kind}")


def _message_html(message: str, issues: list[Issue]) -> Html:
    places = [tag("div", _place(issue), class_="quiet") for issue in issues]
    return tag("div", tag("p", message), *_opened(places, "place"))


def _opened(parts: list[Html], noun: str) -> list[Html]:
    """Return the first parts, then the others to be clicked open, up to a number that a notebook can show."""
    others = parts[_FIRST:]
    shown = others[:_MOST]
    left = [tag("div", f"and {len(others) - _MOST} more", class_="quiet")] if len(others) > _MOST else []
    return [*parts[:_FIRST], *([details(f"{plural(len(others), noun)} more", *shown, *left)] if others else [])]
