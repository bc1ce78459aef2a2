"""Samples that other harnesses logged, as scores: whose, of what, in what cluster; and what is no such file."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores, score
from attune_bench.adapters.units import BenchmarkUnits
from attune_data import load, load_runs
from attune_data.issues import SourceError
from attune_metrics.metric import MetricInputError

Json = dict[str, Any]

DATES = ("2026-01-01T00-00-00.000001", "2026-01-02T00-00-00.000001")


def sample(number: int, value: Any, *, keep: str = "none", **doc: Any) -> Json:
    """Return a sample as lm_eval logs it."""
    metrics = {"acc": value, "text": "words", "low": float("nan")}
    about = {"doc": {"asker": {"id": f"p{number % 6}"}, "topic": f"t{number % 2}", **doc}, "filter": keep}
    return {"doc_id": number, "metrics": list(metrics), "resps": [["yes"]], **about, **metrics}


def logged(folder: Path, samples: list[Json], *, model: str = "m", task: str = "quiz", date: str = DATES[0]) -> Path:
    """Write samples where lm_eval would, with the results beside them."""
    own = folder / model
    own.mkdir(parents=True, exist_ok=True)
    results = {"model_name": f"vendor/{model}", "higher_is_better": {task: {"acc": False, "low": True}}}
    (own / f"results_{date}.json").write_text(json.dumps(results), encoding="utf-8")
    path = own / f"samples_{task}_{date}.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in samples), encoding="utf-8")
    return path


def test_samples_of_two_models_are_compared_within_their_clusters(tmp_path: Path) -> None:
    for place, model in enumerate("ab"):
        logged(tmp_path, [sample(number, (number + place) % 3) for number in range(30)], model=model)
    scores = Scores.from_lm_eval(tmp_path, cluster="asker.id", traits=["topic"])
    assert (scores.models, scores.units.height, list(scores.metrics)) == (("vendor/a", "vendor/b"), 30, ["acc"])
    assert scores.metric("acc").higher_is_better is False
    assert (scores.provenance.title, scores.provenance.unit, scores.provenance.cluster) == ("quiz", "document", "id")
    rows = scores.summary(resamples=200).rows(named=True)
    assert [(row["value"], row["n"], row["clusters"]) for row in rows] == [(1.0, 30, 6)] * 2
    assert scores.compare_all(resamples=200)["difference"].to_list() == [0.0]
    assert scores.by("topic", resamples=200)["n"].to_list() == [15] * 4
    assert "p0" in scores.units["cluster"].to_list()


def test_what_the_caller_says_of_a_metric_counts_first(tmp_path: Path) -> None:
    logged(tmp_path, [sample(number, number % 2) for number in range(6)])
    said = {"acc": {"label": "Accuracy", "low": 0, "high": 1}}
    scores = Scores.from_lm_eval(tmp_path, metrics=said, about={"title": "Quiz"})
    metric = scores.metric("acc")
    assert (metric.label, metric.high, metric.higher_is_better) == ("Accuracy", 1, False)
    assert scores.provenance.title == "Quiz"


def test_the_latest_file_of_a_model_and_task_counts(tmp_path: Path) -> None:
    for date, value in zip(DATES, (0, 1), strict=True):
        logged(tmp_path, [sample(number, value) for number in range(6)], date=date)
    assert Scores.from_lm_eval(tmp_path).values["acc"].to_list() == [1.0] * 6


def test_the_latest_counts_wherever_it_lies(tmp_path: Path) -> None:
    for folder, date, value in (("b", DATES[0], 0), ("a", DATES[1], 1)):
        logged(tmp_path / folder, [sample(number, value) for number in range(6)], date=date)
    assert Scores.from_lm_eval(tmp_path).values["acc"].to_list() == [1.0] * 6


def test_true_and_false_are_numbers(tmp_path: Path) -> None:
    rows = [{**sample(number, number % 2 == 0), "metrics": ["acc"]} for number in range(6)]
    logged(tmp_path, rows)
    assert Scores.from_lm_eval(tmp_path).values["acc"].to_list() == [1.0, 0.0] * 3


@pytest.mark.parametrize("trait", ["unit", "value", "cluster", "model", "task"])
def test_a_trait_cannot_take_the_place_of_a_column(trait: str, tmp_path: Path) -> None:
    row = sample(0, 1)
    row["doc"][trait] = "x"
    logged(tmp_path, [row])
    with pytest.raises(MetricInputError, match=f"trait '{trait}': the table has a column of that name"):
        Scores.from_lm_eval(tmp_path, traits=[trait])


def test_tasks_that_disagree_on_the_direction_have_none(tmp_path: Path) -> None:
    path = logged(tmp_path, [sample(number, 1) for number in range(6)])
    other = logged(tmp_path, [sample(number, 1) for number in range(6)], task="other", date=DATES[1])
    about = json.loads(other.with_name(f"results_{DATES[1]}.json").read_bytes())
    about["higher_is_better"]["other"]["acc"] = True
    other.with_name(f"results_{DATES[1]}.json").write_text(json.dumps(about), encoding="utf-8")
    assert Scores.from_lm_eval(tmp_path).metric("acc").higher_is_better is None
    assert Scores.from_lm_eval(path).metric("acc").higher_is_better is False


def test_filters_are_conditions_and_tasks_are_a_trait(tmp_path: Path) -> None:
    both = [sample(number, number % 2, keep=keep) for number in range(6) for keep in ("strict", "loose")]
    logged(tmp_path, both)
    logged(tmp_path, [sample(number, 1) for number in range(6)], task="other_quiz")
    scores = Scores.from_lm_eval(tmp_path)
    assert set(scores.values["condition"]) == {"strict", "loose", None}
    assert scores.units.height == 12
    assert set(scores.units["task"]) == {"quiz", "other_quiz"}
    assert set(scores.units["unit"]) >= {"quiz/0", "other_quiz/5"}


def test_one_file_without_results_has_the_model_of_its_folder(tmp_path: Path) -> None:
    path = logged(tmp_path, [sample(number, True) for number in range(6)])
    path.with_name(f"results_{DATES[0]}.json").unlink()
    assert Scores.from_lm_eval(path).models == ("m",)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", r"quiz_.*jsonl, line 1 is not JSON"),
        ("[]", "line 1 is no JSON object"),
        ('{"doc": {}}', "line 1: no sample of lm_eval: it lacks doc_id, doc or metrics"),
        (json.dumps({"doc_id": 0, "doc": {}, "metrics": ["acc"], "acc": [1, 2]}), "no sample of quiz has a number"),
    ],
)
def test_what_is_no_sample_is_named(line: str, said: str, tmp_path: Path) -> None:
    logged(tmp_path, []).write_text(line, encoding="utf-8")
    with pytest.raises((SourceError, MetricInputError), match=said):
        Scores.from_lm_eval(tmp_path)


def test_a_field_that_documents_lack_is_named_with_the_nearest(tmp_path: Path) -> None:
    logged(tmp_path, [sample(0, 1)])
    with pytest.raises(MetricInputError, match=r"line 1: no field 'asker.name'; .*id"):
        Scores.from_lm_eval(tmp_path, cluster="asker.name")
    with pytest.raises(MetricInputError, match="no field 'topics'; did you mean 'topic'"):
        Scores.from_lm_eval(tmp_path, traits=["topics"])


def test_folders_without_samples_and_files_of_another_name(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"has no samples_\*.jsonl"):
        Scores.from_lm_eval(tmp_path)
    with pytest.raises(SourceError, match="does not exist"):
        Scores.from_lm_eval(tmp_path / "no")
    (tmp_path / "other.jsonl").write_text("{}", encoding="utf-8")
    with pytest.raises(SourceError, match="lm_eval calls them samples_<task>"):
        Scores.from_lm_eval(tmp_path / "other.jsonl")


@pytest.mark.slow
def test_questions_that_units_answered_add_up_to_the_coverage_of_their_scores() -> None:
    of, runs = BenchmarkUnits("attunebench", "demo"), load_runs("demo").where(em_model="synthetic/hasty")
    expected = {row["metric"]: row["coverage"] for row in of_board(score(load("demo"), runs)).iter_rows(named=True)}
    counts: dict[str, dict[str, list[int]]] = {}
    for run in runs:
        values, questions = of.values_and_questions(run.conversation_id, run)
        assert values.keys() == questions.keys()
        for name, by_task in questions.items():
            for task, own in by_task.items():
                known = counts.setdefault(name, {}).setdefault(task, [0, 0])
                known[:] = [before + more for before, more in zip(known, own, strict=True)]
    found = {name: min(present / of_all for present, of_all in by_task.values()) for name, by_task in counts.items()}
    assert found == {name: share for name, share in expected.items() if share is not None}
    assert 0.9 < min(found.values()) < 1


def of_board(scores: Scores) -> pl.DataFrame:
    return scores.summary(metrics=list(scores.headline), resamples=1)
