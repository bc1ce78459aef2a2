"""The file of a study: what the researcher asks people, in TOML; a mistake is told with its place and value."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BeforeValidator, Field, Strict, ValidationInfo, model_validator

from attune_bench.runner.calls import Decoding, Provider
from attune_bench.runner.cost import Price
from attune_data import load_codebook
from attune_data.attunebench.profile import instruments
from attune_data.attunebench.records import Demographics
from attune_data.codebook import (
    ABSENT,
    CodebookError,
    Entry,
    Finding,
    Items,
    Named,
    Number,
    Text,
    read_toml,
    refuse,
    unknown,
)
from attune_data.licences import find_licence, licences
from attune_data.text import did_you_mean

EXAMPLE = Path(__file__).with_name("study.toml")
"""The file of a study that the demo uses, from which a study of one's own can begin."""

Language = Literal["en", "de", "zh"]
_MANY = ("work_edu_background", "diagnoses")  # Demographics with several answers.
_NO_DIAGNOSIS = "None of the above"
_ATTITUDES = ("Excited/Optimistic", "Anxious/Worried", "Sad/Discouraged", "Frustrated/Angry", "Mixed/Conflicted")
_GRADES = frozenset(
    "never rarely seldom sometimes often always very slightly somewhat extremely agree disagree".split()
)
COMPARED = 3  # questions beside the general one


def _is_english(text: str) -> bool:
    return not _GRADES.isdisjoint(text.lower().split())


def _by_language(value: Any, info: ValidationInfo) -> Any:
    """Return a text in every language of the study; a text without languages is the same in all."""
    languages = [str(one) for one in (info.context or {}).get("languages", ())]
    if isinstance(value, str):
        return dict.fromkeys(languages, value)
    if isinstance(value, dict):
        missing = "the study has this language, and the text is missing"
        findings: list[Finding] = [((one,), ABSENT, missing) for one in languages if one not in value]
        findings += [((one,), value[one], unknown("language", one, languages)) for one in value if one not in languages]
        refuse(findings)
    return value


Words = Annotated[Named[Text], BeforeValidator(_by_language)]
"""A text that people read: one for all languages, or a table of the languages."""

Amount = Annotated[Number, Field(gt=0)]
Count = Annotated[int, Field(ge=1, le=50)]


def _of_codebook(table: str) -> AfterValidator:
    def check(names: tuple[str, ...]) -> tuple[str, ...]:
        known = [name for name, one in getattr(load_codebook(), table).items() if one.text and name != "general"]
        refuse(
            ((place,), name, f"no question of the codebook with a text; {did_you_mean(name, known)}")
            for place, name in enumerate(names)
            if name not in known
        )
        return names

    return AfterValidator(check)


def _known_licence(name: str) -> str:
    if find_licence(name) is None:
        refuse([((), name, f"unknown licence; {did_you_mean(name, licences())}")])
    return name


class Model(Entry):
    """A model that is asked, and where; its key comes from the environment."""

    provider: Literal[get_args(Provider)] = Field(description="Who serves the model, as for ``run``.")  # type: ignore[valid-type]
    name: Text = Field(description="The name by which the server knows the model; people never see it.")
    base_url: Text | None = Field(None, description="The address of an OpenAI-compatible server.")
    instruction: Text | None = Field(None, description="What the model is told before the conversation.")
    temperature: Number | None = Field(None, description="By default the server's own.")
    max_tokens: Annotated[int, Field(ge=1)] = Field(1000, description="The most tokens of an answer.")
    timeout: Amount = Field(60, description="Seconds for one try of a call.")
    input: Number | None = Field(None, ge=0, description="US dollars for a million tokens of prompts.")
    output: Number | None = Field(None, ge=0, description="US dollars for a million tokens of answers.")

    @property
    def decoding(self) -> Decoding:
        """How answers are decoded."""
        return Decoding(self.temperature, None, self.max_tokens)

    @property
    def prices(self) -> dict[str, Price]:
        """The price by the name of the model; empty where none is given."""
        known = self.input is not None and self.output is not None
        return {self.name: Price(float(self.input or 0), float(self.output or 0))} if known else {}


class Limits(Entry):
    """The most that models may cost, in US dollars; a limit may be raised while a study runs."""

    person: Amount = Field(description="For each person.")
    study: Amount = Field(description="For all people together.")


class Talk(Entry):
    """The conversation that people have."""

    lead: Words = Field(description="What people are asked to talk about, and how.")
    minimum: Count = Field(3, description="The fewest messages of a person.")
    maximum: Count = Field(8, description="The most messages of a person.")
    topics: Named[Items[Text]] = Field(description="The subtopics of each category, as the data name them.")
    attitudes: Items[Text] = Field(_ATTITUDES, min_length=2, description="How people may feel about their topic.")

    @model_validator(mode="after")
    def _can_be_had(self) -> Self:
        found: list[Finding] = [
            ((("topics"), name), list(one), "no subtopic") for name, one in self.topics.items() if not one
        ]
        if not self.topics:
            found.append((("topics",), {}, "no topic; expected CATEGORY = [SUBTOPICS]"))
        if self.maximum < self.minimum:
            found.append((("maximum",), self.maximum, f"below the minimum, {self.minimum}"))
        refuse(found)
        return self


class Annotation(Entry):
    """Which questions of the codebook are asked about each turn."""

    binary: Annotated[Items[Text], _of_codebook("binary")] = Field(
        tuple(name for name, one in load_codebook().binary.items() if not one.extended),
        min_length=1,
        description="The yes/no questions; by default the 20 core questions.",
    )
    pairwise: Annotated[Items[Text], _of_codebook("pairwise")] = Field(
        tuple(name for name, one in load_codebook().pairwise.items() if one.text and name != "general"),
        min_length=COMPARED,
        description="Three of these questions are drawn for each turn, beside the general question; by default of all.",
    )

    def by_category(self) -> dict[str, list[str]]:
        """Return the yes/no questions by their category, which are asked on one page."""
        found: dict[str, list[str]] = {}
        for name in self.binary:
            found.setdefault(load_codebook().binary[name].category, []).append(name)
        return found


class Question(Entry):
    """A question about the person; no answer is an answer."""

    question: Words = Field(description="The question.")
    options: Items[Text] = Field(min_length=2, description="The options, as the data name them.")


class Item(Entry):
    """An item of a questionnaire."""

    text: Words = Field(description="The item, from a form that you may use.")
    score: Text | None = Field(None, description="The score that it counts for; by default the questionnaire's name.")
    scores: tuple[Number, ...] | None = Field(
        None, strict=False, description="The score of each option, where it differs from the questionnaire's."
    )


class Questionnaire(Entry):
    """A questionnaire of the researcher's own; each score is the sum of its items."""

    title: Words = Field(description="What people read above it.")
    lead: Words | None = Field(None, description="The instruction.")
    options: tuple[Words, ...] = Field(strict=False, min_length=2, description="The options of every item.")
    scores: tuple[Number, ...] = Field(strict=False, description="The score of each option.")
    items: tuple[Item, ...] = Field(strict=False, min_length=1, description="The items in order.")
    t_scores: Named[Annotated[tuple[Number, ...], Strict(False)]] = Field(
        Named({}), description="By the name of a T-score, its values for each sum from the lowest to the highest."
    )

    def computed(self, name: str, chosen: Mapping[int, int]) -> dict[str, float]:
        """Return the scores whose items are all answered.

        Parameters
        ----------
        name : str
            The name of the questionnaire.
        chosen : mapping of int to int
            The position of the chosen option, by the position of the item.
        """
        sums: dict[str, float] = {}
        open_scores = {self.score_of(name, place) for place in range(len(self.items)) if place not in chosen}
        for place, option in chosen.items():
            of = self.score_of(name, place)
            if of not in open_scores:
                sums[of] = sums.get(of, 0) + (self.items[place].scores or self.scores)[option]
        for of, values in self.t_scores.items():
            if (raw := sums.get(of.removesuffix("_t"))) is not None:
                sums[of] = values[round(raw - self.limits(name)[of.removesuffix("_t")][0])]
        return sums

    def score_of(self, name: str, place: int) -> str:
        """Return the score that an item counts for."""
        return self.items[place].score or name

    def limits(self, name: str) -> dict[str, tuple[float, float]]:
        """Return the lowest and the highest possible sum of each score."""
        found: dict[str, tuple[float, float]] = {}
        for place, item in enumerate(self.items):
            low, high = found.get(self.score_of(name, place), (0, 0))
            scores = item.scores or self.scores
            found[self.score_of(name, place)] = low + min(scores), high + max(scores)
        return found

    def mistakes(self, name: str) -> list[Finding]:
        """Return what cannot be scored, or is not scored as the codebook's instrument of the same name."""
        own = [(("items", place, "scores"), one.scores) for place, one in enumerate(self.items)]
        count = len(self.options)
        found: list[Finding] = [
            (place, list(scores), f"expected one for each of {count} options")
            for place, scores in [(("scores",), self.scores), *own]
            if scores is not None and len(scores) != count
        ]
        if found:
            return found
        limits = self.limits(name)
        for of, (low, high) in limits.items():
            known = instruments.get(of) if of in instruments else None
            if known and (low, high) != (known.low, known.high):
                said = f"{of} would be {low:g} to {high:g}, and {known.title} is {known.low:g} to {known.high:g}"
                found.append((("items",), len(self.items), f"{said}; are all items there, with the right scores?"))
        for of, values in self.t_scores.items():
            raw = of.removesuffix("_t")
            if raw == of or raw not in limits:
                found.append((("t_scores", of), list(values), "expected the name of a score here with _t at its end"))
            elif len(values) != (count := round(limits[raw][1] - limits[raw][0]) + 1):
                found.append((("t_scores", of), len(values), f"expected {count} values, one for each sum"))
        return found


class Exercise(Entry):
    """A comprehension check, or a training item: a question with a right answer."""

    text: Words = Field(description="What the question is about.")
    question: Words = Field(description="The question.")
    options: Items[Text] = Field(min_length=2, description="The options.")
    right: Text = Field(description="The right option.")
    explanation: Words = Field(description="Why it is right.")
    check: bool = Field(False, description="Whether only the right answer lets people go on.")
    before: Literal["conversation", "annotation"] = Field("annotation", description="What it comes before.")

    @model_validator(mode="after")
    def _right_is_an_option(self) -> Self:
        if self.right not in self.options:
            refuse([(("right",), self.right, f"not in options; {did_you_mean(self.right, self.options)}")])
        return self


class Study(Entry):
    """A study: what people are asked, which model they talk with, and what that may cost."""

    title: Words = Field(description="What pages call the study.")
    languages: Items[Language] = Field(min_length=1, description="The languages of the study, the default first.")
    licence: Annotated[Text, AfterValidator(_known_licence)] = Field(
        description="What the data are published under, as the consent says."
    )
    consent: Words = Field(description="What people consent to; the ethics board's text.")
    conversation: Talk = Field(description="The conversation.")
    model: Model = Field(description="The model that people talk with.")
    improving_model: Model | None = Field(
        None, description="The model that improves responses; by default the model that people talk with."
    )
    limits: Limits | None = Field(None, description="The most that models may cost; needs their prices.")
    annotation: Annotation = Field(Annotation(), description="What is asked about each turn.")
    participant: Named[Question] = Field(
        Named({}), description="Questions about the person, by their field in the data."
    )
    questionnaires: Named[Questionnaire] = Field(Named({}), description="Questionnaires, by the name of their score.")
    exercises: tuple[Exercise, ...] = Field((), strict=False, description="Comprehension checks and training items.")
    words: Named[Named[Text]] = Field(Named({}), description="By language, what people read for a value of the data.")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        known = tuple(Demographics.model_fields)
        found: list[Finding] = [
            (("participant", name), ABSENT, unknown("field", name, known))
            for name in self.participant
            if name not in known
        ]
        diagnoses = self.participant.get("diagnoses") if "diagnoses" in self.participant else None
        if diagnoses and _NO_DIAGNOSIS not in diagnoses.options:
            said = f"lacks {_NO_DIAGNOSIS!r}, by which data say that there is none"
            found.append((("participant", "diagnoses", "options"), list(diagnoses.options), said))
        for name, questionnaire in self.questionnaires.items():
            found += [
                (("questionnaires", name, *place), value, said) for place, value, said in questionnaire.mistakes(name)
            ]
        if self.limits and not all(one.prices for one in (self.model, self.improving)):
            found.append((("limits",), self.limits.model_dump(), "needs input and output, the prices, of each model"))
        refuse(found)
        return self

    @property
    def improving(self) -> Model:
        """The model that improves responses."""
        return self.improving_model or self.model

    def asked(self) -> str:
        """Return what the file says of the questions and the model as JSON: both stay the same while a study runs.

        What the file leaves to a default is not in it, so that a later version with another default goes on.
        """
        served = {*Model.model_fields} - {"name", "instruction"}
        left_out: Any = {"limits": True, "model": served, "improving_model": served}
        return self.model_dump_json(exclude=left_out, exclude_unset=True)

    def untranslated(self) -> dict[str, list[str]]:
        """Return by language the values of the data that people read in English for want of other words."""
        asked: list[Question | Exercise] = [*self.participant.values(), *self.exercises]
        values = [
            *self.conversation.topics,
            *(subtopic for subtopics in self.conversation.topics.values() for subtopic in subtopics),
            *self.conversation.attitudes,
            *(option for one in asked for option in one.options),
        ]
        words = [value for value in dict.fromkeys(values) if any(map(str.isalpha, value))]
        found = {
            language: [value for value in words if value not in self.words.get(language, {})]
            for language in self.languages
            if language != "en"
        }
        return {language: values for language, values in found.items() if values}

    def in_english(self) -> dict[str, list[str]]:
        """Return by language the options and items of questionnaires that people read in English all the same.

        They are equal in English and in the language, or have a word by which answers in English are graded.
        """
        texts = [
            text
            for one in self.questionnaires.values()
            for text in (*one.options, *(item.text for item in one.items))
            if any(map(str.isalpha, text[self.languages[0]]))
        ]
        found = {
            language: [
                text[language] for text in texts if text[language] == text.get("en") or _is_english(text[language])
            ]
            for language in self.languages
            if language != "en"
        }
        return {language: [*dict.fromkeys(values)] for language, values in found.items() if values}

    def shown(self, value: str, language: str) -> str:
        """Return what people read for a value of the data."""
        return self.words[language].get(value, value) if language in self.words else value

    @staticmethod
    def takes_many(name: str) -> bool:
        """Tell whether several options of a question about the person may apply."""
        return name in _MANY


def read_study(path: Path) -> Study:
    """Read the file of a study.

    Raises
    ------
    CodebookError
        The file cannot be read, is not TOML or has mistakes, each of which is told with its place and value.
    """
    try:
        return read_toml(path, Study)
    except OSError as error:
        raise CodebookError(f"{path}: the study cannot be read: {error.strerror or error}") from None
