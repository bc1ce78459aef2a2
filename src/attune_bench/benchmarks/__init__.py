"""The benchmarks of the library and of installed packages, by name, and any other by its import path."""

import sys
from collections.abc import Iterator

from attune_bench.benchmarks import attunebench, eibench, emobench, eqbench, sage
from attune_bench.scores.benchmark import Benchmark
from attune_data.references import EntryPoints, resolve
from attune_data.text import did_you_mean

BENCHMARKS: tuple[Benchmark, ...] = (
    attunebench.BENCHMARK,
    eibench.BENCHMARK,
    sage.BENCHMARK,
    emobench.BENCHMARK,
    eqbench.BENCHMARK,
)

_BY_NAME = {benchmark.name: benchmark for benchmark in BENCHMARKS}

INSTALLED = EntryPoints("attune_bench.benchmarks", Benchmark, _BY_NAME)
"""The benchmarks of installed packages."""


def all_benchmarks() -> Iterator[Benchmark]:
    """Yield the benchmarks of the library, then those of installed packages, which are imported only then.

    A package that cannot be imported costs a warning, and its benchmarks are left out.
    """
    yield from BENCHMARKS
    yield from INSTALLED.loaded.values()


def benchmark_names() -> list[str]:
    """Return the names of the benchmarks of the library and of installed packages; no package is imported.

    Examples
    --------
    >>> benchmark_names()[:2]
    ['attunebench', 'eibench']
    """
    return list(dict.fromkeys([*_BY_NAME, *INSTALLED.declared]))


def benchmark_named(name: str) -> Benchmark:
    """Return the benchmark of a name, or the one at an import path ``module:NAME``.

    Raises
    ------
    ValueError
        If no benchmark has the name (the text has the nearest name), or if the installed package that declares it
        cannot be used.

    Examples
    --------
    >>> benchmark_named("eibench").title
    'EIBench'
    """
    if name in INSTALLED.declared:
        return INSTALLED.load(name)
    if name in _BY_NAME:
        return _BY_NAME[name]
    if ":" not in name:
        near = did_you_mean(name, benchmark_names())
        raise ValueError(f"no benchmark {name!r}; {near} (module:NAME is one of your own)")
    found = resolve(name)
    if not isinstance(found, Benchmark):
        raise ValueError(f"{name} is {type(found).__name__}, not a Benchmark")
    return found


def benchmark_in_use(name: str | None) -> Benchmark | None:
    """Return the benchmark that scores name: of the library, of an installed package, or of an imported module.

    None for any other name: scores come from files, and a file does not choose which modules are imported.

    Examples
    --------
    >>> benchmark_in_use("somebody.elses:BENCHMARK") is None
    True
    """
    if name is None:
        return None
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name in INSTALLED.declared:
        return INSTALLED.loaded.get(name)
    module, _, attribute = name.partition(":")
    # Of its own names alone: a module can import others when it is asked for an attribute.
    found = getattr(sys.modules.get(module), "__dict__", {}).get(attribute)
    return found if isinstance(found, Benchmark) else None
