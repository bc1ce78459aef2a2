"""A conversation with what models predicted of it: each prediction beside what the participant annotated."""

from collections.abc import Iterator, Sequence

from attune_data.attunebench import annotations as said
from attune_data.attunebench.parts import ConversationData, Turn
from attune_data.attunebench.run import Run
from attune_data.attunebench.run_parts import PostConversation, RunTurn
from attune_data.display.beside import Beside, Row

__all__ = ["conversation_beside"]

_NOTHING = RunTurn(turn_number=0)
_BINARY = (
    ("did the response do it", ("observed_behavior", "llm_value"), "em_binary_om_assessment"),
    ("would the participant have wanted it", ("preferred_behavior", "observed_behavior"), "em_binary_human_prediction"),
    ("did it, asked in the participant's words", ("observed_behavior", "llm_value"), "em_binary_om_assessment_hp"),
    (
        "wanted, asked in the participant's words",
        ("preferred_behavior", "observed_behavior"),
        "em_binary_human_prediction_hp",
    ),
)
"""What is asked, the fields of which the first that has an answer counts, and the field of the predictions."""


def conversation_beside(conversation: ConversationData, runs: Sequence[Run]) -> Iterator[Beside]:
    """Yield the turns of a conversation, then the whole, with the predictions of runs in their order.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> conversation = load("demo")[0]
    >>> runs = [run for run in load_runs("demo") if run.conversation_id == conversation.id]
    >>> [part.heading for part in conversation_beside(conversation, runs) if part.heading][:2]
    ['TURN 1', 'TURN 2']
    """
    for turn in conversation.turns:
        predicted = [{one.turn_number: one for one in run.turns}.get(turn.turn_number, _NOTHING) for run in runs]
        yield from _turn(turn, predicted)
    yield from _whole(conversation, [run.post_conversation or PostConversation() for run in runs])


def _turn(turn: Turn, predicted: Sequence[RunTurn]) -> Iterator[Beside]:
    messages = [("Participant", turn.user_message), ("Model (original)", turn.llm_response)]
    drafts = [(f"Draft of {number}", one.em_drafted_response) for number, one in enumerate(predicted, start=1)]
    felt = [
        ", ".join(said.felt(turn.mood_shift_tags)),
        *(", ".join(said.felt(one.em_emotion_tags)) for one in predicted),
    ]
    why = [None, *(one.emotion_reasoning for one in predicted)]
    rows: list[Row] = [("felt", felt)]
    if any(why):
        rows.append(("why", why))
    yield Beside(heading=f"TURN {turn.turn_number}", texts=[*messages, *(one for one in drafts if one[1])])
    yield Beside(rows=rows, stacked=True)
    yield Beside(rows=[*_binary(turn, predicted)], compared=True)
    yield Beside(rows=[*_chosen(turn, predicted)], compared=True)


def _binary(turn: Turn, predicted: Sequence[RunTurn]) -> Iterator[Row]:
    judgements = {one.question_id: one for one in turn.annotations.binary_judgements}
    for heading, own, field in _BINARY:
        answers = [getattr(one, field) for one in predicted]
        if not any(answers):
            continue
        yield heading, ()
        for question in dict.fromkeys([*judgements, *(name for one in answers for name in one)]):
            given = next(filter(None, (getattr(judgements.get(question), name, None) for name in own)), "")
            text = f"{question}  {said.question_text(question)}"
            yield text, [given, *(one.get(question) for one in answers)]


def _chosen(turn: Turn, predicted: Sequence[RunTurn]) -> Iterator[Row]:
    comparisons = turn.annotations.pairwise_comparisons
    if comparisons:
        yield "which of two responses is preferred", ()
    for place, pair in enumerate(comparisons):
        labels = {"A": pair.response_a or "A", "B": pair.response_b or "B"}
        answers = [pair.winner, *(one.em_pairwise_selections.get(str(place)) for one in predicted)]
        name = f"{pair.question_id or 'no question'}: {labels['A']} or {labels['B']}"
        yield name, [labels[answer] if answer else "" for answer in answers]


def _whole(conversation: ConversationData, predicted: Sequence[PostConversation]) -> Iterator[Beside]:
    own = dict(said.answers_given(conversation.conversation_wide_questions))
    given = [own, *(dict(said.answers_given(one.predicted_conversation_wide)) for one in predicted)]
    asked = list(dict.fromkeys(name for answers in given for name in answers))
    rows: list[Row] = [(name, [answers.get(name, "") for answers in given]) for name in asked]
    forms = [conversation.post_panas, *(one.predicted_post_panas for one in predicted)]
    ratings: list[Row] = [
        (f"total {affect}", [_text(getattr(form, f"total_{affect}_affect")) for form in forms])
        for affect in ("positive", "negative")
    ]
    first, *others = [conversation.post_panas.responses, *(one.predicted_post_panas.items for one in predicted)]
    items = [first, *({word.lower(): rating for word, rating in one.items()} for one in others)]
    words = dict.fromkeys(word for one in items for word in one)
    ratings += [(word, [_text(one.get(word)) for one in items]) for word in words]
    yield Beside(heading="THE CONVERSATION AS A WHOLE", rows=rows, stacked=True)
    yield Beside(rows=[("PANAS after the conversation", ()), *(row for row in ratings if any(row[1]))])


def _text(rating: int | None) -> str:
    return "" if rating is None else str(rating)
