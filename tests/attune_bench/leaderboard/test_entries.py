"""What is wrong with an entry: every mistake at once, each with its place, its value and what is wanted."""

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.leaderboard.boards import check_entry
from attune_bench.scores.parts import GroupSettings

TODAY = date(2026, 5, 1)
GOOD = {
    "scores": '"own.parquet"',
    "model": '"vendor/large"',
    "link": '"https://example.org/large"',
    "date": "2026-05-01",
    "submitter": '"Example Lab"',
    "contact": '"evals@example.org"',
    "licence": '"CC BY 4.0"',
}
Check = Callable[..., list[str]]


def write_scores(folder: Path, *models: str, **about: Any) -> None:
    frame = pl.DataFrame([(m, u, "hit", 0.5) for m in models for u in "abcdef"], orient="row")
    frame.columns = ["model", "unit", "metric", "value"]
    scores = Scores.from_table(frame)
    Scores(scores.values, scores.units, scores.metrics, scores.provenance.model_copy(update=about)).write(
        folder / "own.parquet"
    )


@pytest.fixture
def mistakes(tmp_path: Path) -> Check:
    """Return what finds the mistakes of a good entry with other values; None leaves a key out."""
    write_scores(tmp_path, "vendor/large", "vendor/small", "baseline/chance")

    def found(**changes: str | None) -> list[str]:
        given = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
        path = tmp_path / "entry.toml"
        path.write_text("\n".join(f"{name} = {value}" for name, value in given.items()), encoding="utf-8")
        return [text.replace(f"{tmp_path}/", "") for text in check_entry(path, today=TODAY)[1]]

    return found


def test_a_good_entry(tmp_path: Path, mistakes: Check) -> None:
    assert mistakes() == []
    entry, _ = check_entry(tmp_path / "entry.toml", today=TODAY)
    assert entry is not None
    assert entry.table.models == ("vendor/large",)
    assert entry.about == {
        "link": "https://example.org/large",
        "date": "2026-05-01",
        "submitter": "Example Lab",
        "licence": "cc-by-4.0",
    }


def test_scores_without_a_row_are_refused(tmp_path: Path) -> None:
    write_scores(tmp_path, "vendor/large")
    path = tmp_path / "own.parquet"
    scores = Scores.read(path)
    Scores(scores.values.clear(), scores.units, scores.metrics, scores.provenance).write(path)
    assert check_entry(path) == (None, [f"{path}: the scores have no row: no model was run on any unit"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"licence": None}, r"entry\.toml: licence is missing; the licence of the scores, one of apache-2\.0, .*"),
        ({"licence": '"free"'}, r'entry\.toml: licence: "free" is no licence that is known; .*'),
        ({"licence": "4"}, r"entry\.toml: licence: 4 is no licence that is known; .*"),
        ({"licnce": '"mit"'}, r"entry\.toml: licnce: no such key; did you mean 'licence'\?"),
        (
            {"link": '"http://example.org"'},
            r'.*: link: "http://example\.org" is no address that begins with https://; .*',
        ),
        ({"link": '"https://me:secret@example.org"'}, r".*: link: .* is no address that begins with https://; .*"),
        ({"link": '"javascript:alert(1)"'}, r".*: link: .* is no address that begins with https://; .*"),
        ({"link": '"https://[1"'}, r".*: link: .* is no address that begins with https://; .*"),
        ({"date": '"May 1st"'}, r'.*: date: "May 1st" is no date; the day on which the model was run, .*'),
        ({"date": "2026-05-03"}, r".*: date: 2026-05-03 is in the future; is the year right\?"),
        ({"date": "1"}, r".*: date: 1 is no date; .*"),
        ({"submitter": '""'}, r'.*: submitter: "" is no text; who ran the model, in one line'),
        ({"submitter": '"a\\nb"'}, r".*: submitter: .* has characters that do not print; .*"),
        ({"submitter": f'"{"a" * 201}"'}, r".*: submitter: .* has 201 characters, more than 200; .*"),
        ({"submitter": "[1]"}, r".*: submitter: \[1\] is no text; .*"),
        ({"contact": '"@example"'}, r'.*: contact: "@example" is neither e-mail nor https address; .*'),
        ({"model": '"vendor/lrge"'}, r".*: model: the scores have no model .*; did you mean 'vendor/large'\?"),
        ({"model": '"baseline/chance"'}, r".*: model: the scores have no model .*"),
        ({"model": None}, r".*: model is missing, and the scores are of vendor/large, vendor/small; name one"),
        ({"model": "3"}, r".*: model: 3 is no text; the model as the scores name it"),
        ({"scores": None}, r".*: scores is missing; the name of a file of scores beside this one, .*"),
        ({"scores": '"../own.parquet"'}, r'.*: scores: "\.\./own\.parquet" is not in the folder of this file; .*'),
        ({"scores": '"/etc/passwd"'}, r".*: scores: .* is not in the folder of this file; .*"),
        ({"scores": '"other.parquet"'}, r".*: scores: other\.parquet.*"),
    ],
)
def test_a_mistake(mistakes: Check, changes: dict[str, str | None], message: str) -> None:
    found = mistakes(**changes)
    assert any(re.fullmatch(message, text) for text in found), found


def test_every_mistake_is_named_at_once(mistakes: Check) -> None:
    found = mistakes(link='"x"', date="2030-01-01", contact=None, other="1", model='"none"')
    assert [text.split(": ")[1].split(" ")[0] for text in found] == ["other", "link", "contact", "date", "model"]


def test_dates_and_contacts_that_do(mistakes: Check) -> None:
    assert mistakes(date='"2026-05-02"', contact='"https://example.org/contact"') == []
    assert mistakes(date="2026-05-01T10:00:00Z") == []


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"a = ", "is not TOML: "), (b"\xff", "is not TOML: "), (b"a = 1\n" + b"#" * 2**20, "larger than")],
)
def test_what_is_no_toml(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "entry.toml"
    path.write_bytes(content)
    entry, [found] = check_entry(path)
    assert entry is None
    assert str(path) in found
    assert message in found


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for name in ("entry.toml", "own.parquet"):
        entry, [found] = check_entry(tmp_path / name)
        assert entry is None
        assert name in found


def test_scores_alone_are_of_all_their_models(tmp_path: Path) -> None:
    write_scores(tmp_path, "a", "baseline/chance")
    entry, found = check_entry(tmp_path / "own.parquet")
    assert found == []
    assert entry is not None
    assert (entry.table.models, entry.about) == (("a", "baseline/chance"), {})


def checked(folder: Path, frame: pl.DataFrame, metrics: Any = None, **about: Any) -> list[str]:
    scores = Scores.from_table(frame, metrics=metrics)
    held = scores.provenance.model_copy(update=about)
    Scores(scores.values, scores.units, scores.metrics, held).write(folder / "own.parquet")
    return [text.replace(f"{folder}/", "") for text in check_entry(folder / "own.parquet")[1]]


def test_scores_that_no_board_can_rank(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"model": ["a", "b", "b"], "unit": ["u", "u", "v"], "metric": "hit", "value": [None, 1.0, 2.0]}
    )
    empty = "own.parquet: a cannot be ranked: its values of hit are all missing (1 unit)"
    assert checked(tmp_path, frame) == [empty]
    neither = checked(tmp_path, frame, {"hit": {"higher_is_better": None}})
    assert neither == [
        "own.parquet: 'hit' cannot rank models: neither higher nor lower values of it are better; name another primary",
        empty,
    ]
    few = checked(tmp_path, frame.filter(model="b"), private=True, cluster="person")
    assert few == ["own.parquet: b was run on 2, fewer than 5 people; such values are not shown"]
    runs = GroupSettings(model="b", settings={"temperature": (0.0, 0.7)})
    mixed = checked(
        tmp_path, frame.filter(model="b"), settings=(runs,), comparability_keys={"temperature": "temperature"}
    )
    assert mixed == ["own.parquet: the runs of b differ in temperature: 0, 0.7; enter runs made in one way"]


def test_a_link_out_of_the_folder_is_not_read(tmp_path: Path, mistakes: Check) -> None:
    (tmp_path / "secret").mkdir()
    secret = tmp_path / "secret" / "keys.csv"
    secret.write_text("SECRET=1\n", encoding="utf-8")
    (tmp_path / "own.csv").symlink_to(secret)
    expected = "entry.toml: scores: {} is a link out of the folder of this file; send the file itself"
    assert mistakes(scores='"own.csv"') == [expected.format("own.csv")]
    (tmp_path / "own.csv").unlink()
    (tmp_path / "own.csv").write_text("model,unit,metric,value\nvendor/large,u,hit,1\n", encoding="utf-8")
    assert mistakes(scores='"own.csv"') == []
    (tmp_path / "own.toml").symlink_to(secret)
    assert mistakes(scores='"own.csv"') == [expected.format("own.toml")]
    (tmp_path / "own.toml").unlink()
    (tmp_path / "again.csv").symlink_to("own.csv")
    assert mistakes(scores='"again.csv"') == []


def test_an_entry_of_the_name_of_its_table_is_told_to_be_called_otherwise(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("model,unit,metric,value\nvendor/large,u,hit,1\n", encoding="utf-8")
    path = tmp_path / "own.toml"
    path.write_text('scores = "own.csv"\n', encoding="utf-8")
    _, found = check_entry(path, today=TODAY)
    assert "own.toml is read as its description, so call the entry otherwise" in found[-1]
