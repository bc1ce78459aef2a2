"""Items of EmoBench and answers to them: what is read, what is reported, how they are written back."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from attune_data import load_records, recognise
from attune_data.emobench import EmoBenchItem
from attune_data.kinds import ITEM, PREDICTION

Json = dict[str, Any]
SAMPLES = Path(__file__).parents[3] / "shared" / "samples" / "emobench"
EU: Json = {
    "qid": "7",
    "language": "en",
    "coarse_category": "complex_emotions",
    "finegrained_category": "guilt",
    "scenario": "Ada kept the change.",
    "subject": "Ada",
    "emotion_choices": [*"abcdef"],
    "emotion_label": "c",
    "cause_choices": [*"wxyz"],
    "cause_label": "z",
}
EA: Json = {
    "qid": "7",
    "language": "zh",
    "category": "Social-Self",
    "question type": "Response",
    "scenario": "It rains.",
    "subject": "Bo",
    "choices": [*"abcd"],
    "label": "b",
}
ANSWERED: Json = {
    "item": "EU/7/en",
    "model": "vendor/m",
    "condition": "reasoning",
    "answers": [{"shown": {"emotion": "CABDEF"}, "predictions": {"emotion": ["A", None], "cause": ["D", "D"]}}],
}


def issues(kind: Any, document: Json, folder: Path) -> list[tuple[str, str, str]]:
    (folder / "one.json").write_text(json.dumps(document))
    return [(issue.path, issue.rule, issue.message) for issue in load_records(folder / "one.json", kind).found]


def test_the_two_tasks_in_files_as_published(tmp_path: Path) -> None:
    (tmp_path / "EU.jsonl").write_text(json.dumps(EU) + "\n")
    (tmp_path / "EA.jsonl").write_text(json.dumps(EA) + "\n")
    assert recognise(tmp_path) is ITEM
    ea, eu = items = load_records(tmp_path, ITEM)
    assert items.found == ()
    assert [(one.id, one.task, one.scenario_id) for one in items] == [
        ("EA/7/zh", "EA", "EA/7"),
        ("EU/7/en", "EU", "EU/7"),
    ]
    assert eu.questions == {"emotion": (tuple("abcdef"), "c"), "cause": (tuple("wxyz"), "z")}
    assert (ea.questions, ea.question_type, ea.fault) == ({"answer": (tuple("abcd"), "b")}, "Response", "")
    assert [json.loads(one.to_json()) for one in items] == [EA, EU]


@pytest.mark.parametrize(
    ("change", "path", "rule", "message"),
    [
        ({"emotion_label": "C"}, "$.emotion_label", "label-not-a-choice", "found 0 times among the choices"),
        ({"cause_label": None}, "$.cause_label", "label-not-a-choice", "found 0 times"),
        ({"cause_choices": [*"wxyzzz"]}, "$.cause_label", "label-not-a-choice", "found 3 times"),
        ({"emotion_choices": [*"abcde"]}, "$.emotion_choices", "number-of-choices", "5 choices; expected 6"),
        ({"cause_choices": [*"xyz"]}, "$.cause_choices", "number-of-choices", "3 choices; expected 4 or 6 or 7"),
    ],
)
def test_an_item_that_contradicts_itself(change: Json, path: str, rule: str, message: str, tmp_path: Path) -> None:
    ((place, found, said),) = issues(ITEM, EU | change, tmp_path)
    assert (place, found) == (path, rule)
    assert message in said
    fault = EmoBenchItem.model_validate(EU | change).fault
    assert bool(fault) == (rule == "label-not-a-choice")


def test_an_empty_choice_is_not_the_label_that_is_missing(tmp_path: Path) -> None:
    item = EA | {"choices": ["a", "b", "", "d"], "label": None}
    assert [rule for _, rule, _ in issues(ITEM, item, tmp_path)] == ["label-not-a-choice"]
    assert EmoBenchItem.model_validate(item).fault


def test_seven_causes_are_allowed_and_eight_cannot_be_asked(tmp_path: Path) -> None:
    assert issues(ITEM, EU | {"cause_choices": [*"tuvwxyz"]}, tmp_path) == []
    many = EU | {"cause_choices": [*"stuvwxyz"]}
    assert [rule for _, rule, _ in issues(ITEM, many, tmp_path)] == ["number-of-choices"]
    assert EmoBenchItem.model_validate(many).fault == "not one right choice of A to G: cause"


def test_answers_are_written_as_they_were(tmp_path: Path) -> None:
    assert issues(PREDICTION, ANSWERED, tmp_path) == []
    (one,) = load_records(tmp_path / "one.json", PREDICTION)
    assert (one.id, json.loads(one.to_json())) == ("EU/7/en/vendor/m/reasoning", ANSWERED)
    assert one.answers[0].predictions["emotion"] == ("A", None)


@pytest.mark.parametrize(
    ("answers", "path", "rule"),
    [
        ([], "$.answers[0].predictions", "parts-of-answer"),
        ([{"predictions": {"emotion": ["A"]}}], "$.answers[0].predictions", "parts-of-answer"),
        ([{"predictions": {"emotion": ["A"], "cause": []}}], "$.answers[0].predictions", "parts-of-answer"),
        ([{"predictions": {"answer": ["A"]}}], "$.answers[0].predictions", "parts-of-answer"),
        (
            [{"shown": {"cause": "ABCC"}, "predictions": {"emotion": ["A"], "cause": ["A"]}}],
            "$.answers[0].shown.cause",
            "order-of-choices",
        ),
        ([{"predictions": {"emotion": ["b"], "cause": ["A"]}}], "$.answers[0].predictions.emotion[0]", "old-spelling"),
        ([{"predictions": {"emotion": ["X"], "cause": ["A"]}}], "$.answers[0].predictions.emotion[0]", "unknown-value"),
    ],
)
def test_answers_that_cannot_be_scored_are_reported(answers: Any, path: str, rule: str, tmp_path: Path) -> None:
    assert [(found, of) for found, of, _ in issues(PREDICTION, ANSWERED | {"answers": answers}, tmp_path)] == [
        (path, rule)
    ]


def test_the_demo_has_every_category_in_both_languages() -> None:
    items = load_records("demo", ITEM)
    counts = Counter((item.language, item.coarse_category or item.category) for item in items)
    assert (len(items), len(counts), {*counts.values()}) == (80, 16, {5})
    assert {item.question_type for item in items if item.task == "EA"} == {"Action", "Response"}
    pairs = Counter(item.scenario_id for item in items)
    assert {*pairs.values()} == {2}
    # Neither the place of the right choice nor its length gives it away.
    places = Counter(choices.index(str(label)) for one in items for choices, label in one.questions.values())
    assert len(places) == 6
    assert max(places.values()) < 0.35 * sum(places.values())


def test_where_asks_for_the_task_and_splits_keep_languages_together() -> None:
    items = load_records("demo", ITEM)
    assert len(items.where(task="EA", language="zh")) == 20
    first, second = items.split(0.5, 0.5, seed=1)
    assert {one.scenario_id for one in first}.isdisjoint(one.scenario_id for one in second)


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="needs real items")
def test_real_items_load_without_an_issue_and_are_written_back() -> None:
    items = load_records(SAMPLES, ITEM)
    assert items.found == ()
    assert {(one.task, one.language) for one in items} == {("EU", "en"), ("EU", "zh"), ("EA", "en"), ("EA", "zh")}
    given = [line for name in ("EA", "EU") for line in (SAMPLES / f"{name}.jsonl").read_bytes().splitlines()]
    assert [json.loads(one.to_json()) for one in items] == [json.loads(line) for line in given]
