"""Planning a comparison of two models: from a pilot, or from what is assumed of their scores.

Both models answer the same units. Without a pilot, of a unit's score the standard deviation s is assumed, of the scores
of both models on one unit the correlation r, and of the differences between them the intraclass correlation ICC: the
share of their variance that is between participants. With G participants of m units each, the standard error of the
difference is ``sqrt(2 s^2 (1 - r) (1 + (m - 1) ICC) / (m G))`` [1]_, [2]_. Where participants have m units on average,
with the coefficient of variation CV (standard deviation over mean), the design effect ``1 + (m - 1) ICC`` becomes
``1 + ((CV^2 + 1) m - 1) ICC`` [4]_. A pilot of g participants with the standard error SE says ``SE sqrt(g / G)``: more
participants of the same kind, with as many units each. Power is 80%, of the two-sided
`attune_metrics.stats.comparison.paired_permutation_test` at 0.05, for one comparison.

References
----------
.. [1] Kish (1965), Survey Sampling, section 5.4: the design effect of clusters.
.. [2] Miller (2024), Adding error bars to evals, arXiv:2411.00640, section 5.
.. [3] Armitage, McPherson, Rowe (1969), Repeated significance tests on accumulating data, J. R. Stat. Soc. A 132,
   235-244.
.. [4] Eldridge, Ashby, Kerry (2006), Sample size for cluster randomized trials: effect of coefficient of variation of
   cluster size and analysis method, Int. J. Epidemiol. 35, 1292-1300.
"""

from math import inf, nan, sqrt

from attune_metrics.checks import check_number, check_positive, check_whole, warn_undefined
from attune_metrics.errors import MetricInputError
from attune_metrics.stats.power import MDE_MIN_CLUSTERS, MOST_UNITS, check_difference, clusters_needed, mde_factor

__all__ = [
    "check_looks",
    "effect_after_pilot",
    "participants_after_pilot",
    "participants_needed",
    "planned_effect",
]

_CONSTANT = "with a correlation of 1 the difference does not vary"
_FEW = f"no difference is detectable with fewer than {MDE_MIN_CLUSTERS} participants"


def planned_effect(
    participants: int,
    *,
    sd: float,
    correlation: float,
    icc: float,
    units_per_participant: float = 1,
    units_cv: float = 0,
    looks: int = 1,
) -> float:
    """Compute the smallest true difference that so many participants show with 80% power.

    ``mde_factor(G, units_cv=CV) sqrt(2 s^2 (1 - r) (1 + ((CV^2 + 1) m - 1) ICC) / (m G))``, as
    `minimum_detectable_effect` of a pilot.

    Parameters
    ----------
    participants : int
        G, from 0.
    sd : float
        s, the standard deviation of a unit's score, above 0, in the unit of the scores.
    correlation : float
        r, of the scores of both models on one unit, -1 to 1; 0 is cautious.
    icc : float
        ICC of the difference of both models within participants, 0 to 1; 1 is the most cautious.
    units_per_participant : float
        m, from 1; a mean may be broken.
    units_cv : float
        CV, the coefficient of variation of the number of units of a participant, from 0. With 0, all have equally many;
        0.5 to 1 is usual where people choose how much they take part.
    looks : int
        How often the data are tested while they come in; only 1 is planned for.

    Returns
    -------
    float
        Above 0, in the unit of the scores; nan, with a warning, with fewer than 7 participants or a correlation of 1.

    Raises
    ------
    MetricInputError
        If a number is out of its range, or `looks` is above 1: see `check_looks`.

    Examples
    --------
    >>> round(planned_effect(30, sd=20, correlation=0.5, icc=0.3, units_per_participant=4), 2)
    7.3

    With four units of each participant as with one, where all of the variance is between participants:

    >>> [round(planned_effect(30, sd=20, correlation=0.5, icc=1, units_per_participant=m), 2) for m in (1, 4)]
    [10.59, 10.59]

    With four units on average, where some participants have many:

    >>> round(planned_effect(30, sd=20, correlation=0.5, icc=0.3, units_per_participant=4, units_cv=1), 2)
    9.68
    """
    check_looks(looks)
    error = _error_of_one(sd, correlation, icc, units_per_participant, units_cv)
    if check_whole(participants, "participants", 0, MOST_UNITS) < MDE_MIN_CLUSTERS:
        warn_undefined("planned_effect", _FEW)
        return nan
    if error == 0:
        warn_undefined("planned_effect", _CONSTANT)
        return nan
    return _finite(mde_factor(participants, units_cv=units_cv) * error / sqrt(participants))


def participants_needed(
    difference: float,
    *,
    sd: float,
    correlation: float,
    icc: float,
    units_per_participant: float = 1,
    units_cv: float = 0,
    looks: int = 1,
) -> float:
    """Compute with how many participants a comparison shows `difference` with 80% power.

    The smallest number whose `planned_effect` is not above it.

    Parameters
    ----------
    difference : float
        The difference of means to find, above 0, in the unit of the scores.
    sd, correlation, icc, units_per_participant, units_cv, looks
        As for `planned_effect`.

    Returns
    -------
    float
        A whole number from 7; nan, with a warning, with a correlation of 1.

    Raises
    ------
    MetricInputError
        As `planned_effect`, and if the difference is not above 0, or needs more than 2^53 units.

    Examples
    --------
    >>> participants_needed(5, sd=20, correlation=0.5, icc=0.3, units_per_participant=4)
    62.0
    """
    check_looks(looks)
    difference = check_difference(difference)
    error = _error_of_one(sd, correlation, icc, units_per_participant, units_cv)
    if error == 0:
        warn_undefined("participants_needed", _CONSTANT)
        return nan
    return float(clusters_needed(error, 1, difference, units=units_per_participant, units_cv=units_cv))


def effect_after_pilot(participants: int, *, mde: float, pilot_participants: int, units_cv: float = 0) -> float:
    """Compute the smallest true difference that so many participants show with 80% power, from a pilot.

    ``mde mde_factor(G, units_cv=CV) / mde_factor(g, units_cv=CV) sqrt(g / G)``.

    Parameters
    ----------
    participants : int
        G, from 0: of the comparison that is planned, those of the pilot included if they take part.
    mde : float
        The `attune_metrics.stats.power.minimum_detectable_effect` of the pilot, above 0.
    pilot_participants : int
        g, from 7.
    units_cv : float
        CV of the pilot, as for `planned_effect`; its `mde` has the spread of sizes in its standard error already.

    Returns
    -------
    float
        Above 0, in the unit of the scores; nan, with a warning, with fewer than 7 participants.

    Raises
    ------
    MetricInputError
        If a number is out of its range.

    Examples
    --------
    >>> round(effect_after_pilot(60, mde=10, pilot_participants=12), 2)
    4.14
    >>> effect_after_pilot(12, mde=10, pilot_participants=12)
    10.0
    """
    error = _error_of_pilot(mde, pilot_participants, units_cv)
    if check_whole(participants, "participants", 0, MOST_UNITS) < MDE_MIN_CLUSTERS:
        warn_undefined("effect_after_pilot", _FEW)
        return nan
    factor = mde_factor(participants, units_cv=units_cv)
    return _finite(factor * error * sqrt(pilot_participants / participants))


def participants_after_pilot(
    difference: float, *, mde: float, pilot_participants: int, units_per_participant: float = 1, units_cv: float = 0
) -> float:
    """Compute with how many participants a comparison shows `difference` with 80% power, from a pilot.

    The smallest number whose `effect_after_pilot` is not above it.

    Parameters
    ----------
    difference : float
        The difference of means to find, above 0, in the unit of the scores.
    mde, pilot_participants, units_cv
        As for `effect_after_pilot`.
    units_per_participant : float
        Of the pilot, from 1; a mean may be broken.

    Returns
    -------
    float
        A whole number from 7.

    Raises
    ------
    MetricInputError
        As `effect_after_pilot`, and if the difference is not above 0, or needs more than 2^53 units.

    Examples
    --------
    >>> participants_after_pilot(5, mde=10, pilot_participants=12)
    42.0
    >>> participants_after_pilot(10, mde=10, pilot_participants=12)
    12.0
    """
    difference = check_difference(difference)
    error = _error_of_pilot(mde, pilot_participants, units_cv)
    units = check_number(units_per_participant, "units_per_participant", 1, inf)
    return float(clusters_needed(error, pilot_participants, difference, units=units, units_cv=units_cv))


def check_looks(value: object) -> int:
    """Return the number of looks at the data, which is 1.

    Parameters
    ----------
    value : int
        How often the data are tested while they come in.

    Raises
    ------
    MetricInputError
        If it is not a whole number from 1, or is above 1: five tests at 0.05 on growing data reject 14% of true
        hypotheses [3]_.

    Examples
    --------
    >>> check_looks(1)
    1
    """
    looks = check_whole(value, "looks", 1)
    if looks > 1:
        raise MetricInputError(
            f"looks {looks}: testing at several looks, and stopping at the first that is significant, rejects true "
            "hypotheses more often than alpha, and the library plans one look; collect the planned number first and "
            "test once, or plan by a group-sequential design with other software"
        )
    return looks


def _error_of_one(
    sd: object, correlation: object, icc: object, units_per_participant: object, units_cv: object
) -> float:
    """Return the standard error that one participant would give."""
    spread = check_positive(sd, "sd", "give the standard deviation of a unit's score")
    r = check_number(correlation, "correlation", -1, 1)
    alike = check_number(icc, "icc", 0, 1)
    units = check_number(units_per_participant, "units_per_participant", 1, inf)
    cv = check_number(units_cv, "units_cv", 0, inf)
    return spread * sqrt(2 * (1 - r) * (1 + ((cv * cv + 1) * units - 1) * alike) / units)


def _error_of_pilot(mde: object, pilot_participants: int, units_cv: float) -> float:
    """Return the standard error that the pilot had."""
    effect = check_positive(mde, "mde", "give the minimum detectable effect of the pilot")
    participants = check_whole(pilot_participants, "pilot_participants", MDE_MIN_CLUSTERS, MOST_UNITS)
    return effect / mde_factor(participants, units_cv=units_cv)


def _finite(effect: float) -> float:
    if effect == inf:
        raise MetricInputError(
            "the smallest difference is larger than any float; are sd and mde of the scale of the scores?"
        )
    return effect
