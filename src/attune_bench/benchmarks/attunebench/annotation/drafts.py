"""The drafts of models as texts that people rate: what a judge of drafts rates, with the conversation before it."""

from collections.abc import Iterable

from attune_bench.annotate.rated import RatedText, Talk, numbered
from attune_bench.benchmarks.attunebench.scoring import row
from attune_data import Conversation, Run
from attune_data.attunebench.records import RunTurn


def drafts(conversations: Iterable[Conversation], runs: Iterable[Run]) -> list[RatedText]:
    """Return the drafts of runs, in the order of turns; of a run with judged drafts these alone.

    Parameters
    ----------
    conversations : iterable of Conversation
        What the runs predict.
    runs : iterable of Run
        The runs.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> found = drafts(load("demo"), load_runs("demo"))
    >>> len(found), found[0].model, found[0].part, [by for by, _ in found[1].talk]
    (400, 'synthetic/attentive', '1', ['person', 'model', 'person'])
    """
    found: list[RatedText] = []
    by_id = {conversation.id: conversation for conversation in conversations}
    for run in runs:
        if (conversation := by_id.get(run.conversation_id)) is None:
            continue
        model, condition, unit = row(run)
        judged = {turn.turn_number for turn in run.turns if _is_judged(turn)}
        texts = {
            turn.turn_number: turn.em_drafted_response
            for turn in run.turns
            if turn.em_drafted_response.strip() and (not judged or turn.turn_number in judged)
        }
        talk: Talk = ()
        for turn in conversation.turns:
            talk = (*talk, ("person", turn.user_message))
            if text := texts.get(turn.turn_number):
                found.append(RatedText(model=model, condition=condition, unit=unit, text=text, talk=talk))
            talk = (*talk, ("model", turn.llm_response))
    return numbered(found)


def _is_judged(turn: RunTurn) -> bool:
    return any(rating is not None for _, rating in turn.em_draft_judge_scores)
