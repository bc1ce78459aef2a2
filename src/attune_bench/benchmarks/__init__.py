"""The registry of benchmarks, and entries of somebody else's by import path."""

from attune_bench.benchmarks import attunebench, eibench, sage
from attune_bench.benchmarks.base import Benchmark, resolve
from attune_data.text import meant

__all__ = ["BENCHMARKS", "benchmark_named"]

BENCHMARKS: tuple[Benchmark, ...] = (attunebench.BENCHMARK, eibench.BENCHMARK, sage.BENCHMARK)


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
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    if name in known:
        return known[name]
    if ":" not in name:
        raise ValueError(f"no benchmark {name!r}; {meant(name, known)}, or module:NAME of one of your own")
    found = resolve(name)
    if not isinstance(found, Benchmark):
        raise ValueError(f"{name} is {type(found).__name__}, not a Benchmark")
    return found
