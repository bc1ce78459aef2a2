"""EmoBench: questions on emotions with lettered choices, answered in several orders of these and several times."""

from attune_bench.scores.benchmark import PROMPTS_OPTION, Benchmark, Option

_ROOM = "attune_bench.benchmarks.emobench.evaluation"

BENCHMARK = Benchmark(
    name="emobench",
    title="EmoBench",
    docs="emobench.md",
    data="attune_data.kinds:ITEM",
    results="attune_data.kinds:PREDICTION",
    cluster="scenario_id",
    score=f"{_ROOM}:score",
    row=f"{_ROOM}:row",
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
        Option(name="orders", help="In how many orders the choices are shown; by default 4.", verbs=("run",), kind=int),
        Option(name="samples_per_order", help="How often it is asked; by default 5.", verbs=("run",), kind=int),
        Option(name="shuffle", help="The seed of the orders; by default 0.", verbs=("run",), kind=int),
        PROMPTS_OPTION,
    ),
    task=f"{_ROOM}:TASK",
    baselines=f"{_ROOM}:BASELINES",
    analyses=f"{_ROOM}:ANALYSES",
    limits=("The right choice is the one that annotators agreed on; others may have good reasons for another.",),
)
