"""The checked and the prepared doors give the same values."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attune_metrics as am
from attune_metrics.attunebench.composite import PROTOCOLS, Protocol, get_protocol
from attune_metrics.attunebench.emotion import (
    NEGATIVE_AFFECT,
    POSITIVE_AFFECT,
    emotion_scores,
    prepare_tags,
    score_tags,
)
from attune_metrics.attunebench.holistic import BRANCHES, four_branch_scores, score_four_branch
from attune_metrics.attunebench.panas import Panas, panas_scores, prepare_panas, score_panas
from attune_metrics.attunebench.preferences import (
    JUDGE_DIMENSIONS,
    RESPONSE_LABELS,
    Comparison,
    pairwise_wins,
    prepare_comparisons,
    prepare_responses,
    response_scores,
    score_comparisons,
    score_draft_binary,
    score_draft_judge,
    score_response,
)
from attune_metrics.attunebench.questions import binary_counts, count_answers, prepare_answers

scale = st.none() | st.integers(1, 7)
words = st.sampled_from([*POSITIVE_AFFECT, "Happy"]).map(lambda word: f" {word}")
tags = st.lists(st.tuples(words, scale), max_size=6)
answers = st.dictionaries(st.sampled_from([f"B{i}" for i in range(9)]), st.sampled_from(["yes", "no", "na", None]))
labels = st.lists(st.sampled_from("abcd"), min_size=2, max_size=2, unique=True)
winners = st.sampled_from(["A", "B", None])
comparisons = st.lists(
    st.builds(lambda pair, winner: Comparison(pair[0], pair[1], winner), labels, winners), max_size=9
)
texts = st.none() | st.text(alphabet="abC \n", max_size=20)
responses = st.dictionaries(st.sampled_from(RESPONSE_LABELS), texts)
counts = st.none() | st.dictionaries(st.sampled_from([*RESPONSE_LABELS, "other"]), st.integers(0, 3))
total = st.none() | st.integers(10, 70)
forms = st.builds(Panas, st.dictionaries(st.sampled_from([*POSITIVE_AFFECT, *NEGATIVE_AFFECT]), scale), total, total)
quick = settings(deadline=None)


pytestmark = pytest.mark.filterwarnings("ignore::attune_metrics.UndefinedMetricWarning")


def same(one: Any, other: Any) -> bool:
    return repr(one) == repr(other)  # nan is equal to nan


@pytest.mark.filterwarnings("ignore::attune_metrics.metric.UnknownEmotionWarning")
@given(tags, tags)
@quick
def test_emotion(reference: Any, predicted: Any) -> None:
    scores = score_tags(prepare_tags(reference), prepare_tags(predicted))
    assert same(scores, emotion_scores(reference, predicted))
    for name in scores._fields:
        assert same(getattr(scores, name), getattr(am, f"emotion_{name}")(reference, predicted))


@given(answers, answers)
@quick
def test_binary(reference: Any, predicted: Any) -> None:
    truth = prepare_answers(reference)
    tally = count_answers(truth, predicted)
    assert tally == binary_counts(reference, predicted)
    assert am.binary_accuracy(reference, predicted) == (tally.accuracy if truth.judged else 1)
    for name in ("precision", "recall", "f1", "mcc"):
        assert getattr(tally, name) == getattr(am, f"binary_{name}")(reference, predicted)
    assert same(score_draft_binary(truth, predicted), am.draft_binary_alignment(reference, predicted))


@given(comparisons, st.lists(winners, min_size=9, max_size=9))
@quick
def test_pairwise(reference: Any, choices: Any) -> None:
    predicted = {str(position): choice for position, choice in enumerate(choices[: len(reference)])}
    prepared = prepare_comparisons(reference)
    scores = score_comparisons(prepared, predicted)
    assert scores.accuracy == am.pairwise_accuracy(reference, predicted)
    assert same(scores.kendall_tau, am.pairwise_kendall_tau(reference, choices[: len(reference)]))
    assert prepared.wins == pairwise_wins(reference)


@given(responses, texts, counts)
@quick
def test_response(reference: Any, draft: Any, wins: Any) -> None:
    scores = score_response(prepare_responses(reference, wins), draft)
    assert scores == response_scores(reference, draft, wins=wins)
    assert scores.preference_alignment == am.response_preference_alignment(reference, draft, wins=wins)
    assert scores.similarity == max(scores.original, scores.llm_improved, scores.human_edited)


@given(st.dictionaries(st.sampled_from([*JUDGE_DIMENSIONS, "style"]), scale))
@quick
def test_draft_judge(ratings: Any) -> None:
    assert same(score_draft_judge(ratings), am.draft_judge_score(ratings))


@given(forms, forms, st.none() | forms, st.sampled_from(list(PROTOCOLS.values())))
@quick
def test_panas(reference: Any, predicted: Any, baseline: Any, protocol: Protocol) -> None:
    forms = [prepare_panas(form, protocol=get_protocol(protocol)) for form in (reference, predicted)]
    before = None if baseline is None else prepare_panas(baseline, protocol=get_protocol(protocol))
    scores = score_panas(forms[0], forms[1], baseline=before)
    assert same(scores, panas_scores(reference, predicted, baseline=baseline, protocol=protocol.name))
    assert same(scores.mae, am.panas_mae(reference, predicted, protocol=protocol))
    assert same(scores.item_mae, am.panas_item_mae(reference, predicted))
    if baseline is not None:
        for name in ("baseline_adjusted", "pa_baseline_adjusted", "na_baseline_adjusted"):
            view = getattr(am, f"panas_{name}")
            assert same(getattr(scores, name), view(reference, predicted, baseline=baseline, protocol=protocol))


@given(st.dictionaries(st.sampled_from(BRANCHES), scale), st.dictionaries(st.sampled_from(BRANCHES), scale))
@quick
def test_four_branch(reference: Any, predicted: Any) -> None:
    assert score_four_branch(reference, predicted) == four_branch_scores(reference, predicted)
