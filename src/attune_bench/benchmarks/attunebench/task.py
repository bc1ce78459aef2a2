"""Running AttuneBench: its settings, the messages of every call about one conversation, and the run they make."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

from attune_bench.benchmarks.attunebench import parsing
from attune_bench.benchmarks.attunebench.baselines import MASKS, SeenTurn, see
from attune_bench.benchmarks.attunebench.parsing import Tally
from attune_bench.benchmarks.attunebench.probes import Paraphrases, probe_hash, probes, read_paraphrases
from attune_bench.runner.calls import Call, Complete, Decoding, Message, Role, in_repeat, message, unit_file_name
from attune_bench.runner.judge import Judge
from attune_bench.runner.prompts import Fence, Prompts, load_prompts, read_prompts
from attune_bench.runner.task import (
    TRIES,
    AnswerFormat,
    Fields,
    Reader,
    Reading,
    Source,
    Task,
    ask_planned,
    call_to_make,
    check_answer_format,
    read_answer,
    recorded_settings,
    settings_as_json,
)
from attune_data import Codebook, Conversation, Run, load_codebook
from attune_data.io.documents import write_whole
from attune_data.record import Mode
from attune_metrics.attunebench.panas import Panas, panas_totals
from attune_metrics.attunebench.preferences import JUDGE_DIMENSIONS

MAX_TOKENS = 4096
PACKAGE = "attune_bench.benchmarks.attunebench"

Strategy = Literal["absolute", "delta", "blind_delta"]


def bundled_prompts() -> Prompts:
    """Return the bundled wording of the requests, which one's own has to match."""
    return load_prompts(PACKAGE, "v2")


@dataclass(frozen=True, slots=True)
class AttuneBenchSettings:
    """Who is asked what, and how.

    Parameters
    ----------
    model : str
        The evaluated model, as its provider names it; ``em_model`` of the run files.
    mode : {"default", "verbose", "omniscient", "verbose_omniscient"}
        Verbose modes also ask for reasoning, omniscient ones show the participant's profile.
    judges : tuple of str
        The models that judge each draft; none for no judging.
    panas_strategy : {"absolute", "delta", "blind_delta"}
        How the PANAS after the conversation is asked for.
    seed : int, optional
        Sent with every call, for servers that take one; one more with each time that an answer is asked for again.
    temperature : float, optional
        Sent with every call; None for the server's own.
    max_tokens : int, optional
        The most tokens of a response; None for the server's own limit, where judges keep `MAX_TOKENS`.
    answer_format : {"schema", "free"}
        Whether calls are sent with the schema of their answer; a free answer is asked for once more than another.
    codebook : Codebook
        Where question texts and options come from: the bundled one, or the data set's own.
    prompts : Prompts
        The wording of the requests.
    reasoning_effort, extra_body
        Sent with the calls of the model where set, see `attune_bench.runner.Decoding`.
    judges_alone : bool
        Whether judges alone are asked, for drafts that exist; then they are sent what the model would be.
    probes : bool
        Whether the model is also asked to continue the first half of each message, see
        `attune_bench.benchmarks.attunebench.probes`. No other answer changes by it.
    paraphrases : mapping
        Paraphrases of messages, which are probed as well.

    Raises
    ------
    ValueError
        Paraphrases without probes.
        A mode or strategy that the codebook does not have, an unknown answer format, an empty name, a judge that is
        named twice, a temperature or a number of tokens out of range, or further parameters that cannot be sent.

    Examples
    --------
    >>> settings = AttuneBenchSettings("vendor/model", mode="verbose", judges=("vendor/judge",))
    >>> settings.verbose, settings.omniscient, sorted(settings.decoding)
    (True, False, ['judge', 'model'])
    """

    model: str
    mode: Mode = "default"
    judges: tuple[str, ...] = ()
    panas_strategy: Strategy = "absolute"
    seed: int | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = MAX_TOKENS
    answer_format: AnswerFormat = "schema"
    codebook: Codebook = field(default_factory=load_codebook)
    prompts: Prompts = field(default_factory=bundled_prompts)
    reasoning_effort: str | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict, hash=False)
    judges_alone: bool = False
    probes: bool = False
    paraphrases: Paraphrases = field(default_factory=dict, hash=False)
    # Kept, as every conversation asks for it.
    _codebook_hash: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not all((self.model, *self.judges)):
            raise ValueError("the name of a model is empty")
        if self.mode not in self.codebook.modes:
            raise ValueError(f"mode is {self.mode!r}; expected one of {', '.join(self.codebook.modes)}")
        if self.panas_strategy not in self.codebook.panas_strategies:
            known = ", ".join(self.codebook.panas_strategies)
            raise ValueError(f"panas_strategy is {self.panas_strategy!r}; expected one of {known}")
        if len(set(self.judges)) != len(self.judges):
            raise ValueError(f"a judge is named twice among {', '.join(self.judges)}")
        if self.paraphrases and not self.probes:
            raise ValueError("paraphrases are for probes, and there are none; add --probes")
        check_answer_format(self.answer_format)
        _ = self.decoding  # Checks the parameters of requests.
        object.__setattr__(self, "_codebook_hash", _hash(self.codebook))

    @property
    def verbose(self) -> bool:
        """Whether the model is asked for its reasoning."""
        return self.mode in ("verbose", "verbose_omniscient")

    @property
    def omniscient(self) -> bool:
        """Whether the model is shown the participant's profile."""
        return self.mode in ("omniscient", "verbose_omniscient")

    @property
    def condition(self) -> str:
        """The mode."""
        return self.mode

    @property
    def decoding(self) -> dict[Role, Decoding]:
        """How responses are decoded, by the role of who is asked."""
        decoding = Decoding(self.temperature, self.seed, self.max_tokens, self.reasoning_effort, self.extra_body)
        of_judge = decoding if self.judges_alone else decoding.for_other_role(MAX_TOKENS)
        return {"model": decoding} | ({"judge": of_judge} if self.judges else {})

    def provenance(self) -> dict[str, Any]:
        """Return what a run file records of these settings, apart from the model.

        Returns
        -------
        dict
            ``mode``, ``seed``, ``temperature``, ``max_tokens``, ``answer_format``, ``prompt_version``,
            ``prompt_hash``, ``codebook_hash``; ``reasoning_effort`` and ``extra_body`` where set.
        """
        # Probes change no other answer, which is not paid again.
        of_probes = ("probes", "paraphrases")
        left_out = ("model", "judges", "panas_strategy", "codebook", "judges_alone", *of_probes, "_codebook_hash")
        told = settings_as_json(self, *left_out) | {"codebook_hash": self._codebook_hash}
        return told | self.decoding["model"].where_set()


def _hash(codebook: Codebook) -> str:
    """Return the SHA-256 of the parts of a codebook that a request can show."""
    shown = [
        [entry.model_dump(mode="json") for entry in entries.values()]
        for entries in (codebook.emotions, codebook.binary, codebook.pairwise, codebook.conversation_wide)
    ]
    return sha256(json.dumps(shown).encode()).hexdigest()


class ConversationCalls:
    """Builds the calls about one conversation.

    Apart from the profile in omniscient modes, all it takes from a conversation is what `see` lets through; it has
    no access to answers of the participant.
    """

    def __init__(self, conversation: Conversation, settings: AttuneBenchSettings) -> None:
        seen = see(conversation)
        codebook = settings.codebook
        self.id: str = seen.id
        self.settings = settings
        self.turns: tuple[SeenTurn, ...] = seen.turns
        self.pre_items: Mapping[str, int] = seen.pre_items
        totals = panas_totals(Panas(seen.pre_items, *seen.pre_totals))
        self.pre_totals: dict[str, Any] = {name: getattr(totals, affect) for affect, name in parsing.TOTALS.items()}
        self.words: str = ", ".join(emotion.word for emotion in codebook.emotions.values())
        profile = _filled(json.loads(conversation.participant_profile.to_json())) if settings.omniscient else {}
        self._profile = json.dumps(profile, ensure_ascii=False, indent=2)
        self._fence = Fence.around(self.id, [self._profile, *self._texts()])
        modes = {"system-verbose": settings.verbose, "system-omniscient": settings.omniscient}
        added = "".join(f"\n\n{self._render(name)}" for name, applies in modes.items() if applies)
        self._system = message("system", self._render("system", mode=added, boundary=self._fence.code))
        self._placeholder = message("assistant", self._render("placeholder"))
        self._requests = {turn.number: (self._draft_request(turn), self._read_request(turn)) for turn in self.turns}

    @property
    def pre_panas_shown(self) -> dict[str, float | None] | None:
        """What the evaluated model is shown of the PANAS before the conversation; None for nothing."""
        hidden = self.settings.panas_strategy == "blind_delta" and not self.settings.omniscient
        return None if hidden else self.pre_totals

    def questions(self, turn: SeenTurn) -> tuple[str, ...]:
        """Return the questions that are asked about a turn, in the file's order: they apply, and have a wording."""
        return tuple(question for question in turn.applicable if question in self.settings.codebook.binary)

    def is_rated(self, turn: SeenTurn) -> bool:
        """Tell whether judges have an edited response to rate a draft against."""
        return bool(turn.responses["human"].strip())

    def is_judged(self, turn: SeenTurn) -> bool:
        """Tell whether judges are asked anything about a draft."""
        return self.is_rated(turn) or bool(self.questions(turn))

    def draft(self, turn: SeenTurn) -> Call:
        """Ask for the reply that the model itself would give, before it sees the original one."""
        schema = parsing.draft(verbose=self.settings.verbose)
        messages = [*self._thread(turn), self._requests[turn.number][0]]
        return self._call(f"turn-{turn.number}/draft", "draft", schema, messages)

    def judge(self, turn: SeenTurn) -> Judge:
        """Return the judges of a draft, who rate it relative to the edited response, if any, and answer questions."""
        return Judge(
            models=self.settings.judges,
            answer=parsing.Judgement(self.questions(turn), self.is_rated(turn)),
            note=self._render("retry"),
            tries=TRIES[self.settings.answer_format],
        )

    def judge_request(self, turn: SeenTurn, draft: str) -> tuple[Message, ...]:
        """Return the request to the judges of a draft, who see nothing of other turns."""
        reference, questions, rated = turn.responses["human"], self.questions(turn), self.is_rated(turn)
        # A draft may contain the code of the conversation's own fence, which its model was shown.
        fence = Fence.around(self.id, [draft, *self._texts()])
        tasks = [self._render("judge-ratings", reference=fence.block("reference", reference))] if rated else []
        if questions:
            tasks.append(self._render("judge-questions", questions=self._observer(questions)))
        form = [f'"{name}": integer' for name in JUDGE_DIMENSIONS if rated]
        form += [f'"answers": {{"{questions[0]}": "yes" or "no", ...}}'] if questions else []
        request = self._render(
            "judge",
            message=fence.block("message", turn.message),
            draft=fence.block("draft", draft),
            tasks="\n\n".join(tasks),
            form=", ".join(form),
        )
        return message("system", self._render("judge-system", boundary=fence.code)), message("user", request)

    def read(self, turn: SeenTurn) -> Call:
        """Ask for the emotions of a turn, and for the questions in the observer phrasing."""
        schema = parsing.read(self.settings.codebook, self.questions(turn), verbose=self.settings.verbose)
        draft, read = self._requests[turn.number]
        messages = [*self._thread(turn), draft, self._placeholder, read]
        return self._call(f"turn-{turn.number}/read", "read", schema, messages)

    def read_hp(self, turn: SeenTurn) -> Call:
        """Ask the same questions in the HP-facing phrasing, beside the thread."""
        binary, questions = self.settings.codebook.binary, self.questions(turn)
        request = self._render(
            "read-hp",
            number=str(turn.number),
            questions=_listed({question: binary[question].text for question in questions}),
            example=questions[0],
        )
        messages = [*self._through(turn), message("user", request)]
        return self._call(f"turn-{turn.number}/read-hp", "read_hp", parsing.read_hp(questions), messages)

    def pairwise(self, turn: SeenTurn) -> Call:
        """Ask which response of each comparison was preferred, under masked labels, beside the thread."""
        compared = {label for pair in turn.pairs for label in (pair.a, pair.b)}
        responses = [
            self._fence.block(mask, turn.responses[label])
            for label, mask in MASKS.items()
            if label in compared or turn.responses[label].strip()
        ]
        request = self._render(
            "pairwise",
            number=str(turn.number),
            message=self._fence.block("message", turn.message),
            responses="\n\n".join(responses),
            comparisons="\n\n".join(self._comparison(turn, place) for place in range(len(turn.pairs))),
        )
        messages = [*self._through(turn), message("user", request)]
        return self._call(f"turn-{turn.number}/pairwise", "pairwise", parsing.pairwise(len(turn.pairs)), messages)

    def post(self) -> Call:
        """Ask for the PANAS, Q1-Q3 and the four branches of the whole conversation."""
        codebook, strategy = self.settings.codebook, self.settings.panas_strategy
        shown = {} if strategy == "blind_delta" else {"before": self._panas_before()}
        off = codebook.conversation_wide["q3_followUp_whatFeltOff"].options
        request = self._render(
            "post",
            panas=self._render(f"panas-{strategy}", **shown),
            words=self.words,
            goals=_options(codebook.q1_options),
            clarity=_options(codebook.q2_options),
            fit=_options(codebook.q3_options),
            misfit=" or ".join(json.dumps(option, ensure_ascii=False) for option in codebook.q3_negative),
            off=f", any of {_options(off)}" if off else "",
            example=self.words.split(",", 1)[0],
        )
        messages = [*self._thread(None), message("user", request)]
        return self._call("post", "post", parsing.post(codebook, delta=strategy != "absolute"), messages)

    # The thread. The model's own answers in it are placeholders, so that no call has to wait for another.

    def _thread(self, until: SeenTurn | None) -> list[Message]:
        """Return the system message and all turns before a turn, or all turns."""
        turns = [turn for turn in self.turns if until is None or turn.number < until.number]
        return [self._system, *(said for turn in turns for said in self._exchange(turn))]

    def _through(self, turn: SeenTurn) -> list[Message]:
        """Return the thread up to the end of a turn."""
        return [*self._thread(turn), *self._exchange(turn)]

    def _exchange(self, turn: SeenTurn) -> list[Message]:
        """Return what the thread has of a turn."""
        draft, read = self._requests[turn.number]
        return [draft, self._placeholder, read, self._placeholder]

    def _draft_request(self, turn: SeenTurn) -> Message:
        verbose, context = self.settings.verbose, ""
        if self.settings.omniscient and turn is self.turns[0]:
            profile = self._fence.block("profile", self._profile)
            context = self._render("profile", profile=profile, panas=self._panas_before())
        request = self._render(
            "draft",
            context=context,
            number=str(turn.number),
            message=self._fence.block("message", turn.message),
            form=', "response_reasoning": string' if verbose else "",
            reasoning=self._render("draft-reasoning") if verbose else "",
        )
        return message("user", request)

    def _read_request(self, turn: SeenTurn) -> Message:
        questions = self.questions(turn)
        tasks = [self._render("read-emotions", words=self.words)]
        # Nothing in a form may pass as an answer where a model repeats the form.
        form = ['"emotions": [{"emotion": one of the words, "intensity": integer or null}, ...]']
        if questions:
            tasks.append(self._questions_task(turn, questions))
            pair = '{"observed": "yes" or "no", "preferred": "yes" or "no"}'
            form.append(f'"answers": {{"{questions[0]}": {pair}, ...}}')
        if self.settings.verbose:
            tasks.append(self._render("read-reasoning"))
            form.insert(1, '"emotion_reasoning": string')
        request = self._render(
            "read",
            number=str(turn.number),
            message=self._fence.block("message", turn.message),
            response=self._fence.block("response", turn.reply),
            tasks="\n\n".join(tasks),
            form=", ".join(form),
        )
        return message("user", request)

    def _questions_task(self, turn: SeenTurn, questions: Sequence[str]) -> str:
        others = [name for name in turn.questions if name in self.settings.codebook.binary and name not in questions]
        skipped = self._render("read-skipped", questions=", ".join(others)) if others else ""
        return self._render("read-questions", questions=self._observer(questions), skipped=skipped)

    def _panas_before(self) -> str:
        totals = {affect: _known(self.pre_totals[name]) for affect, name in parsing.TOTALS.items()}
        return self._render("panas-before", **totals)

    # Parts of requests.

    def _texts(self) -> Iterable[str]:
        """Yield every text of the conversation that a request can contain."""
        for turn in self.turns:
            yield turn.message
            yield from turn.responses.values()
            yield from (pair.question or "" for pair in turn.pairs)

    def _call(self, name: str, kind: str, schema: Mapping[str, Any], messages: Iterable[Message]) -> Call:
        return Call(name, self.settings.model, "model", tuple(messages), schema, kind)

    def _render(self, template: str, **values: str) -> str:
        return self.settings.prompts.render(template, **values)

    def _observer(self, questions: Iterable[str]) -> str:
        binary = self.settings.codebook.binary
        return _listed({question: binary[question].observer_text for question in questions})

    def _comparison(self, turn: SeenTurn, place: int) -> str:
        pair = turn.pairs[place]
        return self._render(
            "pairwise-comparison",
            number=str(place),
            question=self._pairwise_text(pair.question or "general"),
            a=_mask(pair.a),
            b=_mask(pair.b),
            first=self._fence.block("A", turn.responses.get(pair.a or "", "")),
            second=self._fence.block("B", turn.responses.get(pair.b or "", "")),
        )

    def _pairwise_text(self, question: str) -> str:
        known = self.settings.codebook.pairwise
        if question.startswith("custom:") and (own := question.removeprefix("custom:").strip()):
            return _quoted(own)
        if question in known and (text := known[question].text):
            return _one_line(text)
        unknown = f"(Question {_quoted(question)}; its wording is not known.)"
        return f"Which of the two responses did the HP prefer? {unknown}"


@lru_cache  # Nearly all of them are of the codebook.
def _one_line(text: str) -> str:
    """Return text on one line, where it cannot pass for a line of ours."""
    return " ".join(text.split())


def _quoted(text: str) -> str:
    """Return text that somebody wrote as one string, beyond which it cannot reach."""
    return json.dumps(_one_line(text), ensure_ascii=False)


def _listed(entries: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {_one_line(text)}" for name, text in entries.items())


def _options(options: Iterable[str]) -> str:
    return json.dumps(list(options), ensure_ascii=False)


def _mask(label: str | None) -> str:
    return MASKS[label] if label else "unknown"


def _known(total: float | None) -> str:
    return "an unknown number" if total is None else f"{total:g}"


def _filled(profile: Any) -> Any:
    """Return what a profile says, without its empty entries and without who the participant is."""
    if isinstance(profile, list):
        return [_filled(item) for item in profile]
    if not isinstance(profile, dict):
        return profile
    entries = {key: _filled(value) for key, value in profile.items() if key != "participant_id"}
    return {key: value for key, value in entries.items() if value not in (None, "", [], {})}


@dataclass(frozen=True, slots=True)
class Step:
    """A call and the reader of its answer."""

    call: Call
    read: Reader
    turn: SeenTurn | None = None


def _step(call: Call, reader: Callable[[Mapping[str, Any], Tally], Fields], turn: SeenTurn | None = None) -> Step:
    """Return a step with a reader that counts the values that it drops."""

    def read(said: Fields) -> tuple[Fields, int]:
        tally = Tally()
        return reader(said, tally), tally.dropped

    return Step(call, read, turn)


def planned_calls(
    conversation: Conversation, settings: AttuneBenchSettings, answers: Mapping[str, str] | None = None
) -> list[Call]:
    """Return the calls about a conversation: all of a run, or those that are still to be made.

    Parameters
    ----------
    conversation : Conversation
        The conversation.
    settings : AttuneBenchSettings
        How it is run.
    answers : mapping of str to str, optional
        Texts of the answers so far, by the id of their call; empty at the beginning.

    Returns
    -------
    list of Call
        In the order of the run file. Without `answers`: every call of a run in which no answer is asked for again;
        calls of judges show an empty draft. With `answers`: the calls that have no answer yet, judges' calls of the
        drafts among the answers, and another attempt (``#2`` behind its id) at each call whose answer cannot be
        read. An empty list means that `assemble` has all that it can get.

    Examples
    --------
    >>> from attune_data import load
    >>> conversation, settings = load("demo")[0], AttuneBenchSettings("vendor/model", judges=("vendor/judge",))
    >>> calls = planned_calls(conversation, settings)
    >>> len(calls), calls[1].id
    (26, 'turn-1/judge/vendor/judge')
    >>> len(planned_calls(conversation, settings, answers={}))
    21
    >>> answers = {call.id: '{"drafted_response": "I see."}' for call in calls if call.role == "model"}
    >>> [call.id for call in planned_calls(conversation, settings, answers=answers)][:3]
    ['turn-1/judge/vendor/judge', 'turn-1/read#2', 'turn-1/read-hp#2']
    """
    plan = _Plan(conversation, settings)
    return plan.all_calls() if answers is None else plan.calls_to_make(answers)


def assemble(conversation: Conversation, answers: Mapping[str, str], settings: AttuneBenchSettings) -> Run:
    """Make the run of the answers to the calls about a conversation.

    Parameters
    ----------
    conversation : Conversation
        The conversation.
    answers : mapping of str to str
        Texts by the id of the call that they answer, see `planned_calls`.
    settings : AttuneBenchSettings
        How the conversation was run.

    Returns
    -------
    Run
        The content of the run file, apart from its source, provider, strategy, judges, duration and costs. Its
        ``calls`` say of each call whether the answer was ``parsed`` as it was, ``repaired``, readable when
        ``retried``, or ``failed`` (also where it is missing), and how many of its values were ``dropped``. What was
        not answered is absent. A draft that failed is not judged.

    Examples
    --------
    >>> from attune_data import load
    >>> answers = {"turn-1/draft": '{"drafted_response": "I see."}'}
    >>> run = assemble(load("demo")[0], answers, AttuneBenchSettings("vendor/model"))
    >>> run.turns[0].em_drafted_response, run.complete
    ('I see.', False)
    """
    return _Plan(conversation, settings).assemble(answers)


async def run_conversation(conversation: Conversation, complete: Complete, settings: AttuneBenchSettings) -> Run:
    """Ask a model everything about one conversation.

    Parameters
    ----------
    conversation : Conversation
        The conversation.
    complete : callable
        Makes a call and returns the text of its answer, see `Complete`. All calls are started together; then those
        of judges, and further attempts at unreadable answers.
    settings : AttuneBenchSettings
        How the conversation is run.

    Returns
    -------
    Run
        What `assemble` makes of the answers.

    Raises
    ------
    CallFailedError
        The error of the first call that failed, in order; all other calls have been made, so that a
        `complete` that caches its answers need not ask for them again.
    """
    plan = _Plan(conversation, settings)
    return plan.assemble(await ask_planned(plan.calls_to_make, complete))


class _Plan:
    """The steps of one conversation. Each is built once and its answer read once, however often they are asked for."""

    def __init__(self, conversation: Conversation, settings: AttuneBenchSettings) -> None:
        self._calls = calls = ConversationCalls(conversation, settings)
        self._settings = settings
        self._turns = [
            (turn, _step(calls.draft(turn), parsing.read_draft, turn), list(self._steps_after_draft(turn)))
            for turn in calls.turns
        ]
        reader = partial(
            parsing.read_post, codebook=settings.codebook, strategy=settings.panas_strategy, pre_items=calls.pre_items
        )
        self._post = _step(calls.post(), reader)
        asked = probes(calls.id, calls.turns, settings.model, settings.paraphrases) if settings.probes else ()
        self._probes = [_step(probe.call, probe.read, probe.turn) for probe in asked]
        self._judging: dict[int, list[Step]] = {}
        self._readings: dict[str, Reading] = {}

    def _steps_after_draft(self, turn: SeenTurn) -> Iterator[Step]:
        calls, codebook = self._calls, self._settings.codebook
        asked = calls.questions(turn)
        yield _step(calls.read(turn), partial(parsing.read_emotions, questions=asked, codebook=codebook), turn)
        if asked:
            yield _step(calls.read_hp(turn), partial(parsing.read_questions, questions=asked, suffix="_hp"), turn)
        if turn.pairs:
            yield _step(calls.pairwise(turn), partial(parsing.read_pairwise, pairs=turn.pairs), turn)

    def _read(self, step: Step, answers: Mapping[str, str]) -> Reading:
        reading = self._readings.get(step.call.id)
        if reading is None or reading.outcome == "failed":
            reading = self._readings[step.call.id] = read_answer(answers, step.call.id, step.read)
        return reading

    def _steps(self, answers: Mapping[str, str]) -> Iterator[Step]:
        """Yield the steps in order; a judge's where the draft is among the answers."""
        for turn, drafting, others in self._turns:
            yield drafting
            draft = self._read(drafting, answers).fields.get("em_drafted_response")
            if draft is not None and self._calls.is_judged(turn):
                if turn.number not in self._judging:
                    judge, request = self._calls.judge(turn), self._calls.judge_request(turn, draft)
                    calls = judge.calls(f"turn-{turn.number}", request)
                    self._judging[turn.number] = [Step(call, judge.answer.read, turn) for call in calls]
                yield from self._judging[turn.number]
            yield from others
        yield from self._probes
        yield self._post

    def all_calls(self) -> list[Call]:
        """Return the calls of a run; calls of judges show an empty draft."""
        calls = []
        for turn, drafting, others in self._turns:
            calls.append(drafting.call)
            if self._calls.is_judged(turn):
                request = self._calls.judge_request(turn, "")
                calls += self._calls.judge(turn).calls(f"turn-{turn.number}", request, pending=1)
            calls += [step.call for step in others]
        return [*calls, *(step.call for step in self._probes), self._post.call]

    def calls_to_make(self, answers: Mapping[str, str]) -> list[Call]:
        """Return the calls that can be made where these answers are known."""
        note, tries = self._settings.prompts.render("retry"), TRIES[self._settings.answer_format]
        unread = (step for step in self._steps(answers) if not self._read(step, answers).fields)
        calls = (call_to_make(step.call, answers, step.read, note=note, tries=tries) for step in unread)
        return [call for call in calls if call is not None]

    def assemble(self, answers: Mapping[str, str]) -> Run:
        """Return the run that is made of answers."""
        read = [(step, self._read(step, answers)) for step in self._steps(answers)]
        post = read[-1][1].fields
        shown = {"panas_strategy": self._settings.panas_strategy, "pre_panas_shown": self._calls.pre_panas_shown}
        return Run.model_validate(
            {
                "conversationId": self._calls.id,
                "em_model": self._settings.model,
                "run_timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
                **self._settings.provenance(),
                "calls": {step.call.id: {"outcome": one.outcome, "dropped": one.dropped} for step, one in read},
                "turns": [_turn(turn, read) for turn, *_ in self._turns],
                # None, as in a run that stopped, where nothing was read.
                "post_conversation": shown | post if post else None,
            }
        )


def _turn(turn: SeenTurn, read: list[tuple[Step, Reading]]) -> Fields:
    """Return a turn of the run file, of what was read of all turns."""
    fields: Fields = {"turnNumber": turn.number}
    judged: dict[str, Fields] = {}
    own = [(step, reading) for step, reading in read if step.turn is turn]
    for step, reading in own:
        if step.call.role == "judge":
            judged[step.call.model] = reading.fields
        else:
            fields |= reading.fields
    if turn.pairs:
        fields["pairwise_assignment"] = {str(n): {"A": pair.a, "B": pair.b} for n, pair in enumerate(turn.pairs)}
    return fields | parsing.merge_judgements(judged)


def settings_of(
    model: str,
    *,
    modes: Sequence[str] = ("default",),
    judge_model: Sequence[str] = (),
    panas_strategy: Strategy = "absolute",
    codebook: Path | None = None,
    prompts: Path | None = None,
    probes: bool = False,
    paraphrases: Path | None = None,
    **decoding: Any,
) -> list[AttuneBenchSettings]:
    """Return the settings of each mode that a command line names.

    `codebook` is a data set's own, as a file, and `prompts` a wording of one's own, as a folder. Probes do not depend
    on the mode, and are asked in the first one alone; `paraphrases` is a file, see
    `attune_bench.benchmarks.attunebench.probes.read_paraphrases`.

    Examples
    --------
    >>> [settings.mode for settings in settings_of("vendor/model", modes=["all"])]
    ['default', 'verbose', 'omniscient', 'verbose_omniscient']
    """
    shared = {"codebook": load_codebook(codebook), "prompts": read_prompts(prompts, bundled_prompts()), **decoding}
    found = [
        AttuneBenchSettings(model, mode, tuple(judge_model), panas_strategy, **shared)
        for mode in get_args(Mode)
        if "all" in modes or mode in modes
    ]
    if probes or paraphrases is not None:
        found[:1] = [replace(own, probes=probes, paraphrases=read_paraphrases(paraphrases)) for own in found[:1]]
    return found


def _fields(_conversation: Conversation, settings: AttuneBenchSettings, source: Source) -> Mapping[str, Any]:
    """Return what a run file records of its run."""
    return {
        "source_file": source.file and Path(source.file).name,
        "provider": source.providers["model"],
        "panas_strategy": settings.panas_strategy,
        "judge_models": list(settings.judges),
        # A file without them is as it was before there were probes.
        **(_probed(settings) if settings.probes else {}),
    }


def _probed(settings: AttuneBenchSettings) -> dict[str, Any]:
    return {"probes": settings.probes, "paraphrase_hash": probe_hash(settings.paraphrases)}


def _recorded(settings: AttuneBenchSettings, source: Source) -> Mapping[str, Any]:
    """Return what a run file says of its settings."""
    return recorded_settings(settings) | {
        "em_model": settings.model,  # Names that differ in "/" and "_" only have one file name.
        "judge_settings": None,  # A rejudged run has them.
        "provider": source.providers["model"],
        "panas_strategy": settings.panas_strategy,
        "judge_models": list(settings.judges),
        **_probed(settings),
    }


TASK: Task[Conversation, AttuneBenchSettings] = Task(
    name="attunebench",
    calls=planned_calls,
    assemble=assemble,
    play=run_conversation,
    settings=settings_of,
    unit="conversation",
    fields=_fields,
    recorded=_recorded,
)
"""Conversations, and the run files that are made of them."""


def run_file_name(run: Run) -> str:
    """Return ``<conversationId>_<provider>_<model>_<mode>.json``, from the second repeat on in a folder ``repeat-2``.

    Parameters
    ----------
    run : Run
        Provider and model are the two sides of the first ``/`` of its ``em_model``.

    Returns
    -------
    str
        Safe as the name of a file in any folder: characters other than letters, digits, ``_``, ``.`` and ``-`` become
        ``-``. A name of more than 200 bytes is cut and ends in a digest of the run's id instead of its mode.

    Examples
    --------
    >>> run_file_name(Run(conversation_id="c1", em_model="vendor/large:free"))
    'c1_vendor_large-free_default.json'
    """
    return in_repeat(unit_file_name(run.conversation_id, run.em_model, run.mode), run.repeat)


def write_runs(runs: Iterable[Run], folder: str | os.PathLike[str]) -> list[Path]:
    """Write each run to its own file, which `attune_data.load_runs` reads.

    A file appears whole or not at all; one of the same name is replaced.

    Parameters
    ----------
    runs : iterable of Run
        Each conversation, model, mode and repeat once.
    folder : str or path-like
        Created where it does not exist.

    Returns
    -------
    list of Path
        The files, in the order of the runs.

    Raises
    ------
    ValueError
        Two runs would have the same file name; nothing is written then.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_runs([Run(conversation_id="c1", em_model="vendor/model")], folder)]
    ['c1_vendor_model_default.json']
    """
    named: dict[str, tuple[Path, Run]] = {}
    for run in runs:
        name = run_file_name(run)
        # Some file systems do not tell upper from lower case.
        _, other = named.setdefault(name.casefold(), (Path(folder, name), run))
        if other is not run:
            raise ValueError(f"the runs {other.id!r} and {run.id!r} have the same file name, {name}")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for path, run in named.values():
        path.parent.mkdir(exist_ok=True)
        write_whole(path, [run.to_json(indent=2) + b"\n"])
    return [path for path, _ in named.values()]
