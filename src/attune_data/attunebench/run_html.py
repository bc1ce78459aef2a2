"""A run as HTML: what the model drafted and predicted of each turn, and of the whole, in brief."""

from collections import Counter
from collections.abc import Iterable, Iterator

from attune_data.attunebench.annotations import felt, question_text
from attune_data.attunebench.run_parts import RunData, RunTurn
from attune_data.attunebench.run_transcript import ANSWERS, facts, whole
from attune_data.display.html import Html, details, page, table, tag
from attune_data.text import plural

__all__ = ["run_html"]


def run_html(run: RunData) -> str:
    """Return a run as a piece of HTML for a notebook.

    Examples
    --------
    >>> "&lt;b&gt;" in run_html(RunData(conversation_id="c1", em_model="<b>"))
    True
    """
    known = [[heading, value] for heading, value in facts(run).items() if value]
    after = [] if run.post_conversation is None else [[name, said] for name, said in whole(run.post_conversation)]
    after = [row for row in after if row[1]]
    last = [tag("h5", "The conversation as a whole"), table(after)] if after else []
    return page(f"Run {run.id}", table(known), *(part for turn in run.turns for part in _turn(turn)), *last)


def _turn(turn: RunTurn) -> Iterator[Html]:
    yield tag("h5", f"Turn {turn.turn_number}")
    draft = tag(
        "div", tag("div", "Draft", kind="quiet"), tag("p", turn.em_drafted_response or "-"), kind="message model"
    )
    yield tag("div", tag("div", draft, kind="said"), tag("div", *_predicted(turn), kind="noted"), kind="turn")


def _predicted(turn: RunTurn) -> Iterator[Html]:
    if turn.em_emotion_tags:
        yield tag("div", "Felt, as predicted, intensity 1-7", kind="quiet")
        yield tag("div", *(tag("span", emotion, kind="chip") for emotion in felt(turn.em_emotion_tags)))
    for field, label in ANSWERS.items():
        answers: dict[str, str | None] = getattr(turn, field)
        if answers:
            asked = (_asked(name, answer) for name, answer in answers.items())
            yield details(f"{label}: {_counted(answers.values())}", tag("ul", *asked))
    if turn.em_pairwise_selections:
        yield tag("div", f"{plural(len(turn.em_pairwise_selections), 'choice')} between two responses", kind="quiet")


def _counted(answers: Iterable[str | None]) -> str:
    counts = Counter(answer or "no answer" for answer in answers)
    return ", ".join(f"{count} {answer}" for answer, count in counts.most_common())


def _asked(name: str, answer: str | None) -> Html:
    return tag("li", tag("b", f"{name} {answer or '-'}"), Html(" "), question_text(name))
