"""The catalogue: complete, as reports print it, and every function in it what its entry declares."""

import inspect
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf, isnan, nan
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from public_names import public_functions

import attune_metrics.comparisons
from attune_metrics import (
    CATALOG,
    Metric,
    UndefinedMetricWarning,
    curves,
    eibench,
    emobench,
    eqbench,
    eqbench3,
    eqbench4,
    sage,
    spiralbench,
)
from attune_metrics.attunebench import (
    composite,
    emotion,
    holistic,
    panas,
    preferences,
    questions,
)
from attune_metrics.attunebench.emotion import NEGATIVE_AFFECT, POSITIVE_AFFECT
from attune_metrics.attunebench.holistic import BRANCHES, MODEL_FIT_OPTIONS
from attune_metrics.attunebench.panas import Panas
from attune_metrics.attunebench.preferences import JUDGE_DIMENSIONS, RESPONSE_LABELS
from attune_metrics.eqbench3 import CRITERIA, STYLE
from attune_metrics.metric import mean_over_turns
from attune_metrics.spiralbench import PARTS
from attune_metrics.stats.bootstrap import STATISTICS
from attune_metrics.testing import Call, answers, calls, check_metric, perfect_calls, ratings, tags, texts

MODULES: dict[str, Any] = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        composite, emotion, questions, preferences, panas, holistic, eibench, sage, emobench,
        eqbench, eqbench3, eqbench4, spiralbench, attune_metrics.comparisons, curves,
    )
}  # fmt: skip
# The keys of scores that have a value for each conversation, as the benchmark names them.
KEYS = [
    *(f"avg_{name}" for name in (
        "emotion_hit_rate", "emotion_hit_rate_tagged_only", "emotion_intensity_mae", "emotion_f1",
        "emotion_f1_intensity", "emotion_va_score", "emotion_va_intensity_score", "binary_om_accuracy",
        "binary_human_accuracy", "binary_om_accuracy_hp", "binary_human_accuracy_hp", "pairwise_accuracy",
        "pairwise_kendall_tau", "response_similarity", "response_similarity_original",
        "response_similarity_llm_improved", "response_similarity_human_edited", "response_preference_alignment",
        "draft_judge_score", "draft_binary_alignment", "four_branch_mae",
    )),
    "hp_perspective_gap", "hp_perspective_alignment", "hp_perspective_gap_mcc", "hp_perspective_alignment_mcc",
    "turn_level_average", "conversation_wide_average", "composite_score", "equal_weight_composite",
    "emotion_blend", "evaluation_quality", "holistic",
    "panas_mae", "panas_normalized", "panas_pa_mae", "panas_na_mae", "panas_pa_normalized", "panas_na_normalized",
    "panas_pa_baseline_adjusted", "panas_na_baseline_adjusted", "panas_baseline_adjusted",
    "panas_item_baseline_adjusted", "panas_item_mae", "panas_item_normalized",
    "q1_looking_for_score", "q2_emotion_clarity_match", "q3_model_fit_match", "q3_model_fit_ordinal_distance",
    "q3_follow_up_score", "four_branch_mae", "four_branch_normalized", "four_branch_perceiving_mae",
    "four_branch_facilitating_mae", "four_branch_understanding_mae", "four_branch_managing_mae",
    *(f"pooled_binary_{target}_metrics{suffix}.{score}" for suffix in ("", "_hp") for target in ("om", "human")
      for score in ("accuracy", "precision", "recall", "f1", "mcc")),
]  # fmt: skip
FUNCTIONS = {name: metric for name, metric in CATALOG.items() if metric.function is not None}


def plain(metric: Metric) -> Callable[..., float]:
    """Return the function of an entry without the options that the entry sets."""
    function = metric.function
    assert function is not None
    return function.func if isinstance(function, partial) else function


# Complete and consistent.


def test_every_entry_of_a_module_is_in_the_catalogue_once() -> None:
    entries = [metric for module in MODULES.values() for metric in module.METRICS]
    assert [metric.name for metric in entries] == list(CATALOG)
    assert [metric.name for metric in entries] == [metric.name for metric in CATALOG.values()]
    modules = [{metric.family for metric in module.METRICS} for module in MODULES.values()]
    assert all(modules)
    assert sum(map(len, modules)) == len(set().union(*modules)), "a family is in one module"


OF_MODELS = ("composite_z", "reward_macro", "spiralbench_score")
# Building blocks and unchecked functions; no metrics of their own.
NOT_METRICS = {
    "emotion_similarity", "pairwise_wins", "panas_totals", "om_reference", "hp_reference", "binary_counts",
    "emotion_scores", "response_scores", "panas_scores", "four_branch_scores", "clip_delta", "state_curve",
    "treat_failed", "scene_means", "sage_scores", "round_half_up", "majority_accuracy", "get_protocol", "tokenize",
    "jaccard", "token_jaccard", "eqbench3_task_score", "ability_scores", "win_fraction",
    "pseudo_games", "judged_pairs", "trueskill_ratings", "anchored_ratings", "published_ratings", "conversation_value",
    "spiralbench_score",
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_of_a_module_is_in_the_catalogue(name: str) -> None:
    module = MODULES[name]
    public = {
        name
        for name in public_functions(module)
        if not name.startswith(("prepare_", "score_", "count_")) and name not in NOT_METRICS
    }
    families = {metric.family for metric in module.METRICS}
    assert {plain(metric).__name__ for metric in FUNCTIONS.values() if metric.family in families} == public


def test_every_key_of_scores_is_in_the_catalogue() -> None:
    assert {*KEYS, "composite_z"} <= set(CATALOG)
    assert all(CATALOG[key].level == "unit" for key in KEYS)
    turn_keys = {
        "emotion_hit_rate", "emotion_intensity_mae", "emotion_precision", "emotion_recall", "emotion_f1",
        "emotion_f1_intensity", "emotion_va_score", "emotion_va_intensity_score", "binary_om_accuracy",
        "binary_human_accuracy", "binary_om_accuracy_hp", "binary_human_accuracy_hp", "pairwise_accuracy",
        "pairwise_kendall_tau", "response_similarity", "response_similarity_original",
        "response_similarity_llm_improved", "response_similarity_human_edited", "response_preference_alignment",
        "draft_judge_score", "draft_binary_alignment",
        *(f"binary_{target}_{part}{phrasing}" for target in ("om", "human") for phrasing in ("", "_hp")
          for part in ("precision", "recall", "f1", "mcc")),
    }  # fmt: skip
    components = {"binary_mean", "panas01", "conversation_wide"}  # of composites; not written to scores
    episode = {"anger_score", "trust_score", "reward", "final_anger", "final_trust", "reward_macro"}
    dialogue = {"emo_point", "success", "failure"}
    question = {f"eqbench_{what}" for what in ("score", "first_pass", "revised", "parseable")}
    shape = {"emotion_curve_area", "largest_drop", "recovery_time", "turns_to_target"}
    items = {"item_accuracy", "eu_accuracy", "ea_accuracy", "eu_emotion_accuracy", "eu_cause_accuracy"}
    judged = {f"eqbench3_{name}" for name in ("rubric", *CRITERIA["standard"], *CRITERIA["analysis"], *STYLE)}
    seen = {f"eqbench4_{name}" for name in (*eqbench4.TENDENCIES, *eqbench4.MARGINS)}
    pairs = {"rating", "win_rate"}
    spirals = {"spiralbench_score", *(f"spiralbench_{name.replace('-', '_')}" for name in PARTS)}
    benchmarks = episode | dialogue | items | question | judged | seen | pairs | spirals
    assert set(CATALOG) == {*KEYS, "composite_z"} | turn_keys | components | benchmarks | shape
    assert {name for name, metric in CATALOG.items() if metric.level == "turn"} == turn_keys
    assert {name for name, metric in CATALOG.items() if metric.level == "model"} == {*OF_MODELS}


SOURCES = {
    "eibench": "EIBench (arXiv:2606.15532)",
    "sage": "SAGE (arXiv:2505.02847)",
    "emobench": "EmoBench (arXiv:2402.12071)",
    "eqbench": "EQ-Bench v2 (arXiv:2312.06281)",
    "comparisons": "",  # no benchmark's own
    "eqbench3": "EQ-Bench 3, repository EQ-bench/eqbench3",
    "eqbench4": "EQ-Bench 4, repository EQ-bench/EQ-bench-site",
    "curves": "Defined in",
    "spiralbench": "Spiral-Bench v1, repository sam-paech/spiral-bench",
}


def test_entries_are_complete() -> None:
    for metric in CATALOG.values():
        name = metric.name
        assert metric.label, name
        assert metric.low < metric.high, name
        assert metric.statistic in {*STATISTICS, "z_score"}, name
        if metric.name != "composite_z":
            assert SOURCES.get(metric.family, "AttuneBench (arXiv:2605.21739), ") in metric.source, name
        if metric.function is None:  # the source begins with where the value comes from
            assert not metric.source.startswith(("AttuneBench", "EIBench", "SAGE", "EQ-Bench")), name
        # What reports list has one value for a unit or model, and a name for narrow columns.
        assert not metric.group or (metric.level != "turn" and metric.short), name
        assert metric.level != "turn" or not metric.short, name
        assert metric.scale == (100 if metric.low == -1 or metric.statistic == "share" else 1) or metric.family not in (
            "eibench",
            "sage",
        )


def test_labels_are_unique_among_what_has_one_level() -> None:
    labels = [(metric.level, metric.family, metric.label) for metric in CATALOG.values()]
    # One number under two keys of scores.
    assert {label for label in labels if labels.count(label) > 1} == {("unit", "holistic", "Four-branch MAE")}


# As reports print it.

# Headings, labels, short names, digits and coverage of the tables in release 0.1.
REPORTED = {
    "Composite": [
        ("composite_score", "Composite", "composite", 2, ()),
        ("emotion_blend", "Emotion blend", "emotion", 3, ()),
        ("evaluation_quality", "Evaluation quality", "evaluation", 3, ()),
        ("holistic", "Holistic", "holistic", 3, ()),
        ("equal_weight_composite", "Equal-weight composite", "equal", 2, ()),
    ],
    "Turn by turn": [
        ("avg_emotion_f1", "Emotion F1", "emo F1", 3, ()),
        ("avg_emotion_va_score", "Emotion VA", "emo VA", 3, ()),
        ("avg_emotion_intensity_mae", "Emotion intensity MAE", "int MAE", 3, ()),
        ("avg_binary_om_accuracy", "OM accuracy", "OM acc", 3, ("binary_om",)),
        ("pooled_binary_om_metrics.mcc", "OM MCC, pooled", "OM MCC", 3, ("binary_om",)),
        ("avg_binary_human_accuracy", "HP accuracy", "HP acc", 3, ("binary_human",)),
        ("pooled_binary_human_metrics.mcc", "HP MCC, pooled", "HP MCC", 3, ("binary_human",)),
        ("hp_perspective_gap", "Phrasing gap", "phrasing", 3, ("binary_human", "binary_human_hp")),
        ("avg_pairwise_accuracy", "Pairwise accuracy", "pair acc", 3, ("pairwise",)),
        ("avg_pairwise_kendall_tau", "Pairwise Kendall tau", "pair tau", 3, ("pairwise",)),
        ("avg_response_similarity", "Response similarity", "resp sim", 3, ()),
        ("avg_response_preference_alignment", "Preference alignment", "resp pref", 3, ()),
        ("avg_draft_judge_score", "Draft judge score", "judge", 3, ()),
        ("avg_draft_binary_alignment", "Draft binary alignment", "draft bin", 3, ()),
    ],
    "Conversation-wide": [
        ("panas_normalized", "PANAS normalized", "PANAS", 3, ("panas",)),
        ("panas_baseline_adjusted", "PANAS baseline-adjusted", "PANAS adj", 3, ("panas",)),
        ("panas_item_mae", "PANAS item MAE", "item MAE", 3, ("panas",)),
        ("q1_looking_for_score", "Q1 looking for", "Q1", 3, ()),
        ("q2_emotion_clarity_match", "Q2 emotion clarity", "Q2", 3, ()),
        ("q3_model_fit_match", "Q3 model fit", "Q3", 3, ()),
        ("q3_follow_up_score", "Q3 what felt off", "Q3 off", 3, ()),
        ("four_branch_normalized", "Four-branch normalized", "branches", 3, ()),
    ],
    "Comparisons": [
        ("rating", "Rating", "rating", 0, ()),
        ("win_rate", "Win rate", "wins", 1, ()),
    ],
}


def test_reports_can_be_made_from_the_catalogue_in_its_order() -> None:
    listed: dict[str, list[tuple[object, ...]]] = {}
    for metric in CATALOG.values():
        if metric.group:
            row = metric.name, metric.label, metric.short, metric.digits, metric.coverage
            listed.setdefault(metric.group, []).append(row)
    assert listed == REPORTED
    assert list(listed) == list(REPORTED)


LOWER_IS_BETTER = {
    "avg_emotion_intensity_mae", "panas_mae", "panas_pa_mae", "panas_na_mae", "panas_item_mae",
    "q3_model_fit_ordinal_distance", "avg_four_branch_mae", "four_branch_mae", "four_branch_perceiving_mae",
    "four_branch_facilitating_mae", "four_branch_understanding_mae", "four_branch_managing_mae",
}  # fmt: skip
RANGES = {
    "composite_score": (0, 100), "equal_weight_composite": (0, 100), "avg_emotion_intensity_mae": (0, 6),
    "panas_mae": (0, 60), "panas_pa_mae": (0, 60), "panas_na_mae": (0, 60), "panas_item_mae": (0, 6),
    "q3_model_fit_ordinal_distance": (0, 3), "hp_perspective_gap": (-1, 1), "hp_perspective_gap_mcc": (-2, 2),
    "hp_perspective_alignment": (0, inf), "hp_perspective_alignment_mcc": (-inf, inf),
    "avg_pairwise_kendall_tau": (-1, 1),
}  # fmt: skip


def test_direction_and_range_of_every_key_of_scores() -> None:
    for key in KEYS:
        metric = CATALOG[key]
        better = None if key.startswith("hp_perspective") else key not in LOWER_IS_BETTER
        assert metric.higher_is_better is better, key
        usual = (-1, 1) if key.endswith((".mcc", "baseline_adjusted")) else (0, 6) if key in LOWER_IS_BETTER else (0, 1)
        assert (metric.low, metric.high) == RANGES.get(key, usual), key


# The tasks of coverage whose questions a key depends on; other keys none.
COVERAGE = {
    "avg_binary_om_accuracy": ("binary_om",), "avg_binary_human_accuracy": ("binary_human",),
    "avg_binary_om_accuracy_hp": ("binary_om_hp",), "avg_binary_human_accuracy_hp": ("binary_human_hp",),
    "avg_pairwise_accuracy": ("pairwise",), "avg_pairwise_kendall_tau": ("pairwise",),
    **{f"pooled_binary_{target}_metrics{suffix}.{score}": (f"binary_{target}{suffix}",)
       for target in ("om", "human") for suffix in ("", "_hp")
       for score in ("accuracy", "precision", "recall", "f1", "mcc")},
    **{f"hp_perspective_{what}{of}": ("binary_human", "binary_human_hp")
       for what in ("gap", "alignment") for of in ("", "_mcc")},
    **{key: ("panas",) for key in KEYS if key.startswith("panas_")},
}  # fmt: skip


def test_coverage_of_every_key_of_scores() -> None:
    assert {key: CATALOG[key].coverage for key in KEYS if CATALOG[key].coverage} == COVERAGE


def test_terms_name_the_columns_that_a_statistic_takes() -> None:
    cells = ("tp", "tn", "fp", "fn")
    for name, metric in CATALOG.items():
        if name.startswith("pooled_"):
            counts, _, score = name.partition(".")
            assert (metric.statistic, metric.terms) == (score, tuple(f"{counts}.{cell}" for cell in cells))
        elif name not in OF_MODELS:
            assert metric.terms == ()
            assert metric.statistic in ({"pseudo_values"} if name == "rating" else {"mean", "share"})
    assert (CATALOG["composite_z"].statistic, CATALOG["composite_z"].terms) == ("z_score", ("composite_score",))
    macro = CATALOG["reward_macro"]
    assert macro.statistic == "mean_of_means"
    assert macro.terms[:4] == ("reward.support", "n.support", "reward.defense", "n.defense")
    assert len(macro.terms) == 2 * len(eibench.SCENES) == 8
    spiral = CATALOG["spiralbench_score"]
    assert (spiral.statistic, spiral.terms[:2]) == ("mean_of_clipped_means", ("part.off_rails", "weight.off_rails"))
    assert len(spiral.terms) == 2 * len(PARTS) == 24


def test_how_episodes_and_dialogues_are_shown() -> None:
    found = {
        metric.name: (metric.label, metric.low, metric.high, metric.scale, metric.digits, metric.higher_is_better)
        for metric in (*eibench.METRICS, *sage.METRICS)
    }
    assert found == {
        "reward": ("Reward", -1, 1, 100, 1, True),
        "anger_score": ("Anger score", -1, 1, 100, 1, True),
        "trust_score": ("Trust score", -1, 1, 100, 1, True),
        "final_anger": ("Final anger", 0, 100, 1, 1, False),
        "final_trust": ("Final trust", 0, 100, 1, 1, True),
        "reward_macro": ("Reward, macro", -1, 1, 100, 1, True),
        "emo_point": ("Score", 0, 100, 1, 1, True),
        "success": ("Success", 0, 1, 100, 1, True),
        "failure": ("Failure", 0, 1, 100, 1, False),
    }
    assert {sage.METRICS[place].statistic for place in (1, 2)} == {"share"}


def test_a_mean_over_turns_takes_over_what_its_metric_declares() -> None:
    turn = Metric(
        name="error", label="Error", low=0, high=6, higher_is_better=False, digits=2, scale=10, level="turn",
        coverage=("task",), function=abs, symmetric=True, family="f", source="Paper",
    )  # fmt: skip
    mean = mean_over_turns(turn, short="err", group="Errors")
    assert mean == replace(
        turn, name="avg_error", level="unit", short="err", group="Errors", function=None, symmetric=False,
        nullable=True, source="Mean of error over the turns that have a value; Paper",
    )  # fmt: skip
    assert mean_over_turns(turn, name="other", label="Other").label == "Other"
    for name, metric in CATALOG.items():
        if name.startswith("avg_") and name not in {"avg_emotion_hit_rate_tagged_only", "avg_four_branch_mae"}:
            of_turn = CATALOG[name.removeprefix("avg_")]
            assert metric == mean_over_turns(of_turn, short=metric.short, group=metric.group)


# Every function is what its entry declares, on random input.

words = [*POSITIVE_AFFECT, *NEGATIVE_AFFECT]
emotion_tags = tags([*words, "Joyful"])
reply = st.none() | texts()
replies = st.dictionaries(st.sampled_from(RESPONSE_LABELS), reply)
wins = st.none() | st.dictionaries(st.sampled_from(RESPONSE_LABELS), st.integers(0, 4))
totals = st.none() | st.integers(10, 70)
forms = st.builds(Panas, ratings(words), totals, totals)
full_forms = ratings(words, complete=True).map(Panas)
text_lists = st.lists(texts(), max_size=4)
fits = st.none() | st.sampled_from([*MODEL_FIT_OPTIONS, "so-so"])
branches = ratings(BRANCHES)
full_branches = st.fixed_dictionaries({}, optional=dict.fromkeys(BRANCHES, st.integers(1, 7)))
states = st.integers(0, 100)
anchors = st.tuples(states, states, states)
paths = st.lists(states, min_size=1, max_size=12).map(tuple)
intensities = st.fixed_dictionaries(
    dict.fromkeys(("Annoyed", "Indifferent", "Remorseful", "Tender"), st.integers(0, 10))
)
both_answers = answers().map(lambda given: given | {"B98": "yes", "B99": "no"})
same_texts = texts().filter(bool).map(lambda text: (dict.fromkeys(RESPONSE_LABELS, text), text))
response_labels = st.lists(st.sampled_from(RESPONSE_LABELS), min_size=2, max_size=2, unique=True)
winners = st.sampled_from(["A", "B", None])


def comparisons(winner: SearchStrategy[Any]) -> SearchStrategy[list[Any]]:
    return st.lists(st.builds(lambda pair, won: (*pair, won), response_labels, winner), min_size=1, max_size=12)


compared = comparisons(winners).flatmap(
    lambda reference: calls(st.just(reference), st.lists(winners, min_size=len(reference), max_size=len(reference)))
)

# What a metric is called with: any input, and with a perfect prediction; by name, else by family.
INPUTS = {
    "emotion": calls(emotion_tags, emotion_tags),
    "binary": calls(answers(), answers()),
    "pairwise": compared,
    "response": calls(replies, reply),
    "response_preference_alignment": calls(replies, reply, wins=wins),
    "draft_judge_score": calls(ratings([*JUDGE_DIMENSIONS, "style"])),
    "draft_binary_alignment": calls(answers(), answers()),
    "panas": calls(forms, forms),
    "holistic": calls(fits, fits),
    "q1_looking_for_score": calls(text_lists, text_lists),
    "q3_follow_up_score": calls(text_lists, text_lists),
    "four_branch_mae": calls(branches, branches),
    "four_branch_normalized": calls(branches, branches),
    "anger_score": calls(anchors, states),
    "trust_score": calls(anchors, states),
    "reward": calls(anchors, anchors, states, states),
    "sage": calls(states | st.floats(0, 100)),
    "eqbench": calls(intensities, intensities),
    "curves": calls(paths),
    "turns_to_target": calls(paths, target=states),
}
PERFECT = {
    "emotion": perfect_calls(st.lists(st.tuples(st.sampled_from(words), st.integers(1, 7)), max_size=4)),
    "binary": perfect_calls(both_answers),
    "pairwise": comparisons(st.sampled_from("AB")).map(lambda given: Call(given, [won for *_, won in given])),
    "response": same_texts.map(lambda given: Call(*given)),
    "response_preference_alignment": st.builds(lambda given, won: Call(*given, wins=won), same_texts, wins),
    "draft_judge_score": st.just(Call(dict.fromkeys(JUDGE_DIMENSIONS, 7))),
    "draft_binary_alignment": perfect_calls(both_answers),
    "panas": perfect_calls(full_forms),
    "holistic": perfect_calls(fits),
    "q1_looking_for_score": perfect_calls(text_lists),
    "q3_follow_up_score": perfect_calls(text_lists),
    "four_branch_mae": perfect_calls(full_branches),
    "four_branch_normalized": perfect_calls(full_branches),
    "anger_score": anchors.map(lambda given: Call(given, given[1])),
    "trust_score": anchors.map(lambda given: Call(given, given[1])),
    "reward": st.builds(lambda anger, trust: Call(anger, trust, anger[1], trust[1]), anchors, anchors),
    "success": st.just(Call(100)),
    "failure": states.filter(lambda state: state >= 10).map(Call),
    "eqbench": perfect_calls(intensities),
    "curves": paths.map(lambda path: Call(tuple(sorted(path)))),
    "emotion_curve_area": st.integers(1, 9).map(lambda turns: Call((100,) * (turns + 1))),
    "recovery_time": states.map(lambda state: Call((state, 0, state))),
    "turns_to_target": paths.map(lambda path: Call(path, target=path[0])),
}
for name in FUNCTIONS:
    if name.endswith("baseline_adjusted"):
        INPUTS[name] = calls(forms, forms, baseline=forms)
        PERFECT[name] = perfect_calls(full_forms, baseline=full_forms)

# Where a metric has no value, by name; those of PANAS lack all that they compare.
NO_INTENSITY = calls(st.lists(st.sampled_from(words), max_size=4), emotion_tags)
UNDEFINED = {
    "emotion_intensity_mae": NO_INTENSITY,
    "pairwise_kendall_tau": comparisons(winners).map(lambda given: Call(given, [None] * len(given))),
    "draft_judge_score": ratings(["style"]).map(Call),
    "draft_binary_alignment": calls(answers(values=["na", None]), answers()),
    "emotion_curve_area": states.map(lambda state: Call([state])),
    "recovery_time": paths.map(lambda path: Call(sorted(path))),
    "eqbench_score": calls(intensities, st.just({"annoyed": 7, "Tender": 0})),
    **{name: calls(st.just(Panas()), st.just(Panas())) for name in FUNCTIONS if name.startswith("panas_")},
    **{
        name: calls(st.just(Panas()), forms, baseline=forms) for name in FUNCTIONS if name.endswith("baseline_adjusted")
    },
}

# Input that breaks the contract, by name, else by family.
OUTSIDE = Panas({"Proud": 8})
MALFORMED: dict[str, list[Call]] = {
    "emotion": [
        Call("Upset", ["Upset"]), Call(None, []), Call([("Upset", 8)], []), Call([], [3]), Call([" "], []),
        Call({"Upset": 3}, []),
    ],
    "binary": [Call({"B1": "maybe"}, {}), Call({}, {1: "yes"}), Call(["yes"], {}), Call({}, None)],
    "phrasing": [
        Call(observer="0.5", hp=0.5), Call(observer=0.5, hp=50), Call(observer=None, hp=0.5),
        Call(observer=-2, hp=0),
    ],
    "pairwise": [
        Call([("a", "a", "A")], ["A"]), Call([("a", "b", "A")], ["original"]), Call([("a", "b", "A")], ["A", "B"]),
        Call([("a", "b")], []), Call(3, []), Call([("a", "b", "A")], {"first": "A"}),
    ],
    "response": [Call({"best": "text"}, "text"), Call({"human": 3}, "text"), Call("text", "text"), Call({}, 3)],
    "draft_judge_score": [Call({"tone_match": 8}), Call({"tone_match": "5"}), Call([5]), Call(None)],
    "draft_binary_alignment": [Call({"B1": "maybe"}, {}), Call({}, {1: "yes"}), Call(["yes"], {})],
    "panas": [Call(OUTSIDE, Panas()), Call({}, Panas()), Call(Panas(), Panas({"Joyful": 3}))],
    "holistic": [Call(3, "Other"), Call("Other", ["Other"])],
    "q1_looking_for_score": [Call([3], ["Other"]), Call({"Vent": 1}, []), Call([], 5)],
    "q3_follow_up_score": [Call([3], ["Other"]), Call({"Vent": 1}, []), Call([], 5)],
    "four_branch_mae": [Call({"feeling": 3}, {}), Call({"managing": 0}, {}), Call([3], {})],
    "four_branch_normalized": [Call({"feeling": 3}, {}), Call({"managing": 0}, {}), Call([3], {})],
    "anger_score": [Call((1, 2), 3), Call((1, 2, 101), 3), Call((1, 2, 3), None), Call(5, 5)],
    "trust_score": [Call((1, 2), 3), Call((1, 2, 101), 3), Call((1, 2, 3), None), Call(5, 5)],
    "reward": [Call((1, 2), (1, 2, 3), 3, 3), Call((1, 2, 3), (1, 2, 3), 3, -1)],
    "sage": [Call(101), Call(-1), Call("100"), Call(None), Call(nan), Call(True)],
    "eqbench": [
        Call({"Annoyed": 7}, {}), Call({}, {"Annoyed": 7}), Call(None, {}), Call([7, 6, 0, 0], [7, 6, 0, 0]),
        Call(dict.fromkeys("abcd", 11), {}), Call(dict.fromkeys("abcd", 5), {"a": "5"}),
        Call(dict.fromkeys("abcd", 5), {"a": -1}), Call(dict.fromkeys("abcd", 5), {1: 5}),
    ],
    "curves": [Call([]), Call([101]), Call("40"), Call([None]), Call(40)],
    "turns_to_target": [Call([], target=3), Call([3], target=101), Call([3], target="70")],
}  # fmt: skip
for name in FUNCTIONS:
    if name.endswith("baseline_adjusted"):
        MALFORMED[name] = [Call(Panas(), Panas(), baseline=OUTSIDE), Call(Panas(), Panas(), baseline=3)]
TOGETHER = {"pairwise"}  # a prediction belongs to the comparison at its place


def by_name_or_family(table: dict[str, Any], metric: Metric) -> Any:
    return table.get(metric.name, table.get(metric.family))


def parts(metric: Metric, value: SearchStrategy[Any]) -> SearchStrategy[Call]:
    """Return calls of a composite, all of whose arguments are from 0 to 1."""
    return calls(**dict.fromkeys(inspect.signature(plain(metric)).parameters, value))


@pytest.mark.parametrize("metric", FUNCTIONS.values(), ids=lambda metric: metric.name)
def test_function_is_what_its_entry_declares(metric: Metric) -> None:
    composed = metric.family in ("composite", "phrasing")
    names = inspect.signature(plain(metric)).parameters
    perfect = parts(metric, st.just(1.0)) if composed else by_name_or_family(PERFECT, metric)
    malformed = [Call(**{**dict.fromkeys(names, 0.5), one: bad}) for one in names for bad in ("0.5", 64.2)]
    check_metric(
        metric,
        parts(metric, st.floats(0, 1)) if composed else by_name_or_family(INPUTS, metric),
        perfect=None if metric.higher_is_better is None else perfect,
        undefined=UNDEFINED.get(metric.name),
        malformed=malformed if composed else by_name_or_family(MALFORMED, metric),
        order="together" if metric.family in TOGETHER else "each",
        ignores_case=True,
        examples=8,
    )


def test_every_metric_that_can_be_undefined_is_tried_where_it_is() -> None:
    nullable = {name for name, metric in FUNCTIONS.items() if metric.nullable}
    # Composites are undefined where what they are made of is, without a warning of their own.
    assert nullable - set(UNDEFINED) == {
        name for name in nullable if FUNCTIONS[name].family in ("composite", "phrasing")
    }
    assert set(UNDEFINED) <= nullable


@pytest.mark.parametrize("name", [name for name, metric in FUNCTIONS.items() if metric.family == "emotion"])
def test_a_word_may_be_tagged_twice(name: str) -> None:
    repeated = tags(words, repeats=True)
    check_metric(CATALOG[name], calls(repeated, repeated), ignores_case=True, examples=15)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.startswith("panas_")])
@given(data=st.data())
@settings(max_examples=15, deadline=None)
@pytest.mark.filterwarnings("ignore::attune_metrics.UndefinedMetricWarning")
def test_letter_case_of_the_words_of_a_form_does_not_matter(name: str, data: st.DataObject) -> None:
    call = data.draw(INPUTS.get(name, INPUTS["panas"]))
    function = plain(CATALOG[name])
    value = function(*call.arguments, **call.options)
    for spell in (str.upper, str.lower):

        def respelled(form: Panas, spell: Callable[[str], str] = spell) -> Panas:
            return replace(form, items={spell(word): rating for word, rating in form.items.items()})

        options = {key: respelled(form) for key, form in call.options.items()}
        again = function(*map(respelled, call.arguments), **options)
        assert again == pytest.approx(value, abs=1e-12, nan_ok=True)


# Documentation.


def test_docstrings_tell_formula_input_value_and_example() -> None:
    for metric in FUNCTIONS.values():
        function = plain(metric)
        text = inspect.getdoc(function) or ""
        sections = {head for head, line in itertools.pairwise(text.splitlines()) if set(line) == {"-"}}
        assert {"Returns", "Examples"} <= sections, metric.name
        assert "Parameters" in sections or re.search(r"Takes [^`]*`\w+`", text), metric.name
        assert "``" in text or "1 if equal, else 0" in text, metric.name
        assert f">>> {function.__name__}(" in text or f"{function.__name__}(" in text.partition(">>>")[2], metric.name
        returns = text.partition("Returns\n")[2].partition("Examples\n")[0]
        assert re.search(r"-?\d.* (to|or) \d|unbounded", returns), metric.name
        assert re.search(r"(higher|lower) is |neither direction", returns), metric.name


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.startswith("panas_")])
def test_warning_names_the_metric_and_points_at_the_caller(name: str) -> None:
    options = {"baseline": Panas()} if "baseline" in name else {}
    with pytest.warns(UndefinedMetricWarning, match=f"undefined: {name};") as caught:
        assert isnan(plain(CATALOG[name])(Panas(), Panas(), **options))
    assert caught[0].filename == __file__


def test_hp_facing_accuracy_is_zero_without_judgements() -> None:
    observer, hp_facing = CATALOG["binary_om_accuracy"].function, CATALOG["binary_om_accuracy_hp"].function
    assert observer is not None
    assert hp_facing is not None
    assert (observer({}, {}), hp_facing({}, {})) == (1, 0)
