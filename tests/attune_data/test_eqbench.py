"""Questions and answers of EQ-Bench: files of many records, texts of numbers, rules; written back equal."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attune_data import SourceError, load_records, recognise
from attune_data.eqbench import EQBenchAnswer, EQBenchQuestion
from attune_data.kinds import ANSWER, QUESTION

Json = dict[str, Any]

SAMPLES = Path(__file__).parents[3] / "shared" / "samples" / "eqbench2"
EMOTIONS = ("Wary", "Glad", "Hurt", "Proud")


def question(opening: str = "Ann: You came.", more: str = "", **changes: Any) -> Json:
    """Return a question as the repository's file has it, under its id."""
    asked = "\n".join(EMOTIONS)
    reference: Json = {f"emotion{n}": name for n, name in enumerate(EMOTIONS, 1)}
    reference |= {"emotion1_score": 0, "emotion2_score": "8", "emotion3_score": 0, "emotion4_score": "10"}
    prompt = f"\nJudge this dialogue:\n\n{opening}\n{more}[End dialogue]\n\nAt the end Ben would feel...\n{asked}\n"
    return {
        "prompt": prompt,
        "reference_answer": {"emotion1": "Wary"},
        "reference_answer_fullscale": reference,
    } | changes


def result_file(**runs: Any) -> Json:
    """Return a file of results of two questions, as the repository has it; `runs` by iteration."""
    passes = {"first_pass": {"Wary": "3", "Glad": "7"}, "revised": {}}
    run = {
        "individual_scores": {"1": {"first_pass_score": 4.5, "revised_score": None}, "12": {"first_pass_score": 1.0}},
        "raw_inference": {"1": "Wary: 3\nGlad: 7", "12": "I \u2028 see \U0001f642."},
        "respondent_answers": {"1": passes, "12": {"first_pass": {"Wary": 3}, "revised": {"Wary": 4}}},
    }
    return {
        "benchmark_score": 61.7, "model_path": "vendor/model", "n_questions_total": 171, "lora_path": "",
        "exclude_patterns": [], "raw_results": runs or {"1": run, "2": run},
    }  # fmt: skip


def written(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


# Files of many records.


def test_the_file_of_questions_is_read_and_written_back_equal(tmp_path: Path) -> None:
    content = {"1": question(), "2": question(more="Ben: I did.\n"), "10": question("Cas: No.")}
    path = written(tmp_path / "questions.json", content)
    assert recognise(path) is QUESTION
    loaded = load_records(path)
    assert [type(one) for one in loaded] == [EQBenchQuestion] * 3
    assert loaded.found == ()
    again = {one.id: json.loads(one.to_json()) for one in loaded}
    assert [*again] == ["1", "2", "10"]
    assert again == {name: {"id": name, **entry} for name, entry in content.items()}
    assert loaded["2"].reference == {"Wary": 0.0, "Glad": 8.0, "Hurt": 0.0, "Proud": 10.0}
    assert [one.dialogue for one in loaded] == ["Ann: You came.", "Ann: You came.", "Cas: No."]
    assert len(loaded.where(dialogue="Ann: You came.")) == 2
    loaded.to_jsonl(tmp_path / "questions.jsonl")
    assert list(load_records(tmp_path / "questions.jsonl")) == list(loaded)


def rebuilt(answers: list[EQBenchAnswer]) -> Any:
    """Return the file of results that answers are from."""
    runs: dict[str, dict[str, Json]] = {}
    records = [json.loads(answer.to_json()) for answer in answers]
    for record in records:
        run = runs.setdefault(str(record["repeat"]), {})
        for part in record.keys() - {"question", "model", "repeat", "run"}:
            run.setdefault(part, {})[record["question"]] = record[part]
    return records[0]["run"] | {"raw_results": runs}


def test_a_file_of_results_is_read_and_written_back_equal(tmp_path: Path) -> None:
    content = result_file()
    path = written(tmp_path / "vendor__model_eqbench_v2_results.json", content)
    assert recognise(path) is ANSWER
    loaded = load_records(path)
    assert loaded.found == ()
    assert [one.id for one in loaded] == [
        "1/vendor/model",
        "12/vendor/model",
        "1/vendor/model/repeat-2",
        "12/vendor/model/repeat-2",
    ]
    assert loaded[0].respondent_answers.first_pass == {"Wary": "3", "Glad": "7"}
    assert loaded[1].model_extra is not None
    assert loaded[1].model_extra["individual_scores"] == {"first_pass_score": 1.0}
    assert rebuilt(list(loaded)) == content
    loaded.to_jsonl(tmp_path / "answers.jsonl")
    again = load_records(tmp_path / "answers.jsonl")
    assert (list(again), again.found) == (list(loaded), ())


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="samples of the published questions are not here")
def test_published_questions() -> None:
    path = SAMPLES / "questions_3.json"
    loaded = load_records(path)
    assert loaded.found == ()
    content = json.loads(path.read_bytes())
    assert {one.id: json.loads(one.to_json()) for one in loaded} == {
        name: {"id": name, **entry} for name, entry in content.items()
    }
    assert len({one.dialogue for one in loaded}) == 1


def test_a_wrong_entry_costs_itself_alone(tmp_path: Path) -> None:
    broken = question(reference_answer_fullscale={"emotion1": "Wary"})
    path = written(tmp_path / "questions.json", {"1": question(), "2": 5, "3": broken, "4": question()})
    loaded = load_records(path)
    assert [one.id for one in loaded] == ["1", "4"]
    left_out = {(issue.file, issue.rule) for issue in loaded.found}
    assert left_out == {("questions.json:2", "not-a-record"), ("questions.json:3", "invalid-value")}


@pytest.mark.parametrize(
    "runs",
    [
        {"one": {"respondent_answers": {"1": {}}}},
        {"0": {"respondent_answers": {"1": {}}}},
        {"1": {"raw_inference": {"1": "x"}}},
    ],
    ids=["no number", "zero", "no intensities"],
)
def test_an_answer_of_no_use_is_left_out_with_its_reason(runs: Json, tmp_path: Path) -> None:
    path = written(tmp_path / "results.json", result_file(**runs))
    loaded = load_records(path, ANSWER)
    assert len(loaded) == 0
    assert {(issue.file, issue.severity) for issue in loaded.found} == {("results.json:1", "error")}


@pytest.mark.parametrize("runs", [{}, [], {"1": None}, {"1": {"raw_inference": []}}, "text"])
def test_a_file_without_answers_is_not_passed_over(runs: object, tmp_path: Path) -> None:
    path = written(tmp_path / "results.json", {**result_file(), "raw_results": runs})
    loaded = load_records(path, ANSWER)
    assert [issue.severity for issue in loaded.found][:1] == ["error"]
    assert len(loaded) == 0


def test_the_other_loader_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "results.json", result_file())
    with pytest.raises(SourceError, match=r"contains 1 answer and no question; load_records reads answers"):
        load_records(path, QUESTION)


# Rules.


def twice(one: Json) -> None:
    one["reference_answer_fullscale"]["emotion2"] = "Wary"


def unasked(one: Json) -> None:
    one["reference_answer_fullscale"]["emotion2"] = "glad"


def two_words(one: Json) -> None:
    one["reference_answer_fullscale"]["emotion2"] = "Ben would"


@pytest.mark.parametrize("change", [twice, unasked, two_words])
def test_a_question_that_nobody_can_answer(change: Callable[[Json], None], tmp_path: Path) -> None:
    one = question()
    change(one)
    loaded = load_records(written(tmp_path / "q.json", {"1": one}))
    assert [(issue.rule, issue.severity) for issue in loaded.found] == [("unasked-emotion", "warning")]
    assert len(loaded) == 1


@pytest.mark.parametrize("score", [11, -1, "11", "7.5", "", None, 7.5, True, "seven"])
def test_an_intensity_of_the_reference_outside_the_scale_costs_the_question(score: object, tmp_path: Path) -> None:
    one = question()
    one["reference_answer_fullscale"]["emotion2_score"] = score
    loaded = load_records(written(tmp_path / "q.json", {"1": one}), QUESTION)
    assert len(loaded) == 0
    (issue,) = loaded.found
    assert (issue.rule, issue.path) == ("invalid-value", "$.reference_answer_fullscale.emotion2_score")
    assert issue.message == "expected a whole number from 0 to 10, or its text"


@pytest.mark.parametrize("rated", [-3, 7.5, " 7", "-3", "seven", None, True])
def test_an_intensity_that_is_no_whole_number_costs_the_answer(rated: object, tmp_path: Path) -> None:
    runs = {"1": {"respondent_answers": {"1": {"first_pass": {"Wary": rated}}}}}
    loaded = load_records(written(tmp_path / "r.json", result_file(**runs)))
    assert len(loaded) == 0
    (issue,) = loaded.found
    assert (issue.rule, issue.path) == ("invalid-value", "$.respondent_answers.first_pass.Wary")
    assert issue.message == "expected a whole number from 0 on, or its text"


def test_an_answer_beyond_the_scale_is_kept_and_noted(tmp_path: Path) -> None:
    passes = {"first_pass": {"Wary": 11, "Glad": 10}, "revised": {"Wary": "100"}}
    loaded = load_records(written(tmp_path / "r.json", result_file(**{"1": {"respondent_answers": {"1": passes}}})))
    found = [(issue.rule, issue.severity, issue.path, issue.value) for issue in loaded.found]
    assert found == [
        ("above-scale", "note", "$.respondent_answers.first_pass.Wary", "11"),
        ("above-scale", "note", "$.respondent_answers.revised.Wary", '"100"'),
    ]
    assert json.loads(loaded[0].to_json())["respondent_answers"] == passes


def test_an_answer_without_intensities_is_noted(tmp_path: Path) -> None:
    loaded = load_records(written(tmp_path / "a.json", {"question": "1", "model": "m", "respondent_answers": {}}))
    assert [(issue.rule, issue.severity) for issue in loaded.found] == [("no-intensities", "note")]


def test_a_question_without_a_dialogue_is_one_by_itself(tmp_path: Path) -> None:
    words = " ".join(EMOTIONS)
    prompts = (f"How does Ben feel? {words}", f"\n\nAnn: Hm.\n{words}", f"{words}\n[End dialogue]")
    content = {name: question(prompt=prompt) for name, prompt in zip("abc", prompts, strict=True)}
    assert [one.dialogue for one in load_records(written(tmp_path / "q.json", content))] == ["a", "b", "c"]


def test_the_demonstration_has_dialogues_cut_at_several_places() -> None:
    demo = load_records("demo", QUESTION)
    counts = [len(demo.where(dialogue=opening)) for opening in {one.dialogue for one in demo}]
    assert (len(demo), sorted(counts)) == (20, [2, 2, 2, 2, 3, 3, 3, 3])
