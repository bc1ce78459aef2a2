"""The messages of every call about one conversation."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from attune_bench.benchmarks.attunebench import schemas
from attune_bench.benchmarks.attunebench.model_view import MASKS, SeenTurn, see
from attune_bench.benchmarks.attunebench.settings import AttuneBenchSettings
from attune_bench.runner.calls import Call, Message, message
from attune_bench.runner.prompts import Fence
from attune_data import Conversation
from attune_metrics.attunebench.panas import Panas, panas_totals
from attune_metrics.attunebench.preferences import JUDGE_DIMENSIONS

__all__ = ["ConversationCalls"]


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
        self.pre_totals: dict[str, Any] = {name: getattr(totals, affect) for affect, name in schemas.TOTALS.items()}
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
        schema = schemas.draft(verbose=self.settings.verbose)
        return self._call(
            f"turn-{turn.number}/draft", "draft", schema, [*self._thread(turn), self._requests[turn.number][0]]
        )

    def judge(self, turn: SeenTurn, judge: str, draft: str | None) -> Call:
        """Ask a judge about a draft: ratings relative to the edited response, if any, and the questions.

        The judge sees nothing of other turns. Where the draft is not known yet (None), the call is what is asked about
        an empty one.
        """
        reference, questions, rated = turn.responses["human"], self.questions(turn), self.is_rated(turn)
        # A draft may contain the code of the conversation's own fence, which its model was shown.
        fence = Fence.around(self.id, [draft or "", *self._texts()])
        tasks = [self._render("judge-ratings", reference=fence.block("reference", reference))] if rated else []
        if questions:
            tasks.append(self._render("judge-questions", questions=self._observer(questions)))
        form = [f'"{name}": integer' for name in JUDGE_DIMENSIONS if rated]
        form += [f'"answers": {{"{questions[0]}": "yes" or "no", ...}}'] if questions else []
        request = self._render(
            "judge",
            message=fence.block("message", turn.message),
            draft=fence.block("draft", draft or ""),
            tasks="\n\n".join(tasks),
            form=", ".join(form),
        )
        return Call(
            f"turn-{turn.number}/judge/{judge}",
            judge,
            "judge",
            (message("system", self._render("judge-system", boundary=fence.code)), message("user", request)),
            schemas.judge(questions, rated=rated),
            "judge",
            pending=int(draft is None),
        )

    def read(self, turn: SeenTurn) -> Call:
        """Ask for the emotions of a turn, and for the questions in the observer phrasing."""
        schema = schemas.read(self.settings.codebook, self.questions(turn), verbose=self.settings.verbose)
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
        return self._call(f"turn-{turn.number}/read-hp", "read_hp", schemas.read_hp(questions), messages)

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
        return self._call(f"turn-{turn.number}/pairwise", "pairwise", schemas.pairwise(len(turn.pairs)), messages)

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
        return self._call("post", "post", schemas.post(codebook, delta=strategy != "absolute"), messages)

    # The thread. The model's own answers in it are placeholders, so that no call has to wait for another.

    def _thread(self, until: SeenTurn | None) -> list[Message]:
        """Return the system message and all turns before a turn, or all turns."""
        messages = [self._system]
        for turn in self.turns:
            if until is not None and turn.number >= until.number:
                break
            messages += self._exchange(turn)
        return messages

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
            tasks.append(self._questions_task(turn))
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

    def _questions_task(self, turn: SeenTurn) -> str:
        questions = self.questions(turn)
        others = [name for name in turn.questions if name in self.settings.codebook.binary and name not in questions]
        skipped = self._render("read-skipped", questions=", ".join(others)) if others else ""
        return self._render("read-questions", questions=self._observer(questions), skipped=skipped)

    def _panas_before(self) -> str:
        return self._render(
            "panas-before", **{affect: _known(self.pre_totals[name]) for affect, name in schemas.TOTALS.items()}
        )

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
