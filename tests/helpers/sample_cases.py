"""Scores with what they are of, for tests of their samples; to be read only."""

from functools import cache
from typing import Any, NamedTuple

from own_questions import Answer, Answers, Question, Questions

import attune_bench
from attune_bench import Benchmark, Scores, score
from attune_bench.adapters.eee import Publisher, Samples, eee_records
from attune_bench.benchmarks import benchmark_named
from attune_data import Episodes, load, load_episodes, load_records, load_runs, load_sage, load_scenarios
from attune_data.references import resolve

__all__ = ["BENCHMARKS", "LAB", "Case", "Json", "case_of", "own_case"]

Json = dict[str, Any]

BENCHMARKS = tuple(benchmark.name for benchmark in attune_bench.BENCHMARKS if benchmark.row is not None)
LAB = Publisher(organization="Lab", retrieved=1_700_000_000)


class Case(NamedTuple):
    """Demonstration data with their scores; some metrics are made of units, some have units without a value."""

    scores: Scores
    results: Any
    data: Any
    metrics: list[str]
    pooled: str | None = None

    def samples(self, licence: str = "cc-by-4.0") -> Samples:
        return Samples(self.scores, results=self.results, data=self.data, licence=licence)

    def records(self, **options: Any) -> dict[str, Json]:
        pooled = [] if self.pooled is None else [self.pooled]
        return eee_records(self.scores, LAB, metrics=[*self.metrics, *pooled], resamples=50, **options)


@cache
def case_of(name: str) -> Case:
    """Return the demonstration of a benchmark."""
    of_its_own = {"attunebench": _attunebench, "eibench": _eibench, "sage": _sage}
    return of_its_own[name]() if name in of_its_own else _demo(benchmark_named(name))


def _demo(benchmark: Benchmark) -> Case:
    held = [load_records("demo", resolve(side)) for side in (benchmark.data, benchmark.results) if side]
    scores = score(*held)
    return Case(scores, held[-1], held[0] if benchmark.data else None, [*scores.headline])


def _attunebench() -> Case:
    data, results = load("demo"), load_runs("demo")
    metrics = ["composite_score", "avg_emotion_intensity_mae", "panas_baseline_adjusted", "hp_perspective_gap"]
    return Case(score(data, results), results, data, metrics, "pooled_binary_om_metrics.f1")


def _eibench() -> Case:
    data, results = load_scenarios("demo"), load_episodes("demo")
    broken = results[0].model_copy(update={"error": "no answer", "history": ()})
    results = Episodes([broken, *results[1:]])
    return Case(score(data, results), results, data, ["reward", "final_anger", "final_trust"], "reward_macro")


def _sage() -> Case:
    results = load_sage("demo")
    return Case(score(results), results, None, ["emo_point", "success", "failure"])


def own_case(name: str = "BENCHMARK", **about: Any) -> Case:
    """Return scores of three answers to four questions, or of answers alone, by a benchmark of `own_questions`.

    The questions have the fields `about` too, or the answers where they are all there is.
    """
    choices = ("first", "second", "first")
    if benchmark_named(f"own_questions:{name}").data is None:
        alone = Answers([Answer(question=f"q{n}", model="m", choice=one, **about) for n, one in enumerate(choices)])
        return Case(score(alone, benchmark=f"own_questions:{name}"), alone, None, ["hit"])
    questions = Questions([Question(id=f"q{n}", text="Which?", kinder="first", **about) for n in range(4)])
    answers = Answers([Answer(question=f"q{n}", model="m", choice=one) for n, one in enumerate(choices)])
    return Case(score(questions, answers, benchmark=f"own_questions:{name}"), answers, questions, ["hit"])
