"""Phrasing: the same questions asked as an observer, and asked as the participant (HP-facing).

Conventions
-----------
Both functions compare one score of the two phrasings: the mean HP accuracy of a conversation, or the MCC of its pooled
counts. nan in, nan out, without a further warning.

Metrics
-------
- Gap: the difference of the two scores [1]_.
- Alignment: their ratio [1]_.

Conventions: binary
-------------------
Answers are mappings from question id to ``yes``, ``no``, ``na`` or None; True, False and numpy's are yes and no too. A
question counts where its reference answer is yes or no. A prediction other than yes, a missing one included, is taken
as no: it is a false negative where the reference says yes, and a true negative where it says no. So an empty
prediction earns a true negative on every "no"; read accuracy together with coverage. Counts add up: pool turns with
``sum(counts, BinaryCounts())``.

Metrics: binary
---------------
- Accuracy, precision, recall, F1 from the four counts, 0/0 being 0 [2]_.
- Matthews correlation coefficient, 0/0 being 0 [3]_.

References
----------
.. [1] AttuneBench, arXiv:2605.21739, composite score.
.. [2] AttuneBench, arXiv:2605.21739, turn metrics.
.. [3] Matthews (1975), Comparison of the predicted and observed secondary structure of T4 phage lysozyme,
   Biochim. Biophys. Acta 405, 442-451.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf, sqrt
from typing import TYPE_CHECKING

from attune_metrics.attunebench import TURN_BY_TURN, composite_entry, turn_entry, with_mean
from attune_metrics.attunebench.composite import check_parts
from attune_metrics.metric import Metric, MetricInputError, check_mapping

if TYPE_CHECKING:
    import numpy as np

Answers = Mapping[str, "str | bool | np.bool_ | None"]
"""Question id to answer, as metrics take them."""

CheckedAnswers = Mapping[str, str | None]
"""Question id to answer, spelled ``yes``, ``no``, ``na`` or None."""


@dataclass(frozen=True, slots=True)
class PreparedAnswers:
    """One turn's reference answers, ready to be scored many times.

    Attributes
    ----------
    yes, no : tuple of str
        Ids of the questions answered yes, and no.
    judged : bool
        Whether the turn has any judgement at all, answered or not.
    """

    yes: tuple[str, ...]
    no: tuple[str, ...]
    judged: bool


@dataclass(frozen=True, slots=True)
class BinaryCounts:
    """True and false positives and negatives, and the scores that follow from them.

    ``a + b`` pools two sets of counts. Every score is 0 where its denominator is 0.

    Examples
    --------
    >>> pooled = BinaryCounts(tp=2, tn=1, fp=1, fn=0) + BinaryCounts(tp=1, tn=0, fp=0, fn=1)
    >>> pooled.n, pooled.precision, pooled.recall
    (6, 0.75, 0.75)
    """

    tp: int = 0
    tn: int = 0
    fp: int = 0
    fn: int = 0

    def __add__(self, other: "BinaryCounts") -> "BinaryCounts":
        return BinaryCounts(self.tp + other.tp, self.tn + other.tn, self.fp + other.fp, self.fn + other.fn)

    @property
    def n(self) -> int:
        """Number of questions counted."""
        return self.tp + self.tn + self.fp + self.fn

    @property
    def accuracy(self) -> float:
        """``(TP + TN) / n``."""
        return _ratio(self.tp + self.tn, self.n)

    @property
    def precision(self) -> float:
        """``TP / (TP + FP)``."""
        return _ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float:
        """``TP / (TP + FN)``."""
        return _ratio(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float:
        """``2 TP / (2 TP + FP + FN)``."""
        return _ratio(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def mcc(self) -> float:
        """``(TP TN - FP FN) / sqrt((TP + FP)(TP + FN)(TN + FP)(TN + FN))``."""
        tp, tn, fp, fn = self.tp, self.tn, self.fp, self.fn
        return _ratio(tp * tn - fp * fn, sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


def _ratio(numerator: int, denominator: float) -> float:
    return numerator / denominator if denominator else 0.0


def om_reference(observed: str | None, llm: str | None = None) -> str | None:
    """Return the reference answer of an OM question: the observed one, else `llmValue`.

    Only None falls back; ``na`` is an answer.

    Examples
    --------
    >>> om_reference(None, "yes"), om_reference("na", "yes")
    ('yes', 'na')
    """
    return llm if observed is None else observed


def hp_reference(preferred: str | None, observed: str | None) -> str | None:
    """Return the reference answer of an HP question: the preferred, else the observed one.

    Only None falls back; ``na`` is an answer. A recorded `llmValue` is never used here.

    Examples
    --------
    >>> hp_reference(None, "no"), hp_reference("yes", "no")
    ('no', 'yes')
    """
    return observed if preferred is None else preferred


def prepare_answers(reference: CheckedAnswers) -> PreparedAnswers:
    """Prepare reference answers, spelled ``yes``, ``no``, ``na`` or None, for `count_answers`; nothing is checked."""
    return PreparedAnswers(
        yes=tuple(question for question, answer in reference.items() if answer == "yes"),
        no=tuple(question for question, answer in reference.items() if answer == "no"),
        judged=bool(reference),
    )


def count_answers(reference: PreparedAnswers, predicted: CheckedAnswers) -> BinaryCounts:
    """Count as `binary_counts` does, without checks; answers are spelled ``yes``, ``no``, ``na`` or None."""
    return BinaryCounts(*count_predictions(reference, predicted)[:4])


def count_predictions(reference: PreparedAnswers, predicted: CheckedAnswers) -> tuple[int, int, int, int, int]:
    """Return the counts of `count_answers`, TP, TN, FP, FN, and how many questions that count have a prediction."""
    positive = len(reference.yes)
    answers = list(map(predicted.get, reference.yes + reference.no))
    tp = answers[:positive].count("yes")
    fp = answers.count("yes") - tp
    return tp, len(answers) - positive - fp, fp, positive - tp, len(answers) - answers.count(None)


def check_answers(answers: object, side: str) -> dict[str, str | None]:
    """Return answers in lower case, true and false as yes and no, or raise."""
    known: dict[str, str | None] = {}
    for question, answer in check_mapping(answers, side, "question id -> yes, no, na or None").items():
        if not isinstance(question, str):
            raise MetricInputError(f"{side} question id {question!r} is not a text")
        spelled = answer.strip().lower() if isinstance(answer, str) else answer
        if isinstance(answer, bool) or (getattr(answer, "dtype", None) == "bool" and not getattr(answer, "shape", ())):
            spelled = "yes" if answer else "no"
        if spelled is not None and (not isinstance(spelled, str) or spelled not in ("yes", "no", "na")):
            expected = "expected yes, no, na, True, False or None"
            raise MetricInputError(f"{side} {question}: unknown answer {answer!r}; {expected}")
        known[question] = spelled
    return known


def binary_counts(reference: Answers, predicted: Answers) -> BinaryCounts:
    """Count true and false positives and negatives over the questions whose reference is yes or no.

    Parameters
    ----------
    reference, predicted : mapping of str to {"yes", "no", "na", None} or bool
        Question id -> answer, any letter case; True is yes, False no. Predictions for questions without a reference
        answer are ignored.

    Returns
    -------
    BinaryCounts
        ``tp, tn, fp, fn``, with ``n, accuracy, precision, recall, f1, mcc``.

    Raises
    ------
    MetricInputError
        If an answer is none of the four.

    Examples
    --------
    >>> binary_counts({"B1": "yes", "B2": "no", "B3": "na"}, {"B1": "yes", "B2": "na", "B3": "yes"})
    BinaryCounts(tp=1, tn=1, fp=0, fn=0)
    >>> binary_counts({"B1": True, "B2": False}, {"B1": "yes", "B2": True})
    BinaryCounts(tp=1, tn=0, fp=1, fn=0)
    """
    truth = prepare_answers(check_answers(reference, "reference"))
    return count_answers(truth, check_answers(predicted, "predicted"))


def binary_accuracy(reference: Answers, predicted: Answers, *, without_judgements: float = 1.0) -> float:
    """Share of answered questions predicted rightly: ``(TP + TN) / n``.

    Parameters
    ----------
    reference, predicted : mapping of str to {"yes", "no", "na", None}
        As for `binary_counts`.
    without_judgements : float
        The value of a turn without judgements (an empty reference). AttuneBench defines 1, and 0 for the questions in
        their HP-facing phrasing.

    Returns
    -------
    float
        0 to 1, higher is better. Judgements but none answered yes or no: 0.

    Raises
    ------
    MetricInputError
        If an answer is none of the four.

    Examples
    --------
    >>> binary_accuracy({"B1": "yes", "B2": "no"}, {"B1": "yes", "B2": "yes"})
    0.5
    >>> binary_accuracy({}, {"B1": "yes"})
    1.0
    """
    counts = binary_counts(reference, predicted)
    return counts.accuracy if reference else without_judgements


def binary_precision(reference: Answers, predicted: Answers) -> float:
    """Share of predicted yes that are yes: ``TP / (TP + FP)``.

    Takes and raises what `binary_counts` does.

    Returns
    -------
    float
        0 to 1, higher is better; 0 if no counted question was predicted yes.

    Examples
    --------
    >>> binary_precision({"B1": "yes", "B2": "no"}, {"B1": "yes", "B2": "yes"})
    0.5
    """
    return binary_counts(reference, predicted).precision


def binary_recall(reference: Answers, predicted: Answers) -> float:
    """Share of yes that were predicted yes: ``TP / (TP + FN)``.

    Takes and raises what `binary_counts` does.

    Returns
    -------
    float
        0 to 1, higher is better; 0 if no reference answer is yes.

    Examples
    --------
    >>> binary_recall({"B1": "yes", "B2": "yes"}, {"B1": "yes"})
    0.5
    """
    return binary_counts(reference, predicted).recall


def binary_f1(reference: Answers, predicted: Answers) -> float:
    """F1 of the answer yes: ``2 TP / (2 TP + FP + FN)``.

    Takes and raises what `binary_counts` does.

    Returns
    -------
    float
        0 to 1, higher is better; 0 if no counted question is yes or predicted yes.

    Examples
    --------
    >>> binary_f1({"B1": "yes", "B2": "yes", "B3": "no"}, {"B1": "yes", "B3": "yes"})
    0.5
    """
    return binary_counts(reference, predicted).f1


def binary_mcc(reference: Answers, predicted: Answers) -> float:
    """Matthews correlation coefficient of the answer yes.

    ``(TP TN - FP FN) / sqrt((TP + FP)(TP + FN)(TN + FP)(TN + FN))``. Takes and raises what `binary_counts` does.

    Returns
    -------
    float
        -1 to 1, higher is better, 0 is chance; 0 also where the denominator is 0, that is, where one side is constant
        (the convention of AttuneBench).

    Examples
    --------
    >>> binary_mcc({"B1": "yes", "B2": "no"}, {"B1": "no", "B2": "yes"})
    -1.0
    """
    return binary_counts(reference, predicted).mcc


def _entries(
    target: str, label: str, accuracy: Callable[..., float], *, suffix: str = "", short: str = ""
) -> tuple[Metric, ...]:
    """Return the entries of one set of questions in one phrasing: of a turn, the mean accuracy, and of pooled counts.

    Reports list the mean accuracy and the pooled MCC where there is a short name of the questions.
    """
    entry = partial(turn_entry, family="binary", coverage=(f"binary_{target}{suffix}",))
    of_turn = {
        score: entry(f"binary_{target}_{score}{suffix}", f"{label} {called}", low=low, function=function)
        for score, called, low, function in (
            ("accuracy", "accuracy", 0, accuracy),
            ("precision", "precision", 0, binary_precision),
            ("recall", "recall", 0, binary_recall),
            ("f1", "F1", 0, binary_f1),
            ("mcc", "MCC", -1, binary_mcc),
        )
    }
    counts = f"pooled_binary_{target}_metrics{suffix}"
    pooled = (
        replace(
            metric,
            name=f"{counts}.{score}",
            label=f"{metric.label}, pooled",
            short=f"{short} MCC" if short and score == "mcc" else "",
            level="unit",
            statistic=score,
            terms=tuple(f"{counts}.{cell}" for cell in ("tp", "tn", "fp", "fn")),
            group=TURN_BY_TURN if short and score == "mcc" else "",
            function=None,
            nullable=True,
            source=f"The same as {metric.name}, of counts summed over turns; {metric.source}",
        )
        for score, metric in of_turn.items()
    )
    means = with_mean(of_turn["accuracy"], short=f"{short} acc" if short else "")
    return (*of_turn.values(), *means[1:], *pooled)


_accuracy_hp = partial(binary_accuracy, without_judgements=0.0)

"""The catalogue's entries of this module."""


def hp_perspective_gap(*, observer: float, hp: float) -> float:
    """Phrasing gap: ``observer - hp``, how much better the model is when not addressed as the participant.

    Parameters
    ----------
    observer, hp : float
        The same score (mean HP accuracy, or pooled MCC) on the two phrasings of the questions, -1 to 1.

    Returns
    -------
    float
        -1 to 1 for accuracy, -2 to 2 for MCC; 0 is no gap, neither direction is better; nan if a value is.

    Examples
    --------
    >>> hp_perspective_gap(observer=0.75, hp=0.5)
    0.25
    """
    check_parts(low=-1, observer=observer, hp=hp)
    return observer - hp


def hp_perspective_alignment(*, observer: float, hp: float) -> float:
    """Phrasing alignment: ``hp / observer``; 0 if `observer` is not positive.

    Parameters
    ----------
    observer, hp : float
        The same score (mean HP accuracy, or pooled MCC) on the two phrasings of the questions, -1 to 1.

    Returns
    -------
    float
        1 is no difference, neither direction is better; unbounded. 0 if `observer` is 0 or less, otherwise nan if a
        value is nan.

    Examples
    --------
    >>> hp_perspective_alignment(observer=0.5, hp=0.25)
    0.5
    """
    check_parts(low=-1, observer=observer, hp=hp)
    return 0.0 if observer <= 0 else hp / observer


_entry = partial(
    composite_entry,
    higher_is_better=None,
    coverage=("binary_human", "binary_human_hp"),
    nullable=True,
    family="phrasing",
)

"""The catalogue's entries of this module."""


METRICS: tuple[Metric, ...] = (
    *_entries("om", "OM", binary_accuracy, short="OM"),
    *_entries("human", "HP", binary_accuracy, short="HP"),
    *_entries("om", "OM (HP-facing)", _accuracy_hp, suffix="_hp"),
    *_entries("human", "HP (HP-facing)", _accuracy_hp, suffix="_hp"),
    _entry("hp_perspective_gap", "Phrasing gap", "phrasing", low=-1, group=TURN_BY_TURN, function=hp_perspective_gap),
    _entry("hp_perspective_alignment", "Phrasing alignment", high=inf, function=hp_perspective_alignment),
    _entry("hp_perspective_gap_mcc", "Phrasing gap (MCC)", low=-2, high=2, function=hp_perspective_gap),
    _entry(
        "hp_perspective_alignment_mcc",
        "Phrasing alignment (MCC)",
        low=-inf,
        high=inf,
        function=hp_perspective_alignment,
    ),
)
