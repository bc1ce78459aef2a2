"""Continuation probes: which calls are made, what they show, paraphrases, what a run records and what it costs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attune_bench.benchmarks.attunebench.probes import read_paraphrases
from attune_bench.benchmarks.attunebench.task import AttuneBenchSettings, assemble, planned_calls, settings_of
from attune_bench.runner.cost import PROBE
from attune_data import Conversation, load
from attune_metrics.attunebench.continuation import halves

LONG = "This is a paraphrase of the message, with more than twelve words in it."


@pytest.fixture(scope="module")
def conversation() -> Conversation:
    return load("demo")[0]


def test_probes_are_asked_only_where_wanted(conversation: Conversation) -> None:
    plain, probed = (planned_calls(conversation, AttuneBenchSettings("m", probes=probes)) for probes in (False, True))
    others = [call for call in probed if call.schema_name != PROBE]
    assert others == plain
    cut = [turn for turn in conversation.turns if halves(turn.user_message or "")]
    assert [call.id for call in probed if call.schema_name == PROBE] == [
        f"turn-{turn.turn_number}/probe" for turn in cut
    ]
    assert cut


def test_a_probe_shows_the_first_half_of_one_message_and_nothing_else(conversation: Conversation) -> None:
    settings = AttuneBenchSettings("m", probes=True, paraphrases={(conversation.id, 1): LONG})
    calls = {call.id: call for call in planned_calls(conversation, settings) if call.schema_name == PROBE}
    whole = {turn.turn_number: turn.user_message or "" for turn in conversation.turns}
    for number, text in whole.items():
        cut = halves(text)
        if cut is None:
            continue
        shown = " ".join(one["content"] for one in calls[f"turn-{number}/probe"].messages)
        assert cut.begin in shown
        assert cut.end not in shown
        assert all(other not in shown for place, other in whole.items() if place != number)
    paraphrase = halves(LONG)
    assert paraphrase is not None
    shown = " ".join(one["content"] for one in calls["turn-1/probe-paraphrase"].messages)
    assert paraphrase.begin in shown
    assert paraphrase.end not in shown


def test_a_run_keeps_the_continuations(conversation: Conversation) -> None:
    settings = AttuneBenchSettings("m", probes=True, paraphrases={(conversation.id, 1): LONG})
    answers = {
        "turn-1/probe": '{"continuation": "and so on"}',
        "turn-1/probe-paraphrase": '{"continuation": "or so"}',
        "turn-2/probe": '{"continuation": " "}',
    }
    run = assemble(conversation, answers, settings)
    first, second = run.turns[:2]
    assert (first.em_continuation, first.em_paraphrase_continuation) == ("and so on", "or so")
    cut = halves(LONG)
    assert cut is not None
    assert first.paraphrase_end == cut.end
    assert second.em_continuation == ""
    written = json.loads(run.to_json())
    assert written["calls"]["turn-2/probe"]["outcome"] == "failed"
    assert not {"em_continuation", "paraphrase_end"} & written["turns"][1].keys()
    again = [call.id for call in planned_calls(conversation, settings, answers)]
    assert "turn-2/probe#2" in again
    assert "turn-1/probe" not in again


def test_probes_change_no_other_answer_and_belong_to_one_mode(tmp_path: Path) -> None:
    path = tmp_path / "said.csv"
    path.write_text(f'conversationId,turnNumber,text\nc1,2,"{LONG}"\n')
    first, second = settings_of("m", modes=["default", "verbose"], probes=True, paraphrases=path)
    assert (first.probes, first.paraphrases, second.probes) == (True, {("c1", 2): LONG}, False)
    assert first.provenance() == AttuneBenchSettings("m").provenance()
    with pytest.raises(ValueError, match="add --probes"):
        settings_of("m", paraphrases=path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "conversationId,turn,text\nc1,1,x\n", r"a\.csv, line 2: no turnNumber; expected conversationId, "),
        ("a.csv", f"conversationId,turnNumber,text\nc1,one,{LONG[:20]}\n", "line 2: turnNumber is 'one'"),
        ("a.csv", "conversationId,turnNumber,text\nc1,1,too short\n", "line 2: the text has fewer than 12 words"),
        ("a.csv", "conversationId,turnNumber,text\n", "has no paraphrase"),
        ("a.jsonl", "{]\n", r"a\.jsonl, line 1: no JSON object"),
        (
            "a.jsonl",
            2 * (json.dumps({"conversationId": "c", "turnNumber": 1, "text": LONG}) + "\n"),
            "line 2: a second",
        ),
        ("none.csv", None, r"none\.csv cannot be read"),
    ],
)
def test_mistakes_in_paraphrases_name_the_row(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_paraphrases(path)


def test_paraphrases_of_jsonl_keep_line_separators(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    said = f"{LONG}\u2028And more."
    path.write_text(json.dumps({"conversationId": "c", "turnNumber": 1, "text": said}, ensure_ascii=False) + "\n\n")
    assert read_paraphrases(path) == {("c", 1): said}


Call = Callable[..., tuple[int, str, str]]


def test_a_dry_run_says_what_probes_cost(call: Call, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[m]\ninput = 1\noutput = 1\n")
    common: tuple[Any, ...] = ("run", "local", "m", "demo", "--limit", 2, "--prices", prices, "--dry-run")
    status, out, err = call(*common, "--probes")
    assert status == 0
    said = (out + err).partition("of these, probes, on which no score depends:\n")[2]
    probes = sum(bool(halves(turn.user_message or "")) for one in load("demo")[:2] for turn in one.turns)
    assert said.startswith(f"m: {probes} calls, about ")
    assert "cost: about" in said
    status, out, err = call(*common)
    assert "probes" not in out + err


def test_probes_are_refused_for_data_without_participants(call: Call) -> None:
    status, _, err = call("run", "local", "m", "demo", "--benchmark", "eibench", "--probes", "--dry-run")
    assert status == 2
    assert err.startswith("attune-bench: --probes is an option of AttuneBench, and this is EIBench; leave it out")
