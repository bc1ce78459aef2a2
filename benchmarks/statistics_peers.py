"""Intervals, comparisons and corrected judges of this library and of others, on the same simulated scores.

    python benchmarks/statistics_peers.py [--simulations 1000]

Installs the other libraries, and this one, into an environment of its own that is deleted afterwards; 20 minutes
on two quiet cores. Each library runs in a process of its own: one that cannot be imported is named, and the others go
on. All get the same data, from fixed seeds; a slow one gets fewer of them, and the table says how many.

Scores are Beta(3, 0.75): between 0 and 1, of mean 0.8. *n* are independent units; *bal* are clusters of four units,
*dom* the same but for one cluster that has 30% of all units, both with an intraclass correlation (ICC) of 0.3 behind
the scores. Two sides of a comparison are drawn independently; where they differ the second one is Beta(3, 9/7), of mean
0.7.

`judge_peers.py` has what is asked of a judge that people correct.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import venv
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import judge_peers
from judge_peers import JUDGED, Correction, judged_samples

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
    """A library: what is installed, how large its share of the simulations is, what its calls take, and the calls.

    ``load`` gives those of scores, ``correct`` that of a judge; None where it has none.
    """

    package: str
    share: float
    interval: str = ""
    comparison: str = ""
    correction: str = ""
    load: "Callable[[], Calls] | None" = None
    correct: Callable[[], Correction] | None = None


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
    from attune_metrics.stats.bootstrap import bootstrap, draw_resamples
    from attune_metrics.stats.comparison import paired_permutation_test

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
    "ours": Peer("attune-bench", 1, "clusters", "clusters", "clusters", ours, judge_peers.ours),
    "evalstats": Peer(
        "evalstats==0.3.3", 1, "units only", "units only", "units only", evalstats, judge_peers.evalstats
    ),
    "evalconfidence": Peer("evalconfidence==0.1.1", 1, "clusters", "units only", load=evalconfidence),
    "truescore": Peer(
        "truescore==0.7.4", 1, "clusters", "clusters", "whole clusters", truescore, judge_peers.truescore
    ),
    "evalci": Peer("evalci==0.1.0", 0.2, "clusters", "units only", load=evalci),
    "ppi-python": Peer("ppi-python==0.2.3", 1, correction="units only", correct=judge_peers.ppi_python),
}


class Tally:
    """Counts intervals that are defined, those that cover the mean, and their widths and seconds."""

    def __init__(self) -> None:
        self.found = dict.fromkeys(("simulations", "covered", "defined", "width", "seconds"), 0.0)

    def add(self, call: Callable[[], Sequence[float]]) -> None:
        """Count the interval that `call` gives; one that is refused is not defined."""
        start = time.perf_counter()
        try:
            low, high = call()
        except ValueError:
            low = high = math.nan
        self.found["seconds"] += time.perf_counter() - start
        self.found["simulations"] += 1
        if not (math.isnan(low) or math.isnan(high)):
            self.found["defined"] += 1
            self.found["width"] += high - low
        self.found["covered"] += low <= MEAN <= high


def measure(name: str, number: int) -> dict[str, Any]:
    """Return what a library does in every cell: counts, sums of widths, seconds."""
    peer = PEERS[name]
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {"version": version(peer.package.partition("==")[0]), "cells": {}, "judged": {}}
    if peer.load is not None:
        found["cells"] = {cell: measure_cell(cell, number, *peer.load()) for cell in CELLS}
    if peer.correct is not None:
        correct = peer.correct()
        for cell in JUDGED:
            tally = Tally()
            for sample in judged_samples(cell, number):
                tally.add(partial(correct, sample))
            found["judged"][cell] = tally.found
    return found


def measure_cell(
    cell: str,
    number: int,
    interval: Callable[[Sample], Sequence[float]],
    p_value: Callable[[Any, Any, Sample], float],
) -> dict[str, float]:
    """Return what the calls of a library do in a cell."""
    tally, done = Tally(), dict.fromkeys(("error", "power", "seconds_comparison"), 0.0)
    for sample in samples(cell, number):
        tally.add(partial(interval, sample))
        start = time.perf_counter()
        equal, differ = p_value(sample.first, sample.second, sample), p_value(sample.first, sample.worse, sample)
        done["seconds_comparison"] += (time.perf_counter() - start) / 2
        done["error"] += equal < ALPHA
        done["power"] += differ < ALPHA
    return tally.found | done


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
    # Two processes run at a time: threads of one would wait for those of the other.
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=alone)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["no message"])[-1]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def tables(found: dict[str, dict[str, Any]]) -> str:
    """Return the tables of all libraries in Markdown."""
    scored = {name: one for name, one in found.items() if one["cells"]}
    judged = {name: one for name, one in found.items() if one["judged"]}
    parts = [
        table(title, scored, "cells", key, of, taken)
        for title, key, of, taken in (
            ("Coverage of a 95% interval of a mean, in per cent", "covered", "simulations", "interval"),
            ("Mean width of the interval", "width", "defined", "interval"),
            ("Type I error of the paired comparison at 5%, in per cent", "error", "simulations", "comparison"),
            (f"Power, for a true difference of {DIFFERENCE}, in per cent", "power", "simulations", "comparison"),
        )
    ]
    costs = []
    for name, one in scored.items():
        cells = list(one["cells"].values())
        number = sum(cell["simulations"] for cell in cells)
        each = [1000 * sum(cell[seconds] for cell in cells) / number for seconds in ("seconds", "seconds_comparison")]
        undefined = number - sum(cell["defined"] for cell in cells)
        costs.append(
            [called(name, one), f"{cells[0]['simulations']:.0f}", *(f"{ms:.1f}" for ms in each), f"{undefined:.0f}"]
        )
    heads = ["", "simulations a cell", "ms an interval", "ms a comparison", "intervals undefined"]
    parts.append(f"Time of a call, mean over the cells:\n\n{markdown(heads, costs)}")
    parts += [
        table(title, judged, "judged", key, of, "correction")
        for title, key, of in (
            ("Coverage of a 95% interval of a judge's mean corrected by people, in per cent", "covered", "defined"),
            ("Mean width of the corrected interval", "width", "defined"),
            ("Time of a correction, in ms", "seconds", "defined"),
        )
    ]
    return "\n\n".join(parts)


def called(name: str, one: dict[str, Any]) -> str:
    """Return what tables call a library."""
    return f"{name} {one['version']}"


def table(title: str, found: dict[str, dict[str, Any]], part: str, key: str, of: str, taken: str) -> str:
    """Return a table of `key` over `of` in every cell; ``-`` where a library refuses the cell."""
    digits, scale = {"width": (3, 1), "seconds": (1, 1000)}.get(key, (1, 100))
    rows = [
        [called(name, one), getattr(PEERS[name], taken)]
        + [f"{scale * cell[key] / cell[of]:.{digits}f}" if cell[of] else "-" for cell in one[part].values()]
        for name, one in found.items()
    ]
    cells = CELLS if part == "cells" else JUDGED
    return f"{title}:\n\n{markdown(['', 'takes', *cells], rows)}"


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
