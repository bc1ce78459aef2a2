"""A scorer of AttuneBench as a script would have it: every published metric by its formula, and nothing else.

    python benchmarks/plain_scorer.py DATA RUNS OUTPUT

Reads every conversation and every run with `json`, matches them by id, and writes every published key of
``scores.json``: the scores of each turn and conversation, and the means, standard errors and pooled counts of each
model. Nothing is validated, repaired or hashed, older spellings are not known, and there is no chance value, coverage
or settings. It is what `attune-bench score` is timed against, and a second implementation of the formulas.
"""

import json
import sys
from collections import defaultdict
from itertools import permutations
from math import sqrt
from pathlib import Path
from statistics import stdev
from typing import Any

AFFECT = {
    "afraid": (0.073, 0.84), "scared": (0.083, 0.82), "nervous": (0.188, 0.72), "jittery": (0.196, 0.788),
    "distressed": (0.125, 0.75), "upset": (0.167, 0.65), "guilty": (0.15, 0.60), "ashamed": (0.13, 0.62),
    "hostile": (0.20, 0.70), "irritable": (0.22, 0.68), "interested": (0.65, 0.60), "excited": (0.80, 0.85),
    "strong": (0.75, 0.70), "enthusiastic": (0.82, 0.78), "proud": (0.85, 0.65), "alert": (0.70, 0.75),
    "inspired": (0.90, 0.70), "determined": (0.78, 0.72), "attentive": (0.68, 0.60), "active": (0.72, 0.80),
}  # fmt: skip
NEGATIVE, POSITIVE = list(AFFECT)[:10], list(AFFECT)[10:]
SIMILARITY = {
    (a, b): round(1 - sqrt((va - vb) ** 2 + (aa - ab) ** 2) / sqrt(2), 4)
    for a, (va, aa) in AFFECT.items()
    for b, (vb, ab) in AFFECT.items()
}
FITS = (
    "very well-matched and adaptive", "mostly well-matched", "mixed, some good moments, some misses",
    "mostly off-target or intrusive",
)  # fmt: skip
BRANCHES = ("perceiving", "facilitating", "understanding", "managing")
BINARY = {
    "om": ("em_binary_om_assessment", ("observedBehavior", "llmValue")),
    "human": ("em_binary_human_prediction", ("preferredBehavior", "observedBehavior")),
    "om_hp": ("em_binary_om_assessment_hp", ("observedBehavior", "llmValue")),
    "human_hp": ("em_binary_human_prediction_hp", ("preferredBehavior", "observedBehavior")),
}
AVERAGED = {
    "emotion_hit_rate", "emotion_intensity_mae", "emotion_f1", "emotion_f1_intensity", "emotion_va_score",
    "emotion_va_intensity_score", "binary_om_accuracy", "binary_human_accuracy", "binary_om_accuracy_hp",
    "binary_human_accuracy_hp", "pairwise_accuracy", "pairwise_kendall_tau", "response_similarity",
    "response_similarity_original", "response_similarity_llm_improved", "response_similarity_human_edited",
    "response_preference_alignment", "draft_judge_score", "draft_binary_alignment",
}  # fmt: skip
IN_COMPOSITE = (
    "avg_emotion_f1", "avg_emotion_va_score", "avg_binary_om_accuracy", "avg_binary_human_accuracy",
    "avg_pairwise_accuracy", "panas_baseline_adjusted", "q1_looking_for_score", "q2_emotion_clarity_match",
    "q3_model_fit_match", "q3_follow_up_score", "four_branch_normalized", "composite_score",
)  # fmt: skip
TEXTS = {"original": "original", "llm_improved": "alternate", "human_edited": "human"}
Scores = dict[str, Any]


def mean(values: Any) -> Any:
    """Return the mean of the values that are there."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def clamped(value: float, low: float, high: float) -> float:
    """Return a number within its range."""
    return max(low, min(high, value))


def emotion(truth: list[Any], said: list[Any]) -> Scores:
    """Score the emotions of a turn."""
    g, p = ({tag["emotion"].lower(): tag["intensity"] for tag in tags} for tags in (truth, said))
    shared = g.keys() & p.keys()
    if not g and not p:
        precision = recall = f1 = weighted = 1.0
    elif not g:
        precision = recall = f1 = weighted = 0.0
    else:
        precision, recall = len(shared) / len(p) if p else 0.0, len(shared) / len(g)
        f1 = 2 * precision * recall / (precision + recall) if shared else 0.0
    errors = [abs(g[word] - p[word]) for word in shared if g[word] is not None and p[word] is not None]
    if g or p:
        weighted = f1 * mean([1 - error / 6 for error in errors]) if errors else 0.0
    return {
        "emotion_hit_rate": recall if g else float(not p), "emotion_precision": precision, "emotion_recall": recall,
        "emotion_f1": f1, "emotion_f1_intensity": weighted, "emotion_intensity_mae": mean(errors),
        "emotion_va_score": matched(truth, said, with_intensity=False),
        "emotion_va_intensity_score": matched(truth, said, with_intensity=True),
    }  # fmt: skip


def matched(truth: list[Any], said: list[Any], *, with_intensity: bool) -> float:
    """Return the mean similarity of the best assignment of tags, times the share of tags that it covers."""
    if not truth or not said:
        return float(not truth and not said)
    short, long = sorted((truth, said), key=len)
    values = []
    for one in short:
        row = []
        for other in long:
            alike = SIMILARITY.get((one["emotion"].lower(), other["emotion"].lower()), 0.0)
            if with_intensity:
                known = one["intensity"] is not None and other["intensity"] is not None
                close = 1 - abs(one["intensity"] - other["intensity"]) / 6 if known else 0.0
                alike = 0.7 * alike + 0.3 * close
            row.append(alike)
        values.append(row)
    best = max(
        sum(row[place] for row, place in zip(values, places, strict=True))
        for places in permutations(range(len(long)), len(short))
    )
    return best / len(short) * (len(short) / len(long))


def derived(tp: int, tn: int, fp: int, fn: int) -> Scores:
    """Return the scores of counts."""
    total, product = tp + tn + fp + fn, (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return {
        "tp": tp, "tn": tn, "fp": fp, "fn": fn,
        "accuracy": (tp + tn) / total if total else 0.0,
        "precision": tp / (tp + fp) if tp + fp else 0.0,
        "recall": tp / (tp + fn) if tp + fn else 0.0,
        "f1": 2 * tp / (2 * tp + fp + fn) if tp else 0.0,
        "mcc": (tp * tn - fp * fn) / sqrt(product) if product else 0.0,
    }  # fmt: skip


def told(judgement: Any, fields: tuple[str, ...]) -> str | None:
    """Return what a person answered."""
    return next((judgement[name] for name in fields if judgement.get(name) is not None), None)


def binary(judgements: list[Any], said: Any, fields: tuple[str, ...]) -> list[int]:
    """Return TP, TN, FP, FN of the yes/no questions of a turn."""
    counts = [0, 0, 0, 0]
    for judgement in judgements:
        truth = told(judgement, fields)
        if truth in ("yes", "no"):
            yes = said.get(judgement["questionId"]) == "yes"
            counts[(0 if yes else 3) if truth == "yes" else (2 if yes else 1)] += 1
    return counts


def jaccard(one: str | None, other: str | None) -> float:
    """Return the share of words that two texts have in common."""
    a, b = set((one or "").lower().split()), set((other or "").lower().split())
    return len(a & b) / len(a | b) if a or b else 1.0


def preferences(turn: Any, said: Any) -> Scores:
    """Score the comparisons and the drafted response of a turn."""
    annotations = turn["annotations"]
    comparisons, chosen = annotations["pairwiseComparisons"], said["em_pairwise_selections"]
    labels = sorted({one[side] for one in comparisons for side in ("responseA", "responseB")})
    wins, predicted = dict.fromkeys(labels, 0), dict.fromkeys(labels, 0)
    right = 0
    for place, one in enumerate(comparisons):
        own, other = one["winner"], chosen.get(str(place))
        right += own is not None and own == other
        for counted, winner in ((wins, own), (predicted, other)):
            if winner in ("A", "B"):
                counted[one[f"response{winner}"]] += 1
    tau = None
    if len(labels) > 1 and any(predicted.values()):
        ranks = [
            {label: rank for rank, label in enumerate(sorted(labels, key=lambda name: (-of[name], name)))}
            for of in (wins, predicted)
        ]
        pairs = [(a, b) for place, a in enumerate(labels) for b in labels[place + 1 :]]
        signs = [(ranks[0][a] - ranks[0][b]) * (ranks[1][a] - ranks[1][b]) > 0 for a, b in pairs]
        tau = (2 * sum(signs) - len(pairs)) / len(pairs)
    alternates = annotations["alternateResponses"] or {}
    texts = {
        "original": turn["llmResponse"],
        "alternate": alternates.get("llmImproved"),
        "human": alternates.get("humanEdited"),
    }
    draft = said.get("em_drafted_response")
    alike = {name: jaccard(draft, text) if draft and text else 0.0 for name, text in texts.items()}
    best = max(alike.values())
    won = {name: wins.get(name, 0) for name, text in texts.items() if text}
    aligned = best
    if any(wins.values()):
        total = sum(won.values())
        aligned = sum(alike[name] * count / total for name, count in won.items()) if total else 0.0
    return {
        "pairwise_accuracy": right / len(comparisons) if comparisons else 1.0, "pairwise_kendall_tau": tau,
        "response_similarity": best, **{f"response_similarity_{name}": alike[of] for name, of in TEXTS.items()},
        "response_preference_alignment": aligned if draft else 0.0,
    }  # fmt: skip


def drafts(judgements: list[Any], said: Any) -> Scores:
    """Score what a judge said of the draft."""
    scores = said.get("em_draft_judge_scores") or {}
    known = [
        scores[name]
        for name in ("overall_score", "emotional_appropriateness", "helpfulness", "tone_match")
        if scores.get(name) is not None
    ]
    answers = said.get("em_draft_binary_assessment") or {}
    asked = {one["questionId"]: told(one, BINARY["human"][1]) for one in judgements}
    right = [float(answers.get(name) == truth) for name, truth in asked.items() if truth in ("yes", "no")]
    return {
        "draft_judge_score": clamped((sum(known) / len(known) - 1) / 6, 0, 1) if known else None,
        "draft_binary_alignment": mean(right) if answers else None,
    }


def affects(form: Any) -> tuple[float, float]:
    """Return positive and negative affect as the sums of their items."""
    items = {name.lower(): clamped(value, 1, 7) for name, value in (form.get("responses") or form["items"]).items()}
    return sum(items[name] for name in POSITIVE), sum(items[name] for name in NEGATIVE)


def adjusted(pre: float, post: float, said: float, span: int) -> Any:
    """Return how much better a prediction is than no change, -1 to 1."""
    if post == pre:
        return None
    naive, raw = max(0.0, 1 - abs(post - pre) / span), max(0.0, 1 - abs(post - said) / span)
    return clamped((raw - naive) / (1 - naive), -1, 1)


def panas(conversation: Any, said: Any) -> Scores:
    """Score the predicted PANAS."""
    pre, post = conversation["prePanas"], conversation["postPanas"]
    forms = [affects(form) for form in (pre, post, said)]
    errors = [abs(a - b) for a, b in zip(forms[1], forms[2], strict=True)]
    gains = [adjusted(a, b, c, 60) for a, b, c in zip(*forms, strict=True)]
    items = [
        {name.lower(): value for name, value in (form.get("responses") or form["items"]).items()}
        for form in (pre, post, said)
    ]
    a, b, c = items
    errors_of = {name.title(): abs(b[name] - c[name]) for name in AFFECT}
    off = mean(errors_of.values())
    return {
        "panas_mae": mean(errors), "panas_normalized": max(0.0, 1 - mean(errors) / 60),
        "panas_pa_mae": errors[0], "panas_na_mae": errors[1], "panas_pa_normalized": max(0.0, 1 - errors[0] / 60),
        "panas_na_normalized": max(0.0, 1 - errors[1] / 60), "panas_pa_baseline_adjusted": gains[0],
        "panas_na_baseline_adjusted": gains[1], "panas_baseline_adjusted": mean(gains),
        "panas_item_baseline_adjusted": mean([adjusted(a[name], b[name], c[name], 6) for name in AFFECT]),
        "panas_item_mae": off, "panas_item_normalized": 1 - off / 6, "panas_item_errors": errors_of,
    }  # fmt: skip


def follow_up(truth: list[str], said: list[str]) -> float:
    """Return the fuzzy F1 of what felt off."""
    a, b = ([text.strip().lower() for text in texts if text.strip()] for texts in (truth, said))
    if not a or not b:
        return float(not a and not b)

    def earned(own: list[str], others: list[str]) -> float:
        best = [1.0 if text in others else max(jaccard(text, other) for other in others) for text in own]
        return sum(value if value >= 0.3 else 0.0 for value in best) / len(best)

    recall, precision = earned(a, b), earned(b, a)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def post_conversation(conversation: Any, said: Any) -> Scores:
    """Score the answers after the conversation."""
    truth, wide = conversation["conversationWideQuestions"], said["predicted_conversation_wide"]
    goals = [{text.strip().lower() for text in of["q1_lookingFor"]} for of in (truth, wide)]
    fits = [FITS.index(of["q3_modelFit"].strip().lower()) for of in (truth, wide)]
    errors = {name: abs(truth["fourBranchScores"][name] - wide["fourBranchScores"].get(name, 4)) for name in BRANCHES}
    off = sum(errors.values()) / len(errors)
    return {
        **panas(conversation, said["predicted_post_panas"]),
        "q1_looking_for_score": len(goals[0] & goals[1]) / len(goals[0] | goals[1]) if goals[0] | goals[1] else 1.0,
        "q2_emotion_clarity_match": float(truth["q2_emotionClarity"].lower() == wide["q2_emotionClarity"].lower()),
        "q3_model_fit_match": float(fits[0] == fits[1]), "q3_model_fit_ordinal_distance": abs(fits[0] - fits[1]),
        "q3_follow_up_score": follow_up(*(of.get("q3_followUp_whatFeltOff", []) for of in (truth, wide))),
        "four_branch_mae": off, "four_branch_normalized": max(0.0, 1 - off / 6), "four_branch_per_branch": errors,
    }  # fmt: skip


def score(conversation: Any, run: Any) -> Scores:
    """Score a run against its conversation."""
    said = {turn["turnNumber"]: turn for turn in run["turns"]}
    pooled = {name: [0, 0, 0, 0] for name in BINARY}
    turns = []
    for turn in conversation["turns"]:
        own, judgements = said[turn["turnNumber"]], turn["annotations"]["binaryJudgements"]
        found = {"turnNumber": turn["turnNumber"]} | emotion(turn["moodShiftTags"], own["em_emotion_tags"])
        for name, (field, fields) in BINARY.items():
            counts = binary(judgements, own[field], fields)
            pooled[name] = [a + b for a, b in zip(pooled[name], counts, strict=True)]
            task, _, hp = name.partition("_")
            found[metrics_key(name)] = scores = derived(*counts)
            found[f"binary_{task}_accuracy{hp and '_hp'}"] = scores["accuracy"] if judgements else float(not hp)
        turns.append(found | preferences(turn, own) | drafts(judgements, own))
    means = {f"avg_{name}": mean([turn[name] for turn in turns]) for name in turns[0] if name in AVERAGED}
    means["avg_emotion_hit_rate_tagged_only"] = mean(
        [
            own["emotion_hit_rate"]
            for own, turn in zip(turns, conversation["turns"], strict=True)
            if turn["moodShiftTags"]
        ]
    )
    post = post_conversation(conversation, run["post_conversation"])
    means["avg_four_branch_mae"] = post["four_branch_mae"]
    counts_of = {f"pooled_{metrics_key(name)}": derived(*counts) for name, counts in pooled.items()}
    gaps = {}
    for suffix, a, b in (
        ("", means["avg_binary_human_accuracy"], means["avg_binary_human_accuracy_hp"]),
        ("_mcc", counts_of["pooled_binary_human_metrics"]["mcc"], counts_of["pooled_binary_human_metrics_hp"]["mcc"]),
    ):
        gaps[f"hp_perspective_gap{suffix}"] = a - b
        gaps[f"hp_perspective_alignment{suffix}"] = b / a if a > 0 else 0.0
    return {
        "conversationId": run["conversationId"], "mode": run["mode"], "em_model": run["em_model"], "turn_scores": turns,
        "post_score": post, **means, **counts_of, **gaps, **composites(means, post),
    }  # fmt: skip


def metrics_key(name: str) -> str:
    """Return the key of the counts of a binary task."""
    task, _, hp = name.partition("_")
    return f"binary_{task}_metrics{hp and '_hp'}"


def composites(means: Scores, post: Scores) -> Scores:
    """Return the composites of a conversation and the averages that they rest on."""
    gain = post["panas_baseline_adjusted"]
    panas01 = 0.5 if gain is None else (gain + 1) / 2
    wide = mean(
        [
            post[name]
            for name in ("q1_looking_for_score", "q2_emotion_clarity_match", "q3_model_fit_match", "q3_follow_up_score")
        ]
    )
    pairwise = means["avg_pairwise_accuracy"]
    blend = 0.5 * means["avg_emotion_f1"] + 0.5 * means["avg_emotion_va_score"]
    answers = (means["avg_binary_om_accuracy"] + means["avg_binary_human_accuracy"]) / 2
    quality = 0.5 * answers + 0.5 * pairwise
    holistic = 0.4 * panas01 + 0.3 * wide + 0.3 * post["four_branch_normalized"]
    of_turns = (blend + answers + pairwise) / 3
    of_wide = (panas01 + wide + post["four_branch_normalized"]) / 3
    return {
        "turn_level_average": of_turns, "conversation_wide_average": of_wide,
        "composite_score": round(100 * (0.24 * blend + 0.49 * quality + 0.27 * holistic), 2),
        "equal_weight_composite": round(100 * (of_turns + of_wide) / 2, 2),
    }  # fmt: skip


def aggregate(own: list[Scores]) -> Scores:
    """Return the means of a model's conversations, each with its number, the standard errors and the pooled counts."""
    flat = [{**one["post_score"], **one} for one in own]
    row = {"em_model": own[0]["em_model"], "mode": own[0]["mode"], "n_conversations": len(own)}
    for name, value in flat[0].items():
        if isinstance(value, float | int) or value is None:
            values = [one[name] for one in flat if one[name] is not None]
            row[name], row[f"{name}_n"] = mean(values), len(values)
            if name in IN_COMPOSITE:
                row[f"{name}_se"] = stdev(values) / sqrt(len(values)) if len(values) > 1 else None
    for name in map(metrics_key, BINARY):
        key = f"pooled_{name}"
        row[key] = derived(*(sum(one[key][cell] for one in own) for cell in ("tp", "tn", "fp", "fn")))
    return row


def main(data: str, runs: str, output: str) -> None:
    """Score every run of a folder, and write every published key of ``scores.json``."""
    truth = {}
    for path in sorted(Path(data).glob("*.json")):
        conversation = json.loads(path.read_bytes())
        truth[conversation["conversationId"]] = conversation
    found = defaultdict(list)
    for path in sorted(Path(runs).glob("*.json")):
        run = json.loads(path.read_bytes())
        found[run["em_model"], run["mode"]].append(score(truth[run["conversationId"]], run))
    rows = [aggregate(own) for own in found.values()]
    composite = [row["composite_score"] for row in rows]
    spread = stdev(composite) if len(rows) > 1 else 0.0
    for row in rows:
        row["composite_z"] = (row["composite_score"] - mean(composite)) / spread if spread else 0.0
    scores = {"metadata": {}, "conversations": [one for own in found.values() for one in own], "aggregates": rows}
    Path(output).write_text(json.dumps(scores), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
