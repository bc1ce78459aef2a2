"""EmoBench: questions on emotional understanding (EU) and application (EA), and what models answered to them.

A question is asked in two languages; both records, in every order of their choices, are one scenario.
"""

from typing import ClassVar, Literal

from pydantic import Field

from attune_data.collection import record_kind
from attune_data.record import ByKey, Items, SnakeCaseRecord
from attune_data.repair import IssueCollector

LETTERS = "ABCDEFG"
Letter = Literal["A", "B", "C", "D", "E", "F", "G"]
Part = Literal["answer", "emotion", "cause"]
Understanding = Literal["complex_emotions", "emotional_cues", "personal_beliefs_and_experiences", "perspective_taking"]
Application = Literal["Personal-Others", "Personal-Self", "Social-Others", "Social-Self"]


class EmoBenchItem(SnakeCaseRecord):
    """One item of EmoBench in one language, as its authors publish it; one of EU has no field of EA, nor the reverse.

    Examples
    --------
    >>> item = EmoBenchItem(qid="1", language="en", scenario="Rain.", subject="I", choices=["Go", "Stay"], label="Go")
    >>> item.id, item.questions
    ('EA/1/en', {'answer': (('Go', 'Stay'), 'Go')})
    """

    column_properties: ClassVar[tuple[str, ...]] = ("task", "scenario_id")

    qid: str = Field(min_length=1, description="Number of the item in its task, the same in both languages.")
    language: Literal["en", "zh"] = Field(description="Language of the texts.")
    coarse_category: Understanding | None = Field(None, description="EU: what has to be understood.")
    finegrained_category: str | None = Field(None, description="EU: the same in more detail.")
    category: Application | None = Field(None, description="EA: the relationship, and whose problem it is.")
    question_type: Literal["Action", "Response"] | None = Field(
        None, alias="question type", description="EA: whether something is done or said."
    )
    scenario: str = Field(min_length=1, description="What happened.")
    subject: str = Field(min_length=1, description="Who is asked about.")
    emotion_choices: Items[str] = Field((), description="EU: what the subject may feel.")
    emotion_label: str | None = Field(None, description="EU: the right one of these.")
    cause_choices: Items[str] = Field((), description="EU: why the subject may feel it.")
    cause_label: str | None = Field(None, description="EU: the right one of these.")
    choices: Items[str] = Field((), description="EA: what the subject may do or say.")
    label: str | None = Field(None, description="EA: the most effective of these.")

    @property
    def task(self) -> Literal["EU", "EA"]:
        """Emotional understanding, ``EU``, or application, ``EA``."""
        return "EA" if self.choices else "EU"

    @property
    def scenario_id(self) -> str:
        """Task and number: what the two languages of an item share."""
        return f"{self.task}/{self.qid}"

    @property
    def id(self) -> str:
        """Task, number and language."""
        return f"{self.scenario_id}/{self.language}"

    @property
    def questions(self) -> dict[Part, tuple[tuple[str, ...], str | None]]:
        """The choices and the right one of each part: ``emotion`` and ``cause`` of EU, ``answer`` of EA."""
        if self.task == "EA":
            return {"answer": (self.choices, self.label)}
        return {"emotion": (self.emotion_choices, self.emotion_label), "cause": (self.cause_choices, self.cause_label)}

    @property
    def fault(self) -> str:
        """Why the item can neither be asked nor scored; empty where it can."""
        wrong = [part for part, (found, one) in self.questions.items() if found.count(one) != 1 or len(found) > 7]
        return f"not one right choice of A to G: {', '.join(wrong)}" if wrong else ""


class EmoBenchAnswer(SnakeCaseRecord):
    """What a model answered to an item with its choices in one order."""

    shown: ByKey[str] = Field(
        {},
        description="By part the choices as shown, each as the letter of its place in the item, such as `CADB`; a part "
        "is absent where they were in the item's own order.",
    )
    predictions: ByKey[tuple[Letter | None, ...]] = Field(
        description="By part (`emotion` and `cause` of EU, `answer` of EA) the letter that each sample named as shown, "
        "or null for an answer that cannot be read."
    )


class EmoBenchPrediction(SnakeCaseRecord):
    """What one model answered to one item, in every order of its choices and every sample."""

    item: str = Field(min_length=1, description="Id of the item: task, number and language, such as `EU/12/en`.")
    model: str = Field(min_length=1, description="The model.")
    condition: Literal["plain", "reasoning"] = Field(
        "plain", description="Whether the model was asked to reason before it answers."
    )
    answers: Items[EmoBenchAnswer] = Field(description="What it answered, by order.")

    @property
    def id(self) -> str:
        """Item, model and condition."""
        return f"{self.item}/{self.model}/{self.condition}"


def _check_item(item: EmoBenchItem, findings: IssueCollector) -> None:
    counts = {"emotion": (6,), "cause": (4, 6, 7), "answer": (4,)}
    for part, (choices, label) in item.questions.items():
        prefix, found = "" if part == "answer" else f"{part}_", choices.count(label)
        if len(choices) not in counts[part]:
            message = f"{len(choices)} choices; expected {' or '.join(map(str, counts[part]))}"
            findings.add(f"$.{prefix}choices", "number-of-choices", "warning", list(choices), message, "kept as it is")
        if found != 1:
            message = f"found {found} times among the choices; is it spelt as there?"
            findings.add(f"$.{prefix}label", "label-not-a-choice", "warning", label, message, "kept; not scored")


def _check_prediction(prediction: EmoBenchPrediction, findings: IssueCollector) -> None:
    expected = ["answer"] if prediction.item.startswith("EA/") else ["cause", "emotion"]
    for place, answer in enumerate(prediction.answers or [EmoBenchAnswer(predictions={})]):
        path, parts = f"$.answers[{place}]", sorted(part for part, samples in answer.predictions.items() if samples)
        if parts != expected:
            message = f"expected predictions of {' and '.join(expected)}"
            findings.add(f"{path}.predictions", "parts-of-answer", "warning", parts, message, "not scored")
        for part, shown in answer.shown.items():
            if sorted(shown) != list(LETTERS[: len(shown)]):
                message = "expected each letter from A on once, such as CADB"
                findings.add(f"{path}.shown.{part}", "order-of-choices", "warning", shown, message, "not scored")


ITEM = record_kind(
    EmoBenchItem,
    noun="item",
    plural="items",
    keys=frozenset(("emotion_choices", "question type")),
    docs="emobench.md",
    check=_check_item,
    cluster="scenario_id",
    demo="emobench/demo_items.jsonl",
)

PREDICTION = record_kind(
    EmoBenchPrediction,
    noun="prediction",
    plural="predictions",
    keys=frozenset(("answers",)),
    docs="emobench.md",
    check=_check_prediction,
    of=lambda prediction: prediction.item,
    demo="emobench/demo_predictions.jsonl.bz2",
)
