"""Records of the other kind, records that come twice, files passed over, and nulls that are not shared."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attune_data import Run, SourceError, load, load_runs

Json = dict[str, Any]
Save = Callable[[Json, str], Path]


def _rules(found: Any) -> list[tuple[str, str, str]]:
    return [(issue.file, issue.rule, issue.severity) for issue in found]


@pytest.mark.parametrize("key", ["participant_profile", "prePanas", "conversationWideQuestions"])
def test_a_run_may_record_what_it_was_shown(key: str, run: Json, save: Save) -> None:
    loaded = load_runs(save({**run, key: {"shown": 1}}, "run.json"))
    assert loaded.found == ()
    assert json.loads(loaded[0].to_json())[key] == {"shown": 1}


def test_a_conversation_may_have_a_key_of_runs(conversation: Json, save: Save) -> None:
    assert load(save({**conversation, "em_model": "vendor/model"}, "1.json")).found == ()
    assert load(save({**conversation, "em_model": None}, "2.json")).found == ()


def test_each_kind_is_told_from_the_other(conversation: Json, run: Json, save: Save, tmp_path: Path) -> None:
    save(conversation, "conversation_1.json")
    save(run, "run.json")
    with pytest.raises(SourceError, match="contains 1 conversation and no run; load reads conversations"):
        load_runs(tmp_path / "conversation_1.json")
    with pytest.raises(SourceError, match="contains 1 run and no conversation; load_runs reads runs"):
        load(tmp_path / "run.json")
    # In a mixed folder each file is reported by itself.
    runs = load_runs(tmp_path)
    assert [record.em_model for record in runs] == [run["em_model"]]
    (wrong,) = runs.found
    assert (wrong.file, wrong.rule, wrong.message) == (
        "conversation_1.json",
        "not-a-record",
        "not a run; is it a conversation, which load reads?",
    )


def test_the_same_conversation_twice_is_a_note_and_another_of_its_id_an_error(
    conversation: Json, save: Save, tmp_path: Path
) -> None:
    save(conversation, "a.json")
    save(conversation, "b.json")
    save({**conversation, "turns": [{"turnNumber": 1}]}, "c.json")
    loaded = load(tmp_path)
    assert len(loaded) == 1
    duplicate = "duplicate-conversation"
    assert _rules(loaded.found) == [("b.json", duplicate, "note"), ("c.json", duplicate, "error")]
    assert loaded.found[1].message == "a.json has the same conversationId, and counts"
    assert loaded.files == {conversation["conversationId"]: "a.json"}


@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [
        ("1700000500", "1700000000", "a.json"),
        (1700000000, "2026-01-01T00:00:00Z", "b.json"),
        ("2026-01-01T12:00:00+02:00", "2026-01-01T11:00:00Z", "b.json"),
        ("not a time", "2026-01-01T00:00:00Z", "b.json"),
        ("2026-01-01T00:00:00Z", "not a time", "a.json"),
        ("x", "y", "b.json"),
        (None, None, "b.json"),
    ],
)
def test_the_run_that_counts(first: Any, second: Any, counts: str, run: Json, save: Save, tmp_path: Path) -> None:
    save({**run, "run_timestamp": first}, "a.json")
    save({**run, "run_timestamp": second}, "b.json")
    loaded = load_runs(tmp_path)
    (duplicate,) = [issue for issue in loaded.found if issue.rule == "duplicate-run"]
    assert list(loaded.files.values()) == [counts]
    assert duplicate.file == ("b.json" if counts == "a.json" else "a.json")
    assert counts in duplicate.message


def test_runs_come_in_the_order_in_which_each_was_first_read(run: Json, save: Save, tmp_path: Path) -> None:
    save({**run, "run_timestamp": "2026-01-02T00:00:00Z"}, "a.json")
    save({**run, "em_model": "other/model"}, "b.json")
    save({**run, "run_timestamp": "2026-01-01T00:00:00Z"}, "c.json")
    assert [record.em_model for record in load_runs(tmp_path)] == [run["em_model"], "other/model"]


def test_slashes_do_not_make_two_runs_one(run: Json, save: Save, tmp_path: Path) -> None:
    save({**run, "conversationId": "a", "em_model": "b/c"}, "1.json")
    save({**run, "conversationId": "a/b", "em_model": "c"}, "2.json")
    assert len(load_runs(tmp_path)) == 2


def test_files_that_are_passed_over_are_named_once(conversation: Json, save: Save, tmp_path: Path) -> None:
    save(conversation, "conversation_1.json")
    for name in ("notes.json", "more.jsonl", "rest.zip", "_skipped.json", "annotation_codebook.json"):
        (tmp_path / name).write_text("{}")
    (passed,) = load(tmp_path).found
    assert (passed.rule, passed.severity) == ("passed-over", "note")
    assert passed.message == "3 files are not read here: more.jsonl, notes.json, rest.zip"


def test_a_subset_of_which_nothing_is_there(conversation: Json, save: Save, tmp_path: Path) -> None:
    save(conversation, "conversation_100000.json")
    with pytest.raises(SourceError, match="holds none of the 20 files"):
        load(tmp_path, subset="Subsample20")


def test_a_number_beyond_arithmetic_is_null(run: Json, save: Save) -> None:
    run["turns"][0]["em_draft_judge_scores"] = {"overall_score": 10**400, "helpfulness": 5}
    loaded = load_runs(save(run, "run.json"))
    assert loaded[0].turns[0].em_draft_judge_scores.overall_score is None
    assert [issue.rule for issue in loaded.found] == ["unknown-value"]


def test_a_rating_outside_the_scale_is_reported_and_kept(run: Json, save: Save) -> None:
    run["turns"][0]["em_draft_judge_scores"] = {"overall_score": 9, "helpfulness": 5}
    loaded = load_runs(save(run, "run.json"))
    assert loaded[0].turns[0].em_draft_judge_scores.overall_score == 9
    assert [(issue.rule, issue.value) for issue in loaded.found] == [("score-range", "9")]


@pytest.mark.parametrize("labels", [{"responseB": None}, {"responseB": "original"}])
def test_a_comparison_needs_two_labels(labels: Json, conversation: Json, save: Save) -> None:
    comparison = {"questionId": "general", "responseA": "original", "responseB": "human", "winner": "A", **labels}
    conversation["turns"][0]["annotations"]["pairwiseComparisons"] = [comparison]
    (issue,) = load(save(conversation, "1.json")).found
    assert (issue.path, issue.rule) == ("$.turns[0].annotations.pairwiseComparisons[0]", "comparison-labels")


def test_selected_questions_are_checked(conversation: Json, save: Save) -> None:
    conversation["turns"][0]["annotations"]["selectedPairwiseQuestions"] = ["PW99", "PW1", "PW1"]
    found = load(save(conversation, "1.json")).found
    assert [(issue.rule, issue.value) for issue in found] == [
        ("repeated-question", '["PW1"]'),
        ("unknown-question", '"PW99"'),
    ]


def test_an_unknown_key_named_null_is_only_a_key(conversation: Json, save: Save) -> None:
    conversation["metadata"] = {"null": 5}
    assert json.loads(load(save(conversation, "1.json"))[0].to_json()) == conversation


def test_of_very_many_errors_the_rest_is_counted(conversation: Json, save: Save) -> None:
    conversation["turns"] = [{"turnNumber": {"not": "a number"}} for _ in range(60)]
    found = load(save(conversation, "1.json")).found
    assert len([issue for issue in found if issue.rule == "invalid-value"]) == 21
    assert "40 more values" in found[-1].message


def test_a_cut_inside_a_text_is_recognised(conversation: Json, tmp_path: Path) -> None:
    text = json.dumps(conversation)
    (tmp_path / "1.json").write_text(text[: text.index("turnNumber") + 4])
    assert "is the file cut off?" in load(tmp_path / "1.json").found[0].message


def test_one_null_object_is_not_shared_by_two_records(run: Json) -> None:
    content = json.dumps({**run, "turns": [{"turnNumber": 1, "em_binary_om_assessment": None}]})
    first, second = (Run.model_validate_json(content) for _ in range(2))
    first.turns[0].em_binary_om_assessment["B1"] = "yes"
    assert second.turns[0].em_binary_om_assessment == {}
    assert copy.deepcopy(second).to_json() == second.to_json() == Run.model_validate_json(content).to_json()
