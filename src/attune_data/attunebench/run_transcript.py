"""A run as plain text: every turn with what the model drafted and predicted, then its predictions of the whole."""

from collections.abc import Iterator

from attune_data.attunebench.annotations import answers_given, felt
from attune_data.attunebench.run_parts import ANSWER_FIELDS, PostConversation, RunData, RunTurn
from attune_data.text import labelled, ruled, wrapped

__all__ = ["ANSWERS", "facts", "run_transcript", "whole"]

ANSWERS = dict(zip(ANSWER_FIELDS, ("did", "wanted", "did (HP)", "wanted (HP)", "draft does"), strict=True))
"""The fields of a turn with answers to the binary questions, and what they are called in short."""
_LEGEND = (
    "Answers, by question: did: whether the response did it; wanted: whether the person would have wanted it; (HP): "
    "asked in the words that the person read; draft does: what the judges say of the draft."
)


def run_transcript(run: RunData, columns: int) -> str:
    """Return a run as text that is safe to print, wrapped to a number of columns.

    Examples
    --------
    >>> run = RunData(conversation_id="c1", em_model="vendor/model", turns=[{"turn_number": 1}])
    >>> print(run_transcript(run, 40))
    Run c1/vendor/model/default
      model         vendor/model
      mode          default
    <BLANKLINE>
    TURN 1 ---------------------------------
    <BLANKLINE>
    Draft
      -
    """
    blocks = [[*wrapped(f"Run {run.id}", columns), *labelled(facts(run).items(), columns)]]
    for turn in run.turns:
        blocks += [[ruled(f"TURN {turn.turn_number}", columns)], *_turn(turn, columns)]
    if run.post_conversation is not None:
        blocks += [[ruled("THE CONVERSATION AS A WHOLE", columns)], labelled(whole(run.post_conversation), columns)]
    if any(getattr(turn, name) for turn in run.turns for name in ANSWER_FIELDS):
        blocks.append(wrapped(_LEGEND, columns))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def facts(run: RunData) -> dict[str, str]:
    """Return what is known of a run, by heading; empty where it is not known."""
    return {
        "model": run.em_model,
        "mode": run.mode,
        "ended": run.run_timestamp or "",
        "seconds": "" if run.duration_seconds is None else f"{run.duration_seconds:g}",
        "cost, USD": "" if run.api_cost is None else f"{run.api_cost:g}",
    }


def _turn(turn: RunTurn, columns: int) -> Iterator[list[str]]:
    yield ["Draft", *(f"  {line}".rstrip() for line in wrapped(turn.em_drafted_response, columns - 2) or ["-"])]
    judged = turn.em_draft_judge_scores
    ratings = {name: getattr(judged, name) for name in type(judged).model_fields}
    rows = [
        ("felt", ", ".join(felt(turn.em_emotion_tags))),
        ("why", turn.emotion_reasoning),
        ("reasoning", turn.response_reasoning),
        *((label, _answers(getattr(turn, name))) for name, label in ANSWERS.items()),
        ("choices", ", ".join(f"{place}: {choice or '-'}" for place, choice in turn.em_pairwise_selections.items())),
        ("judged", ", ".join(f"{name} {rating:g}" for name, rating in ratings.items() if rating is not None)),
    ]
    if predicted := labelled(rows, columns):
        yield predicted


def _answers(answers: dict[str, str | None]) -> str:
    """Return the questions by answer."""
    found: dict[str, list[str]] = {}
    for question, answer in answers.items():
        found.setdefault(answer or "no answer", []).append(question)
    return "; ".join(f"{answer}: {', '.join(questions)}" for answer, questions in sorted(found.items(), reverse=True))


def whole(post: PostConversation) -> Iterator[tuple[str, str]]:
    """Yield each prediction about the whole conversation, after its name; empty where there is none."""
    wide, panas = post.predicted_conversation_wide, post.predicted_post_panas
    yield from answers_given(wide)
    for sign in ("positive", "negative"):
        total = getattr(panas, f"total_{sign}_affect")
        yield f"PANAS {sign[:3]}.", "" if total is None else f"total {total}"
    yield "PANAS after", ", ".join(f"{word} {rating}" for word, rating in panas.items.items() if rating is not None)
