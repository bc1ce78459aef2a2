"""How the answers of a model were read goes from its run files through the scores into every report."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from slow_cases import slow_after

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench.detail import records_of
from attune_bench.benchmarks.attunebench.scores_json import aggregates
from attune_bench.report.document import Format
from attune_bench.report.tables import model_frame
from attune_data import Conversation, Run
from attune_data.text import width

MakeConversation = Callable[..., Conversation]
MakeRun = Callable[..., Run]


def _calls(*outcomes: str) -> dict[str, dict[str, Any]]:
    return {f"turn-{i}/read": {"outcome": outcome, "dropped": 0} for i, outcome in enumerate(outcomes, start=1)}


# Of two runs: calls 3 + 4 = 7; parsed 2 + 1, repaired 1 + 0, retried 0 + 2, failed 0 + 1.
FIRST = _calls("parsed", "repaired", "parsed")
SECOND = _calls("retried", "failed", "parsed", "retried")
COUNTS = {"calls_parsed": 3, "calls_repaired": 1, "calls_retried": 2, "calls_failed": 1}


@pytest.fixture
def scores(make_conversation: MakeConversation, make_run: MakeRun) -> Scores:
    """Two runs of one model that say how answers were read, and one of another model that does not."""
    conversations = [make_conversation(conversationId=name) for name in ("c1", "c2")]
    runs = [
        make_run(conversationId="c1", em_model="m1", calls=FIRST),
        make_run(conversationId="c2", em_model="m1", calls=SECOND),
        make_run(conversationId="c1", em_model="m2"),
    ]
    return score(conversations, runs)


def test_a_score_counts_the_calls_of_its_run(scores: Scores) -> None:
    first, second, third = records_of(scores)
    assert first["calls"] == {"parsed": 2, "repaired": 1, "retried": 0, "failed": 0}
    assert second["calls"] == {"parsed": 1, "repaired": 0, "retried": 2, "failed": 1}
    assert "calls" not in third


@pytest.mark.parametrize(
    "calls", slow_after(2, [None, {}, [], 7, "parsed", {"a": "parsed"}, {"a": {"outcome": ["parsed"]}}, {"a": {}}])
)
def test_a_run_file_of_another_runner_says_nothing(
    make_conversation: MakeConversation, make_run: MakeRun, calls: Any
) -> None:
    scores = score([make_conversation()], [make_run(calls=calls)])
    assert "calls" not in records_of(scores)[0]
    [row] = aggregates(scores)
    assert row["calls_n"] == 0
    assert row["calls_failed"] is None


@pytest.mark.parametrize("name", slow_after(1, ["scores.json", "scores.parquet"]))
def test_calls_add_up_and_stay_in_the_file(scores: Scores, tmp_path: Path, name: str) -> None:
    scores.write(tmp_path / name)
    for one in (scores, Scores.read(tmp_path / name)):
        assert aggregates(one)[0].items() >= (COUNTS | {"calls_n": 2}).items()
        assert model_frame(one).select(*COUNTS).rows() == [(3, 1, 2, 1), (None,) * 4]
        columns = [name.replace("_", ".") for name in COUNTS]
        assert one.values.select(columns).rows() == [(2, 1, 0, 0), (1, 0, 2, 1), (None,) * 4]
        assert {model_frame(one).schema[name] for name in COUNTS} == {pl.Int64}


@pytest.mark.parametrize("format_", ["table", "markdown"])
def test_a_report_shows_calls_below_the_scores(scores: Scores, format_: Format) -> None:
    text = scores.report(format=format_, resamples=50)
    rows = [line.replace("|", " ").split() for line in text.splitlines()]
    start = rows.index("model calls parsed repaired retried failed of conversations".split())
    # The rule, the model whose files say so, and not the other one.
    assert rows[start + 2] == ["m1", "7", "3", "1", "2", "1", "2"]
    assert rows[start + 3] == []
    assert "Calls: how answers, including judges' answers, were read" in text


@pytest.mark.parametrize("format_", ["table", "markdown"])
def test_calls_of_a_part_of_the_runs_say_of_how_many(
    make_conversation: MakeConversation, make_run: MakeRun, format_: Format
) -> None:
    runs = [make_run(calls=FIRST), make_run(conversationId="c2")]
    scores = score([make_conversation(), make_conversation(conversationId="c2")], runs)
    text = scores.report(format=format_, resamples=50)
    assert ["vendor/model", "3", "2", "1", "0", "0", "1"] in [
        line.replace("|", " ").split() for line in text.splitlines()
    ]


@pytest.mark.parametrize("format_", ["table", "markdown"])
def test_a_report_of_files_that_do_not_say_has_no_such_table(
    make_scores: Callable[..., Scores], format_: Format
) -> None:
    assert "repaired" not in make_scores().report(format=format_, resamples=50)


@pytest.mark.parametrize("name", ["vendor/" + "long-" * 15, "深度求索" * 15, "a\nb\x1b[31m"])
@pytest.mark.parametrize("models", [1, 3])
def test_the_table_stays_within_100_columns(make_scores: Callable[..., Scores], name: str, models: int) -> None:
    calls = {"parsed": 12_345, "repaired": 12_345, "retried": 12_345, "failed": 12_345}
    text = make_scores([f"{i}{name}" for i in range(models)], calls=calls).report(resamples=50)
    rows = [line for line in text.splitlines() if "98,760" in line]  # 4 * 12,345 in each of 2 conversations
    assert len(rows) == models
    assert max(map(width, rows)) <= 100
    assert "\x1b" not in text


def test_json_holds_the_counts(scores: Scores) -> None:
    first, second = json.loads(scores.report(format="json", resamples=50))["models"]
    assert first.items() >= COUNTS.items()
    assert {second[name] for name in COUNTS} == {None}


@pytest.mark.slow
def test_the_page_has_a_section_of_calls(scores: Scores, make_scores: Callable[..., Scores]) -> None:
    page = scores.report(format="html", resamples=50, small_cells=True)
    section = page[page.index("<h2>Calls</h2>") :].partition("</section>")[0]
    assert "m2" not in section
    for count in ("7", "3", "1", "2"):
        assert f">{count}</td>" in section
    assert "<h2>Calls</h2>" not in make_scores().report(format="html", resamples=50, small_cells=True)
