"""The job `predict`: people answer what an evaluated model is asked; their answers become run files."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import click

from attune_bench.annotate.screens import Choice, Field, Option, Passage, Said, Screen, Text, going_on_past
from attune_bench.annotate.store import NOTHING, Person, Saved, Store, Value
from attune_bench.annotate.texts import LANGUAGES, Texts
from attune_bench.benchmarks.attunebench.annotation.fields import LONGEST, emotions, judgements, rating, wide
from attune_bench.benchmarks.attunebench.annotation.wording import Wording
from attune_bench.benchmarks.attunebench.baselines import MASKS, SeenTurn
from attune_bench.benchmarks.attunebench.task import (
    AttuneBenchSettings,
    ConversationCalls,
    assemble,
    run_file_name,
    write_runs,
)
from attune_bench.cli.annotate import serve_study, serving_options
from attune_bench.cli.options import many, option, verb
from attune_bench.cli.output import emit, mistakes, writing
from attune_bench.cli.sources import read
from attune_data import Codebook, Conversation, Run, load_codebook
from attune_data.kinds import CONVERSATION

_STAGES = {"draft": 0, "read": 1, "read-hp": 1, "pairwise": 2}  # the two phrasings stand beside the same texts
_LANGUAGE = "language"
_FELT_OFF = "q3_followUp_whatFeltOff"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


class Predict:
    """What people are asked about conversations, and the run files that come of their answers.

    A person is shown what an evaluated model is shown (`attune_bench.benchmarks.attunebench.baselines.see`), in the
    same order: a message, then the reply to it, then the other responses under masked names, in the end the
    conversation as a whole. An answer is kept as it is once the person was shown more of the conversation.
    The two other responses of a turn are numbered in random order, because a person, who reads many conversations,
    would learn which number stands for the better one.

    Parameters
    ----------
    conversations : sequence of Conversation
        What is predicted, in this order.
    files : mapping of str to str
        The file of each conversation, by its id.
    codebook : Codebook
        Where questions and options come from.

    Raises
    ------
    ValueError
        The run files of two conversations would have the same name.
    """

    name = "predict"
    languages = tuple(LANGUAGES)

    def __init__(self, conversations: Sequence[Conversation], files: Mapping[str, str], codebook: Codebook) -> None:
        named: dict[str, str] = {}
        for one in conversations:
            name = run_file_name(Run(conversation_id=one.id, em_model="human")).casefold()
            if (other := named.setdefault(name, one.id)) != one.id:
                raise ValueError(f"the run files of the conversations {other!r} and {one.id!r} have the same name")
        self.codebook = codebook
        self._conversations = conversations
        self._files = files
        self._settings = AttuneBenchSettings("human", codebook=codebook)
        self._seen = [ConversationCalls(conversation, self._settings) for conversation in conversations]
        self._runs: dict[tuple[Person, int], tuple[Mapping[str, Saved], Run]] = {}
        self._pages = cache(self._build)  # A request needs the screens of all conversations.
        self._fields = cache(lambda language: _Fields(language, codebook))

    def title(self, language: str) -> str:
        """Return what pages call the study."""
        del language
        return "AttuneBench"

    @property
    def about(self) -> dict[str, str]:
        """What a study is begun with: digests of what people are shown."""
        shown = [[seen.id, [asdict(turn) for turn in seen.turns], seen.pre_totals] for seen in self._seen]
        digest = sha256(json.dumps(shown).encode()).hexdigest()
        return {"DATA": digest, "--codebook": self._settings.provenance()["codebook_hash"]}

    def screens(self, person: Person, answers: Mapping[str, Value], texts: Texts) -> Sequence[Screen]:
        """Return the screens of all conversations."""
        note = self._fields(texts.language).wording.note
        found = [
            Screen(
                key="begin",
                title=texts("predict_title"),
                lead=texts("predict_lead", count=len(self._seen)),
                passages=(Passage("", note),) if note else (),
            )
        ]
        for place in range(len(self._seen)):
            found += self._asked(place, person, answers, texts)
        wholes = [answers.get(f"{place + 1}/post/whole", {}) for place in range(len(self._seen))]
        return [*found[:-1], replace(found[-1], more=sum("q3_modelFit" not in one for one in wholes))]

    def export(self, store: Store, folder: Path) -> list[Path]:
        """Write a run file of each conversation that a person has answered to its end."""
        runs: dict[tuple[Person, int], tuple[Mapping[str, Saved], Run]] = {}
        for person in store.people():
            saved = store.answers(person.id)
            answers = {key: one.value for key, one in saved.items()}
            for place in range(len(self._seen)):
                with going_on_past(person):
                    screens = self._asked(place, person, answers, Texts(person.language))
                    given = {screen.key: saved.get(screen.key, NOTHING) for screen in screens}
                    if all(one.done for one in given.values()):
                        before, run = self._runs.get((person, place), ({}, None))
                        runs[person, place] = given, run if run and before == given else self._run(place, person, given)
        self._runs = runs  # so that what is written after each conversation is made once
        return write_runs([run for _, run in runs.values()], folder)

    def _build(self, place: int, person: str, language: str) -> tuple["_Page", ...]:
        asking = _Asking(self._seen[place], place + 1, len(self._seen), person, self._fields(language))
        return tuple(asking.pages())

    def _asked(self, place: int, person: Person, answers: Mapping[str, Value], texts: Texts) -> list[Screen]:
        """Return the screens of a conversation; answers to stages before the last that was shown are fixed."""
        pages = self._pages(place, person.id, texts.language)
        is_misfit = answers.get(f"{place + 1}/post/whole", {}).get("q3_modelFit") in self.codebook.q3_negative
        asked = [page for page in pages if is_misfit or not page.is_follow_up]
        reached = max((page.stage for page in asked if page.screen.key in answers), default=0)
        return [page.fixed if page.stage < reached else page.screen for page in asked]

    def _run(self, place: int, person: Person, given: Mapping[str, Saved]) -> Run:
        """Return the run of a person's answers about a conversation."""
        conversation = self._conversations[place]
        values = {key.partition("/")[2]: one.value for key, one in given.items()}
        said = assemble(conversation, _as_of_model(values), self._settings)
        file = self._files.get(conversation.id)
        last = datetime.fromisoformat(max(one.saved for one in given.values()))
        return Run.model_validate(
            {
                "conversationId": conversation.id,
                "source_file": file and Path(file).name,
                "em_model": f"human/{person.name or person.id}",
                "run_timestamp": last.isoformat(timespec="seconds"),
                "mode": "default",
                "duration_seconds": round(sum(one.seconds for one in given.values()), 3),
                "provider": "human",
                "language": next(iter(given.values())).value.get(_LANGUAGE, person.language),
                "panas_strategy": self._settings.panas_strategy,
                "codebook_hash": self._settings.provenance()["codebook_hash"],
                "turns": said.turns,
                "post_conversation": said.post_conversation,
            }
        )


def _as_of_model(values: Mapping[str, Value]) -> dict[str, str]:
    """Return what a model would have answered to each call, of a person's answers by screen."""
    found: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        said = {name: answer for name, answer in value.items() if name != _LANGUAGE}
        if key.endswith(("/read", "/read-hp")):
            tags = said.pop("emotions", {})
            answers: dict[str, dict[str, str]] = {}
            for name, answer in said.items():
                question, _, side = name.rpartition(".")
                answers.setdefault(question, {})[side] = answer
            said = {"answers": answers, "emotions": [{"emotion": word, "intensity": tags[word]} for word in tags]}
        elif isinstance(said.get(_FELT_OFF), str):
            said[_FELT_OFF] = [line.strip() for line in said[_FELT_OFF].splitlines()]
        found.setdefault("post" if key.startswith("post/") else key, {}).update(said)
    return {call: json.dumps(said) for call, said in found.items()}


@dataclass(frozen=True)
class _Page:
    """A screen and its stage: pages of a later stage show more of the conversation."""

    stage: int
    screen: Screen
    sentence: str
    is_follow_up: bool = False

    @cached_property
    def fixed(self) -> Screen:
        """The screen when its answer is kept as it is."""
        return replace(self.screen, fixed=self.sentence)


class _Fields:
    """The fields that conversations share, in one language."""

    def __init__(self, language: str, codebook: Codebook) -> None:
        self.t = Texts(language)
        self.wording = Wording(language, codebook)
        self.draft = Text(name="drafted_response", label=self.t("predict_draft"), most=LONGEST, required=False)
        self.emotions = emotions("emotions", self.t("predict_emotions"), self.wording, self.t)
        self.panas = tuple(rating(one, "panas", self.t) for one in self.wording.emotions())
        self.wide = (
            *(wide(name, self.wording, multiple=one.multiple) for name, one in codebook.conversation_wide.items()
              if name != _FELT_OFF),
            *(rating(one, "branch", self.t) for one in self.wording.branches()),
        )  # fmt: skip
        self.felt_off: Choice | Text
        if self.wording.options(_FELT_OFF):
            self.felt_off = wide(_FELT_OFF, self.wording, multiple=True, required=False)
        else:
            self.felt_off = Text(name=_FELT_OFF, label=self.wording.wide(_FELT_OFF), most=LONGEST, required=False)
        self.question = cache(self._question)

    def _question(self, question: str, observer: bool) -> tuple[Choice, Choice]:
        """Return what the reply did, and what the person would have wanted."""
        text = self.wording.binary(question, observer=observer)
        options = tuple(option for option in self.wording.answers() if option.value != "na")
        return judgements(question, text, self.t("predict_preferred", question=text), options)


@dataclass(frozen=True)
class _Asking:
    """What one person is asked about one conversation, in one language."""

    seen: ConversationCalls
    place: int
    count: int
    person: str
    fields: _Fields

    @property
    def t(self) -> Texts:
        return self.fields.t

    def pages(self) -> Iterator[_Page]:
        """Yield what a model is asked, in the same order."""
        sentence, last = self.t("predict_fixed"), len(_STAGES) * len(self.seen.turns)
        for place, turn in enumerate(self.seen.turns):
            for step, screen in self.turn(turn, place + 1):
                yield _Page(len(_STAGES) * place + _STAGES[step], screen, sentence)
        for step, screen in self.whole():
            yield _Page(last, screen, sentence, is_follow_up=step == "felt-off")

    def turn(self, turn: SeenTurn, number: int) -> Iterator[tuple[str, Screen]]:
        """Yield the screens about a turn; the key of each ends as the key of the call to a model."""
        t, fields, total = self.t, self.fields, len(self.seen.turns)
        title = t("predict_turn", place=self.place, count=self.count, number=number, total=total)
        before, talk = self.talk(turn, with_reply=False), self.talk(turn)

        def screen(step: str, lead: str, talk: tuple[Said, ...], *asked: Field) -> tuple[str, Screen]:
            key = f"{self.place}/turn-{turn.number}/{step}"
            keeps = {_LANGUAGE: t.language} if step == "draft" else {}  # people may change it later
            return step, Screen(key=key, title=title, lead=lead, talk=talk, fields=asked, keeps=keeps, unit=key)

        questions = self.seen.questions(turn)
        observed, in_words = (
            [one for name in questions for one in fields.question(name, observer)] for observer in (True, False)
        )
        yield screen("draft", t("predict_draft_lead"), before, fields.draft)
        yield screen("read", t("predict_read_lead"), talk, fields.emotions, *observed)
        if questions:
            yield screen("read-hp", t("predict_words"), talk, *in_words)
        if turn.pairs:
            names = self.names(turn)
            replies = (Said(name, turn.responses[label]) for label, name in names.items())
            yield screen("pairwise", t("predict_pairs"), (*before, *replies), *self.comparisons(turn, names))

    def talk(self, until: SeenTurn | None = None, *, with_reply: bool = True) -> tuple[Said, ...]:
        """Return the conversation to a turn, which is asked about, or to its end."""
        found: list[Said] = []
        for turn in self.seen.turns:
            is_asked = turn is until
            shows_reply = with_reply or not is_asked
            found.append(Said(self.t("said_by_person"), turn.message, True, is_asked and not shows_reply))
            if shows_reply:
                found.append(Said(self.t("said_by_model"), turn.reply, False, is_asked))
            if is_asked:
                break
        return tuple(found)

    def names(self, turn: SeenTurn) -> dict[str, str]:
        """Return what the responses of a turn are called, by their labels, in the order in which they are shown."""
        compared = {label for pair in turn.pairs for label in (pair.a, pair.b)}
        shown = [label for label in MASKS if label in compared or turn.responses[label].strip()]
        others = [label for label in shown if label != "original"]
        Random(f"{self.person}/{self.place}/{turn.number}").shuffle(others)  # noqa: S311
        first = {"original": self.t("predict_original")} if "original" in shown else {}
        return first | {label: self.t("predict_other", number=number) for number, label in enumerate(others, 1)}

    def comparisons(self, turn: SeenTurn, names: Mapping[str, str]) -> Iterator[Choice]:
        """Yield the comparisons of a turn in the order in which a model is asked them."""
        for place, pair in enumerate(turn.pairs):
            if pair.a and pair.b and pair.a != pair.b:  # Otherwise the file does not say what was compared.
                options = (Option("A", names[pair.a]), Option("B", names[pair.b]))
                asked = self.fields.wording.pairwise(pair.question or "general") or self.t("predict_compared")
                yield Choice(name=str(place), label=asked, options=options)

    def whole(self) -> Iterator[tuple[str, Screen]]:
        """Yield the screens about the conversation as a whole."""
        t, fields, talk = self.t, self.fields, self.talk()
        title = t("predict_whole", place=self.place, count=self.count)
        totals = ("?" if total is None else f"{total:g}" for total in self.seen.pre_totals.values())
        before = t("predict_panas", **dict(zip(("positive", "negative"), totals, strict=True)))
        felt_lead = t("predict_words") if fields.felt_off.kind == "choice" else t("felt_off_lead")
        asked: list[tuple[str, str, tuple[Field, ...]]] = [
            ("panas", f"{before} {t('predict_panas_after')}", fields.panas),
            ("whole", t("predict_words"), fields.wide),
            ("felt-off", felt_lead, (fields.felt_off,)),
        ]
        for step, lead, own in asked:
            key = f"{self.place}/post/{step}"
            yield step, Screen(key=key, title=title, lead=lead, talk=talk, fields=own, unit=key, is_end=True)


@verb("annotate predict demo --as ann --file ann.db -o human")
@click.argument("data")
@many("--as names", "The pseudonym of a person who predicts; the model of the run files is human/NAME.", required=True)
@option("--codebook", "The data set's own annotation_codebook.json, instead of the bundled questions.", Path)
@serving_options
def predict(data: str, names: Sequence[str], codebook: Path | None, file: Path, output: Path, **served: Any) -> None:
    """Have people predict what models predict.

    DATA are conversations of AttuneBench. A person reads them in this order, message by message, and is asked what an
    evaluated model is asked: a drafted reply (which may be left open), emotions with intensities, the questions about
    the reply in both phrasings, the comparisons of responses under masked names, and in the end the PANAS, Q1-Q3 and
    the four branches. Nobody is shown an annotation. What was said stays as it is once more of the conversation was
    seen.

    Each conversation that a person has answered to its end becomes a run file of the model human/NAME in the folder of
    the results, which score, report, rank and analyze take like the run files of models. Prints a personal link for
    each new name; the same command goes on where it was stopped, and takes further names.
    """
    found = read(CONVERSATION, [data])
    with mistakes(), writing(file, "--file"):
        job = Predict(list(found), found.files, load_codebook(codebook))
        store = Store.create(file, job.name, job.about)
        there = {person.name for person in store.people() if person.name}
        _check_names(names, there)
    for name in there.intersection(names):
        emit(f"{name}: goes on by the link of before; the administrator's page makes a new one")
    links = (store.add_person(language="en", name=name) for name in dict.fromkeys(names) if name not in there)
    serve_study(store, job, links, output=output, **served)


def _check_names(names: Iterable[str], there: Collection[str]) -> None:
    """Raise a ValueError where a name is none, or the names of files would not tell it from another."""
    known = {name.casefold(): name for name in there}
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"--as {name!r}: a pseudonym has up to 40 letters (a-z), digits, '.', '_' and '-'")
        if (other := known.setdefault(name.casefold(), name)) != name:
            raise ValueError(f"--as {name!r}: there is {other!r}, whose files have the same names where case is lost")
