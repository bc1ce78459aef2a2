"""Scores of EmoBench, each value worked by hand; chance, position bias, and which models may be compared."""

import re
from math import nan
from typing import Any

import pytest
from synthetic.predictions import answers_of

from attune_bench import Scores, score
from attune_bench.benchmarks.emobench import BASELINES, TASK, position_bias
from attune_bench.stats.comparability import MixedSettingsError
from attune_data import load_records
from attune_data.emobench import EmoBenchItem, EmoBenchPrediction
from attune_data.kinds import ITEM, PREDICTION
from attune_metrics import MetricInputError

EU = EmoBenchItem(
    qid="1", language="en", coarse_category="emotional_cues", scenario="s", subject="Ada",
    emotion_choices=tuple("abcdef"), emotion_label="c", cause_choices=tuple("wxyz"), cause_label="w",
)  # fmt: skip
EA = EmoBenchItem(
    qid="1", language="zh", category="Social-Self", question_type="Action", scenario="s", subject="Bo",
    choices=tuple("abcd"), label="b",
)  # fmt: skip


def answered(item: EmoBenchItem, *answers: Any, model: str = "m", **about: Any) -> EmoBenchPrediction:
    return EmoBenchPrediction.model_validate({"item": item.id, "model": model, "answers": answers, **about})


def values(item: EmoBenchItem, *answers: Any) -> dict[str, float | None]:
    row = score([item], [answered(item, *answers)], benchmark="emobench").values.row(0, named=True)
    return {name.removesuffix("_accuracy"): value for name, value in row.items() if name.endswith("accuracy")}


def test_an_order_is_right_where_both_parts_are() -> None:
    # The emotion C is shown first, so A is right; the cause is in its own order, so A is right.
    shown = {"emotion": "CABDEF"}
    right = {"shown": shown, "predictions": {"emotion": ["A"], "cause": ["A"]}}
    wrong = {"shown": shown, "predictions": {"emotion": ["C"], "cause": ["A"]}}
    assert values(EU, right) == {"item": 1, "eu": 1, "eu_emotion": 1, "eu_cause": 1}
    # Two of three orders have the emotion, all the cause.
    assert values(EU, right, wrong, right) == pytest.approx(
        {"item": 2 / 3, "eu": 2 / 3, "eu_emotion": 2 / 3, "eu_cause": 1}
    )


def test_the_most_frequent_letter_counts_and_null_only_alone() -> None:
    # B in the order DBCA is the item's B: right.
    shown = {"answer": "DBCA"}
    for letters, right in (
        (["A", "B", "B"], 1), (["A", "B"], 0), (["B", "A"], 1), ([None, None, "B"], 1), ([None], 0)
    ):  # fmt: skip
        assert values(EA, {"shown": shown, "predictions": {"answer": letters}}) == {"item": right, "ea": right}


def test_an_order_that_lacks_a_part_does_not_count() -> None:
    whole = {"predictions": {"emotion": ["C"], "cause": ["B"]}}
    part = {"predictions": {"emotion": ["A"]}}
    odd = {"shown": {"cause": "AABC"}, "predictions": {"emotion": ["C"], "cause": ["A"]}}
    assert values(EU, whole, part, odd) == {"item": 0, "eu": 0, "eu_emotion": 1, "eu_cause": 0}
    assert values(EU, part) == dict.fromkeys(["item", "eu", "eu_emotion", "eu_cause"])
    five = {"shown": {"answer": "EDCBA"}, "predictions": {"answer": ["A"]}}  # of four choices
    (note,) = score([EU, EA], [answered(EU, whole, part, odd), answered(EA, five)]).provenance.notes
    assert note == "Left out: 3 orders of choices that lack a part or are not the item's."
    assert score([EU], [answered(EU, whole)]).provenance.notes == ()


def test_the_languages_of_a_scenario_are_one_cluster_and_its_fields_traits() -> None:
    other = EU.model_copy(update={"language": "zh"})
    scores = score([EU, EA, other], [answered(one, {"predictions": {}}) for one in (EU, EA, other)])
    columns = ["unit", "cluster", "task", "language", "coarse_category", "category", "question_type"]
    assert scores.units.select(columns).rows() == [
        ("EA/1/zh", "EA/1", "EA", "zh", None, "Social-Self", "Action"),
        ("EU/1/en", "EU/1", "EU", "en", "emotional_cues", None, None),
        ("EU/1/zh", "EU/1", "EU", "zh", "emotional_cues", None, None),
    ]
    assert (scores.provenance.unit, scores.provenance.cluster) == ("item", "scenario")


def test_what_random_letters_score() -> None:
    seven = EU.model_copy(update={"qid": "2", "cause_choices": tuple("wxyzabc")})
    given = [answered(one, {"predictions": {}}) for one in (EU, EA, seven)]
    found = score([EU, EA, seven], given).units.select("unit", "^chance.*$").rows(named=True)
    # One of 6 emotions, of 4 or 7 causes, of 4 answers.
    assert [one["chance.item_accuracy"] for one in found] == pytest.approx([1 / 4, 1 / 24, 1 / 42])
    assert found[0]["chance.eu_accuracy"] is None
    assert found[2]["chance.eu_cause_accuracy"] == pytest.approx(1 / 7)


@pytest.mark.slow
def test_the_chance_baseline_scores_what_is_expected() -> None:
    items = load_records("demo", ITEM).where(language="en")
    runs = [score(items, BASELINES["chance"](items, seed=seed)) for seed in range(60)]
    means = [float(one.values["ea_accuracy"].drop_nulls().mean()) for one in runs]  # type: ignore[arg-type]
    # 60 times 20 items: 0.25 with a standard error of 0.0125.
    assert sum(means) / 60 == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_answer_what_is_scored(name: str) -> None:
    broken = [EU.model_copy(update={"cause_choices": ()}), EU.model_copy(update={"emotion_choices": tuple("abcdefgh")})]
    assert [one.item for one in BASELINES[name]([*broken, EA])] == [EA.id]


def test_items_that_cannot_be_scored_are_left_out() -> None:
    broken = EA.model_copy(update={"qid": "2", "label": "e"})
    whole = {"predictions": {"emotion": ["C"], "cause": ["A"]}}
    scores = score([EU, broken], [answered(EU, whole), answered(broken, {"predictions": {"answer": ["A"]}})])
    assert scores.values["unit"].to_list() == ["EU/1/en"]
    assert scores.provenance.notes == ("Left out: 1 result of items that are not scored.",)
    with pytest.raises(MetricInputError, match="none of 1 result is of one of 0 items"):
        score([broken], [answered(broken, {"predictions": {"answer": ["A"]}})])


def test_conditions_are_kept_apart() -> None:
    given = [
        answered(EA, {"predictions": {"answer": [letter]}}, condition=name)
        for name, letter in (("plain", "A"), ("reasoning", "B"))
    ]
    scores = score([EA], given)
    assert scores.values.select("condition", "item_accuracy").rows() == [("plain", 0.0), ("reasoning", 1.0)]


@pytest.mark.slow
def test_models_that_were_asked_otherwise_are_not_compared() -> None:
    items = load_records("demo", ITEM)[:8]
    settings = TASK.settings("a").provenance()
    assert {*score(items, answers_of(items, "a", 1)).provenance.comparability_keys} <= {*settings}

    def compared(**other: Any) -> Scores:
        told = {"a": settings, "b": {**settings, "model": "b", **other}}
        given = [one.model_copy(update=told[model]) for model in told for one in answers_of(items, model, 0.5)]
        return score(items, given)

    assert compared().compare("a", "b", resamples=50).height
    with pytest.raises(MixedSettingsError, match="number of samples"):
        compared(samples_per_order=1).compare("a", "b", resamples=50)
    # Results of others may record what is neither text nor number.
    for temperature, said in (([0.7], "[0.7]"), ({"b": 1, "a": 0}, '{"a": 0, "b": 1}'), (nan, "NaN")):
        with pytest.raises(MixedSettingsError, match=re.escape(f"temperature 0.7 (of a), {said} (of b)")):
            compared(temperature=temperature).compare("a", "b", resamples=50)


# Position bias.


def test_a_model_that_always_says_a_prefers_it() -> None:
    items = load_records("demo", ITEM).where(task="EA")
    results = BASELINES["first"](items)
    found = position_bias(score(items, results), data=items, results=results, resamples=50)
    values = dict(found.select("letter", "value").iter_rows())
    # In the demo the right choice is each of the four letters in a quarter of the items: 1 - 1/4, and 0 - 1/4.
    assert values == pytest.approx({"answer A": 0.75, "answer B": -0.25, "answer C": -0.25, "answer D": -0.25})
    assert found["clusters"].to_list() == [20] * 4


def test_unreadable_answers_are_no_preference() -> None:
    # Of two readable answers one is A; A is right in one of two orders: 1/2 - 1 and 1/2 - 0, mean 0.
    given = answered(
        EA,
        {"shown": {"answer": "BACD"}, "predictions": {"answer": ["A", "B", None]}},
        {"predictions": {"answer": ["A", "C"]}},
        {"predictions": {"answer": [None]}},
    )
    found = position_bias(score([EA], [given]), data=[EA], results=[given], resamples=50)
    # B: (1/2 - 0 + 0 - 1) / 2; C: (0 + 1/2) / 2; D is never named nor right.
    assert dict(found.select("letter", "value").iter_rows()) == pytest.approx(
        {"answer A": 0, "answer B": -0.25, "answer C": 0.25, "answer D": 0}
    )


def test_predictions_of_the_demo_are_scored() -> None:
    scores = score(load_records("demo", ITEM), load_records("demo", PREDICTION))
    assert scores.repeat_counts == (2,)
    frame = scores.compare("synthetic/attentive", "synthetic/hasty", metrics=["eu_accuracy"], resamples=200)
    assert frame["significant"].to_list() == [True]
