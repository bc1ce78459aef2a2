"""What the columns of the tables of scenarios and of episodes mean."""

from attune_data.eibench.scenario import Episode, Scenario, State
from attune_data.meanings import Column, columns_of, nullable
from attune_data.states import step_meanings

__all__ = ["episode_columns", "scenario_columns"]


def scenario_columns() -> dict[str, dict[str, Column]]:
    """Return the columns of `ScenarioTables`, by table.

    Examples
    --------
    >>> scenario_columns()["scenarios"]["initial_anger"].description
    'Anger at the start, 0-100.'
    """
    return {"scenarios": columns_of(Scenario)}


def episode_columns() -> dict[str, dict[str, Column]]:
    """Return the columns of `EpisodeTables`, by table.

    Examples
    --------
    >>> episode_columns()["turns"]["anger_delta"].description
    'Anger after less before, -100 to 100.'
    """
    episode = columns_of(Episode)
    # Files may have others, which loading does not refuse, as scoring computes them anew.
    episode |= {name: episode[name]._replace(low=-1, high=1) for name in ("reward", "anger_score", "trust_score")}
    return {
        "episodes": {
            **nullable(columns_of(Scenario)),
            **episode,
            "outcome": Column(
                "How the episode ended; unlike `ended_by`, it tells an empty reply from a stop of the simulator.",
                null=True,
                source="computed of ended_by, error and the last message",
            ),
            "n_turns": Column("Number of updates of the state."),
        },
        "turns": {
            **episode,
            **columns_of(State),
            "turn_number": Column("The update of the state, from 1."),
            "model_reply": Column("What the model said.", null=True, source="history, content"),
            "person_reply": Column("What the person said to it.", source="history, content"),
            "parse_failed": Column("Whether the simulator's answer could not be read.", source="parse_failed"),
            **step_meanings(("anger", "trust")),
        },
    }
