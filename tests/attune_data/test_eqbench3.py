"""EQ-Bench 3: the text of situations, files of runs and of comparisons, whole and as streams, and their rules."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from attune_data import SourceError, load_records, recognise
from attune_data.eqbench3 import counted_pluses, notes_of, plus_signs, situations_of, type_of
from attune_data.eqbench3.loading import load_situations
from attune_data.io import documents
from attune_data.io import pieces as stream
from attune_data.kinds import SITUATION, TRANSCRIPT, VERDICT

Json = dict[str, Any]

TEXT = """Words before the first situation.
######## 9 | Family Issue | A night
what stands before the first prompt
####### Prompt1
  It is late.

Say something.
####### Prompt2
Go on.\u2028And on.
######## 208 | Work Dilemma | A | title
####### Prompt1
Write it.

######## 409 | Analytical Interpretation | Lost
####### 1
Nobody reads this.
  ######## 415 | Mediation (Family) | A night
####### Prompt1
Analyse it.
"""


def written(path: Path, content: object) -> Path:
    data = json.dumps(content).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


# Situations.


def test_a_text_has_situations_and_one_without_a_prompt_is_an_issue(tmp_path: Path) -> None:
    path = tmp_path / "scenario_prompts.txt"
    path.write_text(TEXT, encoding="utf-8")
    (tmp_path / "scenario_notes.txt").write_text("# 9\nShe has\nnot slept.\n\n# 5\nOf no situation.\n# 208\n\n")
    assert recognise(path) is SITUATION
    loaded = load_situations(path)
    assert [(one.id, one.type, one.story, one.title, one.prompts) for one in loaded] == [
        ("9", "role-play", "9", "A night", ("It is late.\n\nSay something.", "Go on.\u2028And on.")),
        ("208", "drafting", "208", "A | title", ("Write it.",)),
        ("415", "analysis", "9", "A night", ("Analyse it.",)),
    ]
    assert [one.note for one in loaded] == ["She has\nnot slept.", None, None]
    assert [(issue.rule, issue.severity) for issue in loaded.found] == [
        ("invalid-value", "error"),
        ("note-of-no-situation", "note"),
    ]
    assert loaded.found[0].message.startswith("situation 409 has no prompt; ")
    assert loaded.found[1].value == "5"
    # Of a folder the text is read, whatever else is there; without the notes, which the loader of situations adds.
    written(tmp_path / "other.json", {"a": 1})
    assert [one.id for one in load_records(tmp_path)] == ["9", "208", "415"]


def test_types_follow_from_ids() -> None:
    assert [type_of(one) for one in ("1", "200", "201", "209", "210", "400", "401", "420", "421")] == [
        *("role-play", "role-play", "drafting", "drafting", "role-play", "role-play", "analysis", "analysis"),
        "role-play",
    ]


def test_a_text_of_anything_else_is_no_source(tmp_path: Path) -> None:
    (tmp_path / "scenario_prompts.txt").write_text("Some words.")
    with pytest.raises(SourceError, match="is of no known kind"):
        load_records(tmp_path / "scenario_prompts.txt")
    (tmp_path / "words.txt").write_text(TEXT)
    with pytest.raises(SourceError, match=r"is neither a \.json, \.jsonl or \.parquet file"):
        load_records(tmp_path / "words.txt")
    assert situations_of("") == []
    assert notes_of("no heading") == {}


# Runs.


def task(**changes: Any) -> Json:
    said = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "# My response\nGood evening."}]
    return {
        "scenario_id": "9", "prompts": ["Hello."], "debrief_prompt": "And now?", "iteration_index": 1,
        "test_model": "vendor/model", "master_prompt_template": "{scenario_prompt}", "status": "rubric_scored",
        "conversation_history": said, "parsed_responses": [{"response": "Good evening.", "raw": "..."}],
        "debrief_response": "It went well.", "rubric_scores": {"demonstrated_empathy": 12.0, "warmth": 14},
    } | changes  # fmt: skip


def run_file(*models: str, **tasks: Json) -> Json:
    """Return a file of runs, one for each model, with the tasks by id in iteration 1, and the first in iteration 2."""
    by_id = {name.removeprefix("_"): one for name, one in (tasks or {"_9": task()}).items()}
    again = {name: one | {"iteration_index": 2} for name, one in [*by_id.items()][:1]}
    return {
        f"ab12_{model}": {
            "run_key": f"ab12_{model}", "model_name": model, "api_model_id": model, "test_model": model,
            "judge_model": "vendor/judge", "status": "completed", "iterations_requested": 2,
            "scenario_tasks": {"1": by_id, "2": again}, "results": {"average_rubric_score": 12.0},
        }
        for model in models
    }  # fmt: skip


@pytest.mark.parametrize("name", ["eqbench3_runs.json", "canonical_leaderboard_results.json.gz"])
def test_a_file_of_runs_has_a_record_for_each_task(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / name, run_file("vendor/model", "other", _9=task(), _401=task(scenario_id="401")))
    assert recognise(path) is TRANSCRIPT
    loaded = load_records(path)
    assert loaded.found == ()
    assert [one.id for one in loaded] == [
        *("9/vendor/model", "401/vendor/model", "9/vendor/model/repeat-2"),
        *("9/other", "401/other", "9/other/repeat-2"),
    ]
    first = loaded[0]
    assert (first.judge_model, first.rubric_scores) == ("vendor/judge", {"demonstrated_empathy": 12.0, "warmth": 14})
    assert first.model_extra == {"parsed_responses": [{"response": "Good evening.", "raw": "..."}]}
    loaded.to_jsonl(tmp_path / "transcripts.jsonl")
    assert list(load_records(tmp_path / "transcripts.jsonl")) == list(loaded)


def test_a_task_without_scores_is_kept_and_named(tmp_path: Path) -> None:
    failed = task(status="error", error="timeout", rubric_scores={})
    odd = task(scenario_id="11", rubric_scores={"demonstrated_empathy": 21})
    loaded = load_records(written(tmp_path / "runs.json", run_file("m", _11=odd, _9=failed)))
    assert [(issue.path, issue.rule, issue.message) for issue in loaded.found] == [
        (
            "$.rubric_scores.demonstrated_empathy",
            "beyond-scale",
            "a score is from 0 to 20; in the mean it counts as it is, as published",
        ),
        ("$.status", "not-scored", "timeout"),
        (
            "$.rubric_scores.demonstrated_empathy",
            "beyond-scale",
            "a score is from 0 to 20; in the mean it counts as it is, as published",
        ),
    ]
    assert [one.is_scored for one in loaded] == [True, False, True]


# Comparisons.


def compared(order: str = "A0493:test / A0488:other", **changes: Any) -> Json:
    answer: Json = {f"criterion_{n}": "A0493++" for n in range(7)}
    answer |= {"overall_eq": "A0488+", "chain_of_thought_reasoning": "A0493 +++"}
    return {
        "scenario_id": "9", "pair": {"test_model": "m1", "neighbor_model": "m2", "iteration_index": "1"},
        "order": order, "judge_response": answer, "outcome_for_test_model": 1.0, "plus_for_test": 14,
        "plus_for_other": 1, "plus_diff": 13, "fraction_for_test": 0.7167, "test_model_avg_response_length": 3100.0,
        "neighbor_model_avg_response_length": 2900.5,
    } | changes  # fmt: skip


REVERSE = "A0493:other / A0488:test"


def elo_file(*comparisons: Json) -> Json:
    ratings = {"elo": 1231.62, "elo_norm": 1231.62, "sigma": 52.63}
    about = {"last_updated": "2026-01-01T00:00:00+00:00", "global_pairwise_comparisons": [*comparisons]}
    return {"__metadata__": about, "m1": ratings, "m2": ratings}


def test_a_comparison_without_pluses_keeps_its_fraction(tmp_path: Path) -> None:
    without: dict[str, Any] = {"judge_response": None, "plus_for_test": None, "plus_for_other": None}
    wrong = compared(REVERSE, fraction_for_test=1.5) | without
    loaded = load_records(written(tmp_path / "elo.json", elo_file(compared() | without, wrong)), VERDICT)
    [one] = [one for one in loaded if one.test_first]
    assert (one.plus_for_test, one.fraction_for_test, one.fault) == (None, 0.7167, "")
    assert any("fraction_for_test" in issue.path and "1.5" in str(issue.value) for issue in loaded.found)


def test_a_file_of_comparisons_has_a_record_for_each_call_with_pluses_counted_anew(tmp_path: Path) -> None:
    path = written(
        tmp_path / "elo_results_eqbench3.json",
        elo_file(
            compared(),
            compared(REVERSE, plus_for_test=1, plus_for_other=14),
            compared(scenario_id="401", plus_for_test=1, plus_for_other=0),
            compared(REVERSE, scenario_id="401", plus_for_test=5, plus_for_other=0),
        ),
    )
    assert recognise(path) is VERDICT
    loaded = load_records(path)
    assert [(one.id, one.plus_for_test, one.plus_for_other, one.rubric) for one in loaded] == [
        ("9/1/m1 before m2", 14, 1, "standard"),
        ("9/1/m2 before m1, as neighbor", 1, 14, "standard"),
        ("401/1/m1 before m2", 14, 1, "analysis"),
        ("401/1/m2 before m1, as neighbor", 1, 14, "analysis"),
    ]
    assert (loaded[0].test_model_avg_response_length, loaded[0].neighbor_model_avg_response_length) == (3100.0, 2900.5)
    [issue] = loaded.found
    assert (issue.rule, issue.file, issue.value) == ("other-pluses", "elo_results_eqbench3.json:4", "[5, 0]")
    assert b"criterion_1" not in loaded[0].to_line()  # the words of the judge are not kept
    loaded.to_jsonl(tmp_path / "verdicts.jsonl")
    assert list(load_records(tmp_path / "verdicts.jsonl")) == list(loaded)


def test_what_cannot_be_counted_is_kept_and_named(tmp_path: Path) -> None:
    itself = compared(pair={"test_model": "m1", "neighbor_model": "m1", "iteration_index": 1})
    failed = {"scenario_id": "9", "pair": itself["pair"] | {"neighbor_model": "m2"}, "error": "no JSON"}
    unnamed = compared(pair={"test_model": "m1", "iteration_index": "1"})
    path = written(tmp_path / "elo.json", elo_file(itself, failed, unnamed, {"error": "lost"}, compared(REVERSE)))
    loaded = load_records(path, VERDICT)
    assert [(issue.rule, issue.severity, issue.message) for issue in loaded.found if issue.path == "$"] == [
        ("no-verdict", "warning", "'m1' is compared with itself"),
        ("no-verdict", "warning", "no JSON"),
        ("not-a-record", "error", "not a verdict: it has none of __metadata__, neighbor_model"),
        (
            *("duplicate-record", "note"),
            "elo.json:5 has the same situation, iteration, models, order and judge, and counts, which has a verdict",
        ),
    ]
    assert [issue.path for issue in loaded.found if issue.rule == "invalid-value"] == ["$.neighbor_model"]
    assert [bool(one.fault) for one in loaded] == [True, False]


def test_more_plus_signs_than_criteria_allow_are_named(tmp_path: Path) -> None:
    many = compared(judge_response={"overall_eq": f"A0493{'+' * 60}"}, plus_for_test=60, plus_for_other=0)
    [issue] = load_records(written(tmp_path / "elo.json", elo_file(many, compared(REVERSE))), VERDICT).found[:1]
    assert (issue.rule, issue.value) == ("beyond-scale", "60")
    assert issue.message == "plus signs of an answer are 40 at most, 5 for each of 8 criteria"


def test_plus_signs_go_to_the_side_that_a_value_names() -> None:
    verdict: dict[str, object] = {f"criterion_{n}": "A0493++" for n in range(7)}
    verdict |= {"overall_eq": "A0488+", "chain_of_thought_reasoning": "A0488 is worse: +++++", "warmth": "B12+++"}
    assert plus_signs(verdict | {"depth": 3, "empathy": None}) == (14, 1)
    assert plus_signs({"overall_eq": "A0493, not A0488: ++"}) == (
        2,
        0,
    )  # as published, the first side is looked for first
    assert plus_signs({}) == (0, 0)


def test_analysis_counts_only_which_side_has_more() -> None:
    assert [counted_pluses(*one, rubric="analysis") for one in ((14, 1), (2, 3), (5, 5))] == [(1, 0), (0, 1), (0, 0)]
    assert counted_pluses(14, 1, rubric="standard") == (14, 1)


# Large files.


@pytest.mark.parametrize("name", ["large.json", "large.json.gz"])
def test_a_large_file_is_read_as_a_stream_with_the_same_records(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [
        compared(order, scenario_id=str(n), plus_for_test=counts[0], plus_for_other=counts[1])
        for n in range(200)
        for order, counts in (("A0493:test / A0488:other", (14, 1)), (REVERSE, (1, 14)))
    ]
    path = written(tmp_path / name, elo_file(*many))
    runs = written(tmp_path / f"runs-{name}", run_file(*(f"m{n}" for n in range(40))))
    whole = [*load_records(path, VERDICT)], [*load_records(runs, TRANSCRIPT)]
    assert [len(one) for one in whole] == [400, 80]
    monkeypatch.setattr(documents, "RECORD_LIMIT", 20_000)
    for attribute, size in (("_READ", 1_000), ("_PIECE", 3_000), ("_LARGEST", 8_000)):
        monkeypatch.setattr(stream, attribute, size)
    assert recognise(path) is VERDICT
    assert recognise(runs) is TRANSCRIPT
    loaded = load_records(path), load_records(runs)
    assert tuple([*one] for one in loaded) == whole
    assert [one.found for one in loaded] == [(), ()]


def test_a_large_file_that_is_cut_off_gives_what_stands_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "large.json", elo_file(*(compared(scenario_id=str(n)) for n in range(200))))
    path.write_bytes(path.read_bytes()[:60_000])
    monkeypatch.setattr(documents, "RECORD_LIMIT", 20_000)
    for attribute, size in (("_READ", 1_000), ("_PIECE", 3_000), ("_LARGEST", 8_000)):
        monkeypatch.setattr(stream, attribute, size)
    loaded = load_records(path, VERDICT)
    assert 50 < len(loaded) < 120
    [issue] = [issue for issue in loaded.found if issue.severity == "error"]
    assert issue.message.startswith(f"the file cannot be read after {len(loaded)} records: not JSON: ")
    # To a kind without files of many records it is a record that is too large, as before.
    with pytest.raises(SourceError, match="larger than 20,000 bytes, the limit of one record"):
        recognise(written(tmp_path / "other.json", {"a": ["x" * 100] * 300}))


# The demonstration.


def test_the_demonstration_has_six_situations_of_each_type() -> None:
    demo = load_records("demo", SITUATION)
    assert {name: len(part) for name, part in demo.stratify("type").items()} == {
        "role-play": 6,
        "drafting": 6,
        "analysis": 6,
    }
    assert len({one.story for one in demo}) == 12
    assert len(load_records("demo", TRANSCRIPT)) == 54
    assert len(load_records("demo", VERDICT)) == 108
