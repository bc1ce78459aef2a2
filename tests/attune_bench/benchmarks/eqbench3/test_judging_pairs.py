"""EQ-Bench 3's judge of pairs: what it reads, how its answer is read, and `run --pairs` from answers to ratings."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_server import Json, ModelServer

from attune_bench.benchmarks.eqbench3 import PAIRING, EQBench3Settings, PairAnswer, as_comparisons
from attune_bench.runner.pairs import Match
from attune_data import load_records
from attune_data.eqbench3 import EQBench3Situation, EQBench3Transcript, EQBench3Verdict
from attune_data.kinds import VERDICT
from attune_metrics.eqbench3 import CRITERIA, STYLE

PLAYED = EQBench3Situation(id="9", type="role-play", prompts=("Hello.",), story="9", note="She has not slept.")
ANALYSED = EQBench3Situation(id="415", type="analysis", prompts=("A: #Hm. B: *What*?",), story="9")
SETTINGS = PAIRING.settings(EQBench3Settings("m", judge_model=("j",)))
Cli = Callable[..., tuple[int, str, str]]


def transcript(model: str, *said: str, debrief: str | None = None) -> EQBench3Transcript:
    history = [
        {"role": role, "content": text} for text in said for role, text in (("user", "Hello."), ("assistant", text))
    ]
    return EQBench3Transcript.model_validate(
        {"scenario_id": "9", "test_model": model, "conversation_history": history, "debrief_response": debrief}
    )


def match(situation: EQBench3Situation, one: EQBench3Transcript, two: EQBench3Transcript) -> Match:
    return Match(situation, one, two, (one.test_model, two.test_model))


def request(found: Match) -> str:
    [call] = PAIRING.task.calls(found, SETTINGS, None)
    assert (call.model, call.id) == ("j", "pair")
    [sent] = call.messages
    return sent["content"]


def verdict(answer: str, **others: str) -> EQBench3Verdict:
    found = match(PLAYED, transcript("m", "xx", "xxxx"), transcript("n", "x"))
    assert PAIRING.task.assemble is not None
    made = PAIRING.task.assemble(found, {"pair": answer, **others}, SETTINGS)
    assert isinstance(made, EQBench3Verdict)
    return made


def test_the_judge_reads_cut_sections_of_both_sides_and_no_name() -> None:
    long = f"# I'm thinking & feeling\n{'a' * 2_201}\n# They're thinking & feeling\n*b*\n# My response\n{'c' * 1_600}"
    one, two = transcript("vendor/one", long, debrief="d" * 4_001), transcript("vendor/two", "No #headings.")
    asked = request(match(PLAYED, one, two))
    first, second = asked.split("[A0488 TRANSCRIPT START]")
    assert f"{'a' * 2_200}... [truncated]" in first
    assert f"My response\n\n{'c' * 1_600}\n" in first
    assert f"Debrief:\n{'d' * 4_000}... [truncated]" in first
    assert "They're thinking & feeling\n\nb\n" in first
    assert "She has not slept." in first
    # Without headings a reply is judged as three empty sections.
    assert "headings" not in second
    assert "vendor" not in asked
    assert not set("*#") & set(asked)
    assert all(
        f'"{name}": "A0493 or A0488, then one to five +"' in asked for name in ("message_tailoring", "overall_eq")
    )
    assert "There are no notes" in request(match(PLAYED.model_copy(update={"note": None}), one, two))
    assert "aaa" in request(match(PLAYED, two, one)).split("[A0488 TRANSCRIPT START]")[1]


def test_the_judge_of_analyses_reads_the_transcript_once_and_answers_as_they_are() -> None:
    asked = request(match(ANALYSED, transcript("m", "*I* see." + "x" * 6_000), transcript("n", "#Hm.")))
    assert asked.count("A: Hm. B: What?") == 1
    assert f"I see.{'x' * 5_992}... [truncated]" in asked
    assert "Hm.\n\n[A0488 ANALYSIS END]" in asked
    assert '"reading_between_lines"' in asked
    assert "message_tailoring" not in asked
    assert "notes" not in asked


def test_transcripts_without_a_long_answer_are_not_judged() -> None:
    one, two = transcript("m", "x" * 99, "y" * 99), transcript("n", "short", "x" * 100)
    reason = "9/m before n: a transcript without an answer of 100 characters"
    assert [PAIRING.task.unusable(match(PLAYED, *sides)) for sides in ((one, two), (two, two))] == [reason, ""]


def test_how_the_judge_of_pairs_is_asked() -> None:
    own = EQBench3Settings("m", judge_model=("j",), temperature=1.0, extra_body={"min_p": 0.1}, reasoning_effort="low")
    [(role, decoding)] = PAIRING.settings(own).decoding.items()
    assert (role, decoding.temperature, decoding.max_tokens, decoding.where_set()) == ("model", 0, 8_000, {})
    for judges in ((), ("j", "k")):
        with pytest.raises(ValueError, match="--pairs needs one judge"):
            PAIRING.settings(EQBench3Settings("m", judge_model=judges))


def test_plus_signs_are_read_as_published() -> None:
    answer = {"chain_of_thought_reasoning": "A0488+++", **dict.fromkeys("abcdefg", "A0493++"), "overall_eq": "A0488+"}
    made = verdict(json.dumps(answer))
    assert (made.plus_for_test, made.plus_for_other, made.fault) == (14, 1, "")
    assert (made.test_model_avg_response_length, made.neighbor_model_avg_response_length) == (3, 1)
    [one] = as_comparisons([made])
    assert (one.judge, one.shown, one.outcome, one.margin) == ("j", "m", 1.0, 13)
    # The prompt's examples may use other codes; a value of both sides is for the first.
    assert PairAnswer(("x",)).read({"x": "A12++", "y": 3, "z": "A0488+ over A0493"}) == ({"z": "A0488+ over A0493"}, 2)


def test_an_answer_that_names_no_side_is_asked_for_again_then_a_fault() -> None:
    calls = PAIRING.task.calls(
        match(PLAYED, transcript("m", "x"), transcript("n", "x")), SETTINGS, {"pair": "Neither."}
    )
    assert [call.id for call in calls] == ["pair#2"]
    made = verdict("Neither.", **{"pair#2": '{"overall_eq": "both"}'})
    assert (made.plus_for_test, made.fault) == (None, "the judge's answer could not be read")
    assert as_comparisons([made]) == []


def answer_to(body: Json) -> str:
    """Answer as a model, or as a judge who finds the answer better that says `good`, or else the one shown first."""
    text = body["messages"][-1]["content"]
    if body["model"] == "judge":
        if "A0493" not in text:
            return json.dumps(dict.fromkeys((*CRITERIA["standard"], *STYLE, *CRITERIA["analysis"]), 12))
        first, second = ("good" in part for part in text.split("A0488 ", 1)[1].split("[A0488", 1))
        side = "A0488" if second and not first else "A0493"
        return json.dumps({"chain_of_thought_reasoning": "", "overall_eq": f"{side}++"})
    said = "good " * 30 if body["model"] == "better" else "fine " * 30
    return f"# I'm thinking & feeling\n{said}\n# They're thinking & feeling\n{said}\n# My response\n{said}"


def test_a_run_judges_pairs_and_its_verdicts_are_rated(
    call: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ModelServer(answer=answer_to) as server:
        run = ("demo", "--benchmark", "eqbench3", "--judge-model", "judge", "--base-url", server.url, "--pairs", 24)
        status, out, err = call("run", "local", "worse", *run)
        assert (status, "results-pairs" in out) == (0, False)
        assert "worse was not judged in pairs: the folder has no answers of another model" in err
        planned = [call("run", "local", name, *run[:-1], 400, "--dry-run")[1] for name in ("worse", "better")]
        each = len([*Path("results").glob("[!._]*.json")])
        assert ["then at most 400 calls" in planned[0], f"then at most {2 * each} calls" in planned[1]] == [True, True]
        status, out, _ = call("run", "local", "better", *run)
        assert status == 0
        assert "results-pairs: 24 verdicts, one comparison each" in out
        assert "better: its order with worse is" in out
        asked = server.calls
        again = call("run", "local", "better", *run)[1]
        assert "24 verdicts, one comparison each; all from before, nothing was asked" in again
        assert server.calls == asked
        # A second judge reads the same answers.
        shutil.copytree("results", "results-b")
        of_b = ("judge-b" if word == "judge" else word for word in run)
        dry = ("run", "local", "better", *of_b, "-o", "results-b", "--dry-run")
        replaced = f"{each} finished results in results-b would be replaced by results of other settings (judge_model"
        assert replaced in call(*dry)[2]
        assert "replaced" not in call(*dry, "--replace")[2]
    loaded = load_records("results-pairs", VERDICT)
    assert loaded.found == ()
    assert {one.judge_model for one in loaded} == {"judge"}
    assert call("score", "--results", "results-pairs", "-o", "pairs.parquet")[0] == 0
    assert "EQ-Bench 3, pairs" in call("report", "pairs.parquet")[1]
    status, out, _ = call("analyze", "pairs.parquet", "protocols", "--results", "results-pairs")
    assert status == 0


def test_the_plan_has_the_calls_about_pairs(call: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prices.toml").write_text("m = {input = 1, output = 2}\nj = {input = 3, output = 15}\n", encoding="utf-8")
    run: tuple[Any, ...] = ("run", "local", "m", "demo", "--benchmark", "eqbench3", "--prices", "prices.toml")
    out = call(*run, "--judge-model", "j", "--base-url", "http://x/v1", "--pairs", 30, "--dry-run")[1]
    _, pairs = out.split("then at most 30 calls about pairs, and one more for an answer that cannot be read\n")
    assert pairs.startswith("j: 30 calls, about ")
    assert "cost: about " in pairs


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ("--benchmark", "emobench"),
            "--pairs: answers of EmoBench are not judged in pairs; answers of EQ-Bench 3 are",
        ),
        (("--benchmark", "eqbench3"), "--pairs needs one judge, which reads the answers of both models: --judge-model"),
    ],
)
def test_what_cannot_be_judged_in_pairs_is_an_error(options: tuple[str, ...], expected: str, call: Cli) -> None:
    status, _, err = call(
        "run", "local", "m", "demo", *options, "--base-url", "http://x/v1", "--pairs", 30, "--dry-run"
    )
    assert status == 2
    assert expected in err
