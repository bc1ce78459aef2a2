"""Properties that every metric of the catalog has, on random input."""

import copy
import inspect
import itertools
import re
import types
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from math import isnan
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from attune_metrics import (
    BRANCHES,
    CATALOG,
    JUDGE_DIMENSIONS,
    MODEL_FIT_OPTIONS,
    NEGATIVE_AFFECT,
    POSITIVE_AFFECT,
    RESPONSE_LABELS,
    Metric,
    Panas,
    UndefinedMetricWarning,
    eibench,
)
from attune_metrics import curves as shapes
from attune_metrics.attunebench import binary, composite, emotion, holistic, pairwise, panas, response

# The keys of scores.json that are metrics, as the benchmark names them.
SCORE_KEYS = [
    "emotion_hit_rate", "emotion_intensity_mae", "emotion_precision", "emotion_recall", "emotion_f1",
    "emotion_f1_intensity", "emotion_va_score", "emotion_va_intensity_score", "binary_om_accuracy",
    "binary_human_accuracy", "binary_om_accuracy_hp", "binary_human_accuracy_hp", "pairwise_accuracy",
    "pairwise_kendall_tau", "response_similarity", "response_similarity_original",
    "response_similarity_llm_improved", "response_similarity_human_edited", "response_preference_alignment",
    "draft_judge_score", "draft_binary_alignment", "panas_mae", "panas_normalized", "panas_pa_mae",
    "panas_na_mae", "panas_pa_normalized", "panas_na_normalized", "panas_pa_baseline_adjusted",
    "panas_na_baseline_adjusted", "panas_baseline_adjusted", "panas_item_baseline_adjusted", "panas_item_mae",
    "panas_item_normalized", "q1_looking_for_score", "q2_emotion_clarity_match", "q3_model_fit_match",
    "q3_model_fit_ordinal_distance", "q3_follow_up_score", "four_branch_mae", "four_branch_normalized",
    "hp_perspective_gap", "hp_perspective_alignment", "hp_perspective_gap_mcc", "hp_perspective_alignment_mcc",
    "turn_level_average", "conversation_wide_average", "composite_score", "equal_weight_composite",
]  # fmt: skip
FAMILIES: dict[str, Any] = {
    "emotion": emotion, "binary": binary, "pairwise": pairwise, "response": response, "panas": panas,
    "holistic": holistic, "composite": composite, "trajectory": (eibench, shapes),
}  # fmt: skip
# Building blocks and the unchecked door; not metrics of their own.
NOT_METRICS = {
    "emotion_similarity", "token_jaccard", "pairwise_wins", "panas_totals", "observed_truth", "preferred_truth",
    "binary_counts", "emotion_scores", "response_scores", "panas_scores", "four_branch_scores",
    "clip_delta", "state_curve", "treat_failed", "scene_means", "sage_scores", "round_half_up",
}  # fmt: skip


@dataclass
class Case:
    """What a metric is called with."""

    args: list[Any]
    options: dict[str, Any] = field(default_factory=dict)


def value(metric: Metric, case: Case) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return metric.function(*case.args, **case.options)


words = st.sampled_from([*POSITIVE_AFFECT, *NEGATIVE_AFFECT])
scale = st.integers(1, 7)
maybe_scale = st.none() | scale
tags = st.lists(words | st.tuples(words | st.just("Joyful"), maybe_scale), max_size=4)
questions = st.sampled_from([f"B{i}" for i in range(1, 9)])
answers = st.dictionaries(questions, st.sampled_from(["yes", "no", "na", None]))
labels = st.lists(st.sampled_from(RESPONSE_LABELS), min_size=2, max_size=2, unique=True)
winners = st.sampled_from(["A", "B", None])
texts = st.lists(st.sampled_from(["i", "feel", "sad", "so", "tired", "of", "it"]), max_size=8).map(" ".join)
responses = st.dictionaries(st.sampled_from(RESPONSE_LABELS), st.none() | texts)
wins = st.none() | st.dictionaries(st.sampled_from(RESPONSE_LABELS), st.integers(0, 4))
items = st.dictionaries(words, maybe_scale)
totals = st.none() | st.integers(10, 70)
forms = st.builds(Panas, items, totals, totals)
text_lists = st.lists(texts, max_size=4)
fits = st.none() | st.sampled_from([*MODEL_FIT_OPTIONS, "so-so"])
branches = st.dictionaries(st.sampled_from(BRANCHES), maybe_scale)
states = st.integers(0, 100)
anchors = st.tuples(states, states, states)
curves = st.lists(states, min_size=1, max_size=12).map(tuple)
ratings = st.dictionaries(st.sampled_from([*JUDGE_DIMENSIONS, "style"]), maybe_scale)


def comparisons(winner: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.builds(lambda pair, won: (*pair, won), labels, winner), min_size=1, max_size=12)


def called(*args: st.SearchStrategy[Any], **options: st.SearchStrategy[Any]) -> st.SearchStrategy[Case]:
    return st.builds(lambda given, more: Case(list(given), more), st.tuples(*args), st.fixed_dictionaries(options))


def equal(one: st.SearchStrategy[Any], **options: st.SearchStrategy[Any]) -> st.SearchStrategy[Case]:
    """Prediction equal to the reference."""
    return st.builds(lambda given, more: Case([given, given], more), one, st.fixed_dictionaries(options))


# Random input, by metric or by family.
CASES = {
    "emotion": called(tags, tags),
    "binary": called(answers, answers),
    "pairwise": comparisons(winners).flatmap(
        lambda reference: called(
            st.just(reference), st.lists(winners, min_size=len(reference), max_size=len(reference))
        )
    ),
    "response": called(responses, st.none() | texts),
    "response_preference_alignment": called(responses, st.none() | texts, wins=wins),
    "draft_judge_score": called(ratings),
    "draft_binary_alignment": called(answers, answers),
    "panas": called(forms, forms),
    "q1_looking_for_score": called(text_lists, text_lists),
    "q3_follow_up_score": called(text_lists, text_lists),
    "four_branch_mae": called(branches, branches),
    "four_branch_normalized": called(branches, branches),
    "holistic": called(fits, fits),
    "trajectory": called(curves),
    "anger_score": called(anchors, states),
    "trust_score": called(anchors, states),
    "reward": called(anchors, anchors, states, states),
    "turns_to_target": called(curves, target=states),
}

# Full reference data with a prediction that equals it.
full_forms = st.fixed_dictionaries(dict.fromkeys(POSITIVE_AFFECT + NEGATIVE_AFFECT, scale)).map(Panas)
both_answers = answers.map(lambda given: given | {"B98": "yes", "B99": "no"})
same_texts = texts.filter(bool).map(lambda text: [dict.fromkeys(RESPONSE_LABELS, text), text])
full_branches = st.fixed_dictionaries({}, optional=dict.fromkeys(BRANCHES, scale))
PERFECT = {
    "emotion": equal(st.lists(st.tuples(words, scale), max_size=4)),
    "binary": equal(both_answers),
    "pairwise": comparisons(st.sampled_from("AB")).map(lambda given: Case([given, [won for *_, won in given]])),
    "response": same_texts.map(Case),
    "response_preference_alignment": st.builds(lambda given, won: Case(given, {"wins": won}), same_texts, wins),
    "draft_judge_score": st.just(Case([dict.fromkeys(JUDGE_DIMENSIONS, 7)])),
    "draft_binary_alignment": equal(both_answers),
    "panas": equal(full_forms),
    "q1_looking_for_score": equal(text_lists),
    "q3_follow_up_score": equal(text_lists),
    "four_branch_mae": equal(full_branches),
    "four_branch_normalized": equal(full_branches),
    "holistic": equal(fits),
    "anger_score": anchors.map(lambda given: Case([given, given[1]])),
    "trust_score": anchors.map(lambda given: Case([given, given[1]])),
    "reward": st.builds(lambda anger, trust: Case([anger, trust, anger[1], trust[1]]), anchors, anchors),
    "emotion_curve_area": st.integers(1, 9).map(lambda turns: Case([(100,) * (turns + 1)])),
    "trajectory": curves.map(lambda curve: Case([tuple(sorted(curve))])),
    "recovery_time": states.map(lambda state: Case([(state, 0, state)])),
    "turns_to_target": curves.map(lambda curve: Case([curve], {"target": curve[0]})),
}
for name in CATALOG:
    if name.endswith("baseline_adjusted"):
        CASES[name] = called(forms, forms, baseline=forms)
        PERFECT[name] = equal(full_forms, baseline=full_forms)


def parameters(metric: Metric) -> list[str]:
    return list(inspect.signature(metric.function).parameters)


def cases(metric: Metric) -> st.SearchStrategy[Case]:
    if metric.family == "composite":
        return called(**dict.fromkeys(parameters(metric), st.floats(0, 1)))
    return CASES.get(metric.name, CASES[metric.family])


def perfect(metric: Metric) -> st.SearchStrategy[Case]:
    if metric.family == "composite":
        return st.just(Case([], dict.fromkeys(parameters(metric), 1.0)))
    return PERFECT.get(metric.name, PERFECT[metric.family])


def respelled(data: Any, spell: Callable[[str], str]) -> Any:
    """Change the letter case of words, answers, labels and texts, but not of question ids and other keys."""
    if isinstance(data, str):
        return spell(data)
    if isinstance(data, Panas):
        renamed = {spell(word): rating for word, rating in data.items.items()}
        return Panas(renamed, data.positive_total, data.negative_total)
    if isinstance(data, list | tuple):
        return type(data)(respelled(part, spell) for part in data)
    if isinstance(data, dict):
        return {key: respelled(part, spell) for key, part in data.items()}
    return data


def reordered(data: Any) -> Any:
    """Turn the order of lists and mappings; pairs and triples keep theirs."""
    if isinstance(data, Panas):
        return Panas(reordered(data.items), data.positive_total, data.negative_total)
    if isinstance(data, list):
        return data[::-1]
    return dict(reversed(data.items())) if isinstance(data, dict) else data


def has_repeated_tag(case: Case) -> bool:
    for side in case.args:
        names = [tag if isinstance(tag, str) else tag[0] for tag in side]
        if len(names) != len(set(names)):
            return True
    return False


def each(metrics: Iterable[Metric]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("metric", list(metrics), ids=lambda metric: metric.name)


each_metric = each(CATALOG.values())
few = settings(max_examples=15, deadline=None)


@each_metric
@given(data=st.data())
@few
def test_value_is_within_range(metric: Metric, data: st.DataObject) -> None:
    score = value(metric, data.draw(cases(metric)))
    if isnan(score):
        assert metric.nullable
    else:
        assert isinstance(score, float)
        assert metric.low - 1e-12 <= score <= metric.high + 1e-12


@each_metric
@given(data=st.data())
@few
def test_perfect_prediction_gives_the_best_value(metric: Metric, data: st.DataObject) -> None:
    score = value(metric, data.draw(perfect(metric)))
    if metric.higher_is_better is None:
        assert score in {0.0, 1.0}  # no gap, full alignment
    elif not (metric.nullable and isnan(score)):
        assert score == pytest.approx(metric.high if metric.higher_is_better else metric.low, abs=1e-12)


@each(metric for metric in CATALOG.values() if metric.symmetric)
@given(data=st.data())
@few
def test_symmetric_where_declared(metric: Metric, data: st.DataObject) -> None:
    case = data.draw(cases(metric))
    turned = Case(case.args[::-1], case.options)
    assert value(metric, turned) == pytest.approx(value(metric, case), abs=1e-12, nan_ok=True)


@each_metric
@given(data=st.data())
@few
def test_order_of_unordered_input_does_not_matter(metric: Metric, data: st.DataObject) -> None:
    case = data.draw(cases(metric))
    assume(metric.family != "emotion" or not has_repeated_tag(case))
    turned = Case([reordered(arg) for arg in case.args], {key: reordered(arg) for key, arg in case.options.items()})
    assert value(metric, turned) == pytest.approx(value(metric, case), abs=1e-12, nan_ok=True)


@each_metric
@given(data=st.data())
@few
def test_letter_case_does_not_matter(metric: Metric, data: st.DataObject) -> None:
    case = data.draw(cases(metric))
    for spell in (str.upper, str.lower):
        loud = Case(
            [respelled(arg, spell) for arg in case.args],
            {key: respelled(arg, spell) for key, arg in case.options.items()},
        )
        assert value(metric, loud) == pytest.approx(value(metric, case), abs=1e-12, nan_ok=True)


@each_metric
@given(data=st.data())
@few
def test_input_is_not_changed(metric: Metric, data: st.DataObject) -> None:
    case = data.draw(cases(metric))
    before = copy.deepcopy(case)
    value(metric, case)
    assert case == before


def test_every_score_key_is_in_the_catalog() -> None:
    assert set(SCORE_KEYS) <= set(CATALOG)
    parts = {
        f"binary_{target}_{part}{phrasing}"
        for target in ("om", "human")
        for part in ("precision", "recall", "f1", "mcc")
        for phrasing in ("", "_hp")
    }
    components = {"emotion_blend", "binary_mean", "evaluation_quality", "panas01", "conversation_wide", "holistic"}
    episode = {"anger_score", "trust_score", "reward"}  # keys of an episode in results.jsonl
    shape = {"emotion_curve_area", "largest_drop", "recovery_time", "turns_to_target"}
    assert set(CATALOG) == set(SCORE_KEYS) | parts | components | episode | shape


@pytest.mark.parametrize("family", FAMILIES)
def test_every_public_function_of_a_family_is_in_the_catalog(family: str) -> None:
    modules = FAMILIES[family] if isinstance(FAMILIES[family], tuple) else (FAMILIES[family],)
    public = {
        name
        for module in modules
        for name in module.__all__
        if isinstance(getattr(module, name), types.FunctionType)
        and not name.startswith(("prepare_", "score_", "count_"))
        and name not in NOT_METRICS
    }
    functions = [metric.function for metric in CATALOG.values() if metric.family == family]
    plain = {(f.func if isinstance(f, partial) else f).__name__ for f in functions}
    assert plain == public


def test_labels_are_unique_and_entries_are_complete() -> None:
    assert len({metric.label for metric in CATALOG.values()}) == len(CATALOG)
    for name, metric in CATALOG.items():
        assert name == metric.name
        assert metric.low < metric.high
        episodes = ("EIBench (arXiv:2606.15532), ", "Defined in attune_metrics.eibench")
        sources = episodes if metric.family == "trajectory" else ("AttuneBench (arXiv:2605.21739), ",)
        assert metric.source.startswith(sources)


@each_metric
def test_docstring_tells_formula_input_value_and_example(metric: Metric) -> None:
    function = metric.function.func if isinstance(metric.function, partial) else metric.function
    text = inspect.getdoc(function) or ""
    sections = {head for head, line in itertools.pairwise(text.splitlines()) if set(line) == {"-"}}
    assert {"Returns", "Examples"} <= sections
    assert "Parameters" in sections or re.search(r"Takes [^`]*`\w+`", text)
    assert "``" in text or "1 if equal, else 0" in text
    assert f">>> {function.__name__}(" in text or f"{function.__name__}(" in text.partition(">>>")[2]
    returns = text.partition("Returns\n")[2].partition("Examples\n")[0]
    assert re.search(r"-?\d.* (to|or) \d|unbounded", returns)
    assert re.search(r"(higher|lower) is |neither direction", returns)


@each(metric for metric in CATALOG.values() if metric.family == "panas")
def test_warning_names_the_metric_and_points_at_the_caller(metric: Metric) -> None:
    options = {"baseline": Panas()} if "baseline" in metric.name else {}
    with pytest.warns(UndefinedMetricWarning, match=f"undefined: {metric.name};") as caught:
        assert isnan(metric.function(Panas(), Panas(), **options))
    assert caught[0].filename == __file__


def test_hp_facing_accuracy_is_zero_without_judgements() -> None:
    assert CATALOG["binary_om_accuracy"].function({}, {}) == 1
    assert CATALOG["binary_om_accuracy_hp"].function({}, {}) == 0
