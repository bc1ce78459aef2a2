"""Responses: how near a model's own draft comes to those that the participant judged, and which of two it prefers.

Overlap of texts
----------------
How many words two texts share.

A text is compared as its set of tokens: lower case, split on white space; punctuation stays.

Conventions: response
---------------------
A turn has up to three responses: `original` (what the participant got), `alternate` (improved by a language model),
`human` (edited by the participant). A text is compared as its set of tokens: lower case, split on white space. A None
or blank text is missing.

Metrics: response
-----------------
- Response similarity: token Jaccard [1]_ of the draft with each response; overall, the largest.
- Preference alignment: the same weighted by how often each response won.
- Draft judge score, draft binary alignment: the draft as judged by another model [2]_.

Conventions: pairwise
---------------------
A turn has comparisons, each of two responses by their labels (`original`, `alternate`, `human`, or any other) with a
winner: "A" is the first response, "B" the second, None is no answer. Predictions are keyed by the position of the
comparison, from 0. A label may be open (None) in prepared comparisons only; the checked functions demand two labels.

Metrics: pairwise
-----------------
- Accuracy: share of comparisons predicted as answered [2]_.
- Kendall's tau-a between the rankings of the responses by wins [3]_.

References
----------
.. [1] Jaccard (1912), The distribution of the flora in the alpine zone, New Phytol. 11, 37-50.
.. [2] AttuneBench, arXiv:2605.21739, turn metrics.
.. [3] Kendall (1938), A new measure of rank correlation, Biometrika 30, 81-93.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations
from math import comb, fsum, inf, nan
from operator import eq
from sys import intern
from typing import NamedTuple

from attune_metrics.attunebench import turn_entry, with_mean
from attune_metrics.attunebench.questions import (
    Answers,
    CheckedAnswers,
    PreparedAnswers,
    check_answers,
    prepare_answers,
)
from attune_metrics.metric import Metric, MetricInputError, check_list, check_mapping, check_number, check_text, defined


def tokenize(text: str | None) -> frozenset[str]:
    """Return the set of tokens of a text: lower case, split on white space."""
    return frozenset(text.lower().split()) if text else frozenset()


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the intersection over the union; 1 if both sets are empty."""
    shared = len(first & second)
    union = len(first) + len(second) - shared
    return shared / union if union else 1.0


def token_jaccard(reference: str | None, predicted: str | None) -> float:
    """Overlap of the words of two texts: ``|A & B| / |A | B|`` over their sets of tokens.

    Parameters
    ----------
    reference, predicted : str or None
        Texts; tokens are in lower case and split on white space, punctuation stays. None is an empty text.

    Returns
    -------
    float
        0 to 1, higher is more alike. Both empty: 1; one empty: 0.

    Raises
    ------
    MetricInputError
        If either is not a text.

    Examples
    --------
    >>> token_jaccard("That sounds hard", "that sounds difficult")
    0.5
    """
    return jaccard(tokenize(check_text(reference, "reference")), tokenize(check_text(predicted, "predicted")))


RESPONSE_LABELS = ("original", "alternate", "human")
JUDGE_DIMENSIONS = ("overall_score", "emotional_appropriateness", "helpfulness", "tone_match")

Responses = Mapping[str, str | None]
Wins = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PreparedResponses:
    """One turn's responses, ready to be compared with many drafts.

    Attributes
    ----------
    tokens : tuple of frozenset of str
        Of the original, the alternate and the human response.
    weights : tuple of float, or None
        The wins of each, 0 for a missing text; None if no response won at all.
    """

    tokens: tuple[frozenset[str], frozenset[str], frozenset[str]]
    weights: tuple[float, float, float] | None


class ResponseScores(NamedTuple):
    """Similarity of one draft: overall (`similarity`), to each response, and weighted by preference."""

    similarity: float
    original: float
    llm_improved: float
    human_edited: float
    preference_alignment: float


_NO_DRAFT = ResponseScores(0.0, 0.0, 0.0, 0.0, 0.0)


def prepare_responses(reference: Responses, wins: Wins | None = None) -> PreparedResponses:
    """Prepare responses (label -> text) and wins (label -> count) for `score_response`; nothing is checked."""
    # Many turns share their words, of which one copy each is enough.
    original, alternate, human = (frozenset(map(intern, tokenize(reference.get(label)))) for label in RESPONSE_LABELS)
    if not wins or not any(wins.values()):
        return PreparedResponses((original, alternate, human), None)
    weights = (
        wins.get("original", 0) if original else 0,
        wins.get("alternate", 0) if alternate else 0,
        wins.get("human", 0) if human else 0,
    )
    return PreparedResponses((original, alternate, human), weights)


def score_response(reference: PreparedResponses, predicted: str | None) -> ResponseScores:
    """Score a draft against prepared responses: the same values as `response_scores`, without checks."""
    draft = tokenize(predicted)
    if not draft:
        return _NO_DRAFT
    return score_similarities([jaccard(draft, tokens) for tokens in reference.tokens], reference.weights)


def score_similarities(similarities: Sequence[float], weights: Sequence[float] | None) -> ResponseScores:
    """Return the scores of a draft's similarities to the three responses, by any measure; nothing is checked.

    Parameters
    ----------
    similarities : sequence of float
        To the original, the alternate and the human response, 0 where a text is missing.
    weights : sequence of float, optional
        The wins of each, 0 for a missing text; None if no response won at all.

    Returns
    -------
    ResponseScores
        As `response_scores` says.

    Examples
    --------
    >>> round(score_similarities([0.2, 0.8, 0.5], [3, 1, 0]).preference_alignment, 2)
    0.35
    """
    original, improved, edited = similarities
    best = max(original, improved, edited)
    if weights is None:
        alignment = best
    else:
        a, b, c = weights
        total = a + b + c
        alignment = (a * original + b * improved + c * edited) / total if total else 0.0
    return ResponseScores(best, original, improved, edited, alignment)


def response_scores(reference: Responses, predicted: str | None, *, wins: Wins | None = None) -> ResponseScores:
    """Similarity of a draft to the responses of its turn.

    Each is the `token_jaccard` of the draft and a response, 0 where the response is missing; `similarity` is the
    largest. `preference_alignment` is their mean weighted by wins, over the responses that have text.

    Parameters
    ----------
    reference : mapping of str to (str or None)
        Texts under `original`, `alternate`, `human`; any may be absent.
    predicted : str or None
        The draft.
    wins : mapping of str to number, optional
        Label -> number of comparisons won, as from `attune_metrics.attunebench.preferences.pairwise_wins`.

    Returns
    -------
    ResponseScores
        Each 0 to 1, higher is nearer. Without a draft all are 0.

    Raises
    ------
    MetricInputError
        If a label is unknown, a text is not a text, or a count is negative.

    Notes
    -----
    `preference_alignment` is `similarity` if nothing won in the turn (or `wins` is not given), and 0 if only responses
    without text won.

    Examples
    --------
    >>> texts = {"original": "it will pass", "human": "that sounds hard"}
    >>> scores = response_scores(texts, "that sounds difficult", wins={"human": 3, "original": 1})
    >>> scores.similarity, scores.preference_alignment
    (0.5, 0.375)
    """
    return score_response(_check_responses(reference, wins), check_text(predicted, "predicted"))


def _check_responses(reference: object, wins: object) -> PreparedResponses:
    texts = {}
    for label, text in check_mapping(reference, "reference", "label -> text").items():
        if label not in RESPONSE_LABELS:
            raise MetricInputError(f"unknown response {label!r}; expected {', '.join(RESPONSE_LABELS)}")
        texts[str(label)] = check_text(text, f"response {label!r}")
    counts = {
        str(label): check_number(count, f"wins of {label!r}", 0, inf)
        for label, count in (check_mapping(wins, "wins", "label -> count").items() if wins is not None else ())
    }
    return prepare_responses(texts, counts)


def response_similarity(reference: Responses, predicted: str | None) -> float:
    """Largest token Jaccard of the draft with any response of the turn: ``max |D & R| / |D | R|``.

    Takes and raises what `response_scores` does.

    Returns
    -------
    float
        0 to 1, higher is nearer; 0 without a draft.

    Examples
    --------
    >>> response_similarity({"original": "so sorry", "human": "how hard"}, "how very hard")
    0.6666666666666666
    """
    return response_scores(reference, predicted).similarity


def response_similarity_original(reference: Responses, predicted: str | None) -> float:
    """Token Jaccard of the draft with the response the participant got (`original`): ``|D & R| / |D | R|``.

    Takes and raises what `response_scores` does.

    Returns
    -------
    float
        0 to 1, higher is nearer; 0 without a draft or where the response is missing.

    Examples
    --------
    >>> response_similarity_original({"original": "that sounds hard"}, "that sounds difficult")
    0.5
    """
    return response_scores(reference, predicted).original


def response_similarity_llm_improved(reference: Responses, predicted: str | None) -> float:
    """Token Jaccard of the draft with the response improved by a language model (`alternate`): ``|D & R| / |D | R|``.

    Takes and raises what `response_scores` does.

    Returns
    -------
    float
        0 to 1, higher is nearer; 0 without a draft or where the response is missing.

    Examples
    --------
    >>> response_similarity_llm_improved({"alternate": "that sounds hard"}, "that sounds difficult")
    0.5
    """
    return response_scores(reference, predicted).llm_improved


def response_similarity_human_edited(reference: Responses, predicted: str | None) -> float:
    """Token Jaccard of the draft with the response edited by the participant (`human`): ``|D & R| / |D | R|``.

    Takes and raises what `response_scores` does.

    Returns
    -------
    float
        0 to 1, higher is nearer; 0 without a draft or where the response is missing.

    Examples
    --------
    >>> response_similarity_human_edited({"human": "that sounds hard"}, "that sounds difficult")
    0.5
    """
    return response_scores(reference, predicted).human_edited


def response_preference_alignment(reference: Responses, predicted: str | None, *, wins: Wins | None = None) -> float:
    """Similarity of the draft to each response, weighted by how often it won: ``sum(w s) / sum(w)``.

    The sums run over the responses that have text. Takes and raises what `response_scores` does.

    Returns
    -------
    float
        0 to 1, higher is nearer what was preferred. Nothing won: `response_similarity`; only responses without text
        won: 0; no draft: 0.

    Examples
    --------
    >>> response_preference_alignment({"original": "no", "human": "yes"}, "yes", wins={"original": 1, "human": 3})
    0.75
    """
    return response_scores(reference, predicted, wins=wins).preference_alignment


def score_draft_judge(scores: Mapping[str, object]) -> float:
    """Score as `draft_judge_score` does, without checks: only numbers count, nan if there are none."""
    given = [
        value
        for dimension in JUDGE_DIMENSIONS
        if isinstance(value := scores.get(dimension), int | float) and not isinstance(value, bool)
    ]
    return min(max((fsum(given) / len(given) - 1) / 6, 0.0), 1.0) if given else nan


def draft_judge_score(scores: Mapping[str, float | None]) -> float:
    """Mean of a judge's ratings of the draft, rescaled: ``(mean - 1) / 6``.

    Parameters
    ----------
    scores : mapping of str to (float or None)
        Ratings 1 to 7 under `overall_score`, `emotional_appropriateness`, `helpfulness`, `tone_match`; None or absent
        where not rated. Other keys are ignored.

    Returns
    -------
    float
        0 to 1, higher is better; nan, with `UndefinedMetricWarning`, if nothing is rated.

    Raises
    ------
    MetricInputError
        If a rating is not a number from 1 to 7.

    Examples
    --------
    >>> draft_judge_score({"overall_score": 5, "helpfulness": 3, "tone_match": None})
    0.5
    """
    ratings = check_mapping(scores, "scores", "dimension -> rating")
    for dimension in JUDGE_DIMENSIONS:
        if ratings.get(dimension) is not None:
            check_number(ratings[dimension], dimension, 1, 7)
    return defined(score_draft_judge(scores), "draft_judge_score", "no dimension is rated")


def score_draft_binary(reference: PreparedAnswers, predicted: CheckedAnswers) -> float:
    """Score as `draft_binary_alignment` does, without checks and without warnings."""
    questions = len(reference.yes) + len(reference.no)
    if not predicted or not questions:
        return nan
    yes = list(map(predicted.get, reference.yes)).count("yes")
    no = list(map(predicted.get, reference.no)).count("no")
    return (yes + no) / questions


def draft_binary_alignment(reference: Answers, predicted: Answers) -> float:
    """Share of the preferred behaviours that the draft shows: ``mean(assessment == preference)``.

    Parameters
    ----------
    reference : mapping of str to {"yes", "no", "na", None}
        Question id -> what the participant preferred; questions answered yes or no count.
    predicted : mapping of str to {"yes", "no", "na", None}
        Question id -> what a judge found in the draft.

    Returns
    -------
    float
        0 to 1, higher is better; nan, with `UndefinedMetricWarning`, if the assessment is empty or no question counts.

    Raises
    ------
    MetricInputError
        If an answer is none of the four.

    Notes
    -----
    Unlike in `binary_accuracy`, a missing or ``na`` assessment is wrong also where the reference is no.

    Examples
    --------
    >>> draft_binary_alignment({"B1": "yes", "B2": "no"}, {"B1": "yes", "B2": "na"})
    0.5
    """
    truth = prepare_answers(check_answers(reference, "reference"))
    alignment = score_draft_binary(truth, check_answers(predicted, "predicted"))
    return defined(alignment, "draft_binary_alignment", "the assessment is empty or no question is answered yes or no")


_entry = partial(turn_entry, family="response")

"""The catalogue's entries of this module."""


class Comparison(NamedTuple):
    """Two responses by label, and which of them won.

    Attributes
    ----------
    first, second : str or None
        Labels of response A and response B. A file may leave one open (None): the comparison counts for the accuracy,
        but the win of an open label goes to no response.
    winner : {"A", "B", None}
        None where the participant gave no answer.
    """

    first: str | None
    second: str | None
    winner: str | None


Choices = Mapping[int, str | None] | Mapping[str, str | None] | Sequence[str | None]


@dataclass(frozen=True, slots=True)
class PreparedComparisons:
    """One turn's comparisons, ready to be scored many times.

    Attributes
    ----------
    compared : tuple of Comparison
        The comparisons.
    positions : tuple of str
        Their positions, from 0, as text.
    labels : tuple of dict
        Of each comparison the label that each choice names.
    winners : tuple
        Of each comparison the participant's choice; where there is none, an object that equals no prediction.
    wins : dict
        Label -> number of wins, labels sorted by name.
    ranking : tuple of str
        Labels by wins, most first, ties in order of name.
    """

    compared: tuple[Comparison, ...]
    positions: tuple[str, ...]
    labels: tuple[dict[str | None, str | None], ...]
    winners: tuple[object, ...]
    wins: dict[str, int]
    ranking: tuple[str, ...]


class PairwiseScores(NamedTuple):
    """Both pairwise metrics of one turn; see `pairwise_accuracy` and `pairwise_kendall_tau`."""

    accuracy: float
    kendall_tau: float


def prepare_comparisons(reference: Sequence[Comparison]) -> PreparedComparisons:
    """Prepare comparisons for `score_comparisons`; winners are "A", "B" or None, nothing is checked."""
    wins = dict.fromkeys(sorted({label for pair in reference for label in pair[:2] if label is not None}), 0)
    for first, second, winner in reference:
        label = first if winner == "A" else second
        if winner is not None and label is not None:
            wins[label] += 1
    return PreparedComparisons(
        compared=tuple(reference),
        positions=tuple(map(str, range(len(reference)))),
        labels=tuple(_by_choice(first, second) for first, second, _ in reference),
        winners=tuple(_UNANSWERED if winner is None else winner for _, _, winner in reference),
        wins=wins,
        ranking=_rank(wins),
    )


@lru_cache(maxsize=256)
def _by_choice(first: str | None, second: str | None) -> dict[str | None, str | None]:
    return {"A": first, "B": second}


_UNANSWERED = object()


def _rank(wins: Mapping[str, int]) -> tuple[str, ...]:
    # The labels come sorted by name and sorting keeps the order of equals, also in reverse.
    return tuple(sorted(wins, key=wins.__getitem__, reverse=True))


def score_comparisons(reference: PreparedComparisons, predicted: Mapping[str, str | None]) -> PairwiseScores:
    """Score prepared comparisons, without checks and without warnings.

    `predicted` is keyed by position as text ("0", "1", ...); another value than "A" and "B" counts as missing. An open
    label takes part in the accuracy only: Kendall's tau ranks named labels, nan if fewer than two or if none is
    predicted to win.
    """
    if not reference.compared:
        return PairwiseScores(1.0, nan)
    choices = list(map(predicted.get, reference.positions))
    named = [labels.get(choice) for labels, choice in zip(reference.labels, choices, strict=True)]
    wins = tuple([named.count(label) for label in reference.wins])
    accuracy = sum(map(eq, choices, reference.winners)) / len(choices)
    return PairwiseScores(accuracy, _tau_of_wins(reference.ranking, wins))


@lru_cache(maxsize=2**12)
def _tau_of_wins(reference: tuple[str, ...], wins: tuple[int, ...]) -> float:
    """Return Kendall's tau of a ranking and of the predicted wins of its labels, sorted by name."""
    return _tau(reference, _rank(dict(zip(sorted(reference), wins, strict=True)))) if any(wins) else nan


def _tau(reference: tuple[str, ...], predicted: tuple[str, ...]) -> float:
    pairs = comb(len(reference), 2)
    if not pairs:
        return nan
    discordant = sum([a > b for a, b in combinations(map(predicted.index, reference), 2)])
    return (pairs - 2 * discordant) / pairs


def score_random_choices(reference: PreparedComparisons) -> PairwiseScores:
    """Return the expected scores of random choices: A or B with equal probability, each comparison apart.

    Parameters
    ----------
    reference : PreparedComparisons
        One turn's comparisons.

    Returns
    -------
    PairwiseScores
        Accuracy is half the share of comparisons that have a winner; 1 without comparisons. Kendall's tau is the mean
        over all outcomes with a win of a named label, by enumeration; nan with fewer than two labels. Random choices
        without any such win are possible only where every comparison has an open label.

    Examples
    --------
    >>> turn = prepare_comparisons([Comparison("original", "human", "B"), Comparison("alternate", "human", None)])
    >>> score_random_choices(turn)
    PairwiseScores(accuracy=0.25, kendall_tau=0.3333333333333333)
    """
    compared = reference.compared
    if not compared:
        return PairwiseScores(1.0, nan)
    decided = sum(comparison.winner is not None for comparison in compared)
    # Neither the order of comparisons counts, nor which label of one is the first.
    pairs = Counter(frozenset((first, second)) for first, second, _ in compared)
    return PairwiseScores(decided / (2 * len(compared)), _random_tau(reference.ranking, frozenset(pairs.items())))


_Pairs = frozenset[tuple[frozenset[str | None], int]]


@lru_cache(maxsize=2**12)
def _random_tau(ranking: tuple[str, ...], pairs: _Pairs) -> float:
    rankings = _random_rankings(tuple(sorted(ranking)), pairs)
    return fsum(ways * _tau(ranking, other) for other, ways in rankings.items()) / rankings.total() if rankings else nan


@lru_cache(maxsize=256)
def _random_rankings(labels: tuple[str, ...], pairs: _Pairs) -> Counter[tuple[str, ...]]:
    """Count the outcomes with each ranking of labels, of those in which any label wins; pairs are compared so often."""
    drawn = Counter({(0,) * len(labels): 1})
    for pair, number in pairs:
        for _ in range(number):
            after: Counter[tuple[int, ...]] = Counter()
            for wins, ways in drawn.items():
                for winner in pair:
                    after[tuple(n + (label == winner) for label, n in zip(labels, wins, strict=True))] += ways
            drawn = after
    rankings: Counter[tuple[str, ...]] = Counter()
    for wins, ways in drawn.items():
        if any(wins):
            rankings[_rank(dict(zip(labels, wins, strict=True)))] += ways
    return rankings


def _check_comparisons(reference: object) -> PreparedComparisons:
    items = check_list(reference, "reference", "comparisons (first, second, winner)")
    return prepare_comparisons([_check_comparison(item) for item in items])


def _check_comparison(item: object) -> Comparison:
    match item:
        case [str(first), str(second), winner] if first != second:
            return Comparison(first, second, _check_winner(winner, "reference"))
        case [str(first), str(), _]:
            raise MetricInputError(f"comparison {item!r} compares {first!r} with itself")
        case _:
            raise MetricInputError(f"comparison {item!r} is not (first label, second label, winner)")


def _check_winner(winner: object, side: str) -> str | None:
    choice = winner.strip().upper() if isinstance(winner, str) else winner
    if choice not in ("A", "B", None):
        guess = "; is this a label? A is the first response, B the second" if isinstance(winner, str) else ""
        raise MetricInputError(f"{side} winner {winner!r} is not A, B or None{guess}")
    return choice


def _check_choices(predicted: object, n: int) -> dict[str, str | None]:
    if isinstance(predicted, Mapping):
        items = list(predicted.items())
    else:
        items = list(enumerate(check_list(predicted, "predicted", "A, B or None, or a mapping position -> choice")))
    choices: dict[str, str | None] = {}
    for key, winner in items:
        is_position = isinstance(key, int) and not isinstance(key, bool)
        if not is_position and not (isinstance(key, str) and key.isdecimal()):
            raise MetricInputError(f"predicted position {key!r} is not a whole number")
        position = int(key)
        if not 0 <= position < n:
            raise MetricInputError(
                f"predicted position {position} is beyond the {n} comparisons; positions count from 0"
            )
        if str(position) in choices:
            raise MetricInputError(f"predicted position {position} is given twice, as number and as text")
        choices[str(position)] = _check_winner(winner, "predicted")
    return choices


def _score(reference: object, predicted: object) -> PairwiseScores:
    truth = _check_comparisons(reference)
    return score_comparisons(truth, _check_choices(predicted, len(truth.compared)))


def pairwise_accuracy(reference: Sequence[Comparison | tuple[str, str, str | None]], predicted: Choices) -> float:
    """Share of the comparisons with a correctly predicted winner: ``mean(prediction == winner)``.

    Parameters
    ----------
    reference : sequence of Comparison or (str, str, str or None)
        First label, second label, winner ("A", "B" or None).
    predicted : mapping of int or str to {"A", "B", None}, or sequence of these
        Keyed by position from 0. Missing positions are allowed.

    Returns
    -------
    float
        0 to 1, higher is better. All comparisons count: a missing prediction is wrong, a None winner is never matched.
        No comparisons: 1.

    Raises
    ------
    MetricInputError
        If a comparison is not a triple of two different labels and a winner, a winner is not A, B or None, or a
        prediction's position is beyond the comparisons.

    Examples
    --------
    >>> turn = [("original", "human", "B"), ("original", "alternate", "A")]
    >>> pairwise_accuracy(turn, {"0": "B", "1": "B"})
    0.5
    """
    return _score(reference, predicted).accuracy


def pairwise_kendall_tau(reference: Sequence[Comparison | tuple[str, str, str | None]], predicted: Choices) -> float:
    """Kendall's tau-a between the responses ranked by true wins and by predicted wins.

    ``(concordant - discordant) / pairs`` over all pairs of labels. Takes and raises what `pairwise_accuracy` does.

    Returns
    -------
    float
        -1 to 1, higher is better, 0 if as many pairs of labels are in the opposite order as in the same. nan, with
        `UndefinedMetricWarning`, if there are fewer than two labels or no prediction is A or B.

    Notes
    -----
    True and predicted wins are counted independently, each over the comparisons where it is A or B. Equal wins are
    ranked by name of label, so the rankings have no ties: with three labels the value is -1, -1/3, 1/3 or 1.
    For this reason random answers do not score 0 on average. With twelve comparisons, four of each pair of
    `original`, `alternate` and `human`, their expected value is 0.158 where the true order is the order of names
    (alternate, human, original), -0.158 where it is the reverse, 0.053 where it is alternate, original, human or human,
    alternate, original, and -0.053 for the other two. So where `alternate` always wins, and the four comparisons of
    the other two are random, it is 0.125; where `original` always wins, -0.085.

    Examples
    --------
    >>> turn = [("original", "human", "B"), ("original", "alternate", "A"), ("alternate", "human", "B")]
    >>> pairwise_kendall_tau(turn, ["B", "A", "B"])
    1.0
    """
    tau = _score(reference, predicted).kendall_tau
    return defined(tau, "pairwise_kendall_tau", "it needs two labels and one prediction")


def pairwise_wins(reference: Sequence[Comparison | tuple[str, str, str | None]]) -> dict[str, int]:
    """Count the wins of each response.

    Takes and raises what `pairwise_accuracy` does for `reference`.

    Returns
    -------
    dict
        Label -> wins, labels sorted by name; every label that occurs, 0 included.

    Examples
    --------
    >>> pairwise_wins([("original", "human", "B"), ("original", "alternate", None)])
    {'alternate': 0, 'human': 1, 'original': 0}
    """
    return _check_comparisons(reference).wins


_pair_entry = partial(turn_entry, family="pairwise", coverage=("pairwise",))

"""The catalogue's entries of this module."""


METRICS: tuple[Metric, ...] = (
    *with_mean(_pair_entry("pairwise_accuracy", "Pairwise accuracy", function=pairwise_accuracy), short="pair acc"),
    *with_mean(
        _pair_entry(
            "pairwise_kendall_tau", "Pairwise Kendall tau", low=-1, function=pairwise_kendall_tau, nullable=True
        ),
        short="pair tau",
    ),
    *with_mean(_entry("response_similarity", "Response similarity", function=response_similarity), short="resp sim"),
    *with_mean(_entry("response_similarity_original", "Similarity to original", function=response_similarity_original)),
    *with_mean(
        _entry("response_similarity_llm_improved", "Similarity to improved", function=response_similarity_llm_improved)
    ),
    *with_mean(
        _entry("response_similarity_human_edited", "Similarity to edited", function=response_similarity_human_edited)
    ),
    *with_mean(
        _entry("response_preference_alignment", "Preference alignment", function=response_preference_alignment),
        short="resp pref",
    ),
    *with_mean(
        _entry(
            "draft_judge_score", "Draft judge score", function=draft_judge_score, nullable=True, depends_on=("judges",)
        ),
        short="judge",
    ),
    *with_mean(
        _entry(
            "draft_binary_alignment",
            "Draft binary alignment",
            function=draft_binary_alignment,
            nullable=True,
            depends_on=("judges",),
        ),
        short="draft bin",
    ),
)
