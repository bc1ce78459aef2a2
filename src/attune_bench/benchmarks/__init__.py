"""The benchmarks of the library and of installed packages, by name, and any other by its import path."""

import sys
from collections.abc import Iterator
from math import isfinite, nan
from pathlib import Path

from attune_bench.benchmarks import attunebench, eibench, sage
from attune_bench.scores.benchmark import PROMPTS_OPTION, Benchmark, Option, role_options
from attune_data.references import EntryPoints, resolve
from attune_data.text import did_you_mean


def _anchors(text: str) -> dict[str, float]:
    """Return the ratings of anchors, given as ``one=1500,other=200``."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.strip().rpartition("=")
        try:
            rating = float(value)
        except ValueError:
            rating = nan
        if not name or name in found or not isfinite(rating):
            raise ValueError(f"{text!r}: expected MODEL=RATING, or two models as in ONE=1500,OTHER=200")
        found[name] = rating
    return found


_OF_FITS = (
    Option(
        name="margins",
        help="Whether a win counts 1 (verdicts) or as much as its margin (weights); by default verdicts.",
        verbs=("score",),
        values=("verdicts", "weights"),
    ),
    Option(
        name="ties",
        help="Whether a tie is half a win for each, or an outcome of its own (Davidson); by default half.",
        verbs=("score",),
        values=("half", "davidson"),
    ),
    Option(
        name="penalty",
        help="Precision of a prior that rates models which won, or lost, every comparison; by default none.",
        verbs=("score",),
        kind=float,
    ),
    Option(
        name="anchors",
        help="Ratings that one or two models shall have: ONE=1500,OTHER=200; by default the mean model has 1000.",
        verbs=("score",),
        kind=_anchors,
    ),
)
"""Options of how comparisons in pairs are fitted."""

BENCHMARKS: tuple[Benchmark, ...] = (
    attunebench.BENCHMARK,
    eibench.BENCHMARK,
    sage.BENCHMARK,
    Benchmark(
        name="emobench",
        title="EmoBench",
        docs="emobench.md",
        data="attune_data.kinds:ITEM",
        results="attune_data.kinds:PREDICTION",
        cluster="scenario_id",
        score="attune_bench.benchmarks.emobench:score",
        row="attune_bench.benchmarks.emobench:row",
        comparability_keys={
            "prompt_hash": "instructions",
            "orders": "number of orders of the choices",
            "samples_per_order": "number of samples",
            "shuffle": "seed of the orders",
            "temperature": "temperature",
            "answer_format": "answer format",
        },
        options=(
            Option(name="reasoning", help="Ask for the reasons before the answer.", verbs=("run",), kind=bool),
            Option(
                name="orders", help="In how many orders the choices are shown; by default 4.", verbs=("run",), kind=int
            ),
            Option(name="samples_per_order", help="How often it is asked; by default 5.", verbs=("run",), kind=int),
            Option(name="shuffle", help="The seed of the orders; by default 0.", verbs=("run",), kind=int),
            PROMPTS_OPTION,
        ),
        task="attune_bench.benchmarks.emobench:TASK",
        baselines="attune_bench.benchmarks.emobench:BASELINES",
        analyses="attune_bench.benchmarks.emobench:ANALYSES",
        limits=("The right choice is the one that annotators agreed on; others may have good reasons for another.",),
    ),
    Benchmark(
        name="eqbench",
        title="EQ-Bench v2",
        docs="eqbench.md",
        data="attune_data.kinds:QUESTION",
        results="attune_data.kinds:ANSWER",
        cluster="dialogue",
        score="attune_bench.benchmarks.eqbench:score",
        row="attune_bench.benchmarks.eqbench:row",
        comparability_keys={"temperature": "temperature"},
        task="attune_bench.benchmarks.eqbench:TASK",
        limits=(
            "The references are one author's, of invented people: a score says how near a model comes to that author.",
            "Questions on one dialogue, cut off at several places, are not independent; intervals draw dialogues.",
            "The pass that counts is chosen before anything is drawn, and intervals do not contain that choice.",
        ),
    ),
    Benchmark(
        name="eqbench3",
        title="EQ-Bench 3",
        docs="eqbench3.md",
        data="attune_data.kinds:SITUATION",
        results="attune_data.kinds:TRANSCRIPT",
        cluster="story",
        score="attune_bench.benchmarks.eqbench3:score",
        row="attune_bench.benchmarks.eqbench3:row",
        comparability_keys={
            "judge_model": "judge",
            "prompt_hash": "instructions",
            "truncate_for_rubric": "truncation of what the judge reads",
            "temperature": "temperature",
            "answer_format": "answer format",
        },
        options=(
            *role_options("judge", "Models that judge the answers.", multiple=True),
            PROMPTS_OPTION,
        ),
        task="attune_bench.benchmarks.eqbench3:TASK",
        pairs="attune_bench.benchmarks.eqbench3:PAIRING",
        limits=(
            "A score is one judge's: another judge gives the same models other scores, and another order.",
            "The messages of the user are fixed, so that a model cannot change the course of a situation.",
            "An answer without the headings that were asked for is judged as empty.",
        ),
    ),
    Benchmark(
        name="eqbench4",
        title="EQ-Bench 4",
        docs="eqbench4.md",
        results="attune_data.kinds:ROLEPLAY",
        cluster="scenario_id",
        score="attune_bench.benchmarks.eqbench4:score",
        row="attune_bench.benchmarks.eqbench4:row",
        comparability_keys={
            "pointwise_judge_model": "judge of the tendencies",
            "persona_model": "model that plays the person",
        },
        options=(
            Option(
                name="index",
                help="For the file of the board: the folder with <slug>/index.json, which says the scenarios.",
                verbs=("score",),
                kind=Path,
            ),
        ),
        limits=(
            "A tendency says how strong something is as one judge sees it; neither more nor less of it is better.",
            "A margin is against a model's neighbours on the board, and says nothing of any other model.",
            "Each model has one role-play of a scenario, so nothing says how much another role-play would differ.",
        ),
    ),
    Benchmark(
        name="comparisons",
        title="Comparisons in pairs",
        docs="comparisons.md",
        results="attune_data.kinds:COMPARISON",
        cluster="cluster",
        score="attune_bench.scores.pairwise:score",
        options=(
            Option(
                name="judges",
                help="Whether each judge has ratings of its own, or all verdicts are pooled; by default each.",
                verbs=("score",),
                values=("each", "pooled"),
            ),
            *_OF_FITS,
        ),
        analyses="attune_bench.benchmarks.comparisons:ANALYSES",
        sections="attune_bench.benchmarks.comparisons:sections",
        limits=(
            "A rating says how often a model wins against these models, by these judges; it is no quality as such.",
            "The judge's preferences, such as for the answer shown first or for long answers, are part of a rating.",
        ),
    ),
    Benchmark(
        name="eqbench3_pairs",
        title="EQ-Bench 3, pairs",
        docs="eqbench3-pairs.md",
        results="attune_data.kinds:VERDICT",
        cluster="story",
        score="attune_bench.benchmarks.eqbench3:score_pairs",
        options=_OF_FITS,
        analyses="attune_bench.benchmarks.eqbench3_pairs:ANALYSES",
        sections="attune_bench.benchmarks.eqbench3_pairs:sections",
        limits=(
            "A rating says how often a model wins against these models, by one judge; it is no quality as such.",
            "New models are judged against their neighbours only, so that a rating rests on those.",
        ),
    ),
    Benchmark(
        name="spiralbench",
        title="Spiral-Bench",
        docs="spiralbench.md",
        results="attune_data.kinds:CHATLOG",
        score="attune_bench.benchmarks.spiralbench:score",
        row="attune_bench.benchmarks.spiralbench:row",
        comparability_keys={
            "user_model": "model that plays the person",
            "prompt_file": "prompts",
            "instruction_file": "instructions of the person",
        },
        limits=(
            "A score is one judge's, and the files do not name the judge.",
            "One model plays the person, and its words differ from one conversation to the next.",
            "Caps and weights are the author's; a part beyond its cap changes the score no more.",
        ),
    ),
)
"""The benchmarks of the library. A benchmark in a folder has its entry there, a benchmark in one file has it here: an
entry names functions and imports none, so that the registry loads fast."""

_BY_NAME = {benchmark.name: benchmark for benchmark in BENCHMARKS}

INSTALLED: EntryPoints[Benchmark] = EntryPoints("attune_bench.benchmarks", Benchmark, _BY_NAME)
"""The benchmarks of installed packages."""


def all_benchmarks() -> Iterator[Benchmark]:
    """Yield the benchmarks of the library, then the benchmarks of installed packages, which are imported only then.

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
