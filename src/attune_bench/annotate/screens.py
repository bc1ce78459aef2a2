"""What people are asked: screens of fields, and how the fields of a submitted form are read."""

import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from attune_bench.annotate import LOG
from attune_bench.annotate.store import Person, Store, Value
from attune_bench.annotate.texts import Texts

Form = Mapping[str, Sequence[str]]
"""What a browser submits: every value of every name."""


Send = Callable[[Form], AsyncIterator[str]]
"""What the button ``send`` does: yields, again and again, all of a text that has come so far; may raise `SendError`."""


class SendError(Exception):
    """Why nothing came of the button ``send``; the text is the key of a sentence in the texts."""


IMPOSSIBLE = frozenset({"not_an_option", "too_long"})
"""Sentences about values that no field can have; nothing is saved with such a value."""


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")  # all but tabs and line breaks


class FieldError(ValueError):
    """A submitted value that the field cannot have; the text is the key of a sentence in the texts."""


@dataclass(frozen=True, slots=True)
class Option:
    """One of the options of a field: what is stored, and what a person reads."""

    value: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A choice among options.

    Attributes
    ----------
    name : str
        The key of the answer.
    label : str
        The question; the field is called by it for screen readers.
    options : tuple of Option
        In the order in which they are shown.
    multiple : bool
        Whether several may be chosen; the answer is then a list, in the order of the options.
    required : bool
        Whether the screen is not done without it.
    is_scale : bool
        Whether the options are steps from `low` to `high`, shown in a row.
    low, high : str
        What the first and the last step mean.
    """

    name: str
    label: str
    options: tuple[Option, ...]
    multiple: bool = False
    required: bool = True
    is_scale: bool = False
    low: str = ""
    high: str = ""
    kind: str = field(default="choice", init=False)

    @classmethod
    def of_steps(cls, name: str, label: str, steps: int, *, low: str, high: str) -> "Choice":
        """Return the choice of a step of a scale, from 1 to `steps`; the arguments are as of the class."""
        options = tuple(Option(str(step), str(step)) for step in range(1, steps + 1))
        return cls(name=name, label=label, options=options, is_scale=True, low=low, high=high)

    def read(self, form: Form) -> Any:
        """Return the chosen value, a list of them, or None where nothing was chosen."""
        given = [value for value in form.get(self.name, ()) if value]
        if not {*given} <= {option.value for option in self.options} or (len(given) > 1 and not self.multiple):
            raise FieldError("not_an_option")
        chosen = [option.value for option in self.options if option.value in given]
        return chosen if self.multiple and chosen else next(iter(chosen), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tags:
    """Words that apply, each with an intensity or without; the answer is an object of intensities by word.

    Attributes
    ----------
    name, label : str
        As of `Choice`.
    options : tuple of Option
        The words.
    highest : int
        The highest intensity; the lowest is 1.
    low, high : str
        What the lowest and the highest intensity mean.
    """

    name: str
    label: str
    options: tuple[Option, ...]
    highest: int
    low: str = ""
    high: str = ""
    required: bool = field(default=False, init=False)  # No word at all is an answer.
    kind: str = field(default="tags", init=False)

    def read(self, form: Form) -> dict[str, int | None]:
        """Return the intensity of each word that applies, None where a word applies without one."""
        steps = {"": "", "felt": None, **{str(step): step for step in range(1, self.highest + 1)}}
        found: dict[str, int | None] = {}
        for option in self.options:
            said = form.get(f"{self.name}.{option.value}", [""])[0]
            if said not in steps:
                raise FieldError("not_an_option")
            if said:
                found[option.value] = int(said) if said != "felt" else None
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text of at most `most` characters; the field has the text `start` until the person saves another."""

    name: str
    label: str
    most: int
    rows: int = 4
    required: bool = True
    start: str = ""
    kind: str = field(default="text", init=False)

    def read(self, form: Form) -> str | None:
        """Return the text without control characters and white space around it, None where nothing was written."""
        said = _CONTROLS.sub("", form.get(self.name, [""])[0].replace("\r\n", "\n")).strip()
        if len(said) > self.most:
            raise FieldError("too_long")
        return said or None


Field = Choice | Tags | Text


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the conversation that a screen shows beside its questions."""

    speaker: str
    text: str
    is_person: bool = False
    is_asked: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that the questions of a screen are about, such as one of two responses."""

    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What one page asks.

    Attributes
    ----------
    key : str
        By which the answer is stored; it never changes for one person, whatever else the person answers.
    title, lead : str
        The heading, and what stands below it.
    fields : tuple of Field
        The questions; none for a page that is only read.
    talk : tuple of Said
        The conversation beside the questions.
    passages : tuple of Passage
        Texts that the questions are about.
    keeps : mapping
        What is stored beside the values of the fields.
    expected : mapping
        The right value of fields of an exercise. A wrong answer is told with `explanation`.
    is_check : bool
        Whether only the right answer lets the person go on.
    unit : str
        What is annotated: answers of several people about one unit are compared. Empty for something of the person's.
    is_swapped : bool
        Whether the two sides of a comparison are swapped for this person, so that options are compared in reverse.
    refusal : mapping
        Values with which the person refuses to take part: they are not saved, and what was saved before is deleted.
    page : str
        The template.
    given : mapping
        What the template is given besides.
    send : callable, optional
        What the job does by the button ``send`` of its template, such as asking a model.
    waits : str
        The sentence that says what has to come before the person can go on; empty for nothing.
    fixed : str
        The sentence that says why the answer is kept as it is; empty where it can be changed.
    is_end : bool
        Whether a result may be finished with this screen; when the person goes on, results are written.
    more : int
        How many further screens there may be at most beside those that there are, as far as this screen tells.
    """

    key: str
    title: str
    fields: tuple[Field, ...] = ()
    lead: str = ""
    talk: tuple[Said, ...] = ()
    passages: tuple[Passage, ...] = ()
    keeps: Mapping[str, Any] = field(default_factory=dict)
    expected: Mapping[str, Any] = field(default_factory=dict)
    explanation: str = ""
    is_check: bool = False
    unit: str = ""
    is_swapped: bool = False
    refusal: Mapping[str, Any] = field(default_factory=dict)
    page: str = "screen.html"
    given: Mapping[str, Any] = field(default_factory=dict)
    send: Send | None = None
    waits: str = ""
    fixed: str = ""
    is_end: bool = False
    more: int = 0

    @property
    def can_change(self) -> bool:
        """Whether there is an answer, and it can be changed."""
        return bool(self.fields) and not self.fixed

    def read(self, form: Form) -> tuple[Value, dict[str, str]]:
        """Read a submitted form.

        Parameters
        ----------
        form : mapping of str to sequence of str
            What was submitted; names that are no field are passed over.

        Returns
        -------
        value : dict
            The values that are right in form.
        problems : dict of str to str
            By the name of a field the key of the sentence that says what is wrong: ``not_an_option``, ``too_long``,
            or ``unanswered`` where a field is required; under the name ``waits`` what has to come before.
        """
        value: Value = dict(self.keeps)
        problems = {"waits": self.waits} if self.waits else {}
        for one in self.fields if self.can_change else ():
            try:
                said = one.read(form)
            except FieldError as error:
                problems[one.name] = str(error)
                continue
            if said is not None:
                value[one.name] = said
            elif one.required:
                problems[one.name] = "unanswered"
        return value, problems

    def written(self, form: Form) -> Value:
        """Return the texts of a form as they are, so that nobody has to write again what was not saved."""
        return {one.name: form[one.name][0] for one in self.fields if isinstance(one, Text) and one.name in form}

    def refuses(self, value: Value) -> bool:
        """Tell whether an answer refuses to take part."""
        return bool(self.refusal) and all(value.get(name) == said for name, said in self.refusal.items())

    def is_right(self, value: Value) -> bool:
        """Tell whether an answer has every expected value."""
        return all(value.get(name) == right for name, right in self.expected.items())


@contextmanager
def going_on_past(person: Person) -> Iterator[None]:
    """Log the id of a person of whom something cannot be made, and go on with the others."""
    try:
        yield
    except (LookupError, TypeError, ValueError) as error:  # The text of an error may quote the person.
        LOG.error("%s: left out because of a %s", person.id, type(error).__name__)


class Job(Protocol):
    """What people are asked, and what comes of it.

    Attributes
    ----------
    name : str
        The kind of job, kept in the file of answers.
    languages : tuple of str
        Those that the job has all of its texts in, the default first.
    """

    name: str
    languages: tuple[str, ...]

    def title(self, language: str) -> str:
        """Return what pages in a language call the study."""
        ...

    def screens(self, person: Person, answers: Mapping[str, Value], texts: Texts) -> Sequence[Screen]:
        """Return all screens of a person in order; later ones may depend on answers to earlier ones.

        A screen that was shown and not answered has the answer {}.
        """
        ...

    def export(self, store: Store, folder: Path) -> list[Path]:
        """Write everything that people have finished to a folder, and return the files.

        A file appears whole or not at all; files of people who are no longer in the store are not written.
        """
        ...
