"""Rows of people: scored and compared like models, and marked wherever they are shown or written."""

from pathlib import Path
from typing import Any

import pytest
from commands import QUICK, Call, strict_json, too_wide

from attune_bench import Scores, score
from attune_bench.adapters.eee import Publisher, eee_records
from attune_bench.adapters.exports import flat_tables, hub_results
from attune_data import Run, load, load_runs

PEOPLE = ("human/ann", "human/bob")


def answered(run: Run, name: str) -> Run:
    """Return a run file of a person, who answered like a model and drafted nothing."""
    content: dict[str, Any] = run.model_dump(by_alias=True, exclude_unset=True, mode="json")
    for turn in content["turns"]:
        for field in [field for field in turn if "draft" in field]:
            del turn[field]
    return Run.model_validate(content | {"em_model": name})


@pytest.fixture(scope="module")
def scores() -> Scores:
    conversations, runs = load("demo"), list(load_runs("demo"))
    seven = {run.conversation_id for run in runs[:7]}
    people = [
        answered(run, name)
        for name, model in zip(PEOPLE, ("synthetic/attentive", "synthetic/hasty"), strict=True)
        for run in runs
        if run.em_model == model and run.conversation_id in seven
    ]
    return score(conversations, [*runs, *people])


def test_a_person_is_scored_like_a_model(scores: Scores) -> None:
    # The answers are those of a model, and so are the scores of what was answered.
    names = ["composite_score", "avg_pairwise_accuracy", "avg_binary_human_accuracy", "avg_emotion_va_score"]
    rows = {model: scores.values.filter(model=model).sort("unit").select("unit", *names) for model in scores.models}
    assert rows["human/ann"].height == 7
    own = rows["synthetic/attentive"].filter(
        rows["synthetic/attentive"]["unit"].is_in(rows["human/ann"]["unit"].to_list())
    )
    assert rows["human/ann"].equals(own)
    assert scores.values.filter(model="human/ann")["avg_draft_judge_score"].null_count() == 7
    found = scores.compare("human/ann", "synthetic/attentive", metrics=names, resamples=100)
    assert set(found["difference"]) == {0.0}
    assert set(found["n"]) == {7}


@pytest.mark.slow
def test_tables_mark_people(call: Call, scores: Scores, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    scores.write(path)
    said = "(person) marks people who answered what the models were asked: human/ann, human/bob."
    for command in (["report"], ["rank"], ["compare", "--metric", "avg_pairwise_accuracy"]):
        status, out, err = call(*command, "--scores", path, *QUICK)
        assert (status, err, too_wide(out)) == (0, "", [])
        assert "human/ann (person)" in out
        assert "synthetic/hasty (person)" not in out
        assert said in " ".join(out.split())
    made = strict_json(call("report", "--scores", path, "--format", "json", *QUICK)[1])
    assert made["metadata"]["people"] == [*PEOPLE]
    assert {row["model"] for row in made["models"]} >= {*PEOPLE}
    page = tmp_path / "page.html"
    assert call("report", "--scores", path, "--html", page, *QUICK)[0] == 0
    text = page.read_text(encoding="utf-8")
    assert "<bdi>human/<wbr>ann</bdi> <small>(person)</small>" in text
    assert said in text


@pytest.mark.slow
def test_scores_of_models_alone_say_nothing_of_people(call: Call, tmp_path: Path) -> None:
    score(load("demo"), load_runs("demo")).write(tmp_path / "scores.json")
    given = ("--scores", tmp_path / "scores.json", *QUICK)
    assert "(person)" not in call("report", *given)[1]
    assert "people" not in strict_json(call("report", *given, "--format", "json")[1])["metadata"]


def test_a_table_of_anybody_marks_people(call: Call, tmp_path: Path) -> None:
    rows = [f"{model},q{unit},hit,{unit % place}" for place, model in ((2, "human/ann"), (3, "m")) for unit in range(9)]
    (tmp_path / "table.csv").write_text("\n".join(["model,unit,metric,value", *rows]), encoding="utf-8")
    assert "human/ann (person)" in call("report", "--scores", tmp_path / "table.csv", *QUICK)[1]


def test_exports_mark_people(scores: Scores) -> None:
    options: Any = {"metrics": ["avg_pairwise_accuracy"], "resamples": 100}
    kinds = dict(flat_tables(scores, **options)["models"].select("model", "kind").rows())
    assert kinds == {
        **dict.fromkeys(PEOPLE, "person"), **dict.fromkeys(("synthetic/attentive", "synthetic/hasty"), "model")
    }  # fmt: skip
    records = eee_records(scores, Publisher(organization="Lab"), **options)
    details = {one["model_info"]["name"]: one["model_info"]["additional_details"] for one in records.values()}
    assert {model for model, own in details.items() if own.get("kind") == "person"} == {*PEOPLE}
    paths = hub_results(scores, dataset="lab/attune", **options)
    assert [path.partition("/.")[0] for path in paths] == ["synthetic/attentive", "synthetic/hasty"]
