"""Scores with planted skills: metrics that measure one skill of the models, or two, with noise."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def skill_scores(
    skills: Sequence[int],
    *,
    models: int = 40,
    participants: int = 50,
    each: int = 2,
    between: float = 0.0,
    reliability: float = 0.9,
    shared_noise: float = 0.4,
    seed: int = 0,
) -> tuple[Floats, NDArray[np.intp]]:
    """Return scores (metrics, models, units), and the participant of each unit.

    Parameters
    ----------
    skills : sequence of int
        The skill that each metric measures, from 0.
    models, participants, each : int
        How many models, participants, and units of a participant.
    between : float
        True correlation of two skills over models.
    reliability : float
        Expected reliability of a model's mean in every metric.
    shared_noise : float
        Correlation of two metrics' errors on the same unit.
    seed : int
        Of the generator.
    """
    generator = np.random.default_rng(seed)
    labels, n = np.arange(participants).repeat(each), participants * each

    def noise(*shape: int) -> Floats:
        """Return noise of variance 1, of which 0.3 is the participant's."""
        of_people = generator.normal(size=(*shape, participants)).repeat(each, axis=-1)
        drawn: Floats = np.sqrt(0.3) * of_people + np.sqrt(0.7) * generator.normal(size=(*shape, n))
        return drawn

    spread = np.sqrt(reliability / (1 - reliability) * (0.3 * each + 0.7) / n)
    general = generator.normal(size=models)
    own = generator.normal(size=(max(skills) + 1, models))
    true = np.sqrt(between) * general + np.sqrt(1 - between) * own
    together = noise(models)
    scores = [
        spread * true[skill][:, np.newaxis]
        + generator.normal(size=n)
        + np.sqrt(shared_noise) * together
        + np.sqrt(1 - shared_noise) * noise(models)
        for skill in skills
    ]
    return np.stack(scores), labels
