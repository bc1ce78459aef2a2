"""Scoring AttuneBench: golden vectors, one example worked by hand, which turns count, what is not scored."""

import json
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench.detail import records_of
from attune_bench.benchmarks.attunebench.scores_json import aggregates
from attune_data import Conversation, Run, load, load_runs
from attune_metrics.attunebench.composite import RELEASED
from attune_metrics.metric import MetricInputError

Json = dict[str, Any]
MakeConversation = Callable[..., Conversation]
MakeRun = Callable[..., Run]
OURS = {"participant_id", "source_file", "coverage"}
PROTOCOLS = ("documented", "released")


def _record(scores: Scores) -> Json:
    records = records_of(scores)
    assert len(records) == 1, scores.provenance.issues
    return dict(records[0])


def _identity(record: Any) -> tuple[str, str, str]:
    return record["conversationId"], record["em_model"], record["mode"]


# Vectors: numbers of an independent implementation.


def _differences(ours: Any, expected: Any, path: str = "$") -> list[str]:
    """Return every leaf that differs; floats count to 1e-9, the two rounded composites to 0.005."""
    if isinstance(expected, dict) and isinstance(ours, dict):
        found = [f"{path}: keys {ours.keys() ^ expected.keys()}"] if ours.keys() != expected.keys() else []
        return found + [
            d for key in expected if key in ours for d in _differences(ours[key], expected[key], f"{path}.{key}")
        ]
    if isinstance(expected, list) and isinstance(ours, list):
        found = [f"{path}: {len(ours)} items, not {len(expected)}"] if len(ours) != len(expected) else []
        return found + [
            d for i, pair in enumerate(zip(ours, expected, strict=False)) for d in _differences(*pair, f"{path}[{i}]")
        ]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (ours, expected))
    tolerance = 0.005 if path.endswith(("composite_score", "equal_weight_composite")) else 1e-9
    same = abs(ours - expected) <= tolerance if numbers else ours == expected
    return [] if same else [f"{path}: {ours!r}, not {expected!r}"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("folder", ["plain", "odd", "old"])
def test_vectors(vectors: Path, folder: str, protocol: str) -> None:
    expected = {
        _identity(record): record
        for record in json.loads((vectors / folder / f"expected_{protocol}.json").read_bytes())
    }
    scores = score(load(vectors / folder / "data"), load_runs(vectors / folder / "runs"), protocol=protocol)
    ours = {
        _identity(record): {key: value for key, value in record.items() if key not in OURS}
        for record in records_of(scores)
    }
    assert ours.keys() == expected.keys()
    assert len(records_of(scores)) == len(expected) > 0
    assert [d for key, record in expected.items() for d in _differences(ours[key], record, str(key))] == []


def test_the_protocols_differ_on_the_vectors(vectors: Path) -> None:
    conversations, runs = load(vectors / "plain" / "data"), load_runs(vectors / "plain" / "runs")
    documented, released = (score(conversations, runs, protocol=protocol) for protocol in PROTOCOLS)
    assert records_of(documented) != records_of(released)
    assert (documented.provenance.protocol, released.provenance.protocol) == PROTOCOLS


@pytest.mark.parametrize("folder", ["plain", "odd"])
def test_order_changes_no_record_and_inputs_stay(vectors: Path, folder: str) -> None:
    conversations, runs = load(vectors / folder / "data"), load_runs(vectors / folder / "runs")
    before = [record.to_json() for record in (*conversations, *runs)]
    straight = score(conversations, runs)
    turned = score(list(conversations)[::-1], list(runs)[::-1])
    assert records_of(turned) == records_of(straight)[::-1]
    # Sums are rounded once, so that even the last digit is the same.
    assert aggregates(turned) == aggregates(straight)
    assert [record.to_json() for record in (*conversations, *runs)] == before


def test_iterators_are_read_once(make_conversation: MakeConversation, make_run: MakeRun) -> None:
    assert len(records_of(score(iter([make_conversation()]), iter([make_run()])))) == 1


# The worked example. Turn 1, 2, 3 in this order; per turn (turn 1, turn 2, turn 3).
#
# Emotion. G {upset 6, nervous 3}, {proud -}, {}; P {upset 4, excited 5}, {proud 4, alert 3}, {}.
#   hit rate 1/2, 1, 1; tagged only (1/2 + 1)/2. Precision 1/2, 1/2, 1. F1 1/2, 2/3, 1: mean 13/18.
#   Intensity: |6 - 4| = 2, none, none: 2. F1 with intensity 1/2 (1 - 2/6) = 1/3, 0, 1: mean 4/9.
#   Similarities: upset-upset 1, nervous-excited 1 - sqrt(.612^2 + .13^2)/sqrt 2 = .5576, upset-excited .5306,
#   nervous-upset .9483. VA: max(1 + .5576, .5306 + .9483)/2 = .7788; 1 of 2 tags matched: 1/2; 1: mean 2.2788/3.
#   With intensity: straight .7 + .3 (1 - 2/6) + .7 .5576 + .3 (1 - 2/6) = 1.49032, crossed .7 .5306 + .3 (1 - 1/6)
#   + .7 .9483 + .3 (1 - 1/6) = 1.53523, larger: .767615; .7/2 = .35; 1: mean 2.117615/3.
# Binary OM. Truth B1 yes, B2 no, B3 yes (llmValue), B5 yes | B1 no | -. TP B1, FP B2, FN B3 B5 | TN | -.
#   Accuracy 1/4, 1, 1 (no judgements): 3/4. Pooled tp 1 tn 1 fp 1 fn 2, MCC (1 - 2)/sqrt(2 3 2 3) = -1/6.
# Binary HP. Truth B1 yes, B2 no (observed), B3 no | B1 yes | -. TP B1, TN B2, FP B3 | TP | -.
#   Accuracy 2/3, 1, 1: 8/9. Pooled tp 2 tn 1 fp 1 fn 0, MCC 2/sqrt(3 2 2 1) = 1/sqrt 3.
# HP-facing OM: TP B1 B3, TN B2, FN B5 | FP | -. Accuracy 3/4, 0, 0: 1/4. Pooled 2 1 1 1, MCC (2 - 1)/6.
# HP-facing HP: FN B1, TN B2, FP B3 | TP | -. Accuracy 1/3, 1, 0: 4/9. Pooled 1 1 1 1, MCC 0.
#   Gap 8/9 - 4/9, ratio 1/2; MCC: 1/sqrt 3 - 0, 0.
# Pairwise. Right at 0 and 2 of 4; 0 of 1; no comparison 1: mean 1/2. Wins human 2, alternate 1, original 0 against
#   alternate 2, human 1, original 1: one of three pairs is turned, tau 1/3; no prediction; no comparison: 1/3.
# Response. {a b c} with original 3/4, alternate 2/3, human missing 0; {x z} with 1/3, 1, 2/4; no draft.
#   Overall 3/4, 1, 0: 7/12. Original 13/36, alternate 5/9, human 1/6. By wins: of human 2 (no text) and alternate 1
#   only alternate has text, 2/3; alternate 1; 0: mean 5/9.
# Draft judge (4.5 - 1)/6 = 7/12, -, -. Draft binary: B1 of B1 B2 B3, 1/3; empty; no question: 1/3.
# Branches |6 - 5|, |2 - 4| (missing is 4): MAE 3/2, normalized 3/4. Q2 1. Q3 0, two steps apart.
# Follow-up {it rushed me} with {it rushed}: 2/3 both ways. PANAS items: nervous 2, upset 1: MAE 3/2, normalized 3/4;
#   skill nervous 1 - 2/|5 - 4| = -1, upset 1 - 1/|3 - 1| = 1/2: mean -1/4.
# PANAS NA: two items, so the recorded 30; predicted 3 + 4, at least 10: error 20, 2/3; skill 1 - 20/5, at least -1.
# PA: ten items 4 = 40 (documented) or recorded 50 (released), predicted 46: error 6 or 4, skill 1 - 6/10 or 1 - 4/20.
# Q1 2 of 3 (documented), 2 2/(2 + 3) (released).
# Emotion blend b = (13/18 + .7596)/2. Binary (3/4 + 8/9)/2 = 59/72. Evaluation quality (59/72 + 1/2)/2 = 95/144.
# Turn level (b + 59/72 + 1/2)/3.
# Documented: adjusted (.4 - 1)/2 = -.3, panas01 .35; wide (2/3 + 1 + 0 + 2/3)/4 = 7/12; holistic .14 + .175 + .225.
# Released: (.8 - 1)/2 = -.1, .45; wide (4/5 + 1 + 0 + 2/3)/4 = 37/60; holistic .18 + .185 + .225.
BLEND = (13 / 18 + 0.7596) / 2


def _counts(tp: int, tn: int, fp: int, fn: int, precision: float, recall: float, f1: float, mcc: float) -> Json:
    accuracy = (tp + tn) / (tp + tn + fp + fn)
    cells = {"tp": tp, "tn": tn, "fp": fp, "fn": fn, "accuracy": accuracy}
    return {**cells, "precision": precision, "recall": recall, "f1": f1, "mcc": mcc}


EITHER: Json = {
    "avg_emotion_hit_rate": 2.5 / 3,
    "avg_emotion_hit_rate_tagged_only": 0.75,
    "avg_emotion_intensity_mae": 2,
    "avg_emotion_f1": 13 / 18,
    "avg_emotion_f1_intensity": 4 / 9,
    "avg_emotion_va_score": 0.7596,
    "avg_emotion_va_intensity_score": 2.117615 / 3,
    "avg_binary_om_accuracy": 0.75,
    "avg_binary_human_accuracy": 8 / 9,
    "avg_binary_om_accuracy_hp": 0.25,
    "avg_binary_human_accuracy_hp": 4 / 9,
    "avg_pairwise_accuracy": 0.5,
    "avg_pairwise_kendall_tau": 1 / 3,
    "avg_response_similarity": 7 / 12,
    "avg_response_similarity_original": 13 / 36,
    "avg_response_similarity_llm_improved": 5 / 9,
    "avg_response_similarity_human_edited": 1 / 6,
    "avg_response_preference_alignment": 5 / 9,
    "avg_draft_judge_score": 7 / 12,
    "avg_draft_binary_alignment": 1 / 3,
    "avg_four_branch_mae": 1.5,
    "pooled_binary_om_metrics": _counts(1, 1, 1, 2, 1 / 2, 1 / 3, 2 / 5, -1 / 6),
    "pooled_binary_human_metrics": _counts(2, 1, 1, 0, 2 / 3, 1, 4 / 5, 1 / sqrt(3)),
    "pooled_binary_om_metrics_hp": _counts(2, 1, 1, 1, 2 / 3, 2 / 3, 2 / 3, 1 / 6),
    "pooled_binary_human_metrics_hp": _counts(1, 1, 1, 1, 1 / 2, 1 / 2, 1 / 2, 0),
    "hp_perspective_gap": 4 / 9,
    "hp_perspective_alignment": 1 / 2,
    "hp_perspective_gap_mcc": 1 / sqrt(3),
    "hp_perspective_alignment_mcc": 0,
    "turn_level_average": (BLEND + 59 / 72 + 1 / 2) / 3,
}
POST: Json = {
    "panas_na_mae": 20,
    "panas_na_normalized": 2 / 3,
    "panas_na_baseline_adjusted": -1,
    "panas_item_baseline_adjusted": -0.25,
    "panas_item_mae": 1.5,
    "panas_item_normalized": 0.75,
    "panas_item_errors": {"Nervous": 2, "Upset": 1},
    "q2_emotion_clarity_match": 1,
    "q3_model_fit_match": 0,
    "q3_model_fit_ordinal_distance": 2,
    "q3_follow_up_score": 2 / 3,
    "four_branch_mae": 1.5,
    "four_branch_normalized": 0.75,
    "four_branch_per_branch": {"perceiving": 1, "managing": 2},
}
BY_PROTOCOL: dict[str, tuple[Json, Json]] = {
    "documented": (
        {
            "conversation_wide_average": (0.35 + 7 / 12 + 0.75) / 3,
            # 100 (.24 b + .49 95/144 + .27 .54) = 64.688..., 100 (.686785 + .561111)/2 = 62.394...
            "composite_score": 64.69,
            "equal_weight_composite": 62.39,
        },
        {
            "panas_mae": 13,
            "panas_normalized": 47 / 60,
            "panas_pa_mae": 6,
            "panas_pa_normalized": 0.9,
            "panas_pa_baseline_adjusted": 0.4,
            "panas_baseline_adjusted": -0.3,
            "q1_looking_for_score": 2 / 3,
        },
    ),
    "released": (
        {
            "conversation_wide_average": (0.45 + 37 / 60 + 0.75) / 3,
            # 100 (.24 b + .49 95/144 + .27 .59) = 66.038..., 100 (.686785 + .605556)/2 = 64.617...
            "composite_score": 66.04,
            "equal_weight_composite": 64.62,
        },
        {
            "panas_mae": 12,
            "panas_normalized": 0.8,
            "panas_pa_mae": 4,
            "panas_pa_normalized": 1 - 4 / 60,
            "panas_pa_baseline_adjusted": 0.8,
            "panas_baseline_adjusted": -0.1,
            "q1_looking_for_score": 4 / 5,
        },
    ),
}


@pytest.mark.parametrize("protocol", ["documented", "released", RELEASED], ids=[*PROTOCOLS, "released-as-object"])
def test_worked_example(make_conversation: MakeConversation, make_run: MakeRun, protocol: Any) -> None:
    record = _record(score([make_conversation()], [make_run()], protocol=protocol))
    own, post = BY_PROTOCOL[protocol if isinstance(protocol, str) else protocol.name]
    assert [turn["turnNumber"] for turn in record.pop("turn_scores")] == [1, 2, 3]
    # Expected values: derived above; tolerance 1e-12.
    for name, value in {**POST, **post}.items():
        assert record["post_score"].pop(name) == pytest.approx(value, abs=1e-12), name
    assert record.pop("post_score") == {}
    for name, value in {**EITHER, **own}.items():
        assert record.pop(name) == pytest.approx(value, abs=1e-12), name
    # Coverage. OM: B1 B2 B3 of four, B1 of one. HP: B1 B3 of three, B1. All of both HP-facing pairs. Pairwise: four of
    # four, none of one. PANAS: two of the ten positive and two negative items rated.
    assert record == {
        "conversationId": "c1",
        "em_model": "vendor/model",
        "mode": "default",
        "participant_id": "P1",
        "source_file": "conversation_1.json",
        "coverage": {
            "binary_om": {"present": 4, "expected": 5},
            "binary_human": {"present": 3, "expected": 4},
            "binary_om_hp": {"present": 5, "expected": 5},
            "binary_human_hp": {"present": 4, "expected": 4},
            "pairwise": {"present": 4, "expected": 5},
            "panas": {"present": 2, "expected": 12},
        },
    }


# Which turns count.


def test_turns_in_one_file_only_are_left_out(make_conversation: MakeConversation, make_run: MakeRun) -> None:
    turns = make_run().model_dump()["turns"]
    extra = {"turnNumber": 9, "em_binary_om_assessment": {"B1": "yes"}}
    full = _record(score([make_conversation()], [make_run()]))
    record = _record(score([make_conversation()], [make_run(turns=[turns[1], extra, turns[0]])]))
    assert record["turn_scores"] == full["turn_scores"][:2]  # in turn order
    assert record["avg_binary_om_accuracy"] == pytest.approx((0.25 + 1) / 2, abs=1e-12)
    assert record["avg_pairwise_accuracy"] == pytest.approx((0.5 + 0) / 2, abs=1e-12)
    assert record["pooled_binary_om_metrics"] == full["pooled_binary_om_metrics"]


@pytest.mark.parametrize("side", ["truth", "run"])
def test_the_last_turn_of_a_number_counts(make_conversation: MakeConversation, make_run: MakeRun, side: str) -> None:
    conversation, run = make_conversation(), make_run()
    blank = {"turnNumber": 2}
    bent_truth = make_conversation(turns=[blank, *conversation.model_dump()["turns"]])
    bent_run = make_run(turns=[blank, *run.model_dump()["turns"]])
    pair = (bent_truth, run) if side == "truth" else (conversation, bent_run)
    assert _record(score([pair[0]], [pair[1]])) == _record(score([conversation], [run]))
    # The other way round the blank turn counts.
    bent_truth = make_conversation(turns=[*conversation.model_dump()["turns"], blank])
    bent_run = make_run(turns=[*run.model_dump()["turns"], blank])
    pair = (bent_truth, run) if side == "truth" else (conversation, bent_run)
    turn = _record(score([pair[0]], [pair[1]]))["turn_scores"][1]
    assert (turn["turnNumber"], turn["emotion_f1"]) == (2, 0)


# What is not scored.


@pytest.mark.parametrize(
    ("changes", "rule", "path", "words"),
    [
        ({"conversationId": "c9"}, "run-without-conversation", "$.conversationId", "no conversation with this id"),
        ({"turns": [{"turnNumber": 7}]}, "no-shared-turn", "$.turns", "shares no turn"),
        ({"turns": []}, "no-shared-turn", "$.turns", "shares no turn"),
        ({"turns": None}, "no-shared-turn", "$.turns", "shares no turn"),
    ],
    ids=["no-conversation", "other-turns", "no-turns", "null-turns"],
)
def test_a_run_that_cannot_be_scored_is_an_issue(
    make_conversation: MakeConversation, make_run: MakeRun, changes: Json, rule: str, path: str, words: str
) -> None:
    scores = score([make_conversation()], [make_run(**changes), make_run()])
    assert _record(scores) == _record(score([make_conversation()], [make_run()]))
    (issue,) = scores.provenance.issues
    assert (issue.rule, issue.path, issue.severity) == (rule, path, "error")
    assert words in issue.message
    assert "vendor/model" in issue.file
    assert scores.issues.height == 1
    assert scores.issues["rule"].to_list() == [rule]


def test_nothing_to_score(make_conversation: MakeConversation) -> None:
    scores = score([make_conversation()], [])
    assert (list(records_of(scores)), aggregates(scores), scores.provenance.issues) == ([], [], ())
    assert scores.summary(resamples=1).is_empty()


@pytest.mark.parametrize("protocol", ["paper", "", "Documented"])
def test_an_unknown_protocol_is_refused(make_conversation: MakeConversation, protocol: str) -> None:
    with pytest.raises(MetricInputError, match=r"unknown protocol .*documented, released"):
        score([make_conversation()], [], protocol=protocol)


def test_progress_counts_every_run(make_conversation: MakeConversation, make_run: MakeRun) -> None:
    told: list[int] = []
    runs = [make_run(conversationId="c9"), *(make_run(em_model=f"vendor/{number}") for number in range(69))]
    score([make_conversation()], runs, progress=told.append)
    assert told == [64, 70]


@pytest.mark.parametrize("synthetic", [True, False])
def test_metadata_says_whether_the_data_are_synthetic(
    make_conversation: MakeConversation, make_run: MakeRun, synthetic: bool
) -> None:
    scores = score([make_conversation(metadata={"synthetic": synthetic})], [make_run()])
    assert scores.provenance.synthetic is synthetic


def test_what_was_not_scored_makes_no_scores_synthetic(make_conversation: MakeConversation, make_run: MakeRun) -> None:
    real, invented = (
        make_conversation(conversationId=name, metadata={"synthetic": name == "c2"}) for name in ("c1", "c2")
    )
    runs = [make_run(conversationId=name) for name in ("c1", "c2")]
    assert not score([real, invented], runs[:1]).provenance.synthetic
    assert score([real, invented], runs).provenance.synthetic
