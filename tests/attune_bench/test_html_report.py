"""The HTML report: what is on the page, what is not, and that nothing from data is markup."""

import re
import subprocess
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench.baselines import BASELINES
from attune_bench.report.html import html_report
from attune_data import Collection, Conversation, Run, load, load_runs
from attune_metrics.signature import Signature

Call = Callable[..., tuple[int, str, str]]
EVIL = "<img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    """Every element of a page with its attributes, and the text outside of style and script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.within = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.within = tag

    def handle_data(self, data: str) -> None:
        if self.within not in {"style", "script"}:
            self.text += data


@pytest.fixture(scope="module")
def conversations() -> Collection[Conversation]:
    return load("demo")


@pytest.fixture(scope="module")
def runs(conversations: Collection[Conversation]) -> list[Run]:
    return [*load_runs("demo"), *BASELINES["chance"](conversations)]


@pytest.fixture(scope="module")
def scores(conversations: Collection[Conversation], runs: list[Run]) -> Scores:
    return score(conversations, runs)


@pytest.fixture(scope="module")
def page(scores: Scores, conversations: Collection[Conversation], runs: list[Run]) -> str:
    return html_report(scores, data=conversations, runs=runs, resamples=200)


@pytest.fixture(scope="module")
def tags(page: str) -> Tags:
    return Tags(page)


def headings(page: str) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", page)


def test_a_section_for_each_subject(page: str) -> None:
    assert headings(page) == [
        "Scores", "Composite", "Pairwise accuracy", "Profiles", "Comparisons", "Perspective gap",
        "Turn drift: OM accuracy", "Turn drift: Emotion VA", "Win rates", "Metrics across models", "Subgroups",
        "Emotion VA by diagnosis", "Agreement by question: what the original model did",
        "Agreement by question: what the participant wanted", "Methods", "Limits", "Not in this report",
    ]  # fmt: skip


def test_the_values_are_those_of_the_analyses(scores: Scores, tags: Tags) -> None:
    summary = scores.summary(metrics=["composite_score"], resamples=200)
    assert summary.height == 3
    for row in summary.iter_rows(named=True):
        assert f"{row['value']:.2f} [{row['low']:.2f}, {row['high']:.2f}]" in tags.text
    (first, *_) = scores.compare_all(metrics=["composite_score"], resamples=200).iter_rows(named=True)
    assert f"{first['difference']:+.2f} [{first['low']:+.2f}, {first['high']:+.2f}]" in tags.text


def test_nothing_is_fetched(page: str, tags: Tags) -> None:
    for tag, attributes in tags.found:
        assert tag not in {"img", "iframe", "object", "embed", "form", "a", "base", "image", "use", "audio", "video"}
        assert "src" not in attributes
        assert attributes.get("href") in {None, "data:,"}
    assert "url(" not in page
    assert "@import" not in page
    policy = next(found["content"] for tag, found in tags.found if found.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert sum(tag == "script" for tag, _ in tags.found) == 1


def test_figures_are_named_and_marks_say_their_numbers(tags: Tags) -> None:
    drawings = [found for tag, found in tags.found if tag == "svg"]
    assert len(drawings) > 10
    assert all(found["aria-label"] and found["role"] == "img" for found in drawings)
    assert sum(tag == "title" for tag, _ in tags.found) > 100


def test_no_participant_and_no_conversation_is_named(page: str, conversations: Collection[Conversation]) -> None:
    people = {conversation.participant_id for conversation in conversations} - {None}
    assert len(people) == 24
    assert [name for name in (*people, *(one.id for one in conversations)) if str(name) in page] == []


def rows(page: str, begins: str) -> Iterator[str]:
    for row in re.findall(r"<tr>(.*?)</tr>", page):
        if f"<bdi>{begins}" in row:
            yield re.sub(r"<[^>]+>", " ", row)


def test_no_value_of_a_few_participants(
    page: str, scores: Scores, conversations: Collection[Conversation], runs: list[Run]
) -> None:
    groups = scores.by("diagnosis_group", data=conversations, metrics=["composite_score"], resamples=10)
    few = groups.filter(groups["participants"] < 5)
    many = groups.filter(groups["participants"] >= 5)
    assert few.height > 0
    assert many.height > 0
    for row in few.iter_rows(named=True):
        (shown,) = rows(page, f"{row['stratum']}: {row['model']}<")
        assert "fewer than 5 participants" in shown
        assert f"{row['value']:.2f}" not in shown
        assert f", {row['stratum']}: " not in page
    for row in many.iter_rows(named=True):
        assert row["mark"] == "few"
        (shown,) = rows(page, f"{row['stratum']}: {row['model']}<")
        assert f"{row['value']:.2f}" in shown
        assert f"({row['participants']}) few" in shown
    whole = html_report(scores, data=conversations, runs=runs, resamples=50, small_cells=True)
    for row in few.iter_rows(named=True):
        (shown,) = rows(whole, f"{row['stratum']}: {row['model']}<")
        assert f"{row['value']:.2f}" in shown
    assert "Difficulty of conversations" in headings(whole)
    assert "Difficulty of conversations" not in headings(page)


def test_what_was_not_given_is_named(scores: Scores, conversations: Collection[Conversation]) -> None:
    bare = html_report(scores, resamples=50)
    assert "Subgroups" not in headings(bare)
    assert "Subgroups: need the conversations (--data)" in bare
    assert "Agreement by question: needs the conversations and the run files (--data, --results)" in bare
    with_data = html_report(scores, data=conversations, resamples=50)
    assert "Subgroups" in headings(with_data)
    assert "Subgroups: need" not in with_data
    assert "Agreement by question: needs" in with_data


def test_methods_and_limits(tags: Tags) -> None:
    assert "agreement with what the participant reported, not the emotional intelligence of a model" in tags.text
    signature = re.search(r"attune:\S+seed:\d+", tags.text)
    assert signature is not None
    parsed = Signature.parse(signature[0])
    assert (parsed.n, parsed.clusters, parsed.boot, parsed.seed) == (40, 24, 200, 0)


def test_same_seed_same_bytes(scores: Scores) -> None:
    assert html_report(scores, resamples=50) == html_report(scores, resamples=50)
    assert html_report(scores, resamples=50) != html_report(scores, resamples=50, seed=1)


def test_names_are_text(make_scores: Callable[..., Scores]) -> None:
    page = html_report(make_scores([EVIL, "\u202eright", "b"], [EVIL, "default"], conversations=6), resamples=50)
    tags = Tags(page)
    assert not any(tag == "img" or "onerror" in found for tag, found in tags.found)
    assert EVIL in tags.text
    assert "\u202e" not in page


@pytest.mark.parametrize("conversations", [1, 3])
def test_one_model_few_conversations(make_scores: Callable[..., Scores], conversations: int) -> None:
    page = html_report(make_scores(conversations=conversations), resamples=20, small_cells=True)
    assert "Comparisons: no mode has two models" in page
    assert headings(page)[0] == "Scores"


def test_scores_without_records_are_refused() -> None:
    with pytest.raises(ValueError, match="there is no score to report"):
        html_report(Scores.of([], protocol="documented", synthetic=False))


# The command line.


def test_report_writes_the_page(call: Call, scores_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    status, out, err = call("report", "--scores", scores_file, "--html", target, "--resamples", 20, "--small-cells")
    assert (status, err) == (0, "")
    assert out.startswith(f"{target}: ")
    page = target.read_text(encoding="utf-8")
    assert "модель/深度-1" in page
    assert len(page.encode()) < 3_000_000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--data", "demo"], "--data, --results and --small-cells are for the page of HTML; give --html FILE too"),
        (["--html", "x.html", "--format", "json"], "--format is for the report as text; leave out --format or --html"),
        (["--html", "x.json"], "x.json is no name for a page; expected --html with a file in .html"),
        (["--html", "."], ". is no name for a page; expected --html with a file in .html"),
        (["--html", "x.html"], "every model was run on fewer than 5 participants"),
        (["--html", "nowhere/x.html"], "no such folder: nowhere; create it or choose another --html"),
    ],
)
def test_report_says_what_is_wrong(call: Call, scores_file: Path, arguments: list[str], said: str) -> None:
    status, out, err = call("report", "--scores", scores_file, *arguments)
    assert (status, out) == (2, "")
    assert said in err


@pytest.mark.parametrize("option", ["--scores", "--data", "--results"])
def test_what_is_read_is_not_written_over(call: Call, scores_file: Path, tmp_path: Path, option: str) -> None:
    target = tmp_path / "input.html"
    target.write_bytes(scores_file.read_bytes())
    given = {"--scores": scores_file, "--data": "demo", "--results": "demo"} | {option: target}
    arguments = [part for pair in given.items() for part in pair]
    status, out, err = call("report", *arguments, "--html", tmp_path / "." / "input.html")
    assert (status, out) == (2, "")
    assert "input.html is what is read; choose another --html" in err
    assert target.read_bytes() == scores_file.read_bytes()


WITHOUT = """
import sys
sys.modules["altair"] = None
from attune_bench.cli import main
main()
"""


def test_the_demo_without_the_extra_says_how_to_get_it(
    spawn: Callable[..., subprocess.CompletedProcess[bytes]], tmp_path: Path
) -> None:
    target = tmp_path / "demo.html"
    done = spawn("demo", "--html", target, code=WITHOUT)
    assert (done.returncode, done.stderr) == (0, b"")
    (line,) = [line for line in done.stdout.decode().splitlines() if "page of HTML" in line]
    assert "pip install 'attune-bench[plots]'" in line
    assert not target.exists()


def test_the_demo_writes_the_page(call: Call, tmp_path: Path) -> None:
    target = tmp_path / "demo.html"
    status, out, err = call("demo", "--html", target)
    assert (status, err) == (0, "")
    assert f"{target}: " in out
    assert "SYNTHETIC" in target.read_text(encoding="utf-8")


def test_other_conversations_for_the_subgroups_are_another_signature(scores: Scores) -> None:
    def signature(part: Collection[Conversation]) -> str:
        (found,) = re.findall(r"attune:[^<]*", html_report(scores, data=part, resamples=50))
        return str(found)

    whole = load("demo")
    assert signature(whole) != signature(whole[:30])
    assert signature(whole) == signature(whole[::-1])
