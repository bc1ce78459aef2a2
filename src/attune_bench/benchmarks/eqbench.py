"""EQ-Bench v2: how a model is asked, how its answer is read, and how runs are scored.

The unit is the question; questions on one dialogue are a cluster, which the first of them names. A question's value is
its score in the pass that counts for its run, or the mean over several runs.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan, nan

import polars as pl

from attune_bench.runner.calls import Call, message
from attune_bench.runner.task import ModelSettings, Task
from attune_bench.scores.table import ScoreTable
from attune_bench.scores.tables_in import score_table
from attune_data.eqbench import EQBenchAnswer, EQBenchQuestion
from attune_data.issues import Issue
from attune_data.text import plural
from attune_metrics.eqbench import METRICS, EQBenchRun, eqbench_score, score_run, score_runs
from attune_metrics.metric import MetricInputError

_TRIES = 5  # as the published code
# A word without a number is passed over whole: a long one is not tried from each of its letters.
_RATED = re.compile(r"(\w+)(?::\s+([0-9]{1,15})(?![0-9]))?")


def read_answer(text: str) -> dict[str, dict[str, int]]:
    r"""Return the intensities in an answer, by pass and emotion: pairs of a word and a whole number below its heading.

    Examples
    --------
    >>> read_answer("First pass scores:\nSad: 7\nCritique: too much.\nRevised scores:\nSad: 5\n")
    {'first_pass': {'Sad': 7}, 'revised': {'Sad': 5}}
    """
    first, end, _ = text.partition("First pass scores:")[2].partition("Revised scores:")
    parts = {"first_pass": first if end else "", "revised": text.partition("Revised scores:")[2]}
    return {name: {word: int(n) for word, n in _RATED.findall(part) if n} for name, part in parts.items()}


_PASSES = "parseable_passes"


def _parseable_passes(question: EQBenchQuestion, text: str) -> int:
    return sum(given.keys() == question.reference.keys() for given in read_answer(text).values())


def _calls(question: EQBenchQuestion, settings: ModelSettings, answers: Mapping[str, str] | None) -> Sequence[Call]:
    call = Call("answer", settings.model, "model", (message("user", question.prompt),))
    for _ in range(_TRIES - 1):
        if answers is None or call.id not in answers or _parseable_passes(question, answers[call.id]) == 2:
            break
        call = call.again()
    return [call]


def _assemble(question: EQBenchQuestion, answers: Mapping[str, str], settings: ModelSettings) -> EQBenchAnswer:
    """Return the record of the first answer with as many parseable passes as any."""
    text = max((answers[name] for name in sorted(answers)), key=lambda text: _parseable_passes(question, text))
    record = {"question": question.id, "model": settings.model, "raw_inference": text}
    passes = {_PASSES: _parseable_passes(question, text)}
    return EQBenchAnswer.model_validate(record | passes | {"respondent_answers": read_answer(text)})


TASK: Task[EQBenchQuestion, ModelSettings] = Task(
    name="eqbench",
    calls=_calls,
    assemble=_assemble,
    unit="question",
    fields=lambda _, settings, source: {**settings.provenance(), "provider": source.providers["model"]},
    tries=lambda _: _TRIES,
    # Results of an earlier version do not count their passes.
    answers_read=lambda answer: [bool(answer.get(_PASSES, any(answer["respondent_answers"].values())))],
)
"""One call a question; an answer with an unparseable pass is asked for again, up to five calls in all."""


def row(answer: EQBenchAnswer) -> tuple[str, None, str]:
    """Return the model, no condition, and the question of an answer: its row in the scores."""
    return answer.model, None, answer.question


def score(
    questions: Iterable[EQBenchQuestion],
    answers: Iterable[EQBenchAnswer],
    *,
    progress: Callable[[int], object] | None = None,
) -> ScoreTable:
    """Score answers by the protocol ``repository``.

    Parameters
    ----------
    questions : iterable of EQBenchQuestion
        All questions of the benchmark: a model fails with parseable answers to fewer than 83% of them.
    answers : iterable of EQBenchAnswer
        Answers of any number of models and runs. Answers to other questions are left out, and a note says so.
    progress : callable, optional
        Called with the number of answers scored.

    Returns
    -------
    ScoreTable
        The metrics ``eqbench_score, eqbench_first_pass, eqbench_revised`` and ``eqbench_parseable``. The first three
        are null for an unparseable answer, and for every question of a model that failed; an issue and a note name the
        model.

    Raises
    ------
    MetricInputError
        Where no answer is to one of the questions, or two answers have the same question, model and run.
    """
    known = {question.id: question for question in questions}
    held = list(answers)
    runs: dict[tuple[str, int], dict[str, EQBenchAnswer]] = {}
    for answer in (one for one in held if one.question in known):
        run = runs.setdefault((answer.model, answer.repeat), {})
        if run.setdefault(answer.question, answer) is not answer:
            raise MetricInputError(f"two answers to question {answer.question!r} in one run of {answer.model!r}")
    if not runs:
        raise MetricInputError(f"none of {plural(len(held), 'answer')} is to one of {plural(len(known), 'question')}")
    openings: dict[str, str] = {}
    clusters = {name: openings.setdefault(question.dialogue, name) for name, question in known.items()}
    results: dict[str, list[EQBenchRun]] = {}
    rows: list[tuple[str | float, ...]] = []
    for (model, repeat), given in sorted(runs.items()):
        passes = {name: _passes(known[name], answer) for name, answer in given.items()}
        run_score = score_run(*zip(*passes.values(), strict=True))
        results.setdefault(model, []).append(run_score)
        for name, (first, revised) in passes.items():
            counting = revised if run_score.counts == "revised" else first
            values = (counting, first, revised, float(not isnan(counting)))
            rows.append((model, name, clusters[name], str(repeat), *values))
    published = {model: score_runs(of_model, len(known)) for model, of_model in results.items()}
    failed = [model for model, value in published.items() if isnan(value)]
    names, metrics = ["model", "unit", "cluster", "repeat"], {metric.name: metric for metric in METRICS}
    wide = pl.DataFrame(rows, schema=[*names, *metrics], orient="row")
    wide = wide.with_columns(pl.when(~pl.col("model").is_in(failed)).then(pl.col([*metrics][:3])))
    is_repeated = any(len(of_model) > 1 for of_model in results.values())
    scores = score_table(
        wide.unpivot([*metrics], index=names if is_repeated else names[:3], variable_name="metric"),
        metrics=metrics,
        about={"unit": "question", "cluster": "dialogue", "primary": METRICS[0].name},
    )
    if progress:
        progress(len(held))
    chosen = [run.counts for of_model in results.values() for run in of_model]
    notes = [f"The revised pass counts in {chosen.count('revised')} of {plural(len(chosen), 'run')}, else the first."]
    if is_repeated:
        told = {model: "failed" if model in failed else f"{value:.2f}" for model, value in published.items()}
        means = ", ".join(f"{model} {value}" for model, value in told.items())
        notes.append(f"Means of the runs, as published, in which each run counts once: {means}.")
    if elsewhere := len(held) - len(rows):
        notes.append(f"Left out: {plural(elsewhere, 'answer')} to questions that are not in the data.")
    issues = []
    for model in failed:
        found = " and ".join(str(run.parseable) for run in results[model])
        message = f"{found} of {len(known)} questions have a parseable answer, fewer than 83%"
        issues.append(Issue(model, "$", "failed-benchmark", "error", found, message, "no score"))
        notes.append(f"Failed: {model}; {message}.")
    about = {"protocol": "repository", "expected": len(known), "issues": tuple(issues)}
    return replace(scores, provenance=scores.note(*notes).provenance.model_copy(update=about))


def _passes(question: EQBenchQuestion, answer: EQBenchAnswer) -> tuple[float, float]:
    """Return the scores of both passes of an answer, nan where one is not parseable."""
    given = answer.respondent_answers
    return _value(question.reference, given.first_pass), _value(question.reference, given.revised)


def _value(reference: Mapping[str, float], given: Mapping[str, int | str]) -> float:
    if given.keys() != reference.keys() or len(reference) != 4:
        return nan
    return eqbench_score(reference, {name: float(rated) for name, rated in given.items()})
