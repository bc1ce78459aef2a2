"""EQ-Bench v2: questions about emotions of characters in dialogues, and models' answers, as its repository has them.

The repository has all questions in one file, by id, and all answers of a model in another, by iteration and question.
Loading takes both apart. A record of an answer has the rest of its file, the settings of the run, under ``run``.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, Strict

from attune_data.collection import record_kind
from attune_data.record import LARGEST, ByKey, Expected, Repeat, SnakeCaseRecord, Text, repeat_suffix
from attune_data.repair import IssueCollector

# The repository has numbers and texts of numbers; both are written back as they were.
_Intensity = Annotated[
    Annotated[int, Strict(), Field(ge=0, le=10)] | Annotated[str, Field(pattern=r"^([0-9]|10)$")],
    Expected("a whole number from 0 to 10, or its text"),
]
_Rated = Annotated[
    Annotated[int, Strict(), Field(ge=0, le=LARGEST)] | Annotated[str, Field(pattern=r"^[0-9]{1,15}$")],
    Expected("a whole number from 0 on, or its text"),
]


class RatedEmotions(SnakeCaseRecord):
    """Four emotions and their intensities."""

    emotion1: str = Field(description="An emotion.")
    emotion2: str = Field(description="Another.")
    emotion3: str = Field(description="Another.")
    emotion4: str = Field(description="Another.")
    emotion1_score: _Intensity = Field(description="Intensity of `emotion1`, 0-10, a number or its text.")
    emotion2_score: _Intensity = Field(description="Intensity of `emotion2`.")
    emotion3_score: _Intensity = Field(description="Intensity of `emotion3`.")
    emotion4_score: _Intensity = Field(description="Intensity of `emotion4`.")


class EQBenchQuestion(SnakeCaseRecord):
    """A question: a dialogue, and four emotions of a character at its end."""

    column_properties: ClassVar[tuple[str, ...]] = ("dialogue",)

    id: str = Field(min_length=1, description="Id of the question; in the repository's file its key.")
    prompt: Text = Field(description="What a model is asked, the whole message.")
    reference_answer_fullscale: RatedEmotions = Field(description="The reference of version 2, each emotion 0-10.")
    synthetic: Annotated[bool, Strict()] = Field(False, description="Whether it is invented for demonstration.")

    @property
    def reference(self) -> dict[str, float]:
        """Intensity by emotion."""
        given = self.reference_answer_fullscale
        return {getattr(given, f"emotion{n}"): float(getattr(given, f"emotion{n}_score")) for n in range(1, 5)}

    @property
    def dialogue(self) -> str:
        """The opening line of its dialogue, which questions on one dialogue share; the id where none is found."""
        before, end, _ = self.prompt.partition("\n[End dialogue]")
        _, _, dialogue = before.partition("\n\n")
        return (dialogue.partition("\n")[0] if end else "") or self.id


class Passes(SnakeCaseRecord):
    """The intensities in an answer."""

    first_pass: ByKey[_Rated] = Field({}, description="Intensity by emotion before the critique.")
    revised: ByKey[_Rated] = Field({}, description="Intensity by emotion after it; empty where none was asked for.")


class EQBenchAnswer(SnakeCaseRecord):
    """A model's answer to a question."""

    question: str = Field(min_length=1, description="Id of the question.")
    model: str = Field(min_length=1, description="The model under test.")
    repeat: Repeat = Field(1, description="Which run it is of, where the model was run several times; from 1.")
    raw_inference: Text = Field("", description="The answer in words.")
    respondent_answers: Passes = Field(description="The intensities that were read from it; these are scored.")
    synthetic: Annotated[bool, Strict()] = Field(False, description="Whether it is invented for demonstration.")

    @property
    def id(self) -> str:
        """``question/model``, and of a further run its number."""
        return f"{self.question}/{self.model}{repeat_suffix(self.repeat)}"


def _check_question(question: EQBenchQuestion, findings: IssueCollector) -> None:
    """Report emotions of the reference that no answer can have."""
    if len(question.reference) < 4 or not question.reference.keys() <= {*re.findall(r"\w+", question.prompt)}:
        message = "expected four different words that the prompt asks about; an answer is read word by word"
        path, found = "$.reference_answer_fullscale", [*question.reference]
        findings.add(path, "unasked-emotion", "warning", found, message, "kept; no answer to it is parseable")


def _check_answer(answer: EQBenchAnswer, findings: IssueCollector) -> None:
    """Report an answer without intensities, and intensities beyond the scale."""
    if not (answer.respondent_answers.first_pass or answer.respondent_answers.revised):
        findings.add("$.respondent_answers", "no-intensities", "note", {}, "nothing was read from the answer", "kept")
    for name in ("first_pass", "revised"):
        for emotion, rated in getattr(answer.respondent_answers, name).items():
            if int(rated) > 10:
                path, message = f"$.respondent_answers.{name}.{emotion}", "the question asks for 0 to 10"
                findings.add(path, "above-scale", "note", rated, message, "kept; scored as it is, as published")


def _questions(file: Mapping[str, Any]) -> list[Any] | None:
    """Return the questions of the repository's file, which has them by id."""
    if not any(isinstance(one, Mapping) and "reference_answer_fullscale" in one for one in file.values()):
        return None
    return [{"id": name, **one} if isinstance(one, Mapping) else one for name, one in file.items()]


def _answers(file: Mapping[str, Any]) -> list[Any] | None:
    """Return the answers of a file of results, by iteration and question."""
    runs = file.get("raw_results")
    about = {name: value for name, value in file.items() if name != "raw_results"}
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for iteration, run in runs.items() if isinstance(runs, Mapping) else ():
        number = int(iteration) if re.fullmatch("[0-9]{1,9}", iteration) else iteration
        for part, by_question in run.items() if isinstance(run, Mapping) else ():
            for question, value in by_question.items() if isinstance(by_question, Mapping) else ():
                told = {"question": question, "model": file.get("model_path"), "repeat": number, "run": about}
                found.setdefault((iteration, question), told)[part] = value
    return [*found.values()] or None


QUESTION = record_kind(
    EQBenchQuestion,
    noun="question",
    plural="questions",
    keys=frozenset(("reference_answer_fullscale",)),
    docs="eqbench.md",
    unpack=_questions,
    check=_check_question,
    demo="eqbench/demo_questions.jsonl",
    cluster="dialogue",
)
ANSWER = record_kind(
    EQBenchAnswer,
    noun="answer",
    plural="answers",
    keys=frozenset(("respondent_answers", "raw_results")),
    docs="eqbench.md",
    unpack=_answers,
    check=_check_answer,
    key=lambda answer: (answer.question, answer.model, answer.repeat),
    identity="question, model and repeat",
    of=lambda answer: answer.question,
    demo="eqbench/demo_answers.jsonl",
)
