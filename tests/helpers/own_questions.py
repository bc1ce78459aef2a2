"""A benchmark of somebody else's, whose results are no dialogues, and entries of it that lack something."""

from typing import Any, Literal

import polars as pl

from attune_bench import Benchmark, Scores
from attune_data import Collection, Kind
from attune_data.record import Record
from attune_metrics import Metric

__all__ = ["Answer", "Answers", "Question", "Questions"]


class Question(Record):
    id: str
    text: str
    kinder: Literal["first", "second"]


class Answer(Record):
    question: str
    model: str
    choice: str

    @property
    def id(self) -> str:
        return f"{self.question}/{self.model}"


class Questions(Collection[Question]):
    @property
    def kind(self) -> Kind[Question, "Questions"]:
        return QUESTION


class Answers(Collection[Answer]):
    @property
    def kind(self) -> Kind[Answer, "Answers"]:
        return ANSWER


QUESTION: Kind[Question, Questions] = Kind(
    noun="question", plural="questions", model=Question, collection=Questions, keys=frozenset(["kinder"])
)
ANSWER: Kind[Answer, Answers] = Kind(
    noun="answer", plural="answers", model=Answer, collection=Answers, keys=frozenset(["choice"])
)
METRICS = {
    "hit": Metric(name="hit", label="Hit rate", low=0, high=1, statistic="share"),
    "answered": Metric(name="answered", label="Answered", low=0, high=1, higher_is_better=None),
}


def score_answers(questions: Any, answers: Any, *, progress: Any = None) -> Scores:  # noqa: ARG001 - of every scoring
    kinder = {question.id: question.kinder for question in questions}
    rows = [(one.model, one.question, "hit", float(one.choice == kinder[one.question])) for one in answers]
    rows += [(one.model, one.question, "answered", 1.0) for one in answers]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    return Scores.from_table(frame, metrics=METRICS, about={"unit": "question"})


def score_alone(answers: Any, *, progress: Any = None) -> Scores:
    questions = [Question(id=one.question, text="", kinder="first") for one in answers]
    return score_answers(questions, answers, progress=progress)


def row(answer: Answer) -> tuple[str, None, str]:
    return answer.model, None, answer.question


ABOUT: Any = {"name": "kinder", "title": "Kinder", "results": ANSWER, "row": row}
BENCHMARK = Benchmark(**ABOUT, data=QUESTION, score=score_answers)
WITHOUT_DATA = Benchmark(**ABOUT, score=score_alone)
WITHOUT_ROW = Benchmark(**{**ABOUT, "row": None}, data=QUESTION, score=score_answers)
OTHER_ROW = Benchmark(**{**ABOUT, "row": lambda one: (one.model, "mode", one.id)}, score=score_alone)
