"""Intervals and comparisons of this library and of others, on the same simulated scores.

    python benchmarks/statistics_peers.py [--simulations 1000]

Installs the other libraries, and this one, into an environment of its own that is deleted afterwards; about ten minutes
on two quiet cores. Each library runs in a process of its own: one that cannot be imported is named, and the others go
on. All get the same data, from fixed seeds; a slow one gets fewer of them, and the table says how many.

Scores are Beta(3, 0.75): between 0 and 1, of mean 0.8. *n* are independent units; *bal* are clusters of four units,
*dom* the same but for one cluster that has 30% of all units, both with an intraclass correlation (ICC) of 0.3 behind
the scores. Two sides of a comparison are drawn independently; where they differ the second one is Beta(3, 9/7), of mean
0.7.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
import venv
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
MEAN, DIFFERENCE, ALPHA = 0.8, 0.1, 0.05
CELLS = {
    **{f"n={n}": (n, "alone") for n in (15, 30, 100)},
    **{f"bal {n}": (n, "equal") for n in (10, 25, 60)},
    **{f"dom {n}": (n, "dominant") for n in (10, 25, 60)},
}


class Sample(NamedTuple):
    """Scores of a simulation: two sides of one distribution, and a third that is worse by `DIFFERENCE`."""

    clusters: Any
    first: Any
    second: Any
    worse: Any
    independent: bool


class Peer(NamedTuple):
    """A library: what is installed, how large its share of the simulations is, and what it is asked."""

    package: str
    share: float
    interval: str
    comparison: str
    load: Callable[[], "Calls"]


Calls = tuple[Callable[[Sample], Sequence[float]], Callable[[Any, Any, Sample], float]]
"""The interval of the mean of the first side; the p-value of two sides."""


def samples(cell: str, number: int) -> Iterator[Sample]:
    """Yield the simulations of a cell."""
    import numpy as np
    from scipy.special import betaincinv, ndtr

    n, kind = CELLS[cell]
    sizes = np.full(n, 1 if kind == "alone" else 4)
    if kind == "dominant":
        sizes[0] = round(0.3 / 0.7 * 4 * (n - 1))
    clusters = np.repeat(np.arange(n), sizes)
    for seed in range(number):
        generator = np.random.default_rng([seed, *map(ord, cell)])
        levels = generator.normal(size=(3, n))[:, clusters]
        latent = ndtr(math.sqrt(0.3) * levels + math.sqrt(0.7) * generator.normal(size=levels.shape))
        first, second = betaincinv(3, 0.75, latent[:2])
        yield Sample(clusters, first, second, betaincinv(3, 9 / 7, latent[2]), kind == "alone")


# The calls that a user would make of each library, with its defaults.


def ours() -> Calls:
    """Return the calls of this library."""
    from attune_metrics.stats.comparison import paired_permutation_test
    from attune_metrics.stats.resampling import bootstrap, draw_resamples

    def interval(sample: Sample) -> Sequence[float]:
        [found] = bootstrap(sample.first, draw_resamples(sample.clusters))
        return found.low, found.high

    def p_value(a: Any, b: Any, sample: Sample) -> float:
        [found] = paired_permutation_test(a, b, sample.clusters)
        return found.p_value

    return interval, p_value


def evalstats() -> Calls:
    """Return the calls of evalstats."""
    es = import_module("evalstats")

    def interval(sample: Sample) -> Sequence[float]:
        found = es.mean_ci(sample.first, score_range=(0, 1), rng=0)
        return found.ci_low, found.ci_high

    def p_value(a: Any, b: Any, _: Sample) -> float:
        sides = {"a": a, "b": b}
        rows = [
            {"model": model, "item": f"i{place}", "score": float(value)}
            for model, values in sides.items()
            for place, value in enumerate(values)
        ]
        found = es.compare_models(es.load_from(rows)).to_frame()["pairwise"]
        return float(found["p_value"].iloc[0])

    return interval, p_value


def evalconfidence() -> Calls:
    """Return the calls of evalconfidence."""
    ec = import_module("evalconfidence")

    def items(values: Any, sample: Sample, model: str) -> list[Any]:
        labels = [None if sample.independent else f"c{cluster}" for cluster in sample.clusters]
        return [
            ec.ItemResult(item_id=f"i{place}", model_id=model, score=float(value), cluster_id=label)
            for place, (value, label) in enumerate(zip(values, labels, strict=True))
        ]

    def interval(sample: Sample) -> Sequence[float]:
        found: Sequence[float] = ec.standard_error(items(sample.first, sample, "a")).ci
        return found

    def p_value(a: Any, b: Any, sample: Sample) -> float:
        return float(ec.compare(items(a, sample, "a"), items(b, sample, "b")).p_value)

    return interval, p_value


def truescore() -> Calls:
    """Return the calls of truescore."""
    ts = import_module("truescore")

    def interval(sample: Sample) -> Sequence[float]:
        found = ts.gold_only_estimate(sample.first, clusters=None if sample.independent else sample.clusters)
        return found.low, found.high

    def p_value(a: Any, b: Any, sample: Sample) -> float:
        found = ts.paired_bootstrap(a, b, clusters=None if sample.independent else sample.clusters)
        return float(found.p_value)

    return interval, p_value


def evalci() -> Calls:
    """Return the calls of evalci."""
    ec = import_module("evalci")

    def interval(sample: Sample) -> Sequence[float]:
        if sample.independent:
            return tuple(ec.ci(sample.first, method="bootstrap", random_state=0))
        return tuple(ec.cluster_ci(sample.first, sample.clusters, random_state=0))

    def p_value(a: Any, b: Any, _: Sample) -> float:
        return float(ec.compare(a, b, random_state=0).p_value)

    return interval, p_value


PEERS = {
    "ours": Peer("attune-bench", 1, "clusters", "clusters", ours),
    "evalstats": Peer("evalstats==0.3.3", 1, "units only", "units only", evalstats),
    "evalconfidence": Peer("evalconfidence==0.1.1", 1, "clusters", "units only", evalconfidence),
    "truescore": Peer("truescore==0.7.4", 1, "clusters", "clusters", truescore),
    "evalci": Peer("evalci==0.1.0", 0.2, "clusters", "units only", evalci),
}


def measure(name: str, number: int) -> dict[str, Any]:
    """Return what a library does in every cell: counts, sums of widths, seconds."""
    interval, p_value = PEERS[name].load()
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {"version": version(PEERS[name].package.partition("==")[0]), "cells": {}}
    for cell in CELLS:
        done = dict.fromkeys(("simulations", "covered", "defined", "width", "error", "power"), 0.0)
        done |= dict.fromkeys(("seconds_interval", "seconds_comparison"), 0.0)
        for sample in samples(cell, number):
            start = time.perf_counter()
            low, high = interval(sample)
            half = time.perf_counter()
            equal, differ = p_value(sample.first, sample.second, sample), p_value(sample.first, sample.worse, sample)
            done["seconds_interval"] += half - start
            done["seconds_comparison"] += (time.perf_counter() - half) / 2
            done["simulations"] += 1
            if not (math.isnan(low) or math.isnan(high)):
                done["defined"] += 1
                done["width"] += high - low
            done["covered"] += low <= MEAN <= high
            done["error"] += equal < ALPHA
            done["power"] += differ < ALPHA
        found["cells"][cell] = done
    return found


def environment(folder: Path) -> Path:
    """Return the interpreter of a new environment that has all libraries."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--editable", str(ROOT)], check=True)
    for peer in PEERS.values():
        if "==" in peer.package and subprocess.run([*install, peer.package], check=False).returncode:
            print(f"{peer.package} cannot be installed", file=sys.stderr)
    return python


def run(python: Path, name: str, number: int) -> dict[str, Any] | str:
    """Return what a library does, or the last line of what kept it from that."""
    command = [str(python), __file__, "--measure", name, "--simulations", str(number)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no message"])[-1]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def tables(found: dict[str, dict[str, Any]]) -> str:
    """Return the tables of all libraries in Markdown."""
    names = {name: f"{name} {one['version']}" for name, one in found.items()}
    parts = []
    for title, key, of, taken in (
        ("Coverage of a 95% interval of a mean, in per cent", "covered", "simulations", "interval"),
        ("Mean width of the interval", "width", "defined", "interval"),
        ("Type I error of the paired comparison at 5%, in per cent", "error", "simulations", "comparison"),
        (f"Power, for a true difference of {DIFFERENCE}, in per cent", "power", "simulations", "comparison"),
    ):
        digits, scale = (3, 1) if key == "width" else (1, 100)
        rows = [
            [names[name], getattr(PEERS[name], taken)]
            + [f"{scale * cell[key] / max(cell[of], 1):.{digits}f}" for cell in one["cells"].values()]
            for name, one in found.items()
        ]
        parts.append(f"{title}:\n\n{markdown(['', 'takes', *CELLS], rows)}")
    costs = []
    for name, one in found.items():
        cells = list(one["cells"].values())
        number = sum(cell["simulations"] for cell in cells)
        each = [1000 * sum(cell[f"seconds_{of}"] for cell in cells) / number for of in ("interval", "comparison")]
        undefined = number - sum(cell["defined"] for cell in cells)
        costs.append([names[name], f"{cells[0]['simulations']:.0f}", *(f"{ms:.1f}" for ms in each), f"{undefined:.0f}"])
    heads = ["", "simulations a cell", "ms an interval", "ms a comparison", "intervals undefined"]
    return "\n\n".join([*parts, f"Time of a call, mean over the cells:\n\n{markdown(heads, costs)}"])


def markdown(heads: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> int:
    """Measure, print; return the exit status."""
    parser = argparse.ArgumentParser(description="Compare with other libraries of statistics.")
    parser.add_argument("--simulations", type=int, default=1000, help="simulations a cell; slow libraries get fewer")
    parser.add_argument("--python", type=Path, help="an interpreter that has all libraries, instead of a new one")
    parser.add_argument("--measure", choices=[*PEERS], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure, given.simulations)))
        return 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        python = given.python or environment(Path(folder))
        numbers = [max(1, round(peer.share * given.simulations)) for peer in PEERS.values()]
        done = dict(zip(PEERS, pool.map(lambda name, n: run(python, name, n), PEERS, numbers), strict=True))
    print(tables({name: one for name, one in done.items() if not isinstance(one, str)}))
    for name, why in done.items():
        if isinstance(why, str):
            print(f"\n{name} was left out: {why}")
    return int(any(isinstance(why, str) for why in done.values()))


if __name__ == "__main__":
    sys.exit(main())
