"""The frame of issues is a polars frame in every operation, and shows whole messages by rule."""

import copy
import pickle
import re
from collections.abc import Callable

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from attune_data import Collection, Conversation, Issue
from attune_data.issues import issues_frame

Operation = Callable[[pl.DataFrame], pl.DataFrame]

LONG = "this message is longer than the 32 characters that polars shows of a text by default"
COLUMNS = ["file", "path", "rule", "severity", "value", "message", "consequence"]


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
    monkeypatch.setenv("COLUMNS", "60")


@pytest.fixture
def issues() -> pl.DataFrame:
    """Return the frame of seven issues of three rules."""
    return Collection[Conversation]([], FOUND).issues


@pytest.fixture
def plain() -> pl.DataFrame:
    """Return the same rows as a frame of polars' own."""
    return pl.DataFrame([[getattr(issue, name) for name in COLUMNS] for issue in FOUND], schema=COLUMNS, orient="row")


def test_terminal(issues: pl.DataFrame) -> None:
    assert repr(issues) == str(issues) == TEXT


def test_notebook(issues: pl.DataFrame) -> None:
    page = issues._repr_html_()
    for text in ("1 error, 1 warning, 5 notes in 5 files", LONG, "invalid-json, 1 in 1 file", "2 places more"):
        assert text in page
    for issue in FOUND:
        assert issue.file in page


def test_many_messages_of_a_rule() -> None:
    issues = issues_frame(_note(number, f"message {number}") for number in range(1, 101))
    assert repr(issues).endswith("... and 97 more; see .filter(rule='number-as-text').to_dicts()")
    page = issues._repr_html_()
    # 3 at once, 20 to be clicked open, and how many are left.
    assert len(set(re.findall(r"message \d+", page))) == 23
    assert "97 messages more" in page
    assert "and 77 more" in page


def test_no_issues() -> None:
    issues = issues_frame([])
    assert repr(issues) == "no issues"
    assert "no issues" in issues._repr_html_()


def test_filtered_and_sorted_issues_show_whole_messages(issues: pl.DataFrame) -> None:
    expected = "1 error in 1 file\n\nerror    invalid-json, 1 in 1 file\n  no JSON; record left out\n    2.json  $"
    assert repr(issues.filter(severity="error")) == expected
    assert repr(issues.filter(pl.col("severity") == "error").sort("file", descending=True)) == expected
    assert repr(issues.sort("file")[-1:]).startswith("1 note in 1 file")


def test_other_columns_show_as_polars_does(issues: pl.DataFrame) -> None:
    for other in (issues.select("rule", "file"), issues.drop("value"), issues.with_columns(value=pl.lit(1))):
        assert repr(other).startswith("shape: (7, ")
        assert "<table" in other._repr_html_()


OPERATIONS: dict[str, Operation] = {
    "filter": lambda frame: frame.filter(pl.col("file") == "1.json", severity="note"),
    "sort": lambda frame: frame.sort("severity", "file", descending=[True, False]),
    "select": lambda frame: frame.select("rule"),
    "with_columns": lambda frame: frame.with_columns(length=pl.col("message").str.len_chars()),
    "slice": lambda frame: frame[1:4],
    "rows": lambda frame: frame[[0, 2]],
    "head": lambda frame: frame.head(2),
    "group_by": lambda frame: frame.group_by("rule", maintain_order=True).agg(pl.len()),
    "unique": lambda frame: frame.unique("rule", keep="first", maintain_order=True),
    "join": lambda frame: frame.join(frame.select("file").unique(), on="file", maintain_order="left"),
    "concat": lambda frame: pl.concat([frame, frame]),
    "vstack": lambda frame: frame.vstack(frame),
    "lazy": lambda frame: frame.lazy().filter(pl.col("rule") == "odd").collect(),
    "sql": lambda frame: frame.sql("SELECT file FROM self WHERE rule = 'odd'"),
    "partition": lambda frame: frame.partition_by("severity", maintain_order=True)[0],
    "rename": lambda frame: frame.rename({"file": "name"}),
    "clone": lambda frame: frame.clone(),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda frame: pickle.loads(pickle.dumps(frame)),  # noqa: S301  # our own bytes
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_operations_give_what_polars_gives(operation: Operation, issues: pl.DataFrame, plain: pl.DataFrame) -> None:
    assert isinstance(issues, pl.DataFrame)
    result = operation(issues)
    assert isinstance(result, pl.DataFrame)
    assert_frame_equal(result, operation(plain))
    assert repr(result)
    assert result._repr_html_()


def test_values_are_what_polars_gives(issues: pl.DataFrame, plain: pl.DataFrame) -> None:
    assert issues.equals(plain)
    assert (issues.height, issues.schema, issues.to_dicts()) == (plain.height, plain.schema, plain.to_dicts())
    assert issues["rule"].to_list() == plain["rule"].to_list()
    assert issues.write_csv() == plain.write_csv()


def test_texts_are_data() -> None:
    evil = "<img src=x onerror=alert(1)>\x1b[31m\u202e{0}%s"
    severity: str = evil
    issues = issues_frame([Issue(evil, evil, evil, severity, evil, f"a\n{evil}", evil)])  # type: ignore[arg-type]
    assert all(character.isprintable() or character == "\n" for character in repr(issues))
    page = issues._repr_html_()
    assert "<img" not in page
    assert page.count("onerror") >= 6
    assert "\x1b" not in page
    assert "{0}%s" in repr(issues)
