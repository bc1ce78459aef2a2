"""What random answers to a conversation score on average: expected values, by a formula or a short enumeration.

Answers are drawn as the baseline ``baseline/chance`` draws them, to all turns of a conversation. `attune_bench.chance`
simulates the others: intensities, drafts, pooled counts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache, partial
from itertools import combinations, product
from math import comb, fsum, isnan
from statistics import fmean
from typing import Any

from attune_bench.benchmarks.attunebench.conversation_score import PANAS, Truth, TurnTruth, wide_parts
from attune_data import load_codebook
from attune_metrics.attunebench import composite, holistic
from attune_metrics.attunebench.composite import Protocol
from attune_metrics.attunebench.emotion import SIMILARITY
from attune_metrics.attunebench.holistic import BRANCHES, score_four_branch
from attune_metrics.attunebench.preferences import PreparedComparisons, score_random_choices
from attune_metrics.attunebench.questions import PreparedAnswers, hp_perspective_gap

_MOST_TAGS = 3
_RATINGS = range(1, 8)

EXPECTED = (
    *"avg_emotion_hit_rate avg_emotion_hit_rate_tagged_only avg_emotion_f1 avg_emotion_va_score".split(),
    *"avg_binary_om_accuracy avg_binary_human_accuracy avg_binary_om_accuracy_hp avg_binary_human_accuracy_hp".split(),
    *"avg_pairwise_accuracy avg_pairwise_kendall_tau".split(),
    *(f"panas_{name}" for name in PANAS if not name.startswith("item_")),
    *"panas_item_mae panas_item_normalized panas_item_baseline_adjusted".split(),
    *"q1_looking_for_score q2_emotion_clarity_match q3_model_fit_match q3_model_fit_ordinal_distance".split(),
    *"q3_follow_up_score avg_four_branch_mae four_branch_mae four_branch_normalized".split(),
    *(f"four_branch_{branch}_mae" for branch in BRANCHES),
    *"emotion_blend evaluation_quality holistic turn_level_average conversation_wide_average".split(),
    *"composite_score equal_weight_composite hp_perspective_gap".split(),
)
"""The metrics with a known expected value."""


def expected_scores(truth: Truth, protocol: Protocol) -> dict[str, float | None]:
    """Return the expected value of each metric of `EXPECTED` for random answers to one conversation.

    Parameters
    ----------
    truth : Truth
        A conversation with at least one turn.
    protocol : Protocol
        The definitions that count.

    Returns
    -------
    dict
        None where no answer makes a metric defined. A metric without a short formula for this conversation is left
        out: Kendall's tau where random answers can leave it undefined.

    Examples
    --------
    >>> from attune_bench.benchmarks.attunebench.conversation_score import prepare_truth
    >>> from attune_data import load
    >>> from attune_metrics.attunebench.composite import get_protocol
    >>> chosen = get_protocol("documented")
    >>> expected_scores(prepare_truth(load("demo")[0], chosen), chosen)["q2_emotion_clarity_match"]
    0.25
    """
    turns = list(truth.turns.values())
    found = _of_emotions(turns) | _of_questions(turns) | _of_pairs(turns) | _of_panas(truth)
    found |= _of_answers(truth, protocol)
    return found | _of_parts(found)


def _of_emotions(turns: list[TurnTruth]) -> dict[str, float | None]:
    vocabulary = {*_words()}
    tags = [turn.tags.last.keys() for turn in turns]
    found = [_expected_tags(len(words), len(vocabulary & words), len(vocabulary)) for words in tags]
    tagged = [hit_rate for (hit_rate, _), words in zip(found, tags, strict=True) if words]
    return {
        "avg_emotion_hit_rate": fmean([hit_rate for hit_rate, _ in found]),
        "avg_emotion_hit_rate_tagged_only": fmean(tagged) if tagged else None,
        "avg_emotion_f1": fmean([f1 for _, f1 in found]),
        "avg_emotion_va_score": fmean([_expected_va(tuple(sorted(turn.tags.words))) for turn in turns]),
    }


@cache
def _words() -> tuple[str, ...]:
    return tuple(emotion.word.lower() for emotion in load_codebook().emotions.values())


@cache
def _expected_tags(tagged: int, known: int, words: int) -> tuple[float, float]:
    """Return the expected hit rate and F1 of drawing 0 to 3 of `words`, which include `known` of the `tagged` words."""
    counts = range(_MOST_TAGS + 1)
    if not tagged:
        # Both are 1 where no word is drawn, else 0.
        return 1 / len(counts), 1 / len(counts)
    shared = [drawn * known / words for drawn in counts]
    f1 = fmean([2 * right / (tagged + drawn) for drawn, right in zip(counts, shared, strict=True)])
    return fmean(shared) / tagged, f1


@lru_cache(maxsize=2**12)
def _expected_va(tagged: tuple[str, ...]) -> float:
    """Return the expected valence-arousal score of drawing 0 to 3 of the words."""
    if not tagged:
        return 1 / (_MOST_TAGS + 1)
    words = _words()
    # A word that is not in the codebook, or one more copy than words are drawn, adds nothing to a matching.
    known = [word for word, copies in Counter(tagged).items() if word in words for _ in range(min(copies, _MOST_TAGS))]
    similar = [[SIMILARITY[own][word] for word in words] for own in known]
    similar += [[0.0] * len(words)] * (_MOST_TAGS - len(known))
    best = enumerate(_mean_matchings(similar), 1)
    return fsum(mean / max(len(tagged), number) for number, mean in best) / (_MOST_TAGS + 1)


def _mean_matchings(tags: list[list[float]]) -> tuple[float, float, float]:
    """Return the mean sum of the best matching over all draws of 1, of 2 and of 3 words.

    `tags` are three or more, each with its similarity to every word.
    """
    words = range(len(tags[0]))
    one, two = [0.0 for _ in words], dict.fromkeys(combinations(words, 2), 0.0)
    three = dict.fromkeys(combinations(words, 3) if len(tags) > 3 else (), 0.0)
    for tag in tags:
        # The tag is matched with none of the words drawn, or with one of them.
        three = {
            (i, j, k): max(best, two[i, j] + tag[k], two[i, k] + tag[j], two[j, k] + tag[i])
            for (i, j, k), best in three.items()
        }
        before = two
        two = {(i, j): max(best, one[i] + tag[j], one[j] + tag[i]) for (i, j), best in two.items()}
        one = list(map(max, one, tag))
    return fmean(one), fmean(two.values()), fmean(three.values()) if three else _mean_of_three(before, tag)


def _mean_of_three(two: Mapping[tuple[int, int], float], tag: list[float]) -> float:
    """Return the mean sum of the best matching of three tags over all draws of 3 words, without visiting each draw.

    `two` has the best matching of two of the tags with each pair of words. Of the three pairs in a draw, the one that
    gains most over matching its words with the third tag goes to the two tags. In ascending order of gains, a pair is
    that one in every draw whose other two pairs come before it.
    """
    gains = sorted((best - tag[i] - tag[j], i, j) for (i, j), best in two.items())
    total = fsum(tag) * comb(len(tag) - 1, 2)
    paired = [0] * len(tag)  # the words in a pair with each word so far, as bits
    for gain, i, j in gains:
        total += gain * (paired[i] & paired[j]).bit_count()
        paired[i] |= 1 << j
        paired[j] |= 1 << i
    return total / comb(len(tag), 3)


def _of_questions(turns: list[TurnTruth]) -> dict[str, float | None]:
    om = [_expected_accuracy(turn.observed) for turn in turns]
    human = [_expected_accuracy(turn.preferred) for turn in turns]
    # Any answers to a turn without judgements score 1 in the observer phrasing and 0 in the HP-facing phrasing. A
    # conversation without judgements is not asked in the HP-facing phrasing.
    asked = any(turn.observed.judged for turn in turns)
    return {
        "avg_binary_om_accuracy": fmean([1.0 if value is None else value for value in om]),
        "avg_binary_human_accuracy": fmean([1.0 if value is None else value for value in human]),
        "avg_binary_om_accuracy_hp": fmean([value or 0.0 for value in om]) if asked else None,
        "avg_binary_human_accuracy_hp": fmean([value or 0.0 for value in human]) if asked else None,
    }


def _expected_accuracy(reference: PreparedAnswers) -> float | None:
    """Return the expected accuracy of yes or no; 0 where no question counts, None without judgements."""
    if not reference.judged:
        return None
    return 0.5 if reference.yes or reference.no else 0.0


def _of_pairs(turns: list[TurnTruth]) -> dict[str, float | None]:
    scores = [score_random_choices(turn.comparisons) for turn in turns]
    found: dict[str, float | None] = {"avg_pairwise_accuracy": fmean([score.accuracy for score in scores])}
    if not any(_may_be_undefined(turn.comparisons) for turn in turns):
        taus = [score.kendall_tau for score in scores if not isnan(score.kendall_tau)]
        found["avg_pairwise_kendall_tau"] = fmean(taus) if taus else None
    return found


def _may_be_undefined(comparisons: PreparedComparisons) -> bool:
    """Tell whether random choices may name no label, though there are two to rank: all comparisons have an open one."""
    return len(comparisons.wins) > 1 and all(None in comparison[:2] for comparison in comparisons.compared)


def _of_panas(truth: Truth) -> dict[str, float | None]:
    after, before = truth.post_panas, truth.pre_panas
    items = [_of_random(actual, before.items.get(word), 1) for word, actual in after.items.items()]
    # The two totals, each of ten items; one that is missing is taken as 40.
    pa_mae, pa_skill = _of_random(after.totals.positive, before.totals.positive, 10)
    na_mae, na_skill = _of_random(after.totals.negative, before.totals.negative, 10)
    mae, item_mae = fmean([pa_mae, na_mae]), _mean(error for error, _ in items)
    found = {
        "mae": mae,
        "normalized": 1 - mae / 60,
        "pa_mae": pa_mae,
        "na_mae": na_mae,
        "pa_normalized": 1 - pa_mae / 60,
        "na_normalized": 1 - na_mae / 60,
        "pa_baseline_adjusted": pa_skill,
        "na_baseline_adjusted": na_skill,
        "baseline_adjusted": _mean([pa_skill, na_skill]),
        "item_mae": item_mae,
        "item_normalized": None if item_mae is None else 1 - item_mae / 6,
        "item_baseline_adjusted": _mean(skill for _, skill in items),
    }
    return {f"panas_{name}": value for name, value in found.items()}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


@lru_cache(maxsize=2**13)
def _of_random(actual: float | None, before: float | None, ratings: int) -> tuple[float, float | None]:
    """Return the expected error of a sum of random ratings, and its skill over what was before; None if undefined."""
    true = 40 if actual is None else actual
    errors = [(abs(true - total), ways) for total, ways in _sums(ratings).items()]
    every = len(_RATINGS) ** ratings
    mae = fsum(error * ways for error, ways in errors) / every
    if actual is None or before is None or actual == before:
        return mae, None
    naive = abs(actual - before)
    return mae, fsum(max(-1.0, 1 - error / naive) * ways for error, ways in errors) / every


@cache
def _sums(ratings: int) -> Counter[int]:
    """Return in how many ways so many ratings have each sum."""
    ways = Counter({0: 1})
    for _ in range(ratings):
        longer: Counter[int] = Counter()
        for total, number in ways.items():
            longer.update({total + rating: number for rating in _RATINGS})
        ways = longer
    return ways


def _of_answers(truth: Truth, protocol: Protocol) -> dict[str, float | None]:
    q2, q3, actual = load_codebook().q2_options, load_codebook().q3_options, truth.wide
    clarity, fit = actual.q2_emotion_clarity, actual.q3_model_fit
    branches = [score_four_branch(truth.branches, dict.fromkeys(BRANCHES, rating)) for rating in _RATINGS]
    errors = {branch: fmean([one.per_branch[branch] for one in branches]) for branch in branches[0].per_branch}
    mae = fmean([one.mae for one in branches])
    return {
        "q1_looking_for_score": _expected_goals(actual.q1_looking_for, protocol),
        "q2_emotion_clarity_match": fmean([holistic.q2_emotion_clarity_match(clarity, option) for option in q2]),
        "q3_model_fit_match": fmean([holistic.q3_model_fit_match(fit, option) for option in q3]),
        "q3_model_fit_ordinal_distance": fmean([holistic.q3_model_fit_ordinal_distance(fit, option) for option in q3]),
        # Nothing is drawn for what felt off.
        "q3_follow_up_score": holistic.q3_follow_up_score(actual.q3_follow_up_what_felt_off, ()),
        "avg_four_branch_mae": mae,
        "four_branch_mae": mae,
        "four_branch_normalized": fmean([one.normalized for one in branches]),
        **{f"four_branch_{branch}_mae": errors.get(branch) for branch in BRANCHES},
    }


def _of_parts(found: dict[str, Any]) -> dict[str, float | None]:
    """Return the metrics that are weighted sums of others: so are their expected values."""
    human, human_hp = found["avg_binary_human_accuracy"], found["avg_binary_human_accuracy_hp"]
    om, pairwise = found["avg_binary_om_accuracy"], found["avg_pairwise_accuracy"]
    quality = composite.evaluation_quality(om_accuracy=om, human_accuracy=human, pairwise_accuracy=pairwise)
    wide = wide_parts(found)
    parts = {
        "emotion_blend": composite.emotion_blend(found["avg_emotion_f1"], found["avg_emotion_va_score"]),
        "evaluation_quality": quality,
        "holistic": composite.holistic(**wide),
    }
    averages = {
        "turn_level_average": composite.turn_level_average(
            emotion_blend=parts["emotion_blend"],
            binary_mean=composite.binary_mean(om, human),
            pairwise_accuracy=pairwise,
        ),
        "conversation_wide_average": composite.conversation_wide_average(**wide),
    }
    return {
        **parts,
        **averages,
        "composite_score": composite.composite_score(**parts),
        "equal_weight_composite": composite.equal_weight_composite(**averages),
        "hp_perspective_gap": None if human_hp is None else hp_perspective_gap(observer=human, hp=human_hp),
    }


@lru_cache(maxsize=1024)
def _expected_goals(chosen: tuple[str, ...], protocol: Protocol) -> float:
    """Return the expected score of goals, each drawn with probability 1/2."""
    options = load_codebook().q1_options
    score = partial(holistic.q1_looking_for_score, chosen, protocol=protocol)
    right = [option for option in options if score(option)]
    wrong = [option for option in options if option not in right]
    # Draws with as many right and as many wrong options score the same.
    drawn = product(range(len(right) + 1), range(len(wrong) + 1))
    ways = ((comb(len(right), i) * comb(len(wrong), j), score(right[:i] + wrong[:j])) for i, j in drawn)
    return fsum(number * value for number, value in ways) / 2.0 ** len(options)
