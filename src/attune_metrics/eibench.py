"""EIBench: where a conversation with a simulated person led.

Conventions
-----------
A simulated person has a state that each reply moves: two values from 0 to 100, anger (lower is better) and trust
(higher is better). The last state is scored against three anchors of the scenario: start, target and worst case [1]_.

A curve is the state before the first reply and after each judged reply; `attune_metrics.curves` measures its shape.

Metrics
-------
- Anchor score of an axis, and reward: how far the last state is from the start towards target or worst case.
- `scene_means`: means over all episodes, over each scene's episodes, and over scenes.

References
----------
.. [1] EIBench, arXiv:2606.15532, and its released evaluation.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from math import fsum, isnan, nan
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import Metric, MetricInputError, check_list, check_number
from attune_metrics.stats.sums import Floats, check_array

SCENES = ("support", "defense", "repair", "charm")

Axis = Literal["anger", "trust"]
Rule = Literal["evaluation", "directed"]
Treatment = Literal["exclude", "start", "worst"]
_MOST_MOVE = 10
_BLOCK = 2**14


class Anchors(NamedTuple):
    """The three values of an axis that a final state is scored against, each 0 to 100; arrays, for many episodes.

    Attributes
    ----------
    initial : float
        State before the conversation: scores 0.
    target : float
        Success: scores 1, and so does what lies beyond.
    worst : float
        Failure: scores -1, and so does what lies beyond.
    """

    initial: ArrayLike
    target: ArrayLike
    worst: ArrayLike


def clip_delta(value: object) -> int:
    """Read a change of state as EIBench does: ``max(-10, min(10, int(float(value))))``, truncated towards zero.

    Parameters
    ----------
    value : object
        A number, or text such as ``"+2"``, as the model that plays the person wrote it.

    Returns
    -------
    int
        -10 to 10.

    Raises
    ------
    MetricInputError
        If it is not a finite number. EIBench's evaluation goes on with 0 then; a harness that does so has to count it.

    Examples
    --------
    >>> clip_delta("+2"), clip_delta(-3.9), clip_delta(14)
    (2, -3, 10)
    """
    try:
        return max(-_MOST_MOVE, min(_MOST_MOVE, int(float(value))))  # type: ignore[arg-type]
    except OverflowError:
        raise MetricInputError("change is infinite or too large; expected a finite number") from None
    except (TypeError, ValueError):
        raise MetricInputError(f"change {value!r:.60} is not a finite number") from None


def state_curve(initial: float, deltas: Iterable[object]) -> list[float]:
    """States before the first and after each change: ``max(0, min(100, state + clip_delta(delta)))``.

    Parameters
    ----------
    initial : float
        State at the start, 0 to 100.
    deltas : iterable of object
        One change for each judged reply, as for `clip_delta`.

    Returns
    -------
    list of float
        One more than changes, each 0 to 100.

    Raises
    ------
    MetricInputError
        If the start is out of range or a change is not a finite number.

    Examples
    --------
    >>> state_curve(95, [8, -2.5, "-12"])
    [95.0, 100.0, 98.0, 88.0]
    """
    curve = [check_number(initial, "initial", 0, 100)]
    for delta in check_list(deltas, "deltas", "changes"):
        curve.append(max(0.0, min(100.0, curve[-1] + clip_delta(delta))))
    return curve


def score_anchors(anchors: Anchors, final: ArrayLike, *, axis: Axis, rule: Rule = "evaluation") -> Floats:
    """Score many final states: the values of `anchor_score`, with the states unchecked.

    Parameters
    ----------
    anchors : Anchors
        Initial, target and worst, each a number for all episodes or an array with one for each.
    final : array of float, shape (episodes,)
        Last states; nan where one is missing.
    axis, rule
        As for `anchor_score`.

    Returns
    -------
    array of float, shape (episodes,)
        -1 to 1, nan where the final state is.

    Examples
    --------
    >>> score_anchors(Anchors([15, 50], [50, 60], [0, 30]), [50, 40], axis="trust")
    array([ 1. , -0.5])
    """
    _check_choice("axis", axis, Axis)
    _check_choice("rule", rule, Rule)
    given = np.broadcast_arrays(*(np.asarray(value) for value in (*anchors, final)))
    columns = [values.reshape(-1) for values in given]
    score = np.empty(columns[0].shape)
    # With many episodes memory is what costs: blocks that fit the cache.
    for start in range(0, len(score), _BLOCK):
        part = slice(start, start + _BLOCK)
        score[part] = _score_block(*(values[part].astype(float) for values in columns), axis=axis, rule=rule)
    return score.reshape(given[0].shape)


def _score_block(initial: Floats, target: Floats, worst: Floats, states: Floats, *, axis: Axis, rule: Rule) -> Floats:
    gain, wanted, room = states - initial, target - initial, initial - worst
    up: Floats | float = 1.0 if axis == "trust" else -1.0
    if rule == "evaluation":
        up = np.copysign(1.0, wanted + 0.0)  # -0.0 is a tie too
    gain *= up
    wanted *= up
    room *= up
    # Where the worst case is not below the start, all below it is beyond: division by 0 gives -inf.
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.asarray(gain / np.where(gain >= 0, wanted, np.maximum(room, 0)))
    np.maximum(score, -1, out=score)
    np.copyto(score, 1, where=gain >= wanted)
    score += 0.0  # No change is 0, never -0.0.
    if rule == "directed" and axis == "anger" and (wanted <= 0).any():
        return np.where((wanted <= 0) & (gain < 0), _above_start(gain, wanted, room), score)
    return score


def _above_start(gain: Floats, wanted: Floats, room: Floats) -> Floats:
    """Score more anger than at the start where the target is not below it: 1 to 0 at the target, to -1 at the worst."""
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.where(room == -wanted, -1, np.clip((gain - wanted) / (room + wanted), -1, 0))
        return np.where(gain >= wanted, 1 - gain / wanted, beyond)


def anchor_score(anchors: Anchors, final: float, *, axis: Axis, rule: Rule = "evaluation") -> float:
    """Score a final state: ``gain / |target - initial|`` where it got better, ``gain / |initial - worst|`` where worse.

    ``gain`` is the change from `initial` in the direction that counts as better. At the target and beyond the score is
    1, beyond the worst case -1.

    Parameters
    ----------
    anchors : Anchors
        Initial, target and worst state, each 0 to 100.
    final : float
        Last state, 0 to 100.
    axis : {"anger", "trust"}
        Which axis it is.
    rule : {"evaluation", "directed"}
        Which direction is better. `evaluation`, the published rule, infers it: up if ``target >= initial``, else
        down. `directed` is fixed: anger down, trust up.

    Returns
    -------
    float
        -1 to 1, higher is better; 0 is no change.

    Raises
    ------
    MetricInputError
        If a state is not a number from 0 to 100, or the axis or rule is unknown.

    Notes
    -----
    The rules agree on well-ordered anchors, ``target < initial < worst`` for anger and ``worst < initial < target`` for
    trust. On others `evaluation` can reward more anger or less trust. `directed` then follows EIBench's training: for
    anger with ``target >= initial`` it is 1 up to `initial`, falls to 0 at the target, and on to -1 at the worst case;
    where both are one, all beyond is -1.

    Examples
    --------
    >>> anchor_score(Anchors(initial=70, target=20, worst=90), 60, axis="anger")
    0.2
    >>> tied = Anchors(initial=20, target=20, worst=60)
    >>> anchor_score(tied, 30, axis="anger"), anchor_score(tied, 30, axis="anger", rule="directed")
    (1.0, -0.25)
    """
    values = check_list(anchors, "anchors", "initial, target and worst")
    if len(values) != len(Anchors._fields):
        raise MetricInputError(f"{len(values)} anchors; expected initial, target and worst")
    checked = [check_number(value, name, 0, 100) for name, value in zip(Anchors._fields, values, strict=True)]
    return float(score_anchors(Anchors(*checked), check_number(final, "final", 0, 100), axis=axis, rule=rule))


def anchor_reward(
    anger: Anchors, trust: Anchors, final_anger: float, final_trust: float, *, rule: Rule = "evaluation"
) -> float:
    """How far an episode moves the person from the start towards the targets of anger and trust, on average.

    This is ``(anger score + trust score) / 2``, each as from `anchor_score`. Takes the anchors of both axes, then both
    final states, and raises as `anchor_score` does.

    Returns
    -------
    float
        -1 to 1, higher is better. Published numbers are 100 times this.

    Examples
    --------
    >>> anchor_reward(Anchors(70, 25, 90), Anchors(15, 50, 0), 80, 15)
    -0.25
    """
    anger_score = anchor_score(anger, final_anger, axis="anger", rule=rule)
    return (anger_score + anchor_score(trust, final_trust, axis="trust", rule=rule)) / 2


def treat_failed(
    values: ArrayLike, failed: ArrayLike, treatment: Treatment, *, start: ArrayLike = 0.0, worst: ArrayLike = -1.0
) -> Floats:
    """Decide what episodes count that broke off for a technical reason, such as an answer that could not be read.

    Parameters
    ----------
    values : array of float, shape (episodes,)
        Scores or final states as recorded; nan where one is missing.
    failed : array of bool, shape (episodes,)
        Which episodes failed.
    treatment : {"exclude", "start", "worst"}
        `exclude`: nan, so that means leave them out. `start`, the published treatment: the state they broke off in
        counts, which is the start if nothing was judged before. `worst`: they count as the worst case.
    start, worst : float or array of float
        Values that the treatments set. The defaults suit scores; for states give the anchors.

    Returns
    -------
    array of float, shape (episodes,)
        A new array in which episodes that did not fail are as they were.

    Raises
    ------
    MetricInputError
        If the two differ in length, a value is not a number, a mark is not true or false, or the treatment is unknown.

    Examples
    --------
    >>> treat_failed([0.5, 0.1, nan], [False, True, True], "start").tolist()
    [0.5, 0.1, 0.0]
    >>> treat_failed([0.5, 0.1, nan], [False, True, True], "exclude").tolist()
    [0.5, nan, nan]
    """
    recorded, marks = check_array(values, "values", "episodes"), np.asarray(failed)
    if marks.shape != recorded.shape or (marks.size and marks.dtype != np.bool_):
        raise MetricInputError(f"failed is {marks.dtype} of shape {marks.shape}; expected bool of {recorded.shape}")
    _check_choice("treatment", treatment, Treatment)
    marked: NDArray[np.bool_] = marks.astype(bool)
    if treatment == "start":
        return np.where(marked & np.isnan(recorded), start, recorded)
    return np.where(marked, nan if treatment == "exclude" else worst, recorded)


@dataclass(frozen=True, slots=True)
class SceneMeans:
    """Means of a score over episodes.

    Attributes
    ----------
    overall : float
        Mean of all episodes, the published aggregate (micro average).
    macro : float
        Mean of the scene means; nan if a scene has none.
    n : int
        Episodes with a value.
    by_scene : dict of str to float
        Mean of each scene, scenes sorted; nan if none of its episodes has a value.
    n_by_scene : dict of str to int
        Episodes with a value, of each scene.
    """

    overall: float
    macro: float
    n: int
    by_scene: dict[str, float]
    n_by_scene: dict[str, int]


def scene_means(scenes: Iterable[str], values: ArrayLike) -> SceneMeans:
    """Mean of a score over all episodes and over the episodes of each scene.

    Parameters
    ----------
    scenes : iterable of str
        The scene of each episode.
    values : array of float, shape (episodes,)
        Scores or final states; nan leaves an episode out.

    Returns
    -------
    SceneMeans
        ``overall, macro, n, by_scene, n_by_scene``, in the unit of the values.

    Raises
    ------
    MetricInputError
        If a scene is not a text, a value is not a number, or the two differ in length.

    Examples
    --------
    >>> means = scene_means(["repair", "charm", "repair"], [0.5, -1, 0.25])
    >>> means.by_scene, round(means.overall, 4), means.macro
    ({'charm': -1.0, 'repair': 0.375}, -0.0833, -0.3125)
    """
    labels = check_list(scenes, "scenes", "scenes, one for each episode")
    scores = check_array(values, "values", "episodes")
    if len(labels) != len(scores):
        raise MetricInputError(f"{len(labels)} scenes, {len(scores)} values")
    grouped: dict[str, list[float]] = {}
    for label, score in zip(labels, scores.tolist(), strict=True):
        if not isinstance(label, str):
            raise MetricInputError(f"scene {label!r:.60} is not a text")
        of_scene = grouped.setdefault(label, [])
        if not isnan(score):
            of_scene.append(score)
    by_scene = {scene: _mean(grouped[scene]) for scene in sorted(grouped)}
    n_by_scene = {scene: len(grouped[scene]) for scene in by_scene}
    overall = _mean([score for of_scene in grouped.values() for score in of_scene])
    return SceneMeans(overall, _mean(list(by_scene.values())), sum(n_by_scene.values()), by_scene, n_by_scene)


def _mean(values: list[float]) -> float:
    return fsum(values) / len(values) if values else nan


def _check_choice(name: str, value: object, choices: object) -> None:
    if value not in get_args(choices):
        raise MetricInputError(f"unknown {name} {value!r}; expected {', '.join(get_args(choices))}")


_entry = partial(Metric, digits=1, family="eibench", source="EIBench (arXiv:2606.15532), released evaluation")
_score = partial(_entry, low=-1, high=1, scale=100)
_state = partial(_entry, low=0, high=100, source="Last state of an episode, EIBench (arXiv:2606.15532)")

METRICS: tuple[Metric, ...] = (
    _score("reward", "Reward", function=anchor_reward),
    _score("anger_score", "Anger score", function=partial(anchor_score, axis="anger")),
    _score("trust_score", "Trust score", function=partial(anchor_score, axis="trust")),
    _state("final_anger", "Final anger", higher_is_better=False),
    _state("final_trust", "Final trust"),
    _score(
        "reward_macro",
        "Reward, macro",
        "macro",
        level="model",
        statistic="mean_of_means",
        terms=tuple(f"{term}.{scene}" for scene in SCENES for term in ("reward", "n")),
        nullable=True,
        source="Mean of the scenes' mean rewards; EIBench (arXiv:2606.15532), released evaluation",
    ),
)
"""The catalogue's entries of this module.

The terms of ``reward_macro`` are ``reward.SCENE`` and ``n.SCENE`` for each scene: of an episode of the scene its reward
and 1, of another episode 0 and 0. Where data lack a scene, leave its two terms out.
"""
