"""Answers to yes-or-no questions of participants, other annotators and models, with planted agreement."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Answers:
    """Shares of right answers under two truths.

    Attributes
    ----------
    participant, annotator : array of float, shape (models, units)
        Of models, against the participant and against the first annotator.
    others : array of float, shape (annotators, units)
        Of the annotators, against the participant.
    expected : array of float, shape (models,)
        Of models, against the participant, over all participants.
    clusters : array of int, shape (units,)
        The participant of each unit.
    """

    participant: Floats
    annotator: Floats
    others: Floats
    expected: Floats
    clusters: NDArray[np.intp]


def answers(
    generator: np.random.Generator,
    *,
    models: int,
    participants: int,
    between: float = 0.5,
    spread: float = 0.05,
    agreement: float = 0.75,
    annotators: int = 1,
    each: int = 2,
    questions: int = 60,
) -> Answers:
    """Draw answers. An annotator agrees with the participant on a planted share of the questions.

    A model gives the participant's answer with one probability, the first annotator's with another, else it guesses.
    The two probabilities vary over models so that the scores under the two truths correlate as `between` says.

    Parameters
    ----------
    generator : numpy.random.Generator
        The source of chance.
    models, participants, annotators, each, questions : int
        How many models, participants, annotators, conversations of a participant and questions of a conversation.
    between : float
        True correlation of the models' scores under the two truths.
    spread : float
        Standard deviation of both probabilities over models.
    agreement : float
        Probability that an annotator gives the participant's answer, 0.5 to 1.
    """
    units = participants * each
    clusters = np.arange(participants).repeat(each)
    own = generator.random((units, questions)) < 0.5
    said = own ^ (generator.random((annotators, units, questions)) >= agreement)
    # A score is linear in the two probabilities: 1/2 for one's own truth, c for the other.
    c = agreement - 0.5
    # The correlation r of the probabilities for which the scores correlate as planted.
    total, product = 0.25 + c * c, 0.5 * c
    r = (between * total - 2 * product) / (total - 2 * product * between)
    first, second = generator.normal(size=(2, models))
    second = r * first + np.sqrt(max(1 - r * r, 0)) * second
    likely = np.clip(np.stack([0.3 + spread * first, 0.3 + spread * second]), 0.05, 0.45)
    shift = np.clip(0.1 * generator.normal(size=(models, participants)), -0.25, 0.25).repeat(each, axis=1)
    drawn = generator.random((models, units, questions))
    of_own = np.clip(likely[0][:, np.newaxis] + shift, 0, 0.5)[..., np.newaxis]
    of_other = likely[1][:, np.newaxis, np.newaxis]
    guess = generator.random((models, units, questions)) < 0.5
    given = np.where(drawn < of_own, own, np.where(drawn < of_own + of_other, said[0], guess))
    reach = _mean_share(likely[0])
    expected = 0.5 + 0.5 * reach + c * likely[1]
    return Answers(
        (given == own).mean(axis=-1), (given == said[0]).mean(axis=-1), (said == own).mean(axis=-1), expected, clusters
    )


def _mean_share(likely: Floats) -> Floats:
    """Return the mean over participants of a probability that is shifted for each and kept within 0 and 0.5."""
    points, weights = np.polynomial.hermite_e.hermegauss(201)
    shift = np.clip(0.1 * points, -0.25, 0.25)
    found: Floats = np.clip(likely[:, np.newaxis] + shift, 0, 0.5) @ weights / weights.sum()
    return found


def forms(
    generator: np.random.Generator, loadings: Floats, *, persons: int, each: int = 2, of_person: float = 0.7
) -> tuple[Floats, NDArray[np.intp]]:
    """Draw filled forms (answers, items) of one factor with planted loadings, and the person of each.

    `of_person` is the share of the factor's variance that is the person's; the rest is of the occasion.
    """
    clusters = np.arange(persons).repeat(each)
    own = generator.normal(size=persons).repeat(each)
    factor = np.sqrt(of_person) * own + np.sqrt(1 - of_person) * generator.normal(size=persons * each)
    rest = generator.normal(size=(persons * each, len(loadings))) * np.sqrt(1 - loadings**2)
    return factor[:, np.newaxis] * loadings + rest, clusters
