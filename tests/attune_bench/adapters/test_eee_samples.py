"""Samples of Every Eval Ever: valid lines with the values of the scores, and the texts that were scored."""

import json
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest
from jsonschema import Draft7Validator, Draft202012Validator
from sample_cases import BENCHMARKS, Case, Json, case_of, own_case
from slow_cases import slow_except

from attune_bench import score
from attune_bench.adapters.eee import Samples
from attune_data import Conversation, Conversations, PublishError
from attune_metrics.catalog import CATALOG

FOLDER = Path(__file__).parent
SCHEMA = json.loads((FOLDER / "eee-0.3.0.schema.json").read_bytes())
SAMPLES_SCHEMA = json.loads((FOLDER / "eee-0.3.0-samples.schema.json").read_bytes())


def lines_of(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


# What a line is.


@pytest.mark.parametrize("name", slow_except(BENCHMARKS, "eibench", "sage"))
def test_lines_are_valid_and_have_the_values_of_the_scores(name: str, tmp_path: Path) -> None:
    case = case_of(name)
    bare = case.records()
    records = case.samples().write(bare, tmp_path)
    assert list(records) == list(bare)
    valid = Draft7Validator(SAMPLES_SCHEMA)
    for record, (model, condition) in zip(records.values(), case.scores.groups, strict=True):
        Draft202012Validator(SCHEMA).validate(record)
        about = record["detailed_evaluation_results"]
        content = (tmp_path / about["file_path"]).read_bytes()
        assert about["checksum"] == sha256(content).hexdigest()
        lines = lines_of(tmp_path / about["file_path"])
        assert about["total_rows"] == len(lines) == content.count(b"\n")
        named = {one["evaluation_result_id"]: one["evaluation_name"] for one in record["evaluation_results"]}
        found = {}
        for line in lines:
            valid.validate(line)
            assert line["schema_version"] == record["schema_version"]
            assert line["evaluation_id"] == record["evaluation_id"]
            assert line["model_id"] == record["model_info"]["id"] == model
            assert line["evaluation_name"] == named[line["evaluation_result_id"]]
            found[line["evaluation_result_id"], line["sample_id"]] = line["evaluation"]["score"]
        rows = case.scores.values.filter(pl.col("model") == model, pl.col("condition").eq_missing(condition))
        expected = {
            (metric, row["unit"]): row[metric]
            for metric in case.metrics
            for row in rows.iter_rows(named=True)
            if row.get(metric) is not None  # the score of Spiral-Bench is of models alone
        }
        assert found == expected
        assert len(lines) == len(found)
        assert case.pooled is None or case.pooled in named


@pytest.mark.slow
def test_a_unit_without_a_value_has_no_line() -> None:
    """The episode with an error counts nothing; some conversations have no intensities."""
    for name, metric, undefined in (("eibench", "reward", 1), ("attunebench", "avg_emotion_intensity_mae", 3)):
        case = case_of(name)
        lines = [line for record in case.records().values() for line in case.samples().lines(record)]
        count = sum(line["evaluation_result_id"] == metric for line in lines)
        assert case.scores.values[metric].null_count() == undefined
        assert count == case.scores.values.height - undefined


@pytest.mark.slow
def test_what_is_best_is_correct() -> None:
    best: dict[str, float] = {
        "emo_point": 100,
        "success": 1,
        "failure": 0,
        "reward": 1,
        "final_anger": 0,
        "final_trust": 100,
    }
    best |= {"avg_emotion_intensity_mae": 0, "composite_score": 100, "panas_baseline_adjusted": 1}
    best |= {name: 1 for name, metric in CATALOG.items() if metric.family == "emobench"}
    best |= dict.fromkeys(("eqbench_score", "eqbench_first_pass", "eqbench_revised"), 10) | {"eqbench_parseable": 1}
    spiralbench = [metric for metric in CATALOG.values() if metric.family == "spiralbench"]
    best |= {metric.name: metric.high if metric.higher_is_better else metric.low for metric in spiralbench}
    seen = set()
    for case in map(case_of, BENCHMARKS):
        for record in case.records().values():
            for line in case.samples().lines(record):
                metric, own = line["evaluation_result_id"], line["evaluation"]
                assert own["is_correct"] == (metric in best and own["score"] == best[metric])
                seen.add((metric, own["is_correct"]))
    assert {("emo_point", True), ("emo_point", False), ("failure", True), ("reward", True)} <= seen


def first_lines(case: Case) -> dict[tuple[str, str], Json]:
    found: dict[tuple[str, str], Json] = {}
    for record in case.records().values():
        for line in case.samples().lines(record):
            found.setdefault((line["model_id"], line["sample_id"]), line)
    return found


def said(line: Json) -> list[tuple[str, str]]:
    assert [message["turn_idx"] for message in line["messages"]] == list(range(len(line["messages"])))
    assert line["evaluation"]["num_turns"] == (len(line["messages"]) or None)
    return [(message["role"], message["content"]) for message in line["messages"]]


def hashed(raw: str, reference: list[str]) -> str:
    """Return the hash as templates of the coalition make it, so that files of all harnesses agree."""
    return sha256(json.dumps({"raw": raw, "reference": reference}, separators=(",", ":")).encode()).hexdigest()


@pytest.mark.slow
def test_texts_of_a_prediction_are_the_conversation_and_the_prediction() -> None:
    case = case_of("attunebench")
    found = first_lines(case)
    assert len(found) == 80
    for run in case.results:
        line, conversation = found[run.em_model, run.conversation_id], case.data[run.conversation_id]
        *talk, (role, answer) = said(line)
        turns = [text for turn in conversation.turns for text in (turn.user_message, turn.llm_response)]
        assert talk == list(zip(["user", "assistant"] * len(conversation.turns), turns, strict=True))
        assert (role, type(run).model_validate_json(answer)) == ("assistant", run)
        [reference] = line["input"]["reference"]
        assert type(conversation).model_validate_json(reference) == conversation
        assert line["input"]["raw"] == turns[0]
        assert line["sample_hash"] == hashed(turns[0], [reference])
        expected = {"participant": conversation.participant_id, "mode": "default", "synthetic_data": "yes"}
        assert expected.items() <= line["metadata"].items()


def test_texts_of_an_episode_are_its_messages() -> None:
    case = case_of("eibench")
    found = first_lines(case._replace(scores=case.scores.variant(failed="worst")))
    roles = {"aggressor": "user", "defender": "assistant"}
    begun = set()
    for episode in case.results:
        line = found[episode.model, episode.scenario_id]
        assert said(line) == [(roles[one.role], one.content) for one in episode.history]
        [reference] = line["input"]["reference"]
        assert json.loads(reference)["id"] == episode.scenario_id
        # What the model says first is no input.
        first = episode.history[0] if episode.history else None
        begun.add(first and first.role)
        raw = first.content if first and first.role == "aggressor" else ""
        assert line["input"]["raw"] == raw
        assert line["sample_hash"] == hashed(raw, [reference])
        assert line["metadata"] == {"scene": episode.scene, "synthetic_data": "yes"}
    assert begun == {"aggressor", "defender", None}


def test_texts_of_a_dialogue_need_no_data() -> None:
    case = case_of("sage")
    found = first_lines(case)
    for dialogue in case.results:
        line = found[dialogue.model, dialogue.scenario_id]
        assert said(line) == [(message.role, message.content) for message in dialogue.history]
        assert line["input"] == {"raw": dialogue.history[0].content, "reference": []}
        assert line["sample_hash"] == hashed(dialogue.history[0].content, [])


@pytest.mark.slow
def test_a_record_has_the_samples_of_its_condition() -> None:
    case = case_of("attunebench")
    two = type(case.results)([*case.results, *(run.model_copy(update={"mode": "verbose"}) for run in case.results)])
    both = case._replace(scores=score(case.data, two), results=two, metrics=["composite_score"])
    records = both.records()
    assert len(records) == 4
    for record, (model, mode) in zip(records.values(), both.scores.groups, strict=True):
        lines = list(both.samples().lines(record))
        assert len(lines) == 40
        for line in lines:
            run = json.loads(said(line)[-1][1])
            assert (run["em_model"], run["mode"], run["conversationId"]) == (model, mode, line["sample_id"])
            assert line["metadata"]["mode"] == mode


@pytest.mark.slow
def test_data_may_have_more_than_was_scored() -> None:
    case = case_of("attunebench")
    half = case.data[:20]
    of_half = case._replace(scores=score(half, case.results))
    assert {line["sample_id"] for line in first_lines(of_half).values()} == {one.id for one in half}


@pytest.mark.slow
def test_chance_and_subgroups() -> None:
    case = case_of("attunebench")
    bare, records = case.records(), case.records(by=["diagnosis_group"], data=case.data)
    metric = "panas_baseline_adjusted"
    chance = dict(case.scores.units.select("unit", f"chance.{metric}").iter_rows())
    for one, other in zip(bare.values(), records.values(), strict=True):
        assert len(other["evaluation_results"]) > len(one["evaluation_results"])
        lines = list(case.samples().lines(other))
        # Subgroups have no lines of their own.
        assert lines == list(case.samples().lines(one))
        of_metric = [line for line in lines if line["evaluation_result_id"] == metric]
        assert of_metric
        for line in of_metric:
            assert line["metadata"]["chance"] == str(chance[line["sample_id"]])


@pytest.mark.slow
def test_a_result_that_is_not_shown_has_no_line(tmp_path: Path) -> None:
    case = case_of("attunebench")
    participants = sorted({one.participant_id for one in case.data})[:4]
    data = case.data.filter(f"participant_id in {tuple(participants)!r}")
    assert 0 < len(data) < 40
    few = case._replace(scores=score(data, case.results), data=data)
    assert few.samples().write(few.records(), tmp_path) == few.records()
    assert not list(tmp_path.rglob("*.jsonl"))
    shown = few.samples().write(few.records(small_cells=True), tmp_path)
    assert all(record["detailed_evaluation_results"]["total_rows"] for record in shown.values())


@pytest.mark.slow
def test_a_person_is_in_a_sample_only_with_small_cells() -> None:
    case = case_of("attunebench")
    content = json.loads(case.data[0].to_json())
    del content["metadata"]["synthetic"]
    real = Conversation.model_validate(content)
    assert not real.synthetic
    data = Conversations([real, *case.data[1:]])
    scores = score(data, case.results)
    with pytest.raises(PublishError, match="a sample shows a single conversation of a person"):
        Samples(scores, results=case.results, data=data, licence="cc-by-4.0")
    Samples(scores, results=case.results, data=data, licence="cc-by-4.0", small_cells=True)
    of_others = score(case.data[1:], case.results)
    Samples(of_others, results=case.results, data=data, licence="cc-by-4.0")


def test_a_result_without_a_dialogue_is_one_turn() -> None:
    case = own_case(licence="cc-by-4.0")
    [record] = case.records().values()
    lines = list(case.samples().lines(record))
    for line, question, answer in zip(lines, case.data[:3], case.results, strict=True):
        Draft7Validator(SAMPLES_SCHEMA).validate(line)
        asked = question.to_json().decode()
        assert line["interaction_type"] == "single_turn"
        assert line["input"] == {"raw": asked, "reference": [asked]}
        assert line["output"] == {"raw": [answer.to_json().decode()]}
        assert "messages" not in line
    assert [line["evaluation"] for line in lines] == [
        {"score": value, "is_correct": value == 1, "num_turns": 1} for value in (1, 0, 1)
    ]
    alone = own_case("WITHOUT_DATA", licence="cc-by-4.0")
    [record] = alone.records().values()
    lines = list(alone.samples().lines(record))
    assert [line["input"] for line in lines] == [{"raw": "", "reference": []}] * 3
    assert [line["output"]["raw"] for line in lines] == [[answer.to_json().decode()] for answer in alone.results]


def test_no_value_is_correct_where_neither_direction_is_better() -> None:
    case = own_case(synthetic=True)._replace(metrics=["answered"])
    [record] = case.records().values()
    lines = list(case.samples().lines(record))
    assert [line["evaluation"] for line in lines] == [{"score": 1.0, "is_correct": False, "num_turns": 1}] * 3
