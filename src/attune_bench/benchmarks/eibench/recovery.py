"""EIBench: how soon a model brings anger and trust back after it made them worse."""

from collections.abc import Iterable, Iterator, Mapping

import polars as pl
from typing_extensions import Unpack

from attune_bench.analyses.recovery import StatePath, recovery_entry, recovery_of_paths
from attune_bench.benchmarks.eibench.scoring import failure_of, row
from attune_bench.scores.columns import Analysis
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import SamplingKeywords
from attune_data.eibench.records import Episode, Scenario
from attune_data.eibench.tables import states_of

_BETTER = {"anger": -1, "trust": 1}


def state_recovery(
    scores: ScoreTable, *, data: Iterable[Scenario], results: Iterable[Episode], **options: Unpack[SamplingKeywords]
) -> pl.DataFrame:
    """Return how soon each model brings anger and trust back after a reply that made them worse.

    Takes scores, scenarios, which say how the person begins, and episodes, of which failed ones are left out. The
    person left where the simulator ended an episode. Returns and raises what `recovery_of_paths` does.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load_episodes, load_scenarios
    >>> data, results = load_scenarios("demo"), load_episodes("demo")
    >>> found = state_recovery(score(data, results), data=data, results=results, resamples=200)
    >>> found.select("model", "axis", "falls").row(0)
    ('synthetic/attentive', 'anger', 0)
    """
    return recovery_of_paths(scores, _paths({one.id: one for one in data}, results), options)


def _paths(scenarios: Mapping[str, Scenario], episodes: Iterable[Episode]) -> Iterator[StatePath]:
    for episode in episodes:
        if failure_of(episode) is None:
            for axis, states in states_of(episode, scenarios.get(episode.scenario_id)).items():
                better = [None if state is None else _BETTER[axis] * state for state in states]
                yield StatePath(row(episode), axis, better, episode.outcome == "simulator_stop")


ANALYSES: Mapping[str, Analysis] = {"state_recovery": recovery_entry(state_recovery, ("data", "results"))}
