"""Which metrics of published boards tell models apart: the last section of the page of `boards`."""

from collections.abc import Iterable, Sequence
from itertools import combinations, groupby
from math import fsum, sqrt
from operator import itemgetter
from string import Template
from typing import NamedTuple

import numpy as np
import polars as pl
from boards_published import GOLDEN, eqbench_passes
from numpy.typing import NDArray

from attune_bench import Scores
from attune_bench.analyses import separation, skills
from attune_bench.scores.table import ScoreTable
from attune_metrics.emobench import majority_accuracy
from attune_metrics.stats.separation import separation as separation_of
from attune_metrics.stats.skills import disattenuated


def emobench_metrics() -> Scores:
    """Return the metrics of EmoBench by item, of its models without the random one, asked without reasoning."""
    answers = pl.read_parquet(GOLDEN / "emobench" / "predictions.parquet").filter(
        pl.col("model") != "random", cot=False
    )
    asked = ("model", "task", "item", "language", "order")
    parts = answers.sort(*asked, "part").select(*asked, "part", "label", "predictions").iter_rows()
    right: dict[tuple[str, str, str], list[float]] = {}
    for (model, task, item, *_), own in groupby(parts, key=itemgetter(0, 1, 2, 3, 4)):
        said = [row[-3:] for row in own]
        metrics = {task: said} if len(said) == 1 else {task: said, **{f"{task} {one[0]}": [one] for one in said}}
        for metric, of_metric in metrics.items():
            _, labels, predictions = zip(*of_metric, strict=True)
            right.setdefault((model, f"{task} {item:03}", metric), []).append(majority_accuracy(labels, predictions))
    return _of_metrics((*key, 100 * fsum(values) / len(values)) for key, values in right.items())


def eqbench_metrics() -> Scores:
    """Return both passes of EQ-Bench v2, of the models with a parseable answer to every question in both."""
    whole = {
        model: passes for model, passes in eqbench_passes() if min(len(scores) for scores in passes.values()) == 171
    }
    return _of_metrics(
        (model, question, which.replace("_", " "), 10 * value)
        for model, passes in whole.items()
        for which, scores in passes.items()
        for question, value in sorted(scores.items())
    )


def _of_metrics(rows: Iterable[tuple[str, str, str, float]]) -> Scores:
    schema = {"model": str, "unit": str, "metric": str, "value": float}
    return Scores.from_table(pl.DataFrame([*rows], schema=schema, orient="row"))


EXPERTS, JUDGES = ("expert1", "expert2", "expert3"), ("claude", "gemini", "gpt")


class Dimension(NamedTuple):
    """A dimension of empathy: experts' ratings (responses, experts), and what says how alike judges order responses."""

    data: str
    name: str
    ratings: NDArray[np.float64]
    reliability: float
    of_judges: float
    corrected: float


def empathy() -> list[Dimension]:
    """Return how reliably three experts, and three judges, tell 50 responses apart, the most reliable first."""
    ratings = pl.read_parquet(GOLDEN / "empathy" / "ratings.parquet")
    found = []
    for (data, dimension), own in ratings.group_by("dataset", "dimension", maintain_order=True):
        wide = own.pivot("rater", index="item", values="rating").sort("item")
        experts, judges = (wide.select(names).to_numpy() for names in (EXPERTS, JUDGES))
        ours, theirs = (separation_of(one, range(3)).reliability.estimate for one in (experts, judges))
        observed = float(np.corrcoef(experts.mean(axis=1), judges.mean(axis=1))[0, 1])
        corrected = observed / sqrt(ours * theirs)  # their errors are independent
        found.append(Dimension(str(data), str(dimension), experts, ours, theirs, corrected))
    return sorted(found, key=lambda row: -row.reliability)


def perceived(dimensions: Sequence[Dimension]) -> str:
    """Say which dimensions of Perceived Empathy order the responses alike."""
    own = {one.name.removeprefix("m_"): one.ratings for one in dimensions if one.data == "Perceived Empathy"}
    pairs = {
        (a, b): disattenuated(own[a], own[b], range(3)).corrected.estimate for a, b in combinations(sorted(own), 2)
    }
    alike = sum(value >= 0.9 for value in pairs.values())
    practical = [value for pair, value in pairs.items() if "practical" in pair and "motivation" not in pair]
    return (
        f"{alike} of {len(pairs)} pairs of dimensions of Perceived Empathy correlate 0.9 or more; *practical* "
        f"correlates {min(practical):.2f} to {max(practical):.2f} with all dimensions but *motivation*"
    )


def separation_section() -> str:
    """Return the section on which metrics tell models apart."""
    eqbench = eqbench_metrics()
    best = eqbench.rank(metrics=["first pass"], resamples=1)["model"].to_list()[:10]
    boards: dict[str, tuple[ScoreTable, str]] = {
        "EmoBench": (emobench_metrics(), "items"),
        "EQ-Bench v2": (eqbench, "questions"),
        "EQ-Bench v2, ten best": (eqbench.keep(groups=[(model, None) for model in best]), "questions"),
    }
    rows = [
        f"| {board}: {row['metric']} | {row['models']} | {row['n']} {units} | {row['reliability']:.3f} "
        f"[{row['low']:.3f}, {row['high']:.3f}] | {row['differ']:.0%} | {row['models_share']:.0%} "
        f"| {row['units_share']:.0%} | {row['units_needed']} |"
        for board, (scores, units) in boards.items()
        for row in separation(scores).iter_rows(named=True)
    ]
    pairs = [
        f"| {board}: {row['metric_a']} and {row['metric_b']} | {row['models']} | {row['observed']:.3f} "
        f"| {row['corrected']:.3f} [{row['low']:.3f}, {row['high']:.3f}] | {row['within']:.2f} |"
        for board, (scores, _) in boards.items()
        for row in skills(scores).iter_rows(named=True)
        if row["corrected"] is not None and "EU" not in (row["metric_a"], row["metric_b"])
    ]
    dimensions = empathy()
    ratings = "\n".join(
        f"| {one.data} | {one.name.replace('_', ' ')} | {one.reliability:.2f} | {one.of_judges:.2f} "
        f"| {one.corrected:.2f} |"
        for one in dimensions
    )
    said = {"ratings": ratings, "perceived": perceived(dimensions)}
    return Template(SEPARATION).substitute(rows="\n".join(rows), pairs="\n".join(pairs), **said)


SEPARATION = """## Which metrics tell models apart?

Where a board publishes an answer for each question, [`separation`](separation.md) says how much of the difference between the models other questions of the same kind would show again (reliability), which share of the pairs differs (Holm), how much of the variance of one score lies between models and between units, and how many units a reliability of 0.9 takes. EmoBench without its random model; EQ-Bench v2 with the models that answered all 171 questions parseably in both passes.

| metric | models | units | reliability | pairs that differ | between models | between units | units for 0.9 |
| --- | --- | --- | --- | --- | --- | --- | --- |
$rows

Every metric orders these models reliably, since the models lie far apart. The ten best models of EQ-Bench v2 (by the first pass) lie closer, and need three to four times as many questions for the same reliability. A reliable order of all models does not mean that neighbours differ: the table at the top says how few do.

The correlation over models, observed and [without the noise](separation.md#one-skill-or-several) of both metrics, and over the units of a model. EmoBench's two tasks share no items, and so have no number; EU itself is made of its two parts.

| metrics | models | observed | corrected | within models |
| --- | --- | --- | --- | --- |
$pairs

The [empathy ratings](judges.md) name no models. They say how well three experts tell 50 responses apart: the responses take the place of the models, the experts the place of the units. Three experts are too few for an interval. Would three language models as judges order the responses alike? The last column is the correlation of both means [without the noise](truth.md) of both: 1 where they do. Of 50 responses a correlation of 0.8 has, without any noise, a 95% interval from 0.67 to 0.88.

| data | dimension | reliability of the mean of three experts | of three judges | correlation of both, corrected |
| --- | --- | --- | --- | --- |
$ratings

Are the dimensions different things? By the three experts, corrected, $perceived.

It cannot be done for EQ-Bench 3, whose boards publish ratings and means only. Of SAGE the repository has three models and one metric, too few to say which metric to trust."""  # noqa: E501
