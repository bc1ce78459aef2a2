"""The report of issues shows whole messages by rule; their frame is a plain one of polars."""

import re

import polars as pl
import pytest
from terminals import show_on_terminal

from attune_data import Conversations, Issue, IssueReport
from attune_data.issues import issues_frame

LONG = "this message is longer than the 32 characters that polars shows of a text by default"
COLUMNS = ["file", "path", "rule", "severity", "value", "message", "consequence", "count"]


def _note(number: int, message: str = "is text") -> Issue:
    return Issue(f"{number}.json", "$.n", "number-as-text", "note", f'"{number}"', message, "read as a number")


FOUND = [
    *(_note(number) for number in range(1, 6)),
    Issue("1.json", "$.x", "odd", "warning", "[1]", LONG, "kept"),
    Issue("2.json", "$", "invalid-json", "error", "null", "no JSON", "record left out"),
]

# Laid out by hand at 60 columns: errors first, three places of a message, messages wrapped, places whole.
TEXT = """\
1 error, 1 warning, 5 notes in 5 files

error    invalid-json, 1 in 1 file
  no JSON; record left out
    2.json  $

warning  odd, 1 in 1 file
  this message is longer than the 32 characters that polars
  shows of a text by default; kept
    1.json  $.x  [1]

note     number-as-text, 5 in 5 files
  is text; read as a number
    1.json  $.n  "1"
    2.json  $.n  "2"
    3.json  $.n  "3"
    ... and 2 more"""


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    show_on_terminal(monkeypatch, 60)


@pytest.fixture
def report() -> IssueReport:
    """Return the report of seven issues of three rules."""
    return Conversations((), FOUND).issue_report()


def test_terminal(report: IssueReport) -> None:
    assert repr(report) == str(report) == TEXT


def test_notebook(report: IssueReport) -> None:
    page = report._repr_html_()
    for text in ("1 error, 1 warning, 5 notes in 5 files", LONG, "invalid-json, 1 in 1 file", "2 places more"):
        assert text in page
    for issue in FOUND:
        assert issue.file in page


def test_many_messages_of_a_rule() -> None:
    report = IssueReport(_note(number, f"message {number}") for number in range(1, 101))
    assert repr(report).endswith("\n  ... and 97 more of the rule number-as-text")
    page = report._repr_html_()
    # 3 at once, 20 to be clicked open, and how many are left.
    assert len(set(re.findall(r"message \d+", page))) == 23
    assert "97 messages more" in page
    assert "and 77 more" in page


def test_every_error_and_warning_but_not_every_note() -> None:
    many = [Issue(f"{number}.json", "$", "odd", "warning", "null", LONG, "kept") for number in range(1, 6)]
    assert (
        IssueReport([*many, *FOUND[:5]]).text(every=True)
        == """\
warning  odd, 5 in 5 files
  this message is longer than the 32 characters that polars
  shows of a text by default; kept
    1.json  $
    2.json  $
    3.json  $
    4.json  $
    5.json  $

"""
        + "\n".join(TEXT.splitlines()[-6:])
    )
    different = [Issue("1.json", "$", "odd", "error", "null", f"message {number}", "kept") for number in range(1, 10)]
    assert IssueReport(different).text(every=True).count("message") == 9
    assert "and 6 more of the rule odd" in IssueReport(different).text()


@pytest.mark.parametrize(("value", "shown"), [("null", ""), ('"null"', ' (found "null")'), ("0", " (found 0)")])
def test_an_issue_shows_what_was_found_where_anything_was(value: str, shown: str) -> None:
    issue = Issue("a.json", "$.n", "odd", "error", value, "the key is missing", "left out")
    assert str(issue) == f"error: a.json $.n: the key is missing{shown}; left out [odd]"


def test_no_issues() -> None:
    report = IssueReport([])
    assert (repr(report), report.text()) == ("no issues", "")
    assert "no issues" in report._repr_html_()


def test_a_part_of_the_issues() -> None:
    expected = "1 error in 1 file\n\nerror    invalid-json, 1 in 1 file\n  no JSON; record left out\n    2.json  $"
    assert repr(IssueReport(issue for issue in FOUND if issue.severity == "error")) == expected
    assert repr(IssueReport(FOUND[4:5])).startswith("1 note in 1 file")


def test_tables_report_alike(report: IssueReport) -> None:
    assert repr(Conversations((), FOUND).tables.issue_report()) == repr(report)


def test_the_frame_of_issues_is_one_of_polars() -> None:
    frame = Conversations((), FOUND).issues
    assert type(frame) is pl.DataFrame
    assert frame.schema == dict.fromkeys(COLUMNS, pl.String) | {"count": pl.Int64}
    assert frame.rows() == [tuple(getattr(issue, name) for name in COLUMNS) for issue in FOUND]
    assert issues_frame([]).schema == frame.schema


def test_texts_are_data() -> None:
    evil = "<img src=x onerror=alert(1)>\x1b[31m\u202e{0}%s"
    severity: str = evil
    report = IssueReport([Issue(evil, evil, evil, severity, evil, f"a\n{evil}", evil)])  # type: ignore[arg-type]
    assert all(character.isprintable() or character == "\n" for character in repr(report))
    page = report._repr_html_()
    assert "<img" not in page
    assert page.count("onerror") >= 6
    assert "\x1b" not in page
    assert "{0}%s" in repr(report)
