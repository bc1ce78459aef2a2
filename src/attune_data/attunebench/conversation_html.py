"""A conversation as HTML: the messages, and beside each turn what the participant annotated."""

from collections.abc import Iterator

from attune_data.attunebench import annotations as said
from attune_data.attunebench.parts import ConversationData, Turn
from attune_data.display.html import Html, details, page, table, tag
from attune_data.text import plural

__all__ = ["conversation_html"]


def conversation_html(conversation: ConversationData) -> str:
    """Return a conversation as a piece of HTML for a notebook.

    Examples
    --------
    >>> "&lt;b&gt;" in conversation_html(ConversationData(conversation_id="<b>"))
    True
    """
    synthetic = " (synthetic)" if conversation.synthetic else ""
    known = [[heading, value] for heading, value in said.facts(conversation).items()]
    return page(
        f"Conversation {conversation.id}{synthetic}",
        table(known),
        *(part for turn in conversation.turns for part in _turn(turn)),
        *_after(conversation),
    )


def _turn(turn: Turn) -> Iterator[Html]:
    yield tag("h5", f"Turn {turn.turn_number}")
    alternates = turn.annotations.alternate_responses
    messages = [
        _message("participant", "Participant", turn.user_message),
        _message("model", "Model (original)", turn.llm_response),
    ]
    for label, text in (("alternate", alternates.llm_improved), ("human", alternates.human_edited)):
        if text:
            messages.append(details(f"{label}: {said.RESPONSES[label]}", tag("p", text, kind="message model")))
    yield tag("div", tag("div", *messages, kind="said"), tag("div", *_noted(turn), kind="noted"), kind="turn")


def _message(kind: str, speaker: str, text: str) -> Html:
    return tag("div", tag("div", speaker, kind="quiet"), tag("p", text or "-"), kind=f"message {kind}")


def _noted(turn: Turn) -> Iterator[Html]:
    if turn.mood_shift_tags:
        yield tag("div", "Felt, intensity 1-7", kind="quiet")
        yield tag("div", *(tag("span", emotion, kind="chip") for emotion in said.felt(turn.mood_shift_tags)))
    if wins := said.preferred(turn):
        yield tag("div", "Preferred response, times chosen", kind="quiet")
        yield tag("div", *(tag("span", f"{label} {count}", kind="chip") for label, count in wins))
    if choices := said.choices(turn):
        asked = [_asked(name, name, f"chosen: {', '.join(made)}") for name, made in choices.items()]
        yield details(plural(len(turn.annotations.pairwise_comparisons), "comparison"), tag("ul", *asked))
    for name, judgements in said.judged(turn).items():
        heading = f"{name}: {said.JUDGED[name]}" if name in said.JUDGED else name
        questions = tag("ul", *(_asked(said.asked(judgement), judgement.question_id) for judgement in judgements))
        if name in said.TELLING:
            yield tag("div", tag("div", heading, kind="quiet"), questions, kind="edge")
        else:
            yield details(f"{len(judgements)} {heading}", questions)


def _asked(shown: str, name: str, answer: str = "") -> Html:
    """Return a question with its text as an item of a list."""
    return tag("li", tag("b", shown), Html(" "), said.question_text(name), tag("div", answer, kind="quiet"))


def _after(conversation: ConversationData) -> Iterator[Html]:
    answers = [[question, answer] for question, answer in said.answers_given(conversation.conversation_wide_questions)]
    affects = list(said.affects(conversation))
    if answers or affects:
        yield tag("h5", "The conversation as a whole")
    if answers:
        yield table(answers)
    for affect, total, ratings in affects:
        items = [tag("span", f"{word} {_arrow(change)}", kind="chip") for word, change in ratings]
        yield tag("div", f"PANAS, {affect}, before \u2192 after{f': {_arrow(total)}' if total else ''}", kind="quiet")
        yield tag("div", *items)


def _arrow(change: str) -> str:
    return change.replace("->", " \u2192 ")
