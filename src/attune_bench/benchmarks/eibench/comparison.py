"""EIBench: a board of models, and every two compared on the scenarios that count for both.

Conventions ----------- As in `attune_bench.benchmarks.eibench.scoring`. Numbers are comparable within one simulator and
one version of its instructions only, so episodes that differ in these, in the number of rounds or in the configuration,
which is all but the model that the numbers depend on, are refused.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from attune_bench.benchmarks.eibench.scoring import FAILURES, NUMBERS, episode_summary, score_episodes
from attune_bench.by_scenario import compare_by_scenario
from attune_bench.stats.series import Settings
from attune_data import Episode, Scenario
from attune_data.eibench.scenario import SCENES
from attune_data.text import plural
from attune_metrics.errors import MetricInputError

if TYPE_CHECKING:
    import polars as pl

    from attune_metrics.eibench import Rule, Treatment

__all__ = [
    "OVERALL",
    "SETTINGS",
    "common_settings",
    "compare_episodes",
    "model_board",
    "scene_board",
    "summaries",
]

OVERALL = "overall"
SETTINGS: Mapping[str, str] = {
    "simulator": "simulator",
    "prompt_version": "version of the simulator's instructions",
    "max_rounds": "number of rounds",
    "config_hash": "configuration",
}
"""The fields in which episodes that are compared may not differ, and what they are called."""


def common_settings(episodes: Iterable[Episode]) -> dict[str, str | int | None]:
    """Return the simulator, the version of its instructions and the other `SETTINGS` that all episodes have in common.

    Parameters
    ----------
    episodes : iterable of Episode
        What `attune_data.load_episodes` gives, of any number of models.

    Returns
    -------
    dict of str to str, int or None
        By the names of `SETTINGS`; None where the episodes do not say.

    Raises
    ------
    ValueError
        Where episodes differ in one of them, or in the text of a scenario by the hash that a run records; two are of
        one scenario and model; or there is none.

    Examples
    --------
    >>> common_settings(Episode(profile_id="s1", model=name, simulator=name.upper()) for name in "ab")
    Traceback (most recent call last):
        ...
    ValueError: models that differ in the simulator are not comparable: A (of a), B (of b)
    """
    held = list(episodes)
    if not held:
        raise ValueError("there are no episodes")
    for name, what in SETTINGS.items():
        models: dict[str | int | None, set[str]] = {}
        for episode in held:
            models.setdefault(getattr(episode, name), set()).add(episode.model)
        if len(models) > 1:
            parts = sorted(f"{value or 'none named'} (of {', '.join(sorted(of))})" for value, of in models.items())
            where = "; _configuration.json beside the results says what it is" if name == "config_hash" else ""
            raise ValueError(f"models that differ in the {what} are not comparable: {', '.join(parts)}{where}")
    for (scenario, model), count in Counter((episode.scenario_id, episode.model) for episode in held).items():
        if count > 1:
            raise ValueError(f"two episodes of scenario {scenario!r} and model {model!r}")
    first: dict[str, Episode] = {}
    for episode in held:
        if episode.scenario_hash:
            other = first.setdefault(episode.scenario_id, episode)
            if other.scenario_hash != episode.scenario_hash:
                raise ValueError(
                    f"scenario {episode.scenario_id!r} has another text in the episodes of {other.model!r} than in "
                    f"those of {episode.model!r}; run both on the same data"
                )
    return {name: getattr(held[0], name) for name in SETTINGS}


def compare_episodes(
    episodes: Iterable[Episode],
    scenarios: Iterable[Scenario],
    *,
    rule: "Rule" = "evaluation",
    failed: "Treatment" = "exclude",
    by: Literal["scene"] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> "pl.DataFrame":
    """Compare every two models on the scenarios whose episodes count for both.

    Parameters
    ----------
    episodes : iterable of Episode
        What `attune_data.load_episodes` gives, of several models.
    scenarios, rule, failed
        As for `attune_bench.benchmarks.eibench.scoring.score_episodes`.
    by : {"scene"}, optional
        Compare within each scene too; each scene is a Holm family of its own.
    resamples : int
        How many resamples of scenarios, and random exchanges.
    seed : int
        The same seed gives the same numbers.

    Returns
    -------
    polars.DataFrame
        ``scene``, ``overall`` or a scene, then the columns of `attune_bench.by_scenario.compare_by_scenario`. The
        difference is that of rewards, -2 to 2, with ``model_a`` above ``model_b`` on the board.

    Raises
    ------
    ValueError
        As `common_settings`, where no episode of a model is of one of the scenarios, or an option is unknown or out of
        range.

    Warns
    -----
    UserWarning
        As `attune_bench.by_scenario.compare_by_scenario`.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> demo = load_scenarios("demo")
    >>> said = [
    ...     Episode(profile_id=scenario.id, model=model, final_anger=anger, final_trust=30)
    ...     for scenario in demo
    ...     for model, anger in (("calm", 0), ("rash", 100))
    ... ]
    >>> compare_episodes(said, demo, by="scene").select("scene", "model_a", "difference", "n").rows()[:2]
    [('overall', 'calm', 1.0, 16), ('support', 'calm', 1.0, 4)]
    """
    import polars as pl

    if by not in {None, "scene"}:
        raise MetricInputError(f"unknown by {by!r}; expected 'scene', or None")
    settings = Settings(resamples=resamples, seed=seed)
    frame = _scored(list(episodes), list(scenarios), rule, failed)
    overall = _rewards(frame)
    ranked = sorted(overall, key=lambda model: _rank(model, fmean(of) if (of := overall[model].values()) else None))
    parts = []
    for scene in (OVERALL, *(scene for scene in SCENES if by and scene in frame["scene"])):
        rewards = overall if scene == OVERALL else _rewards(frame.filter(scene=scene))
        family = "all pairs of models" + ("" if scene == OVERALL else f", scene {scene}")
        found = compare_by_scenario({model: rewards.get(model, {}) for model in ranked}, settings, family=family)
        parts.append(found.select(pl.lit(scene).alias("scene"), pl.all()))
    return pl.concat(parts)


def summaries(
    episodes: Iterable[Episode],
    scenarios: Iterable[Scenario],
    *,
    rule: "Rule" = "evaluation",
    failed: "Treatment" = "exclude",
    resamples: int = 10_000,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Summarise the episodes of every model.

    Parameters
    ----------
    episodes, scenarios, rule, failed, resamples, seed
        As for `compare_episodes`.

    Returns
    -------
    list of dict
        What `attune_bench.benchmarks.eibench.scoring.episode_summary` gives of each model, the highest reward first.

    Raises
    ------
    ValueError
        As `compare_episodes`.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> said = [
    ...     Episode(profile_id="demo_support_01", model=model, final_anger=anger, final_trust=60)
    ...     for model, anger in {"a": 80, "b": 20}.items()
    ... ]
    >>> [found["model"] for found in summaries(said, load_scenarios("demo"))]
    ['b', 'a']
    """
    held, known = list(episodes), list(scenarios)
    Settings(resamples=resamples, seed=seed)
    _scored(held, known, rule, failed)
    of_model: dict[str, list[Episode]] = {}
    for episode in held:
        of_model.setdefault(episode.model, []).append(episode)
    found = [
        episode_summary(own, known, rule=rule, failed=failed, resamples=resamples, seed=seed)
        for own in of_model.values()
    ]
    return sorted(found, key=lambda summary: _rank(summary["model"], summary["overall"]["reward"]))


def model_board(found: Iterable[Mapping[str, Any]]) -> "pl.DataFrame":
    """Return the board: a row a model.

    Parameters
    ----------
    found : iterable of mapping
        What `summaries` gives.

    Returns
    -------
    polars.DataFrame
        ``model, reward, low, high, anger_score, trust_score, final_anger, final_trust, n, failed, coverage, macro``;
        ``support, defense, repair, charm``, the reward of each scene; ``reward_exclude, reward_start, reward_worst``,
        the reward under each treatment of failed episodes; these by kind
        (`attune_bench.benchmarks.eibench.scoring.FAILURES`); ``without_scenario, reason``.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> ends = {"final_anger": 85, "final_trust": 20}
    >>> found = summaries([Episode(profile_id="demo_support_01", model="m", **ends)], load_scenarios("demo"))
    >>> model_board(found).select("model", "anger_score", "n", "failed", "coverage", "charm").row(0)
    ('m', -0.5, 1, 0, 0.0625, None)
    """
    import polars as pl

    rows = [
        {
            **summary,
            **summary["overall"],
            **{scene: block["reward"] for scene, block in summary["by_scene"].items()},
            **{f"reward_{treatment}": reward for treatment, reward in summary["reward_if_failed"].items()},
            **summary["failed"],
        }
        for summary in found
    ]
    schema = {
        "model": pl.String,
        **dict.fromkeys(("reward", "low", "high", *NUMBERS[1:]), pl.Float64),
        **dict.fromkeys(("n", "failed"), pl.Int64),
        **dict.fromkeys(("coverage", "macro", *SCENES, "reward_exclude", "reward_start", "reward_worst"), pl.Float64),
        **dict.fromkeys((*FAILURES, "without_scenario"), pl.Int64),
        "reason": pl.String,
    }
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def scene_board(found: Iterable[Mapping[str, Any]]) -> "pl.DataFrame":
    """Return the rewards within scenes: a row a model and scene.

    Parameters
    ----------
    found : iterable of mapping
        What `summaries` gives.

    Returns
    -------
    polars.DataFrame
        ``model, scene, reward, low, high, anger_score, trust_score, final_anger, final_trust, n, failed, reason``.
    """
    import polars as pl

    schema = {
        **dict.fromkeys(("model", "scene"), pl.String),
        **dict.fromkeys(("reward", "low", "high", *NUMBERS[1:]), pl.Float64),
        **dict.fromkeys(("n", "failed"), pl.Int64),
        "reason": pl.String,
    }
    rows = [
        {"model": summary["model"], "scene": scene, **block}
        for summary in found
        for scene, block in summary["by_scene"].items()
    ]
    return pl.DataFrame(rows, schema=schema)


def _scored(
    episodes: Sequence[Episode], scenarios: Sequence[Scenario], rule: "Rule", failed: "Treatment"
) -> "pl.DataFrame":
    """Return the scores of comparable episodes of models that have one each; else raise."""
    common_settings(episodes)
    frame = score_episodes(episodes, scenarios, rule=rule, failed=failed)
    if lacking := {episode.model for episode in episodes}.difference(frame["model"]):
        model = min(lacking)
        count = sum(episode.model == model for episode in episodes)
        raise ValueError(
            f"none of the {plural(count, 'episode')} of model {model!r} is of one of the "
            f"{plural(len(scenarios), 'scenario')}: check that both come from the same data set"
        )
    return frame


def _rank(model: str, reward: float | None) -> tuple[float, str]:
    """Return by what models are sorted: the highest reward first, those without one last."""
    return inf if reward is None else -reward, model


def _rewards(frame: "pl.DataFrame") -> dict[str, dict[str, float]]:
    """Return the rewards that count, by model and scenario."""
    found: dict[str, dict[str, float]] = {}
    for model, scenario, reward in frame.select("model", "scenario_id", "reward").iter_rows():
        held = found.setdefault(model, {})
        if reward is not None:
            held[scenario] = reward
    return found
