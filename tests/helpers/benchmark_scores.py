"""Scores of each benchmark and of somebody else's table, for tests of what they have in common; to be read only."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import polars as pl
from episodes import episodes_of, scenarios_of
from synthetic.predictions import answers_of

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench.baselines import prior
from attune_data import Collection, load, load_records, load_runs, load_scenarios
from attune_data.emobench import EmoBenchPrediction
from attune_data.kinds import ITEM, PREDICTION
from attune_data.sage import SageDialogue

NAMES = ("attunebench", "eibench", "sage", "emobench", "table")
TRAITS: Mapping[str, str] = {
    "attunebench": "topic",
    "eibench": "scene",
    "sage": "half",
    "emobench": "task",
    "table": "level",
}
"""The trait that the units of each have, of several the first."""


@cache
def scores_named(name: str) -> Scores:
    """Return scores of three models under one condition; of the table, of six under two conditions, in 12 clusters."""
    made = {"attunebench": _attunebench, "eibench": _eibench, "sage": _sage, "emobench": _emobench, "table": _table}
    return made[name]()


def _attunebench() -> Scores:
    conversations = load("demo")
    scores = score(conversations, [*load_runs("demo"), *prior(conversations)])
    return _with_trait(scores, "topic")


def episodes() -> dict[str, Any]:
    """Return scenarios, and episodes of invented models in each."""
    scenarios = scenarios_of(load_scenarios("demo"), 2)
    return {"data": scenarios, "results": episodes_of(scenarios, failures=["invented/rash"])}


def _eibench() -> Scores:
    return score(*episodes().values())


def dialogues() -> list[SageDialogue]:
    """Return 30 dialogues of each of three invented models."""
    source = Random(1)
    return [
        SageDialogue(
            scenario_id=f"s{place:02}",
            model=model,
            emo_point=min(100, max(0, round(source.gauss(mean, 30)))),
            history=[],
        )
        for model, mean in (("a", 60), ("b", 70), ("c", 40))
        for place in range(30)
    ]


def _sage() -> Scores:
    return _with_trait(score(dialogues()), "half")


@cache
def predictions() -> Collection[EmoBenchPrediction]:
    """Return answers of three invented models to the demonstration items of EmoBench."""
    items, skills = load_records("demo", ITEM), {"a": 0.4, "b": 0.7, "c": 0.55}
    return PREDICTION.collection([one for model, skill in skills.items() for one in answers_of(items, model, skill)])


def _emobench() -> Scores:
    return score(load_records("demo", ITEM), predictions())


def _with_trait(scores: Scores, name: str) -> Scores:
    """Return scores whose units have a trait of two values, in turn."""
    values = [("one", "other")[place % 2] for place in range(scores.units.height)]
    return replace(scores, units=scores.units.with_columns(pl.Series(name, values)))


def table_rows() -> pl.DataFrame:
    """Return results per item that say nothing of their metrics, with conditions, clusters and a trait."""
    source = Random(2)
    rows = [
        (model, condition, f"q{unit:02}", f"p{unit % 12:02}", "hard" if unit % 3 else "easy", metric, round(value, 3))
        for place, model in enumerate(("alpha", "beta", "gamma", "delta", "epsilon", "zeta"))
        for condition in ("plain", "stepwise")
        for unit in range(48)
        for metric, value in (
            ("grade", source.random() + place / 12 + unit % 12 / 8 + (condition == "stepwise") / 20),
            ("seconds", source.gammavariate(2, 3)),
        )
    ]
    schema = ["model", "condition", "unit", "cluster", "level", "metric", "value"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _table() -> Scores:
    return Scores.from_table(table_rows())
