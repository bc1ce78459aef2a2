"""The conversation as a whole: goals, clarity of emotion, model fit, what felt off, and the four branches.

Conventions
-----------
Texts are compared trimmed and in lower case; blank ones are missing; a bare text is a list of one, None an empty list.
These run once a conversation and need no prepared form.

Metrics
-------
- Q1, what the participant looked for: overlap of two sets of options [1]_, by intersection over union or set F1.
- Q2, clarity of emotion, and Q3, model fit: exact match; Q3 also by distance in the order of its options.
- Q3 follow-up, what felt off: fuzzy F1 of two lists of free texts.
- Four branches [2]_ of emotional intelligence: absolute error on scales of 1 to 7.

References
----------
.. [1] AttuneBench, arXiv:2605.21739, post-conversation metrics.
.. [2] Mayer, Salovey, Caruso (2004), Emotional intelligence: theory, findings, and implications, Psychol. Inq. 15,
   197-215.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import fsum

from attune_metrics.attunebench import CONVERSATION_WIDE, post_entry
from attune_metrics.attunebench.composite import DOCUMENTED, Protocol, get_protocol
from attune_metrics.attunebench.preferences import jaccard, tokenize
from attune_metrics.metric import Metric, MetricInputError, check_list, check_mapping, check_number, check_text

BRANCHES = ("perceiving", "facilitating", "understanding", "managing")
MODEL_FIT_OPTIONS = (
    "Very well-matched and adaptive",
    "Mostly well-matched",
    "Mixed, some good moments, some misses",
    "Mostly off-target or intrusive",
)
_FIT_POSITION = {option.lower(): position for position, option in enumerate(MODEL_FIT_OPTIONS)}

Texts = Iterable[str] | str | None
Branches = Mapping[str, float | None]


def _clean(text: object, side: str) -> str:
    return (check_text(text, side) or "").strip().lower()


def _clean_list(texts: object, side: str) -> list[str]:
    if texts is None or isinstance(texts, str):
        texts = [texts]
    return [cleaned for text in check_list(texts, side, "texts") if (cleaned := _clean(text, side))]


def q1_looking_for_score(reference: Texts, predicted: Texts, *, protocol: Protocol | str = DOCUMENTED) -> float:
    """Overlap of the goals the participant chose with those predicted.

    Under `documented` ``|G & P| / |G | P|``, under `released` the set F1 ``2 |G & P| / (|G| + |P|)``.

    Parameters
    ----------
    reference, predicted : iterable of str, str or None
        The chosen options, compared as sets.
    protocol : Protocol or str
        Which formula.

    Returns
    -------
    float
        0 to 1, higher is better. Both empty: 1; one empty: 0.

    Raises
    ------
    MetricInputError
        If an option is not a text, or the protocol is unknown.

    Examples
    --------
    >>> q1_looking_for_score(["Vent", "Advice"], ["advice", "Other"])
    0.3333333333333333
    >>> q1_looking_for_score(["Vent", "Advice"], ["advice", "Other"], protocol="released")
    0.5
    """
    chosen = get_protocol(protocol)
    truth, guess = frozenset(_clean_list(reference, "reference")), frozenset(_clean_list(predicted, "predicted"))
    if chosen.goals == "jaccard" or not (truth or guess):
        return jaccard(truth, guess)
    return 2 * len(truth & guess) / (len(truth) + len(guess))


def q2_emotion_clarity_match(reference: str | None, predicted: str | None) -> float:
    """Whether the clarity of the participant's emotion was predicted: 1 if equal, else 0.

    Parameters
    ----------
    reference, predicted : str or None
        The chosen option.

    Returns
    -------
    float
        0 or 1, higher is better. Both missing: 1.

    Raises
    ------
    MetricInputError
        If either is not a text.

    Examples
    --------
    >>> q2_emotion_clarity_match("Implied or indirect", "implied or indirect ")
    1.0
    """
    return float(_clean(reference, "reference") == _clean(predicted, "predicted"))


def q3_model_fit_match(reference: str | None, predicted: str | None) -> float:
    """Whether the fit of the model was predicted: 1 if equal, else 0.

    Takes and raises what `q2_emotion_clarity_match` does.

    Returns
    -------
    float
        0 or 1, higher is better. Both missing: 1.

    Examples
    --------
    >>> q3_model_fit_match("Mostly well-matched", "Very well-matched and adaptive")
    0.0
    """
    return q2_emotion_clarity_match(reference, predicted)


def q3_model_fit_ordinal_distance(reference: str | None, predicted: str | None) -> float:
    """Distance of the predicted fit from the true one: ``|i - j|``.

    i and j are the positions of the two in `MODEL_FIT_OPTIONS`.

    Parameters
    ----------
    reference, predicted : str or None
        The chosen option.

    Returns
    -------
    float
        0, 1, 2 or 3 steps, lower is better. A missing text, or one that is not an option, is unknown: both unknown 0,
        one unknown 3.

    Raises
    ------
    MetricInputError
        If either is not a text.

    Examples
    --------
    >>> q3_model_fit_ordinal_distance("Mostly well-matched", "Mostly off-target or intrusive")
    2.0
    """
    truth = _FIT_POSITION.get(_clean(reference, "reference"))
    guess = _FIT_POSITION.get(_clean(predicted, "predicted"))
    if truth is None or guess is None:
        return 0.0 if truth is guess else 3.0
    return float(abs(truth - guess))


def q3_follow_up_score(reference: Texts, predicted: Texts) -> float:
    """Fuzzy F1 of what felt off: ``2 P R / (P + R)`` of fuzzy precision and fuzzy recall.

    Each true item earns 1 if it was predicted exactly, else its largest token Jaccard with any prediction if that is at
    least 0.3, else 0; recall is their mean. Precision is the same from the side of the predictions.

    Parameters
    ----------
    reference, predicted : iterable of str, str or None
        Free texts; repeats count each, and one item may serve several.

    Returns
    -------
    float
        0 to 1, higher is better. Both empty: 1; one empty: 0.

    Raises
    ------
    MetricInputError
        If an item is not a text.

    Examples
    --------
    >>> q3_follow_up_score(["felt too rushed"], ["felt rushed", "no warmth"])
    0.4444444444444444
    """
    truth, guess = _clean_list(reference, "reference"), _clean_list(predicted, "predicted")
    if not truth or not guess:
        return float(not truth and not guess)
    recall, precision = _mean_credit(truth, guess), _mean_credit(guess, truth)
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def _mean_credit(items: list[str], others: list[str]) -> float:
    bags = [tokenize(other) for other in others]
    best = [max(jaccard(tokenize(item), bag) for bag in bags) for item in items]
    # Equal texts have equal tokens, so an exact match is a best overlap of 1.
    return fsum(overlap for overlap in best if overlap >= 0.3) / len(items)


@dataclass(frozen=True, slots=True)
class FourBranchScores:
    """Error over the four branches: mean, as a score, and per branch (branch -> absolute error)."""

    mae: float
    normalized: float
    per_branch: dict[str, float]


def score_four_branch(reference: Branches, predicted: Branches) -> FourBranchScores:
    """Score as `four_branch_scores` does, without checks; other keys are ignored."""
    errors = {}
    for branch in BRANCHES:
        truth, guess = reference.get(branch), predicted.get(branch)
        if truth is not None:
            errors[branch] = float(abs(truth - (4 if guess is None else guess)))
    mae = fsum(errors.values()) / len(errors) if errors else 0.0
    return FourBranchScores(mae, max(0.0, 1 - mae / 6), errors)


def four_branch_scores(reference: Branches, predicted: Branches) -> FourBranchScores:
    """Error of the predicted ratings of the four branches.

    ``MAE = mean |reference - prediction|``, ``normalized = max(0, 1 - MAE / 6)``.

    Parameters
    ----------
    reference, predicted : mapping of str to (float or None)
        Ratings 1 to 7 under `perceiving`, `facilitating`, `understanding`, `managing`; any may be absent.

    Returns
    -------
    FourBranchScores
        ``mae`` 0 to 6, lower is better; ``normalized`` 0 to 1, higher is better; ``per_branch``.

    Raises
    ------
    MetricInputError
        If a branch is unknown or a rating is outside 1-7.

    Notes
    -----
    The branches in the reference count; a prediction missing there is taken as 4, the middle of the scale. No branch in
    the reference: MAE 0, normalized 1.

    Examples
    --------
    >>> four_branch_scores({"perceiving": 6, "managing": 5}, {"perceiving": 4})
    FourBranchScores(mae=1.5, normalized=0.75, per_branch={'perceiving': 2.0, 'managing': 1.0})
    """
    return score_four_branch(_check_branches(reference, "reference"), _check_branches(predicted, "predicted"))


def _check_branches(ratings: object, side: str) -> dict[str, float]:
    known = {}
    for branch, rating in check_mapping(ratings, side, "branch -> rating").items():
        if branch not in BRANCHES:
            raise MetricInputError(f"{side}: unknown branch {branch!r}; expected {', '.join(BRANCHES)}")
        if rating is not None:
            known[str(branch)] = check_number(rating, f"{side} {branch}", 1, 7)
    return known


def four_branch_mae(reference: Branches, predicted: Branches) -> float:
    """Mean absolute error over the four branches: ``mean |reference - prediction|``.

    Takes and raises what `four_branch_scores` does.

    Returns
    -------
    float
        0 to 6 points, lower is better. A missing prediction is taken as 4; no branch in the reference: 0.

    Examples
    --------
    >>> four_branch_mae({"perceiving": 6}, {"perceiving": 3})
    3.0
    """
    return four_branch_scores(reference, predicted).mae


def four_branch_normalized(reference: Branches, predicted: Branches) -> float:
    """`four_branch_mae` as a score: ``max(0, 1 - MAE / 6)``.

    Takes and raises what `four_branch_scores` does.

    Returns
    -------
    float
        0 to 1, higher is better. No branch in the reference: 1.

    Examples
    --------
    >>> four_branch_normalized({"perceiving": 6}, {"perceiving": 3})
    0.5
    """
    return four_branch_scores(reference, predicted).normalized


_entry = partial(post_entry, family="holistic")
_listed = partial(_entry, group=CONVERSATION_WIDE)
_BRANCH_MAE = _entry("four_branch_mae", "Four-branch MAE", high=6, higher_is_better=False, function=four_branch_mae)

METRICS: tuple[Metric, ...] = (
    _listed("q1_looking_for_score", "Q1 looking for", "Q1", function=q1_looking_for_score, symmetric=True),
    _listed("q2_emotion_clarity_match", "Q2 emotion clarity", "Q2", function=q2_emotion_clarity_match, symmetric=True),
    _listed("q3_model_fit_match", "Q3 model fit", "Q3", function=q3_model_fit_match, symmetric=True),
    _entry(
        "q3_model_fit_ordinal_distance",
        "Q3 ordinal distance",
        high=3,
        higher_is_better=False,
        function=q3_model_fit_ordinal_distance,
        symmetric=True,
    ),
    _listed("q3_follow_up_score", "Q3 what felt off", "Q3 off", function=q3_follow_up_score, symmetric=True),
    _BRANCH_MAE,
    replace(
        _BRANCH_MAE,
        name="avg_four_branch_mae",
        function=None,
        nullable=True,
        source=f"The same number as four_branch_mae; {_BRANCH_MAE.source}",
    ),
    *(
        replace(
            _BRANCH_MAE,
            name=f"four_branch_{branch}_mae",
            label=f"Four-branch MAE, {branch}",
            function=None,
            nullable=True,
            source=f"Absolute error of one branch, from four_branch_scores; {_BRANCH_MAE.source}",
        )
        for branch in BRANCHES
    ),
    _listed("four_branch_normalized", "Four-branch normalized", "branches", function=four_branch_normalized),
)
"""The catalogue's entries of this module."""
