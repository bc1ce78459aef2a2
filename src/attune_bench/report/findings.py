"""What the data say, as the heading of a figure: sentences that are claims, each computed from the rows that are drawn.

A sentence that says significant rests on a corrected p-value below 0.05; a sentence about values alone says no more
than the values. Each has its own wording where there is nothing to find.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from attune_bench.scores.provenance import kind_of_group
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import ALPHA
from attune_data.text import joined, plural, pluralize
from attune_metrics.metric import Metric

Row = Mapping[str, Any]


def of_ranks(rows: pl.DataFrame) -> str:
    """Say how many models have an interval of a single rank; people and baselines do not count.

    Examples
    --------
    >>> of_ranks(pl.DataFrame({"model": ["a", "b"], "low": [1.0, 2.0], "high": [1.0, 3.0]}))
    'The interval of 1 of 2 models is a single rank'
    >>> of_ranks(pl.DataFrame({"model": ["a", "baseline/prior"], "low": [1.0, 2.0], "high": [1.0, 2.0]}))
    'The interval of 1 of 1 model is a single rank (baselines are not counted)'
    """
    known = models_of(rows).drop_nulls("low")
    if known.is_empty():
        return "No rank has an interval"
    alone = known.filter(pl.col("low") == pl.col("high")).height
    every = plural(known.height, "model")
    return f"The interval of {alone or 'none'} of {every} is a single rank{not_counted(rows)}"


def of_profiles(table: ScoreTable, rows: pl.DataFrame) -> str:
    """Say which model has the best value of more metrics than any other model; without a test.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> cells = [("a", "x", 1.0), ("b", "x", 0.0), ("a", "y", 1.0), ("b", "y", 0.0)]
    >>> given = [(model, "u", metric, value) for model, metric, value in cells]
    >>> table = Scores.from_table(pl.DataFrame(given, schema=["model", "unit", "metric", "value"], orient="row"))
    >>> of_profiles(table, pl.DataFrame(cells, schema=["model", "metric", "value"], orient="row"))
    'a has the best value of 2 of 2 metrics'
    """
    best: Counter[str] = Counter()
    compared = 0
    for (name,), own in rows.drop_nulls("value").group_by("metric", maintain_order=True):
        metric = table.metrics[name]
        if metric.higher_is_better is None or own["model"].n_unique() < 2:
            continue
        compared += 1
        values = own.select("model", pl.col("value") * metric.sign)
        top = values.filter(pl.col("value") == values["value"].max())["model"].to_list()
        best.update(top if len(top) == 1 else [])
    if not compared:
        return ""
    (most, number), (_, second) = [*best.most_common(2), ("", 0), ("", 0)][:2]
    if number == second:
        return f"Of {plural(compared, 'metric')}, no model has the best value of more than every other model"
    return f"{most} has the best value of {number} of {plural(compared, 'metric')}"


def of_chance(metric: Metric, rows: pl.DataFrame, chance: float | None) -> str:
    """Say how many models have an interval wholly better than random answers; nothing if their score is not known.

    People and baselines do not count.

    Examples
    --------
    >>> share = Metric(name="x", label="Accuracy")
    >>> of_chance(share, pl.DataFrame({"model": ["a", "b"], "low": [0.6, 0.4], "high": [0.7, 0.5]}), 0.5)
    'The whole interval of 1 of 2 models is better than the average score of random answers'
    """
    known = models_of(rows).drop_nulls("low")
    if chance is None or known.is_empty():
        return ""
    end = "low" if metric.sign > 0 else "high"
    better = sum(metric.sign * (value - chance) > 0 for value in known[end])
    which = f"The whole interval of {better} of {plural(known.height, 'model')} is"
    said = which if better else "For no model is the whole interval"
    return f"{said} better than the average score of random answers{not_counted(rows)}"


def of_differences(
    rows: Iterable[Row], key: str, verb: tuple[str, str], more: str, less: str, nothing: str, noun: str = "model"
) -> str:
    """Say how many differences are significantly above 0, and how many below.

    Parameters
    ----------
    rows : iterable of mapping
        With ``p_holm`` and the difference.
    key : str
        The difference.
    verb : (str, str)
        What one does, and several do.
    more, less : str
        What a significant difference above and below 0 says, after the verb.
    nothing : str
        The sentence where no difference is significant.
    noun : str
        What a row is.

    Examples
    --------
    >>> rows = [{"p_holm": 0.01, "gap": 0.2}, {"p_holm": 0.8, "gap": -0.1}]
    >>> sides = ("is", "are"), "significantly above 0", "significantly below 0", "No model is significantly off 0"
    >>> of_differences(rows, "gap", *sides)
    '1 of 2 models is significantly above 0'
    >>> of_differences(rows[1:], "gap", *sides)
    'No model is significantly off 0'
    """
    known = [row for row in rows if row[key] is not None]
    found = [row[key] > 0 for row in known if row["p_holm"] is not None and row["p_holm"] < ALPHA and row[key] != 0]
    counts = [(found.count(sign), said) for sign, said in ((True, more), (False, less)) if found.count(sign)]
    if not counts:
        return nothing
    of_all = f"of {plural(len(known), noun)} "
    return ", ".join(
        f"{count} {'' if place else of_all}{verb[count > 1]} {said}" for place, (count, said) in enumerate(counts)
    )


def models_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of models, without people and baselines; all rows, where none is a model's.

    Examples
    --------
    >>> models_of(pl.DataFrame({"model": ["lab/a", "baseline/prior"]}))["model"].to_list()
    ['lab/a']
    """
    models = [name for name in rows["model"].unique() if kind_of_group(name) == "model"]
    return rows.filter(pl.col("model").is_in(models)) if models else rows


def not_counted(rows: pl.DataFrame) -> str:
    """Return which rows `models_of` leaves out, in parentheses, for the end of a sentence that counts models.

    Examples
    --------
    >>> not_counted(pl.DataFrame({"model": ["a", "human/ann", "baseline/prior"]}))
    ' (people and baselines are not counted)'
    >>> not_counted(pl.DataFrame({"model": ["a", "b"]}))
    ''
    """
    left_out = {*rows["model"]}.difference(models_of(rows)["model"])
    kinds = [pluralize(kind) for kind in ("person", "baseline") if kind in map(kind_of_group, left_out)]
    return f" ({joined(kinds)} are not counted)" if kinds else ""


def of_wins(rows: Sequence[Row]) -> str:
    """Say which model wins more often than it loses against every other, on the units that both have.

    Examples
    --------
    >>> rows = [{"model_a": "a", "model_b": "b", "rate": 0.75}, {"model_a": "b", "model_b": "a", "rate": 0.25}]
    >>> of_wins(rows)
    'a wins more often than it loses against every other model'
    """
    least: dict[str, float] = {}
    for row in rows:
        least[row["model_a"]] = min(least.get(row["model_a"], 1.0), row["rate"])
    winners = [model for model, rate in least.items() if rate > 0.5]
    who = winners[0] if winners else "No model"
    return f"{who} wins more often than it loses against every other model"


def of_difficulty(rows: pl.DataFrame, unit: str, *, models: int, units: int) -> str:
    """Say on how many units all models have the same value, of the units with a value of every model.

    Parameters
    ----------
    rows : polars.DataFrame
        The analysis ``unit_difficulty`` of one condition.
    unit : str
        What a unit is called.
    models, units : int
        How many models and units the condition has. Where no unit has a value of every model, the text is empty.

    Examples
    --------
    >>> of_difficulty(pl.DataFrame({"sd": [0.0, 0.4], "models": [2, 2]}), "question", models=2, units=2)
    'All models have the same value on 1 of 2 questions'
    >>> of_difficulty(pl.DataFrame({"sd": [0.0, 0.4], "models": [2, 3]}), "question", models=3, units=2)
    'Models differ on each of the 1 question with a value of every model'
    """
    whole = rows.drop_nulls("sd").filter(pl.col("models") == models)
    if whole.is_empty():
        return ""
    same = whole.filter(pl.col("sd") == 0).height
    on = plural(whole.height, unit)
    if whole.height < units:
        on = f"the {on} with a value of every model"
    if not same:
        return f"Models differ on each of {on}"
    return f"All models have the same value on {same:,} of {on}"


def of_states(ends: Mapping[str, Sequence[tuple[float, float]]], better: Mapping[str, int]) -> str:
    """Say with how many models a state ends better than it began.

    Parameters
    ----------
    ends : mapping of str to sequence of (float, float)
        By axis the state of each model at the start and at the end.
    better : mapping of str to int
        By axis 1 where higher is better, -1 where lower is.

    Examples
    --------
    >>> of_states({"anger": [(60, 20), (60, 70)], "trust": [(30, 50), (30, 30)]}, {"anger": -1, "trust": 1})
    'Anger ends lower than it began with 1 of 2 models, trust ends higher with 1 of 2'
    """
    said: list[str] = []
    for axis, states in ends.items():
        improved = sum(better[axis] * (last - first) > 0 for first, last in states)
        where = "higher" if better[axis] > 0 else "lower"
        number = f"{improved or 'none'} of {plural(len(states), 'model') if not said else len(states)}"
        said.append(f"{axis} ends {where} {'than it began ' if not said else ''}with {number}")
    text = ", ".join(said)
    return text[:1].upper() + text[1:]


def of_costs(rows: pl.DataFrame) -> str:
    """Say which models of a known cost no other beats on both cost and score; without a test.

    Examples
    --------
    >>> of_costs(pl.DataFrame({"model": ["a", "b", "c"], "cost": [1.0, 2.0, 3.0], "front": ["yes", "open", "no"]}))
    'Of 3 models of a known cost, no other beats a and b on both cost and score'
    """
    known = rows.drop_nulls("cost")
    front = known.filter(pl.col("front") != "no")["model"].to_list()
    every = plural(known.height, "model")
    if known.height < 2:
        return ""
    if len(front) > 4:
        return f"Of {every} of a known cost, {len(front)} are beaten by no other on both cost and score"
    return f"Of {every} of a known cost, no other beats {joined(front)} on both cost and score"
