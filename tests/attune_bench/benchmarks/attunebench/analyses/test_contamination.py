"""Contamination: planted recitation, controls, missing parts, the sentence, and a whole run with probes."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from contamination import one_run
from model_server import ModelServer, said
from synthetic.recitation import recite

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench.contamination import CONTROLS, TEXTS, contamination, reproduced_shown
from attune_bench.benchmarks.attunebench.report import contamination_cells
from attune_data import Conversation, Run, load, load_runs
from attune_metrics.attunebench.continuation import halves
from attune_metrics.metric import MetricInputError

QUICK: dict[str, Any] = {"resamples": 500}
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def data() -> dict[str, Conversation]:
    return {one.id: one for one in load("demo")}


@pytest.fixture(scope="module")
def runs(data: dict[str, Conversation]) -> list[Run]:
    """Return runs of a model that recites 30% of the messages, and of one that recites nothing."""
    by_model: dict[str, list[Run]] = {}
    for run in load_runs("demo"):
        by_model.setdefault(run.em_model, []).append(run)
    first, second = by_model.values()
    return [*recite(first, data, memorized=0.3, paraphrased=True, seed=3), *recite(second, data, seed=2)]


@pytest.fixture(scope="module")
def found(data: dict[str, Conversation], runs: list[Run]) -> pl.DataFrame:
    return contamination(score(data.values(), runs), data=data.values(), results=runs, **QUICK)


def test_planted_recitation_is_found(found: pl.DataFrame, data: dict[str, Conversation]) -> None:
    assert found["text"].to_list() == [*TEXTS, *TEXTS]
    original, shuffled, paraphrased, clean, others, absent = found.to_dicts()
    cut = sum(halves(turn.user_message or "") is not None for one in data.values() for turn in one.turns)
    assert (original["probes"], shuffled["probes"], paraphrased["probes"]) == (cut, CONTROLS * cut, cut)
    assert original["low"] < 0.3 < original["high"]
    assert shuffled["high"] < original["low"]
    assert (shuffled["p_holm"], paraphrased["p_holm"]) < (0.05, 0.05)
    assert (original["p"], original["unread"]) == (None, 0)
    assert original["similarity"] > 0.2 > shuffled["similarity"]
    assert (clean["reproduced"], clean["low"], others["p"]) == (0, 0, 1)
    assert (absent["reproduced"], absent["probes"], absent["reason"]) == (None, 0, "no paraphrases were probed")


def test_the_sentence_is_true_and_false(found: pl.DataFrame, data: dict[str, Conversation], runs: list[Run]) -> None:
    scores = score(data.values(), runs)
    share = found["reproduced"][0]
    assert reproduced_shown(scores, found) == (
        f"1 of 2 models reproduces more than the shuffled control ({share:.1%}); 1 of 1 model reproduces more than the "
        "paraphrased control."
    )
    clean = found.filter(pl.col("model") == found["model"][-1])
    assert reproduced_shown(scores, clean) == (
        "0 of 1 model reproduces more than the shuffled control; paraphrases were not probed."
    )
    untested = found.with_columns(p_holm=pl.lit(None, dtype=pl.Float64))
    assert reproduced_shown(scores, untested) == ""
    # A control that is reproduced more often is no contamination.
    turned = found.with_columns(difference=-pl.col("difference"))
    assert "0 of 2 models reproduce more than the shuffled control;" in reproduced_shown(scores, turned)


def test_a_control_is_compared_on_the_messages_that_both_have(data: dict[str, Conversation], runs: list[Run]) -> None:
    # The messages with a paraphrase are those that are not recited, and of these the paraphrase is.
    def turned(run: Run) -> Run:
        turns = [
            turn.model_copy(
                update={"em_paraphrase_continuation": turn.paraphrase_end, "em_continuation": "None of it."}
                if place % 2
                else {"em_paraphrase_continuation": None, "em_continuation": own.user_message}
            )
            for place, (turn, own) in enumerate(zip(run.turns, data[run.conversation_id].turns, strict=False))
        ]
        return run.model_copy(update={"turns": tuple(turns)})

    odd = [turned(run) for run in runs if run.em_model == runs[0].em_model]
    scores = score(data.values(), odd)
    found = contamination(scores, data=data.values(), results=odd, **QUICK)
    original, _, paraphrased = found.to_dicts()
    assert original["reproduced"] > 0.4
    assert (paraphrased["reproduced"], paraphrased["difference"]) == (1, -1)
    assert paraphrased["p_holm"] < 0.05
    assert "; 0 of 1 model reproduces more than the paraphrased control." in reproduced_shown(scores, found)


def test_continuations_that_could_not_be_read_are_counted(data: dict[str, Conversation], runs: list[Run]) -> None:
    def unread(run: Run) -> Run:
        turns = [turn.model_copy(update={"em_continuation": None}) for turn in run.turns]
        return run.model_copy(update={"turns": tuple(turns), "calls": {"turn-1/probe": {"outcome": "unparsed"}}})

    odd = [unread(run) for run in runs if run.em_model == runs[0].em_model]
    row, *_ = contamination(score(data.values(), odd), data=data.values(), results=odd, **QUICK).to_dicts()
    assert (row["text"], row["reproduced"], row["unread"]) == ("original", None, len(odd))
    assert row["reason"] == "no continuation could be read"


def test_controls_are_other_participants_messages(data: dict[str, Conversation], runs: list[Run]) -> None:
    # Everybody's message is the same text: there is nothing else to compare with.
    same = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    alike = {
        name: one.model_copy(
            update={"turns": tuple(turn.model_copy(update={"user_message": same}) for turn in one.turns)}
        )
        for name, one in data.items()
    }
    found = contamination(score(alike.values(), runs), data=alike.values(), results=runs, **QUICK)
    assert set(found.filter(text="shuffled")["reason"]) == {"no message of another participant"}
    # One participant alone has no others.
    person = next(iter(data.values())).participant_id
    own = {name: one for name, one in data.items() if one.participant_id == person}
    of_person = [run for run in runs if run.conversation_id in own]
    found = contamination(score(own.values(), of_person), data=own.values(), results=of_person, **QUICK)
    assert set(found.filter(text="shuffled")["probes"]) == {0}
    # Another conversation of the same participant is no control, whatever is resampled.
    scores = score(own.values(), of_person)
    found = contamination(scores, data=own.values(), results=of_person, unit="conversation", **QUICK)
    assert set(found.filter(text="shuffled")["probes"]) == {0}
    assert found.filter(text="original")["low"].null_count() == 2


def test_runs_without_probes_and_conversations_that_are_not_there(
    data: dict[str, Conversation], runs: list[Run]
) -> None:
    plain = list(load_runs("demo"))
    assert contamination(score(data.values(), plain), data=data.values(), results=plain).height == 0
    scores = score(data.values(), runs)
    with pytest.raises(MetricInputError, match="was scored and is not in the data"):
        contamination(scores, data=[*data.values()][1:], results=runs)


def test_cells_show_what_is_known(found: pl.DataFrame, data: dict[str, Conversation], runs: list[Run]) -> None:
    cells = contamination_cells(Scores.of(score(data.values(), runs)), found)
    assert cells.x[1] == [*TEXTS]
    assert len(cells.rows) == 5
    assert ["Holm p " in row["text"] for row in cells.rows] == [False, True, True, False, True]


@pytest.mark.slow
@pytest.mark.parametrize(("planted", "least"), [(0.0, 0.0), (0.3, 0.95)])
def test_a_small_simulation_covers_and_finds_what_is_planted(planted: float, least: float) -> None:
    simulated = [one_run(planted, 25, Random(f"{planted} {place}")) for place in range(40)]
    estimates, covered, shuffled, paraphrased = zip(*simulated, strict=True)
    # Standard errors of 40: 1.3 points of the mean estimate, 3.4 points of a coverage of 95%.
    assert np.mean(estimates) == pytest.approx(planted, abs=0.05)
    assert np.mean(covered) >= 0.85
    for tests in (shuffled, paraphrased):
        assert np.mean(tests) >= least
        assert planted > 0 or not any(tests)


@pytest.mark.slow
@pytest.mark.usefixtures("elsewhere")
def test_a_run_with_probes_from_the_first_call_to_the_page(call: Call, data: dict[str, Conversation]) -> None:
    ends = {
        cut.begin: cut.end for one in data.values() for turn in one.turns if (cut := halves(turn.user_message or ""))
    }

    def recites(_: int, body: dict[str, Any]) -> bytes | None:
        request = body["messages"][-1]["content"]
        if '{"continuation"' not in request:
            return None
        shown = request.partition("\n")[2].partition("\n<<<END")[0]
        return said(json.dumps({"continuation": ends[shown]}))

    with ModelServer(recites) as server:
        command = ("run", "local", "m", "demo", "--base-url", server.url, "--limit", 12)
        assert call(*command)[0] == 0
        before = server.calls
        status, out, _ = call(*command, "--probes", "--html", "page.html")
        assert status == 0
        assert "replaced" not in out
        assert "12 of them add answers to those from before; nothing was asked twice" in out
        # Nothing but the probes is asked.
        probed = sum(bool(halves(turn.user_message or "")) for one in [*data.values()][:12] for turn in one.turns)
        assert server.calls == before + probed
        status, _, err = call(*command)
        assert status == 2
        assert "would be replaced by results of other settings (probes True, here False)" in err
    page = Path("page.html").read_text(encoding="utf-8")
    assert re.search(r"1 of 1 model reproduces more than the shuffled control \(9\d\.\d%\); paraphrases were not", page)
    assert call("score", "--results", "results", "--data", "demo")[0] == 0
    inputs = ("--scores", "scores.json", "--data", "demo", "--results", "results")
    status, out, _ = call("analyze", "contamination", *inputs, "--format", "json")
    rows = json.loads(out)["contamination"]["rows"]
    # Of two messages that begin alike one end is recited.
    assert (status, rows[0]["probes"], rows[0]["reproduced"] > 0.95) == (0, probed, True)
    # Numbers alone: no word of a message.
    assert not any(end in out for end in ends.values())
