"""TEMPORARY until the catalogue has these entries."""

from collections.abc import Mapping
from dataclasses import replace

from attune_bench.benchmarks.attunebench.aggregates import MEANS, POOLED
from attune_bench.benchmarks.attunebench.records import CELLS, COUNTS, TASKS
from attune_metrics.catalog import CATALOG, Metric


def _base(key):
    name, _, score = key.partition(".")
    if score:
        n = name.removeprefix("pooled_").replace("_metrics", f"_{score}")
    elif name.startswith("four_branch_") and name.endswith("_mae"):
        n = "four_branch_mae"
    else:
        n = name.removeprefix("avg_").removesuffix("_tagged_only")
    return CATALOG[n]


def _tasks(metric):
    key = metric.partition(".")[0]
    if key.startswith("hp_perspective"):
        return ("binary_human", "binary_human_hp")
    hp = key.endswith("_hp")
    return tuple(task for task in TASKS if task.removesuffix("_hp") in key and task.endswith("_hp") == hp)


METRICS: Mapping[str, Metric] = {}
for key in (*MEANS, *(f"{pooled}.{score}" for pooled in POOLED for score in COUNTS if score not in CELLS)):
    b = _base(key)
    stem, _, score = key.partition(".")
    METRICS[key] = replace(
        b,
        name=key,
        coverage=_tasks(key),
        digits=2 if key in {"composite_score", "equal_weight_composite"} else 3,
        statistic=score or "mean",
        terms=tuple(f"{stem}.{c}" for c in CELLS) if score else (),
        group="Composite" if key == "composite_score" else "Turn by turn",
    )
METRICS["composite_z"] = Metric(
    name="composite_z", label="Composite z", statistic="z_score", terms=("composite_score",)
)
