"""The job `collect`: people talk with a model, annotate the conversation, and become a file each of the benchmark."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from random import Random
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

import click

from attune_bench.annotate.screens import (
    Choice,
    FieldError,
    Form,
    Option,
    Passage,
    Said,
    Screen,
    Send,
    SendError,
    Text,
    going_on_past,
)
from attune_bench.annotate.store import NOTHING, Person, StaleError, Store, Value
from attune_bench.annotate.texts import LANGUAGES, Texts
from attune_bench.benchmarks.attunebench.annotation.fields import LONGEST, emotions, judgements, rating, wide
from attune_bench.benchmarks.attunebench.annotation.record import conversation_of, data_card
from attune_bench.benchmarks.attunebench.annotation.stand_in import stand_in
from attune_bench.benchmarks.attunebench.annotation.study import COMPARED, EXAMPLE, Study, read_study
from attune_bench.benchmarks.attunebench.annotation.talk import (
    Asker,
    endpoints,
    exchanges,
    has_ended,
    improving_messages,
    responses,
    talk_messages,
)
from attune_bench.benchmarks.attunebench.annotation.wording import Wording
from attune_bench.cli.annotate import serve_study, serving_options
from attune_bench.cli.options import FILE, option, output_option, verb
from attune_bench.cli.output import UserError, emit, mistakes, write_warnings, writing
from attune_data import load_codebook
from attune_data.codebook import Named
from attune_data.io.documents import write_whole
from attune_data.issues import shown

_PAIRS = (("original", "alternate"), ("original", "human"), ("alternate", "human"))
_FILE = "file"
_LOCAL = "http://localhost:8000/v1"  # the server of the example


class Collect:
    """What people of a study are asked, and the files that come of it.

    Parameters
    ----------
    study : Study
        What is asked.
    store : Store
        Where answers are kept; messages and replies are stored as they come.

    Raises
    ------
    ProviderError
        The server of a model has no key, or its address cannot be used.
    """

    name = "collect"

    def __init__(self, study: Study, store: Store) -> None:
        self.study = study
        self.store = store
        self.asker = Asker(study, store)
        self.languages: tuple[str, ...] = study.languages

    def title(self, language: str) -> str:
        """Return what pages in a language call the study."""
        return self.study.title.get(language, self.study.title[self.languages[0]])

    def screens(self, person: Person, answers: Mapping[str, Value], texts: Texts) -> Sequence[Screen]:
        """Return the screens of a person as far as what they answered decides them."""
        pages = _Pages(self, person, answers, texts)
        *others, last = pages.all()
        return [*others, replace(last, more=pages.most - len(others) - 1)]

    def export(self, store: Store, folder: Path) -> list[Path]:
        """Write ``conversation_N.json`` of everybody who is done, and a data card."""
        written: list[Path] = []
        for person in store.people():
            saved = store.answers(person.id)
            answers = {key: one.value for key, one in saved.items()}
            with going_on_past(person):
                screens = self.screens(person, answers, Texts(person.language))
                if not all(saved.get(screen.key, NOTHING).done for screen in screens):
                    continue
                turns = range(1, len(exchanges(answers)) + 1)
                shown = {turn: self.comparisons(person, turn, responses(answers, turn)) for turn in turns}
                file = answers.get(_FILE) or self._file(store, person)
                record = conversation_of(self.study, file["id"], person.language, answers, shown)
                written.append(folder / f"conversation_{file['number']}.json")
                write_whole(written[-1], [record.to_json(indent=2), b"\n"])
        if written:
            written.append(folder / "README.md")
            write_whole(written[-1], [data_card(self.study, len(written) - 1, self.asker.hosts).encode()])
        return written

    def comparisons(self, person: Person, number: int, texts: Mapping[str, str]) -> dict[int, tuple[str, str, str]]:
        """Return the comparisons of a turn as they are shown, by their place: question, and the labels of A and B.

        Two responses that are the same text are not compared. The comparisons are the same each time; without the file
        of the study nobody can tell by them whose conversation it is.
        """
        random = Random(f"{self.store.about('secret')}/{person.id}/{number}")  # noqa: S311
        questions = ["general", *random.sample(self.study.annotation.pairwise, COMPARED)]
        found = [(question, *random.sample(pair, 2)) for question in questions for pair in _PAIRS]
        random.shuffle(found)
        return {place: (one, a, b) for place, (one, a, b) in enumerate(found) if texts[a] != texts[b]}

    def _file(self, store: Store, person: Person) -> Value:
        """Return what a person's file is called by: a number that no other ever has, and an id of its own.

        The person's own id stands beside the link where links are printed, so that it is never published.
        """
        file = {"number": int(store.about(_FILE) or 0) + 1, "id": token_hex(8)}
        store.set_about(_FILE, file["number"])
        store.save(person.id, _FILE, file, revision=0, done=True)
        return file


@dataclass(frozen=True)
class _Pages:
    """The screens of one person, in one language."""

    job: Collect
    person: Person
    answers: Mapping[str, Value]
    t: Texts

    @property
    def study(self) -> Study:
        return self.job.study

    @cached_property
    def wording(self) -> Wording:
        return Wording(self.t.language, load_codebook())

    @cached_property
    def exchanges(self) -> Any:
        return exchanges(self.answers)

    def words(self, texts: Named[str]) -> str:
        return texts[self.t.language] if self.t.language in texts else texts[self.study.languages[0]]

    def options(self, values: Sequence[str]) -> tuple[Option, ...]:
        return tuple(Option(value, self.study.shown(value, self.t.language)) for value in values)

    def said(self, count: int, *, with_last_reply: bool = True) -> tuple[Said, ...]:
        """Return the first messages of the person with their replies; the last of them is asked about."""
        found: list[Said] = []
        for place, one in enumerate(self.exchanges[:count], 1):
            is_last = place == count
            shows_reply = bool(one.reply) and (with_last_reply or not is_last)
            found.append(Said(self.t("you"), one.message, is_person=True, is_asked=is_last and not shows_reply))
            if shows_reply:
                found.append(Said(self.t("partner"), one.reply, is_asked=is_last))
        return tuple(found)

    def all(self) -> Iterator[Screen]:
        """Yield the screens; those after one that decides about them are there when it is answered."""
        yield self.consent()
        if self.answers.get("consent", {}).get("consent") != "yes":
            return
        yield from self.about_the_person()
        yield from self.exercises("conversation")
        yield from self.topic()
        yield self.panas("before")
        if "attitude" not in self.answers.get("attitude", {}) or len(self.answers.get("panas/before", {})) < len(
            self.wording.emotions()
        ):
            return
        yield self.talk()
        if not self.has_ended:
            return
        yield self.panas("after")
        yield from self.exercises("annotation")
        for number in range(1, len(self.exchanges) + 1):
            yield from self.turn(number)
        yield from self.whole()

    @property
    def most(self) -> int:
        """How many screens there are at most, as far as answers have decided it."""
        study = self.study
        turns = len(self.exchanges) if self.has_ended else study.conversation.maximum
        written = [responses(self.answers, place) for place in range(1, len(self.exchanges) + 1)]
        same = sum(one[a] == one[b] for one in written if one["human"] for a, b in _PAIRS)
        of_turns = turns * (2 + len(study.annotation.by_category())) + (turns * len(_PAIRS) - same) * (1 + COMPARED)
        about = bool(study.participant) + len(study.questionnaires) + len(study.exercises)
        # Consent; topic, subtopic, attitude; the PANAS twice; the conversation; in the end two or three.
        return 7 + about + of_turns + 2 + (self.fit is None or self.is_misfit)

    @property
    def fit(self) -> str | None:
        """What the person said of the whole conversation."""
        return self.answers.get("whole", {}).get("q3_modelFit")

    @property
    def is_misfit(self) -> bool:
        """Whether the person is asked what felt off."""
        return self.fit in load_codebook().q3_negative

    def consent(self) -> Screen:
        """Return the consent; who does not give it leaves nothing."""
        options = (Option("yes", self.t("consent_yes")), Option("no", self.t("consent_no")))
        said = self.words(self.study.consent).strip()
        goes_to = self.t("goes_to", servers=", ".join(self.job.asker.hosts))
        text = "\n\n".join(filter(None, [said, goes_to, self.wording.note]))
        return Screen(
            key="consent",
            title=self.t("consent_title"),
            passages=(Passage(self.job.title(self.t.language), text),),
            fields=(Choice(name="consent", label=self.t("consent_question"), options=options),),
            refusal={"consent": "no"},
        )

    def about_the_person(self) -> Iterator[Screen]:
        """Yield demographics, then the researcher's questionnaires."""
        if self.study.participant:
            fields = tuple(
                Choice(
                    name=name,
                    label=self.words(one.question),
                    options=self.options(one.options),
                    multiple=self.study.takes_many(name),
                    required=False,
                )
                for name, one in self.study.participant.items()
            )
            yield Screen(key="participant", title=self.t("about_you"), lead=self.t("about_you_lead"), fields=fields)
        for number, one in enumerate(self.study.questionnaires.values()):
            options = tuple(Option(str(place), self.words(text)) for place, text in enumerate(one.options))
            items = tuple(
                Choice(name=str(place), label=self.words(item.text), options=options, required=False)
                for place, item in enumerate(one.items)
            )
            lead = self.words(one.lead) if one.lead else self.t("about_you_lead")
            yield Screen(key=f"questionnaire/{number}", title=self.words(one.title), lead=lead, fields=items)

    def exercises(self, before: str) -> Iterator[Screen]:
        """Yield comprehension checks and training items."""
        for place, one in enumerate(self.study.exercises):
            if one.before == before:
                yield Screen(
                    key=f"exercise/{place}",
                    title=self.t("exercise"),
                    passages=(Passage("", self.words(one.text)),),
                    fields=(Choice(name="answer", label=self.words(one.question), options=self.options(one.options)),),
                    expected={"answer": one.right},
                    explanation=self.words(one.explanation),
                    is_check=one.check,
                )

    def before_the_talk(self, key: str, title: str, *fields: Choice) -> Screen:
        """Return a screen that is only read once it is answered and the conversation has begun."""
        if self.exchanges and self.answers.get(key, {}).keys() >= {one.name for one in fields}:
            return Screen(key=key, title=self.t(title), lead=self.t("fixed"))
        return Screen(key=key, title=self.t(title), fields=fields)

    def topic(self) -> Iterator[Screen]:
        """Yield category, subtopic and attitude."""
        topics = self.study.conversation.topics
        category = Choice(name="topic", label=self.t("topic"), options=self.options(list(topics)))
        yield self.before_the_talk("topic", "topic", category)
        chosen = self.answers.get("topic", {}).get("topic", "")
        if chosen not in topics:
            return
        subtopic = Choice(name="subtopic", label=self.t("subtopic"), options=self.options(topics[chosen]))
        yield self.before_the_talk(f"subtopic/{list(topics).index(chosen)}", "subtopic", subtopic)
        options = self.options(self.study.conversation.attitudes)
        yield self.before_the_talk(
            "attitude", "attitude", Choice(name="attitude", label=self.t("attitude"), options=options)
        )

    def panas(self, when: str) -> Screen:
        """Return how the person feels, in an order of words that is random and the same both times."""
        words = list(self.wording.emotions())
        Random(self.person.id).shuffle(words)  # noqa: S311
        items = [rating(one, "panas", self.t) for one in words]
        if when == "before":
            return self.before_the_talk("panas/before", "panas_before", *items)
        return Screen(key="panas/after", title=self.t("panas_after"), fields=tuple(items))

    @property
    def has_ended(self) -> bool:
        """Whether the person has ended the conversation."""
        return has_ended(self.answers)

    def talk(self) -> Screen:
        """Return the conversation; each message is stored before the model is asked."""
        talk, limits = self.exchanges, self.study.conversation
        pending = bool(talk) and not talk[-1].reply
        may_end = len(talk) >= limits.minimum and not pending and not self.has_ended
        is_full = len(talk) >= limits.maximum and not pending
        ended = Choice(name="ended", label=self.t("end_talk"), options=(Option("yes", self.t("end_talk")),))
        # What is written and not sent yet is kept, as any answer is.
        unsent = Text(name="message", label=self.t("your_message"), most=LONGEST, required=False)
        may_write = not (self.has_ended or pending or is_full)
        missing = self.t("talk_too_short", minimum=limits.minimum)
        return Screen(
            key="talk",
            title=self.t("talk_title"),
            lead=self.t("talk_ended") if self.has_ended else self.words(limits.lead),
            talk=self.said(len(talk)),
            fields=((unsent,) if may_write else ()) + ((ended,) if may_end else ()),
            page="talk.html",
            given={
                "pending": pending,
                "turn": len(talk),
                "sent": talk[-1].message if talk else "",  # A browser that had no answer may have kept it as unsent.
                "speaker": self.t("partner"),
                "most": LONGEST,
                "may_write": may_write,
                "may_end": may_end,
            },
            send=None if self.has_ended else self.send_message,
            waits="" if may_end or self.has_ended else missing,
        )

    async def send_message(self, form: Form) -> AsyncIterator[str]:
        """Store the message of a form, then ask for the reply; a form that is sent again asks for nothing anew."""
        store, person = self.job.store, self.person

        async def now() -> dict[str, Value]:
            return {key: one.value for key, one in (await asyncio.to_thread(store.answers, person.id)).items()}

        talk = exchanges(await now())
        pending = bool(talk) and not talk[-1].reply
        if not pending:
            if form.get("turn", [""])[0] != str(len(talk)) or len(talk) >= self.study.conversation.maximum:
                return  # Sent before, or from an older page: what is shown next is how it is.
            said = {"text": _message(form), "language": person.language}
            key = f"message/{len(talk) + 1}"
            try:
                await asyncio.to_thread(store.save, person.id, key, said, revision=0, done=True)
                unsent = (await asyncio.to_thread(store.answers, person.id)).get("talk", NOTHING)
                if unsent.value.keys() == {"message"}:
                    await asyncio.to_thread(store.save, person.id, "talk", {}, revision=unsent.revision, done=False)
            except StaleError:
                raise SendError("stale") from None
            except KeyError:  # The person has withdrawn meanwhile.
                raise SendError("no_link") from None
            answers = await now()
            if has_ended(answers):
                return
            talk = exchanges(answers)
        model = self.study.model
        key, messages = f"reply/{len(talk)}", talk_messages(model.instruction, talk)
        async for text in self.job.asker.ask(person, key, model, messages):
            yield text

    def turn(self, number: int) -> Iterator[Screen]:
        """Yield what is asked about one message of the person and its reply."""
        where = self.t("of_turns", number=number, count=len(self.exchanges))
        said = self.said(number)
        yield Screen(
            key=f"turn/{number}/mood",
            title=where,
            talk=self.said(number, with_last_reply=False),
            fields=(emotions("tags", self.t("mood"), self.wording, self.t),),
        )
        for category, questions in self.study.annotation.by_category().items():
            fields = [field for question in questions for field in self.judged(question)]
            key = f"turn/{number}/{category}"
            yield Screen(key=key, title=where, lead=self.t("behaviour"), talk=said, fields=tuple(fields))
        yield self.other_response(number, said)
        yield from self.comparisons(number, where)

    def judged(self, question: str) -> tuple[Choice, Choice]:
        """Return a question about what the response did, and whether the person would have wanted that."""
        text = self.wording.binary(question)
        return judgements(question, text, self.t("preferred", question=text), self.wording.answers())

    def other_response(self, number: int, said: tuple[Said, ...]) -> Screen:
        """Return the improved response, which the person changes until comparing begins."""
        key = f"turn/{number}/edited"
        improved = self.answers.get(f"improved/{number}", {}).get("text")
        if not improved:
            return Screen(
                key=key,
                title=self.t("improving"),
                lead=self.t("improving_lead"),
                talk=said,
                page="talk.html",
                given={"pending": True, "turn": number, "speaker": self.t("improving")},
                send=self.improve(number),
                waits=self.t("answer_is_missing"),
            )  # fmt: skip
        most = max(LONGEST, 2 * len(improved))  # The person can go on with what the model wrote, however long it is.
        edited = Text(name="text", label=self.t("edited"), most=most, rows=8, start=improved)
        written = self.answers.get(key, {}).get("text", "")
        compared = (value for one, value in self.answers.items() if one.startswith(f"turn/{number}/pair/"))
        is_compared = bool(written) and any("winner" in value for value in compared)
        return Screen(
            key=key,
            title=self.t("editing"),
            lead=self.t("editing_lead"),
            talk=said,
            passages=(Passage(self.t("edited"), written),) if is_compared else (),
            fields=() if is_compared else (edited,),
        )

    def improve(self, number: int) -> Send:
        """Return what asks for the improved response to a message."""
        model = self.study.improving

        def send(_form: Form) -> AsyncIterator[str]:
            messages = improving_messages(model.instruction, self.exchanges[:number])
            return self.job.asker.ask(self.person, f"improved/{number}", model, messages)

        return send

    def comparisons(self, number: int, where: str) -> Iterator[Screen]:
        """Yield up to twelve comparisons; which response is A, and their order, are drawn."""
        texts = responses(self.answers, number)
        edited = texts["human"]
        for place, (question, a, b) in self.job.comparisons(self.person, number, texts).items():
            passages = (Passage(self.t("response_a"), texts[a]), Passage(self.t("response_b"), texts[b]))
            options = (Option("A", self.t("response_a")), Option("B", self.t("response_b")))
            label = self.wording.pairwise(question) or self.t("comparing")
            yield Screen(
                key=f"turn/{number}/pair/{place}",
                title=where,
                talk=self.said(number, with_last_reply=False),
                passages=passages,
                fields=(Choice(name="winner", label=label, options=options),) if edited else (),
                waits="" if edited else self.t("answer_is_missing"),
            )

    def whole(self) -> Iterator[Screen]:
        """Yield the questions about the conversation as a whole."""
        said = self.said(len(self.exchanges))
        branches = [rating(one, "branch", self.t) for one in self.wording.branches()]
        yield Screen(key="branches", title=self.t("branches"), talk=said, fields=tuple(branches))
        book = load_codebook().conversation_wide
        questions = [wide(name, self.wording, multiple=one.multiple) for name, one in book.items() if one.options]
        yield Screen(key="whole", title=self.t("whole"), talk=said, fields=tuple(questions))
        if self.is_misfit:
            label = self.wording.wide("q3_followUp_whatFeltOff")
            felt = Text(name="text", label=label, most=LONGEST, required=False)
            yield Screen(key="felt_off", title=self.t("whole"), lead=self.t("felt_off_lead"), talk=said, fields=(felt,))


def _message(form: Form) -> str:
    """Return the message of a form."""
    try:
        message = Text(name="message", label="", most=LONGEST).read(form)
    except FieldError as error:
        raise SendError(str(error)) from None
    if message is None:
        raise SendError("no_message")
    return message


def begin_study(study: Path, file: Path, people: int) -> tuple[Store, Collect, Iterable[tuple[Person, str]]]:
    """Begin a study, or go on with it; return its file, its job, and the links of the people who were added.

    Parameters
    ----------
    study : Path
        The file that says what is asked.
    file : Path
        The file of answers.
    people : int
        How many people take part, with those who have withdrawn.
    """
    read = read_study(study)
    endpoints(read)  # A server without a key is an error before there is a file.
    about = {"study": sha256(read.asked().encode()).hexdigest()}
    store = Store.create(file, Collect.name, about)
    missing = people - len(store.people()) - len(store.withdrawals())
    # One after another when the links are printed: nobody is added whose link is never seen.
    links = (store.add_person(language=read.languages[0]) for _ in range(missing))
    return store, Collect(read, store), links


def untranslated(study: Study) -> list[str]:
    """Return sentences about what people read in English who chose another language."""
    return [
        *(
            f"Pages in {LANGUAGES[language]} show these values as the data have them, for want of words in "
            f"[words.{language}]: {', '.join(map(shown, values))}."
            for language, values in study.untranslated().items()
        ),
        *(
            f"Pages in {LANGUAGES[language]} show these texts of questionnaires in English: "
            f"{', '.join(map(shown, values))}; give each text by language, as {{ en = ..., {language} = ... }}."
            for language, values in study.in_english().items()
        ),
    ]


@verb("annotate collect study.toml --people 20 --file study.db -o conversations")
@click.argument("study", type=FILE)
@option("--people", "How many people take part; the links of new ones are printed.", click.IntRange(1), required=True)
@serving_options
def collect(study: Path, people: int, file: Path, output: Path, **served: Any) -> None:
    """Let people talk with a model, and annotate their conversations.

    STUDY is a file that names the questions and the model; attune-bench annotate demo -o FOLDER writes an example.
    Each person who has answered everything becomes a file conversation_N.json in the folder of the results. The key of
    the model is read from the environment. The same command goes on where it was stopped.
    """
    with mistakes(), writing(file, "--file"):
        store, job, links = begin_study(study, file, people)
    write_warnings(untranslated(job.study))
    serve_study(store, job, links, output=output, **served)


@verb("annotate demo")
@output_option("A new folder that keeps the study; by default everything is deleted in the end.")
@option("--port", "Where the server listens.", int, default=8017)
def demo(output: Path | None, port: int) -> None:
    """Try a study with a stand-in for the model.

    The stand-in answers from a few sentences: no model is asked, and no key is needed. With --output, the folder has
    study.toml, from which a study of your own can begin.
    """
    if output and output.exists():
        raise UserError(f"{output} exists; choose another --output")
    with TemporaryDirectory() as temporary, stand_in() as address:
        folder = output or Path(temporary)
        with writing(folder, "--output"):
            folder.mkdir(exist_ok=True)
        text = EXAMPLE.read_text(encoding="utf-8")
        for said, in_demo in (
            ("Talking about what is on your mind", "A demo: a stand-in answers, not a model"),
            ("Ein Gespräch über das, was Sie beschäftigt", "Zum Ausprobieren: Es antwortet kein Modell"),
            ('name = "MODEL"', 'name = "stand-in"'),
            (
                f'base_url = "{_LOCAL}"',
                f'base_url = "{address}"  # the stand-in, which ends with the demo: name a server',
            ),
        ):
            text = text.replace(said, in_demo)
        study = folder / EXAMPLE.name
        study.write_bytes(text.encode())
        with mistakes():
            store, job, links = begin_study(study, folder / "study.db", people=2)
        emit("A stand-in answers in place of a model, from a few sentences: this shows how a study runs, not a model.")
        serve_study(store, job, links, output=folder / "conversations", host="127.0.0.1", port=port)
        if output:
            emit(f"next: attune-bench validate {output / 'conversations'} --strict")
