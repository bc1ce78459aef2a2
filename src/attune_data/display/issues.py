"""What was noticed, as whole messages by rule, in a terminal and a notebook."""

from collections.abc import Iterable
from dataclasses import dataclass

from attune_data.display.html import Html, details, page, tag
from attune_data.issues import Issue, count_severities, file_of
from attune_data.text import Tone, columns_of_terminal, plural, printable, toned, wrapped

__all__ = ["IssueReport"]

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
        return "\n\n".join(filter(None, [printable(_summary(self._rules)), self.text()]))

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
    heading, *others = map(printable, found)
    severity, blank, rest = heading.partition(" ")
    tone = _TONES.get(severity, "") if colours else ""
    return "\n".join([f"{toned(severity, tone)}{blank}{rest}", *others])


def _rule_html(rule: _Rule) -> Html:
    messages = [_message_html(message, issues) for message, issues in rule.messages.items()]
    heading = tag("div", tag("b", rule.severity), Html(" "), rule.heading)
    kind = rule.severity if rule.severity in _SEVERITIES else "note"
    return tag("div", heading, *_opened(messages, "message"), kind=f"edge {kind}")


def _message_html(message: str, issues: list[Issue]) -> Html:
    places = [tag("div", _place(issue), kind="quiet") for issue in issues]
    return tag("div", tag("p", message), *_opened(places, "place"))


def _opened(parts: list[Html], noun: str) -> list[Html]:
    """Return the first parts, then the others to be clicked open, up to a number that a notebook can show."""
    others = parts[_FIRST:]
    shown = others[:_MOST]
    left = [tag("div", f"and {len(others) - _MOST} more", kind="quiet")] if len(others) > _MOST else []
    return [*parts[:_FIRST], *([details(f"{plural(len(others), noun)} more", *shown, *left)] if others else [])]
