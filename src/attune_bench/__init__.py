"""Scoring, comparison and reports: what joins the records of `attune_data` with the metrics of `attune_metrics`."""

from importlib import import_module

from attune_bench._version import __version__

TYPE_CHECKING = False  # That of typing, whose import would be most of the time before a signal can stop a command.
if TYPE_CHECKING:
    from typing import Any

    from attune_bench.benchmarks import BENCHMARKS, benchmark_named
    from attune_bench.report import figures
    from attune_bench.scores.benchmark import Benchmark, Choice, Option
    from attune_bench.verbs.scores import Scores
    from attune_bench.verbs.scoring import chance, score

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Choice",
    "Option",
    "Scores",
    "__version__",
    "benchmark_named",
    "chance",
    "figures",
    "score",
]

_HOMES = {
    "BENCHMARKS": "attune_bench.benchmarks",
    "Benchmark": "attune_bench.scores.benchmark",
    "Choice": "attune_bench.scores.benchmark",
    "Option": "attune_bench.scores.benchmark",
    "Scores": "attune_bench.verbs.scores",
    "benchmark_named": "attune_bench.benchmarks",
    "chance": "attune_bench.verbs.scoring",
    "score": "attune_bench.verbs.scoring",
}


def __getattr__(name: str) -> "Any":
    """Import a public name when it is first used."""
    if name == "figures":
        return import_module("attune_bench.report.figures")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return __all__
