"""A conversation as plain text: every turn, and below it what the participant annotated."""

from collections.abc import Iterable, Iterator

from attune_data.attunebench import annotations as said
from attune_data.attunebench.parts import BinaryJudgement, ConversationData, Turn
from attune_data.text import labelled, ruled, wrapped

__all__ = ["transcript"]

_LISTS = ("choices", *said.TELLING)


def transcript(conversation: ConversationData, columns: int) -> str:
    """Return a conversation as text that is safe to print, wrapped to a number of columns.

    Parameters
    ----------
    conversation : Conversation
        What to show.
    columns : int
        How wide the text may be.

    Returns
    -------
    str
        Without a final line break.

    Examples
    --------
    >>> from attune_data import Conversation, Turn
    >>> turns = [Turn(turn_number=1, user_message="I did it!", llm_response="Well done.")]
    >>> print(transcript(Conversation(conversation_id="c1", turns=turns), 40))
    Conversation c1
    <BLANKLINE>
    TURN 1 ---------------------------------
    <BLANKLINE>
    Participant
      I did it!
    <BLANKLINE>
    Model (original)
      Well done.
    """
    synthetic = " (synthetic)" if conversation.synthetic else ""
    facts = labelled(said.facts(conversation).items(), columns)
    blocks = [[*wrapped(f"Conversation {conversation.id}{synthetic}", columns), *facts]]
    for turn in conversation.turns:
        blocks += [[ruled(f"TURN {turn.turn_number}", columns)], *_turn(turn, columns)]
    after = list(_after(conversation, columns))
    if after:
        blocks += [[ruled("THE CONVERSATION AS A WHOLE", columns)], *after]
    questions = said.questions_of(conversation)
    if questions:
        blocks += [[ruled("QUESTIONS", columns)], labelled(questions.items(), columns), _legend(columns)]
    return "\n\n".join("\n".join(block) for block in blocks)


def _turn(turn: Turn, columns: int) -> Iterator[list[str]]:
    for speaker, message in (("Participant", turn.user_message), ("Model (original)", turn.llm_response)):
        yield [speaker, *(f"  {line}".rstrip() for line in wrapped(message, columns - 2) or ["-"])]
    alternates = turn.annotations.alternate_responses
    judged = said.judged(turn)
    others = [f"{name}: {_ids(judgements)}" for name, judgements in judged.items() if name not in said.JUDGED]
    rows = [
        ("felt", ", ".join(said.felt(turn.mood_shift_tags))),
        ("preferred", ", ".join(f"{label} {wins}" for label, wins in said.preferred(turn))),
        ("choices", "\n".join(f"{name}: {', '.join(made)}" for name, made in said.choices(turn).items())),
        *((name, (_listed if name in said.TELLING else _ids)(judged.get(name, ()))) for name in said.JUDGED),
        ("other", "\n".join(others)),
        ("alternate", alternates.llm_improved),
        ("human", alternates.human_edited),
    ]
    annotated = labelled(rows, columns, hanging=_LISTS)
    if annotated:
        yield annotated


def _ids(judgements: Iterable[BinaryJudgement]) -> str:
    return ", ".join(map(said.asked, judgements))


def _listed(judgements: Iterable[BinaryJudgement]) -> str:
    """Return a line for each question, with its text."""
    return "\n".join(f"{said.asked(item)}: {said.question_text(item.question_id)}" for item in judgements)


def _after(conversation: ConversationData, columns: int) -> Iterator[list[str]]:
    answers = labelled(said.answers_given(conversation.conversation_wide_questions), columns)
    if answers:
        yield answers
    rows = [
        (affect, f"{f'total {total}: ' if total else ''}{', '.join(f'{word} {change}' for word, change in ratings)}")
        for affect, total, ratings in said.affects(conversation)
    ]
    if rows:
        yield ["PANAS, before->after", *labelled(rows, columns)]


def _legend(columns: int) -> list[str]:
    responses = [f"{label}: {what}" for label, what in said.RESPONSES.items()]
    words = [f"{name}: {what}" for name, what in said.JUDGED.items()]
    count = "preferred: how often each response was chosen"
    text = f"{'; '.join([*words, count, *responses])}; felt: with intensity, 1-7."
    return wrapped(text[0].upper() + text[1:], columns)
