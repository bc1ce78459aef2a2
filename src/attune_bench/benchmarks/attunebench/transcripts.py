"""A conversation on a page: its messages, and beside each turn what the participant answered and a model predicted.

Answers agree here where the scoring counts them as agreeing. Of the participant a page shows what they wrote and
answered in the conversation, not who they are.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attune_bench.benchmarks.attunebench.conversation_score import hp_asked
from attune_bench.report.transcript_parts import (
    Compared,
    TranscriptView,
    compared,
    counted,
    facts,
    folded,
    message,
    quiet,
)
from attune_data import Conversation, Run, RunTurn, Turn
from attune_data.attunebench import show as said
from attune_data.attunebench.records import BinaryJudgement, PostConversation
from attune_data.issues import Html, tag
from attune_metrics.attunebench.questions import hp_reference, om_reference

__all__ = ["VIEW"]

_EMPTY = RunTurn(turn_number=0)
_DID, _WANTED = "Did the response do it?", "Would the participant have wanted it?"
_TASKS = (
    (_DID, "em_binary_om_assessment", False),
    (_WANTED, "em_binary_human_prediction", False),
    (f"{_DID} (asked in the participant's words)", "em_binary_om_assessment_hp", True),
    (f"{_WANTED} (asked in the participant's words)", "em_binary_human_prediction_hp", True),
)
"""The questions of each task, the field of the predictions, and whether they are in the words of the participant."""


def _conversation(conversation: Conversation, _runs: Mapping[str, Run]) -> Iterator[Html]:
    yield facts([("topic", said.topic(conversation)), ("original model", conversation.metadata.model or "")])


def _run(conversation: Conversation, run: Run) -> Iterator[Html]:
    predicted = {turn.turn_number: turn for turn in run.turns}
    asks_hp = hp_asked(run)
    for turn in conversation.turns:
        yield tag("h4", f"Turn {turn.turn_number}")
        own = predicted.get(turn.turn_number)
        noted = [quiet("The model predicted nothing of this turn.")] if own is None else []
        noted += _noted(turn, own or _EMPTY, asks_hp=asks_hp)
        yield tag("div", tag("div", *_messages(turn, own or _EMPTY)), tag("div", *noted), kind="beside")
    yield tag("h4", "The conversation as a whole")
    if not run.complete:
        yield quiet("The model predicted nothing of the whole conversation.")
    yield from _whole(conversation, run.post_conversation or PostConversation())


def _messages(turn: Turn, own: RunTurn) -> Iterator[Html]:
    yield message("Participant", turn.user_message, person=True)
    yield message("Original model", turn.llm_response, person=False)
    others = turn.annotations.alternate_responses
    for label, text in (("alternate", others.llm_improved), ("human", others.human_edited)):
        if text:
            yield folded(f"{label.capitalize()} response: {said.RESPONSES[label]}", message(label, text, person=False))
    if own.em_drafted_response:
        judged = own.em_draft_judge_scores
        ratings = {name: getattr(judged, name) for name in type(judged).model_fields}
        told = [f"{name.replace('_', ' ')} {rating:g}" for name, rating in ratings.items() if rating is not None]
        beside = [quiet(f"Judged, 1-7: {', '.join(told)}.")] if told else []
        draft = message("Evaluated model", own.em_drafted_response, *beside, person=False)
        yield folded("Draft of the evaluated model", draft)
    for name, text in (("answered so", own.response_reasoning), ("felt so", own.emotion_reasoning)):
        if text:
            who = "the model" if name == "answered so" else "the participant"
            yield folded(f"Why {who} {name}, says the model", tag("p", text))


def _noted(turn: Turn, own: RunTurn, *, asks_hp: bool) -> Iterator[Html]:
    felt = _felt(turn, own)
    if felt:
        yield _group("Emotions, intensity 1-7", felt, "emotion", _same_of_felt(felt), opened=True)
    else:
        yield quiet("Emotions: none felt, none predicted: the same.")
    judgements = {one.question_id: one for one in turn.annotations.binary_judgements}
    for heading, field, is_hp in _TASKS:
        if is_hp and not asks_hp:
            continue
        rows = _answers(judgements, getattr(own, field), wanted="human" in field)
        if rows:
            yield _group(heading, rows, "question")
    choices = _choices(turn, own)
    if choices:
        yield _group("Which of two responses is preferred?", choices, "question")


def _group(heading: str, rows: Sequence[Compared], asked: str, count: str = "", *, opened: bool = False) -> Html:
    """Return answers under their heading: those that differ at once, the others where they are asked for."""
    told = tag("div", tag("b", heading), Html(" "), tag("span", count or counted(rows), kind="chip"))
    heads = {"asked": asked, "reference": "participant", "predicted": "model"}
    if opened:
        return tag("div", told, compared(rows, **heads))
    differing = [row for row in rows if row.same is False]
    others = [row for row in rows if row.same is not False]
    rest = [folded(f"The same, or not scored: {len(others)}", compared(others, **heads))] if others else []
    return tag("div", told, compared(differing, **heads), *rest)


def _felt(turn: Turn, own: RunTurn) -> list[Compared]:
    felt, predicted = (
        {tag.emotion.strip().lower(): (tag.emotion, tag.intensity) for tag in tags}
        for tags in (turn.mood_shift_tags, own.em_emotion_tags)
    )
    rows = []
    for key in dict.fromkeys((*felt, *predicted)):
        mine, theirs = felt.get(key), predicted.get(key)
        name = (mine or theirs or (key, None))[0]
        note = "felt, not predicted" if theirs is None else "predicted, not felt" if mine is None else "both"
        rows.append(Compared(name, _intensity(mine), _intensity(theirs), mine is not None and theirs is not None, note))
    return rows


def _intensity(felt: tuple[str, int | None] | None) -> str:
    return "" if felt is None else "felt" if felt[1] is None else str(felt[1])


def _same_of_felt(rows: Sequence[Compared]) -> str:
    felt = sum(row.note != "predicted, not felt" for row in rows)
    return f"{sum(row.same is True for row in rows)} of {felt} predicted"


def _answers(
    judgements: Mapping[str, BinaryJudgement], answers: Mapping[str, str | None], *, wanted: bool
) -> list[Compared]:
    """Return the answers to the questions of a turn; what is no yes counts as no, as it is scored."""
    rows = []
    for name, one in judgements.items():
        observed, preferred = one.observed_behavior, one.preferred_behavior
        reference = hp_reference(preferred, observed) if wanted else om_reference(observed, one.llm_value)
        answer = answers.get(name)
        same = (answer == "yes") == (reference == "yes") if reference in ("yes", "no") else None
        note = ("same: no answer counts as no" if same else "differs: no answer counts as no") if answer is None else ""
        rows.append(Compared(_asked(name), reference or "", answer or "", same, "" if same is None else note))
    return rows


def _choices(turn: Turn, own: RunTurn) -> list[Compared]:
    rows = []
    for place, pair in enumerate(turn.annotations.pairwise_comparisons):
        labels = {"A": pair.response_a or "A", "B": pair.response_b or "B"}
        choice = own.em_pairwise_selections.get(str(place))
        name = pair.question_id or ""
        asked = f"{_asked(name) if name else 'no question'} ({labels['A']} or {labels['B']})"
        same = None if pair.winner is None else choice == pair.winner
        rows.append(Compared(asked, labels.get(pair.winner or "", ""), labels.get(choice or "", ""), same))
    return rows


def _asked(name: str) -> str:
    return f"{name} {said.question_text(name)}".strip()


def _whole(conversation: Conversation, post: PostConversation) -> Iterator[Html]:
    actual, predicted = conversation.conversation_wide_questions, post.predicted_conversation_wide
    heads = {"asked": "question", "reference": "participant", "predicted": "model"}
    rows = [
        _texts("What the participant was looking for", actual.q1_looking_for, predicted.q1_looking_for),
        _texts("How clear the feelings were", actual.q2_emotion_clarity, predicted.q2_emotion_clarity),
        _texts("How well the model fitted", actual.q3_model_fit, predicted.q3_model_fit),
        _texts("What felt off", actual.q3_follow_up_what_felt_off, predicted.q3_follow_up_what_felt_off),
    ]
    rows += [
        _numbers(name, getattr(actual.four_branch_scores, name), getattr(predicted.four_branch_scores, name))
        for name in type(actual.four_branch_scores).model_fields
    ]
    rows = [row for row in rows if row.reference or row.predicted]
    if rows:
        yield tag("div", tag("b", "Answers, and the four branches 1-7"), compared(rows, **heads))
    before, after, form = conversation.pre_panas.responses, conversation.post_panas.responses, post.predicted_post_panas
    items = {word.lower(): rating for word, rating in form.items.items()}
    ratings = [
        _numbers(
            f"{word}, {before[word]} before" if before.get(word) is not None else word, after.get(word), items.get(word)
        )
        for word in dict.fromkeys((*after, *items))
    ]
    totals = [
        _numbers(f"total {affect} affect", getattr(conversation.post_panas, field), getattr(form, field))
        for affect, field in ((one, f"total_{one}_affect") for one in ("positive", "negative"))
    ]
    if panas := [row for row in (*totals, *ratings) if row.reference or row.predicted]:
        yield folded("PANAS after the conversation", compared(panas, **{**heads, "asked": "item, 1-7"}))


def _texts(asked: str, actual: Iterable[str] | str | None, predicted: Iterable[str] | str | None) -> Compared:
    mine, theirs = ([one] if isinstance(one, str) else list(one or ()) for one in (actual, predicted))
    folded_texts = ({text.strip().lower() for text in texts} for texts in (mine, theirs))
    same = None if not mine and not theirs else next(folded_texts) == next(folded_texts)
    return Compared(asked, "\n".join(mine), "\n".join(theirs), same)


def _numbers(asked: str, actual: int | None, predicted: int | None) -> Compared:
    """Return two ratings, with how far the prediction is off."""
    if actual is None or predicted is None:
        mine, theirs = ("" if one is None else str(one) for one in (actual, predicted))
        return Compared(asked, mine, theirs, None)
    off = predicted - actual
    return Compared(asked, str(actual), str(predicted), off == 0, f"differs by {off:+d}" if off else "")


VIEW = TranscriptView(unit=_conversation, result=_run)
"""How a page shows a conversation with what a model predicted of it."""
