"""The registry of benchmarks, and entries of somebody else's by import path."""

import sys

from attune_bench.benchmarks import attunebench, eibench, emobench, eqbench, sage
from attune_bench.scores.benchmark import Benchmark
from attune_data.references import resolve
from attune_data.text import did_you_mean

BENCHMARKS: tuple[Benchmark, ...] = (
    attunebench.BENCHMARK,
    eibench.BENCHMARK,
    sage.BENCHMARK,
    emobench.BENCHMARK,
    eqbench.BENCHMARK,
)

_BY_NAME = {benchmark.name: benchmark for benchmark in BENCHMARKS}


def benchmark_named(name: str) -> Benchmark:
    """Return a benchmark of the registry, or somebody else's by its import path ``module:NAME``.

    Raises
    ------
    ValueError
        Where there is none of that name; the text has the nearest.

    Examples
    --------
    >>> benchmark_named("eibench").title
    'EIBench'
    """
    if name in _BY_NAME:
        return _BY_NAME[name]
    if ":" not in name:
        raise ValueError(f"no benchmark {name!r}; {did_you_mean(name, _BY_NAME)} (module:NAME is one of your own)")
    found = resolve(name)
    if not isinstance(found, Benchmark):
        raise ValueError(f"{name} is {type(found).__name__}, not a Benchmark")
    return found


def benchmark_in_use(name: str | None) -> Benchmark | None:
    """Return a benchmark of the registry, or somebody else's whose module has been imported; None for any other.

    Scores come from files, and a file does not choose which modules are imported.

    Examples
    --------
    >>> benchmark_in_use("somebody.elses:BENCHMARK") is None
    True
    """
    if name is None:
        return None
    if name in _BY_NAME:
        return _BY_NAME[name]
    module, _, attribute = name.partition(":")
    # Of its own names alone: a module can import others when it is asked for an attribute.
    found = getattr(sys.modules.get(module), "__dict__", {}).get(attribute)
    return found if isinstance(found, Benchmark) else None
