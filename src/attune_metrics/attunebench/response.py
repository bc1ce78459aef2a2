"""Responses: how near the model's own draft comes to the responses the participant judged.

Conventions
-----------
A turn has up to three responses: `original` (what the participant got), `alternate` (improved by a language model),
`human` (edited by the participant). A text is compared as its set of tokens: lower case, split on white space. A None
or blank text is missing.

Metrics
-------
- Response similarity: token Jaccard [1]_ of the draft with each response; overall, the largest.
- Preference alignment: the same weighted by how often each response won.
- Draft judge score, draft binary alignment: the draft as judged by another model [2]_.

References
----------
.. [1] Jaccard (1912), The distribution of the flora in the alpine zone, New Phytol. 11, 37-50.
.. [2] AttuneBench, arXiv:2605.21739, turn metrics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, nan
from sys import intern

from attune_metrics.attunebench._entries import turn_entry, with_mean
from attune_metrics.attunebench.binary import Answers, CheckedAnswers, PreparedAnswers, check_answers, prepare_answers
from attune_metrics.attunebench.tokens import jaccard, tokenize
from attune_metrics.checks import check_mapping, check_number, check_text, defined
from attune_metrics.errors import MetricInputError
from attune_metrics.metric import Metric

__all__ = [
    "JUDGE_DIMENSIONS",
    "METRICS",
    "RESPONSE_LABELS",
    "PreparedResponses",
    "ResponseScores",
    "Responses",
    "Wins",
    "draft_binary_alignment",
    "draft_judge_score",
    "prepare_responses",
    "response_preference_alignment",
    "response_scores",
    "response_similarity",
    "response_similarity_human_edited",
    "response_similarity_llm_improved",
    "response_similarity_original",
    "score_draft_binary",
    "score_draft_judge",
    "score_response",
    "score_similarities",
]

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


@dataclass(frozen=True, slots=True)
class ResponseScores:
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
    """Return what is made of a draft's similarities to the three responses, whatever measures them; nothing is checked.

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
        Label -> number of comparisons won, as from `attune_metrics.attunebench.pairwise.pairwise_wins`.

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
    """Score as `draft_judge_score` does, without checks: what is not a number is skipped, nan if nothing is left."""
    given = [
        value
        for dimension in JUDGE_DIMENSIONS
        if isinstance(value := scores.get(dimension), int | float) and not isinstance(value, bool)
    ]
    return min(max((sum(given) / len(given) - 1) / 6, 0.0), 1.0) if given else nan


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

METRICS: tuple[Metric, ...] = (
    *with_mean(
        _entry(name="response_similarity", label="Response similarity", function=response_similarity), short="resp sim"
    ),
    *with_mean(
        _entry(
            name="response_similarity_original", label="Similarity to original", function=response_similarity_original
        )
    ),
    *with_mean(
        _entry(
            name="response_similarity_llm_improved",
            label="Similarity to improved",
            function=response_similarity_llm_improved,
        )
    ),
    *with_mean(
        _entry(
            name="response_similarity_human_edited",
            label="Similarity to edited",
            function=response_similarity_human_edited,
        )
    ),
    *with_mean(
        _entry(
            name="response_preference_alignment", label="Preference alignment", function=response_preference_alignment
        ),
        short="resp pref",
    ),
    *with_mean(
        _entry(
            name="draft_judge_score",
            label="Draft judge score",
            function=draft_judge_score,
            nullable=True,
            rests_on=("judges",),
        ),
        short="judge",
    ),
    *with_mean(
        _entry(
            name="draft_binary_alignment",
            label="Draft binary alignment",
            function=draft_binary_alignment,
            nullable=True,
            rests_on=("judges",),
        ),
        short="draft bin",
    ),
)
"""The catalogue's entries of this module."""
