"""The messages of every call about one conversation."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from attune_bench.benchmarks.attunebench import schemas
from attune_bench.benchmarks.attunebench.model_view import Pair, SeenTurn, see
from attune_bench.benchmarks.attunebench.settings import AttuneBenchSettings
from attune_bench.runner.calls import Call, Message, message
from attune_bench.runner.prompts import Fence
from attune_data import Conversation
from attune_metrics.attunebench.panas import Panas, panas_totals
from attune_metrics.attunebench.response import JUDGE_DIMENSIONS

__all__ = ["ConversationCalls"]

_MASKS = {"original": "original", "alternate": "alternate1", "human": "alternate2"}


class ConversationCalls:
    """Builds the calls about one conversation.

    Apart from the profile in omniscient modes, all it takes from a conversation is what `see` lets through; it has
    no access to answers of the participant.
    """

    def __init__(self, conversation: Conversation, settings: AttuneBenchSettings) -> None:
        seen = see(conversation)
        codebook = settings.codebook
        self.id = seen.id
        self.settings = settings
        self.turns = seen.turns
        self.pre_items = seen.pre_items
        totals = panas_totals(Panas(seen.pre_items, *seen.pre_totals))
        self.pre_totals = {name: getattr(totals, affect) for affect, name in schemas.TOTALS.items()}
        self.words = ", ".join(emotion.word for emotion in codebook.emotions.values())
        self._profile = _profile(conversation, self.pre_totals) if settings.omniscient else {}
        self._profile_text = json.dumps(self._profile, ensure_ascii=False, indent=2)
        self._fence = Fence.around(self.id, [self._profile_text, *self._texts()])
        self._system = self._render("system", boundary=self._fence.code)
        self._placeholder = message("assistant", self._render("placeholder"))
        self._requests = {turn.number: (self._draft_request(turn), self._read_request(turn)) for turn in self.turns}

    @property
    def pre_panas_shown(self) -> dict[str, Any] | None:
        """What the evaluated model is shown of the PANAS before the conversation; None for nothing."""
        if self.settings.omniscient:
            shown: dict[str, Any] = self._profile["prePanas"]
            return shown
        return None if self.settings.panas_strategy == "blind_delta" else self.pre_totals

    def questions(self, turn: SeenTurn) -> tuple[str, ...]:
        """Return the questions that are asked about a turn: those that apply and whose wording is known.

        They stand in the order of the codebook, since that of a file might depend on the answers.
        """
        return tuple(question for question in self.settings.codebook.binary if question in turn.applicable)

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
        """Ask a judge about a draft: ratings against the edited response, if any, and the questions.

        Where the draft is not known yet (None), the call is what is asked about an empty one.
        """
        reference, questions, rated = turn.responses["human"], self.questions(turn), self.is_rated(turn)
        earlier = [other for other in self.turns if other.number < turn.number]
        # A draft may contain the code of the conversation's own fence, which its model was shown.
        fence = Fence.around(self.id, [draft or "", reference, *self._texts()])
        exchange = [
            block
            for other in earlier
            for block in (fence.block("HP", other.message), fence.block("response", other.reply))
        ]
        tasks = [self._render("judge-ratings", reference=fence.block("reply", reference))] if rated else []
        if questions:
            tasks.append(self._render("judge-questions", questions=self._observer(questions)))
        form = [f'"{name}": number' for name in JUDGE_DIMENSIONS if rated]
        form += [f'"answers": {{"{questions[0]}": "yes" or "no", ...}}'] if questions else []
        request = self._render(
            "judge",
            conversation="\n\n".join([*exchange, fence.block("HP", turn.message)]),
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
        return self._call(
            f"turn-{turn.number}/read", "read", schema, [*self._drafted(turn), self._requests[turn.number][1]]
        )

    def read_hp(self, turn: SeenTurn) -> Call:
        """Ask the same questions in the HP-facing phrasing, beside the thread."""
        binary, questions = self.settings.codebook.binary, self.questions(turn)
        request = self._render(
            "read-hp",
            number=str(turn.number),
            response=self._fence.block("response", turn.reply),
            questions=_listed({question: binary[question].text for question in questions}),
            example=questions[0],
        )
        messages = [*self._drafted(turn), message("user", request)]
        return self._call(f"turn-{turn.number}/read-hp", "read_hp", schemas.read_hp(questions), messages)

    def pairwise(self, turn: SeenTurn) -> Call:
        """Ask which response of each comparison was preferred, under masked labels, beside the thread."""
        compared = {label for pair in turn.pairs for label in (pair.a, pair.b)}
        responses = [
            self._fence.block(mask, turn.responses[label]) for label, mask in _MASKS.items() if label in compared
        ]
        comparisons = [f"{place}. {self._comparison(pair)}" for place, pair in enumerate(turn.pairs)]
        request = self._render(
            "pairwise",
            number=str(turn.number),
            responses="\n\n".join(responses),
            comparisons="\n".join(comparisons),
        )
        messages = [*self._drafted(turn), message("user", request)]
        return self._call(f"turn-{turn.number}/pairwise", "pairwise", schemas.pairwise(len(turn.pairs)), messages)

    def post(self) -> Call:
        """Ask for the PANAS, Q1-Q3 and the four branches of the whole conversation."""
        codebook, strategy = self.settings.codebook, self.settings.panas_strategy
        delta = strategy != "absolute"
        totals = {affect: _known(self.pre_totals[name]) for affect, name in schemas.TOTALS.items()}
        negative = " or ".join(json.dumps(option, ensure_ascii=False) for option in codebook.q3_negative)
        questions = {question.id: question.text for question in codebook.conversation_wide.values()}
        for name, question in codebook.conversation_wide.items():
            if question.options:
                options = json.dumps(question.options, ensure_ascii=False)
                questions[name] += f" {'Any' if question.multiple else 'One'} of {options}."
        questions["q3_followUp_whatFeltOff"] += f" Asked only after {negative}; else an empty list."
        request = self._render(
            "post",
            panas=self._render(f"panas-{strategy}", **({} if strategy == "blind_delta" else totals)),
            words=self.words,
            questions=_listed(questions),
            branches=_listed(codebook.branches),
            example=self.words.split(",", 1)[0],
            ratings=", ".join(f'"{branch}": number' for branch in codebook.branches),
        )
        messages = [*self._thread(None), message("user", request)]
        return self._call("post", "post", schemas.post(codebook, delta=delta), messages)

    # The thread. The model's own answers in it are placeholders, so that no call has to wait for another.

    def _thread(self, until: SeenTurn | None) -> list[Message]:
        """Return the system message and all turns before a turn, or all turns."""
        messages = [message("system", self._system)]
        for turn in self.turns:
            if until is not None and turn.number >= until.number:
                break
            draft, read = self._requests[turn.number]
            messages += [draft, self._placeholder, read, self._placeholder]
        return messages

    def _drafted(self, turn: SeenTurn) -> list[Message]:
        """Return the thread up to the point where the original response is shown."""
        return [*self._thread(turn), self._requests[turn.number][0], self._placeholder]

    def _draft_request(self, turn: SeenTurn) -> Message:
        context = ""
        if self.settings.omniscient and turn is self.turns[0]:
            context = self._render("profile", profile=self._fence.block("profile", self._profile_text))
        fenced = self._fence.block("message", turn.message)
        reasoning = '"reasoning", a string: why you reply as you do; then ' if self.settings.verbose else ""
        request = self._render("draft", context=context, number=str(turn.number), message=fenced, reasoning=reasoning)
        return message("user", request)

    def _read_request(self, turn: SeenTurn) -> Message:
        questions = self.questions(turn)
        tasks = [self._render("read-emotions", words=self.words)]
        # Nothing in a form may pass as an answer where a model repeats the form.
        form = '"emotions": [{"emotion": one of the words, "intensity": number}, ...]'
        if self.settings.verbose:
            form = f'"reasoning": what in the message tells of these feelings, {form}'
        if questions:
            tasks.append(self._render("read-questions", questions=self._observer(questions)))
            pair = '{"observed": "yes" or "no", "preferred": "yes" or "no"}'
            form += f', "answers": {{"{questions[0]}": {pair}, ...}}'
        request = self._render(
            "read",
            number=str(turn.number),
            response=self._fence.block("response", turn.reply),
            tasks="\n\n".join(tasks),
            every=", with every question in it" if questions else "",
            form=form,
        )
        return message("user", request)

    # Parts of requests.

    def _texts(self) -> Iterable[str]:
        """Yield every text of the conversation that a request can hold."""
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

    def _comparison(self, pair: Pair) -> str:
        a, b = (_MASKS[label] if label else "unknown" for label in (pair.a, pair.b))
        return f"A: {a}, B: {b}. {self._pairwise_text(pair.question or 'general')}"

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


def _known(total: float | None) -> str:
    return "an unknown number" if total is None else f"{total:g}"


def _profile(conversation: Conversation, pre_totals: Mapping[str, float | None]) -> dict[str, Any]:
    """Return what is known of the participant from before the conversation, without identity or unknown keys."""
    profile = conversation.participant_profile
    demographics, scores = profile.demographics, profile.computed_scores
    return {
        "demographics": {name: getattr(demographics, name) for name in type(demographics).model_fields},
        "computed_scores": {name: getattr(scores, name) for name in type(scores).model_fields},
        "conversation_topic_attitude": profile.conversation_topic_attitude,
        "prePanas": {**pre_totals, "responses": conversation.pre_panas.responses},
    }
