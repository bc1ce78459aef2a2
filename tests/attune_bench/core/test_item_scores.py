"""Scores of results that are each of one record of the data."""

from typing import Any

import pytest

from attune_bench.scores.records import score_items
from attune_data.record import Record
from attune_metrics import Metric, MetricInputError
from attune_metrics.catalog import CATALOG


class Task(Record):
    id: str
    group: str
    level: str | None = None


class Try(Record):
    task: str
    model: str
    hits: tuple[float | None, ...]


TASKS = [Task(id="t1", group="g", level="easy"), Task(id="t2", group="g"), Task(id="t3", group="h")]


def scored(*tries: Try, **options: Any) -> Any:
    def values(task: Task, one: Try) -> dict[str, Any]:
        return {"success": one.hits, **({"emo_point": [50.0]} if task.id == "t1" else {})}

    return score_items(TASKS, tries, values, row=lambda one: (one.model, None, one.task), **options)


def test_each_result_has_the_values_of_its_record() -> None:
    seen: list[int] = []
    tries = [Try(task="t1", model="a", hits=(1,)), Try(task="t3", model="a", hits=(None,))]
    scores = scored(*tries, cluster="group", traits=("level",), progress=seen.append, words={"unit": "task"})
    assert scores.values.rows() == [("a", None, "t1", 50.0, 1.0), ("a", None, "t3", None, None)]
    assert scores.units.rows() == [("t1", "g", "easy"), ("t3", "h", None)]
    assert scores.metrics == {name: CATALOG[name] for name in ("emo_point", "success")}
    assert (scores.repeats, scores.provenance.unit, scores.provenance.notes, seen) == (None, "task", (), [2])


def test_values_are_means_over_repeats() -> None:
    # t1: (1 + 0 + 1 + 0) / 4; t2: of the one repeat that is defined.
    scores = scored(Try(task="t1", model="a", hits=(1, 0, 1, 0)), Try(task="t2", model="a", hits=(None, 1)))
    assert dict(scores.values.select("unit", "success").iter_rows()) == {"t1": 0.5, "t2": 1.0}
    assert scores.repeat_counts == (2, 4)
    assert scores.units["cluster"].null_count() == 2


def test_a_metric_outside_the_catalogue_keeps_its_entry() -> None:
    burden = Metric(name="burden", label="Burden", low=1, high=7, higher_is_better=False)
    own_success = Metric(name="success", label="Own success", low=0, high=1)
    tries = [Try(task=name, model="a", hits=(hit,)) for name, hit in (("t1", 2), ("t2", 7))]

    def given(value: float | None) -> Any:
        return score_items(
            TASKS,
            tries,
            lambda _, one: {"burden": one.hits, "success": [0.5], "other": [value]},
            row=lambda one: (one.model, None, one.task),
            metrics=[burden, own_success],
        )

    scores = given(3)
    assert scores.metrics == {"success": own_success, "burden": burden, "other": Metric(name="other", label="other")}
    assert "1 metric without a description (other): mean, higher is better." in scores.provenance.notes
    tries.append(Try(task="t3", model="a", hits=(8,)))
    with pytest.raises(MetricInputError, match="value 8 of metric 'burden' is outside 1 to 7"):
        given(3)


def test_a_result_that_names_its_repeat_is_a_value_of_this_repeat() -> None:
    class Again(Try):
        repeat: int

    tries = [Again(task="t1", model="a", hits=(hit,), repeat=repeat) for hit, repeat in ((1, 1), (0, 2), (0, 4))]
    scores = scored(*tries)
    assert scores.values["success"].to_list() == [1 / 3]
    assert scores.repeats.select("repeat", "success").rows() == [("1", 1), ("2", 0), ("4", 0)]
    twice = scored(*(Again(task="t1", model="a", hits=(1, 0), repeat=repeat) for repeat in (1, 2)))
    assert twice.repeats["repeat"].to_list() == ["1.0", "1.1", "2.0", "2.1"]
    with pytest.raises(MetricInputError, match="both are model 'a', unit 't1'"):
        scored(*tries, tries[0])


def test_what_random_answers_score_is_beside_the_units() -> None:
    scores = scored(
        *(Try(task=name, model="a", hits=(1,)) for name in ("t1", "t2")),
        chance=lambda task: {"success": 0.25} if task.level else {},
    )
    assert scores.units.select("unit", "chance.success", "chance.emo_point").rows() == [
        ("t1", 0.25, None),
        ("t2", None, None),
    ]


def test_results_of_other_records_are_left_out() -> None:
    scores = scored(Try(task="t1", model="a", hits=(1,)), Try(task="t9", model="a", hits=(1,)), words={"unit": "task"})
    assert scores.provenance.notes == ("Left out: 1 result of tasks that are not scored.",)
    with pytest.raises(MetricInputError, match="none of 1 result is of one of 3 tasks"):
        scored(Try(task="t9", model="a", hits=(1,)), words={"unit": "task"})


def test_two_results_of_one_record_and_model_are_an_error() -> None:
    with pytest.raises(MetricInputError, match="both are model 'a', unit 't1'"):
        scored(*[Try(task="t1", model="a", hits=(1,))] * 2)
