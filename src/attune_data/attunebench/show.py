"""Conversations and runs as texts and as pages: what was said, annotated and predicted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from attune_data.attunebench.codebook import load_codebook
from attune_data.attunebench.profile import diagnosis_groups
from attune_data.attunebench.records import (
    ANSWER_FIELDS,
    BinaryJudgement,
    ConversationData,
    ConversationWideQuestions,
    MoodShiftTag,
    PairwiseComparison,
    Panas,
    PostConversation,
    PredictedConversationWide,
    RunData,
    RunTurn,
    Turn,
)
from attune_data.display import Beside, Row
from attune_data.issues import Html, details, page, table, tag
from attune_data.text import columns_of_terminal, labelled, plural, printable, ruled, wrapped

__all__ = [
    "ANSWERS",
    "JUDGED",
    "RESPONSES",
    "TELLING",
    "Conversation",
    "Run",
    "affects",
    "answers_given",
    "asked",
    "choices",
    "conversation_beside",
    "conversation_html",
    "facts",
    "felt",
    "judged",
    "preferred",
    "question_text",
    "questions_of",
    "run_html",
    "run_transcript",
    "topic",
    "transcript",
    "whole",
]


class Run(RunData):
    """One run file: the predictions of one evaluated model, in one mode, on one conversation.

    A notebook shows the predictions in brief.

    Examples
    --------
    >>> run = Run(conversation_id="c1", em_model="vendor/model", turns=[{"turn_number": 1}])
    >>> run.mode, run.complete
    ('default', False)
    """

    def __repr__(self) -> str:
        """Return one line; `model_dump` gives every field."""
        incomplete = "" if self.complete else ", incomplete"
        return printable(f"<Run {self.id}: {plural(len(self.turns), 'turn')}{incomplete}>")

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return run_html(self)


JUDGED = {
    "unwanted": "done, though not wanted",
    "missed": "wanted, but not done",
    "as wanted": "wanted and done",
    "avoided": "neither wanted nor done",
    "n/a": "not applicable",
}
"""What the two answers to a question say together: did the response do it, did the participant want it."""

TELLING = ("unwanted", "missed")
"""Where what the response did and what the participant wanted differ."""

_JUDGED: dict[tuple[str | None, str | None], str] = dict(
    zip([("yes", "no"), ("no", "yes"), ("yes", "yes"), ("no", "no"), ("na", "na")], JUDGED, strict=True)
)

RESPONSES = {
    "original": "what the model answered",
    "alternate": "the answer as a model improved it",
    "human": "the answer as the participant edited it",
}
"""The responses that were compared, by label."""


def topic(conversation: ConversationData) -> str:
    """Return the topic as ``category: subtopic``; empty where the file does not say."""
    metadata = conversation.metadata
    return metadata.text or ": ".join(filter(None, (metadata.category, metadata.subtopic)))


def facts(conversation: ConversationData) -> dict[str, str]:
    """Return what is known of the conversation and the participant, by heading; what is not known is left out."""
    profile = conversation.participant_profile
    person = profile.demographics
    english = person.english_proficiency and f"English: {person.english_proficiency}"
    about = [profile.participant_id, person.age_range, person.gender, person.country, person.education]
    groups = f" ({', '.join(diagnosis_groups(person.diagnoses))})" if person.diagnoses else ""
    scores = profile.computed_scores
    given = {name: getattr(scores, name) for name in type(scores).model_fields}
    found = {
        "topic": topic(conversation),
        "attitude": profile.conversation_topic_attitude,
        "model": conversation.metadata.model,
        "participant": ", ".join(filter(None, [*about, *person.work_edu_background, english])),
        "diagnoses": ", ".join(person.diagnoses) + groups,
        "screening": ", ".join(f"{name} {score}" for name, score in given.items() if score is not None),
    }
    return {heading: value for heading, value in found.items() if value}


def felt(tags: Sequence[MoodShiftTag]) -> list[str]:
    """Return each emotion with its intensity of 1-7, where one was given."""
    return [tag.emotion if tag.intensity is None else f"{tag.emotion} {tag.intensity}" for tag in tags]


def judged(turn: Turn) -> dict[str, list[BinaryJudgement]]:
    """Return the judgements of a turn by what they say, `JUDGED` first, then what any other two answers say."""
    found: dict[str, list[BinaryJudgement]] = {name: [] for name in JUDGED}
    for judgement in turn.annotations.binary_judgements:
        answers = (judgement.observed_behavior, judgement.preferred_behavior)
        name = _JUDGED.get(answers, f"observed {answers[0] or '-'}, preferred {answers[1] or '-'}")
        found.setdefault(name, []).append(judgement)
    return {name: judgements for name, judgements in found.items() if judgements}


def asked(judgement: BinaryJudgement) -> str:
    """Return the id of the question, with a model's answer where the file has one."""
    model = f" (a model said {judgement.llm_value})" if judgement.llm_value else ""
    return f"{judgement.question_id}{model}"


def preferred(turn: Turn) -> list[tuple[str, int]]:
    """Return how often each response of a turn was chosen, most often first."""
    comparisons = turn.annotations.pairwise_comparisons
    compared = [label for pair in comparisons for label in (pair.response_a, pair.response_b) if label]
    wins: Counter[str] = Counter(dict.fromkeys(compared, 0))
    wins.update(label for pair in comparisons if (label := _winner(pair)))
    return wins.most_common()


def choices(turn: Turn) -> dict[str, list[str]]:
    """Return every choice between two responses of a turn in words, by question."""
    found: dict[str, list[str]] = {}
    for pair in turn.annotations.pairwise_comparisons:
        first, second = pair.response_a or "A", pair.response_b or "B"
        if pair.winner is None:
            said = f"no choice of {first} and {second}"
        else:
            said = f"{first} over {second}" if pair.winner == "A" else f"{second} over {first}"
        found.setdefault(pair.question_id or "no question", []).append(said)
    for name in turn.annotations.selected_pairwise_questions:
        found.setdefault(name, ["no comparison"])
    return found


def _winner(pair: PairwiseComparison) -> str | None:
    return {"A": pair.response_a, "B": pair.response_b, None: None}[pair.winner]


def affects(conversation: ConversationData) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yield positive and negative affect, then other items: a name, the recorded total, and item with rating.

    Totals and ratings are those before and after the conversation, with an arrow between.
    """
    before, after = conversation.pre_panas, conversation.post_panas
    items = dict.fromkeys([*before.responses, *after.responses])
    for affect in ("positive", "negative", "other"):
        words = [word for word in items if _affect_of(word) == affect]
        totals = [_total(panas, affect) for panas in (before, after)] if affect != "other" else []
        total = _change(*totals) if any(value is not None for value in totals) else ""
        if words or total:
            ratings = [(word, _change(before.responses.get(word), after.responses.get(word))) for word in words]
            yield affect, total, ratings


def _affect_of(word: str) -> str:
    emotions = load_codebook().emotions
    return emotions[word].affect if word in emotions else "other"


def _total(panas: Panas, affect: str) -> int | None:
    total: int | None = getattr(panas, f"total_{affect}_affect")
    return total


def _change(before: int | None, after: int | None) -> str:
    return "->".join("-" if value is None else str(value) for value in (before, after))


def answers_given(wide: ConversationWideQuestions | PredictedConversationWide) -> Iterator[tuple[str, str]]:
    """Yield each answer about the whole conversation, after its question in short."""
    branches = wide.four_branch_scores
    given = {name: getattr(branches, name) for name in type(branches).model_fields}
    answers = {
        "looking for": "; ".join(wide.q1_looking_for),
        "clarity": wide.q2_emotion_clarity,
        "model fit": wide.q3_model_fit,
        "felt off": "; ".join(wide.q3_follow_up_what_felt_off),
        "branches": ", ".join(f"{name} {score}" for name, score in given.items() if score is not None),
    }
    for question, answer in answers.items():
        if answer:
            yield question, answer


def questions_of(conversation: ConversationData) -> dict[str, str]:
    """Return the questions about single turns that were asked in a conversation, by id, with their texts."""
    turns = [turn.annotations for turn in conversation.turns]
    ids = {judgement.question_id for turn in turns for judgement in turn.binary_judgements}
    ids |= {pair.question_id or "" for turn in turns for pair in turn.pairwise_comparisons}
    book = load_codebook()
    return {name: text for name in (*book.binary, *book.pairwise) if name in ids and (text := question_text(name))}


def question_text(name: str) -> str:
    """Return the text of a question about a turn; empty where the codebook has none."""
    book = load_codebook()
    if name in book.binary:
        return book.binary[name].text
    return (book.pairwise[name].text or "") if name in book.pairwise else ""


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
        yield from _turn_beside(turn, predicted)
    yield from _whole(conversation, [run.post_conversation or PostConversation() for run in runs])


def _turn_beside(turn: Turn, predicted: Sequence[RunTurn]) -> Iterator[Beside]:
    messages = [("Participant", turn.user_message), ("Model (original)", turn.llm_response)]
    drafts = [(f"Draft of {number}", one.em_drafted_response) for number, one in enumerate(predicted, start=1)]
    emotions = [", ".join(felt(tags)) for tags in (turn.mood_shift_tags, *(one.em_emotion_tags for one in predicted))]
    why = [None, *(one.emotion_reasoning for one in predicted)]
    rows: list[Row] = [("felt", emotions)]
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
            text = f"{question}  {question_text(question)}"
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
    own = dict(answers_given(conversation.conversation_wide_questions))
    given = [own, *(dict(answers_given(one.predicted_conversation_wide)) for one in predicted)]
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


def conversation_html(conversation: ConversationData) -> str:
    """Return a conversation as a piece of HTML for a notebook.

    Examples
    --------
    >>> "&lt;b&gt;" in conversation_html(ConversationData(conversation_id="<b>"))
    True
    """
    synthetic = " (synthetic)" if conversation.synthetic else ""
    known = [[heading, value] for heading, value in facts(conversation).items()]
    return page(
        f"Conversation {conversation.id}{synthetic}",
        table(known),
        *(part for turn in conversation.turns for part in _turn_html(turn)),
        *_after_html(conversation),
    )


def _turn_html(turn: Turn) -> Iterator[Html]:
    yield tag("h5", f"Turn {turn.turn_number}")
    alternates = turn.annotations.alternate_responses
    messages = [
        _message("participant", "Participant", turn.user_message),
        _message("model", "Model (original)", turn.llm_response),
    ]
    for label, text in (("alternate", alternates.llm_improved), ("human", alternates.human_edited)):
        if text:
            messages.append(details(f"{label}: {RESPONSES[label]}", tag("p", text, kind="message model")))
    yield tag("div", tag("div", *messages, kind="said"), tag("div", *_noted(turn), kind="noted"), kind="turn")


def _message(kind: str, speaker: str, text: str) -> Html:
    return tag("div", tag("div", speaker, kind="quiet"), tag("p", text or "-"), kind=f"message {kind}")


def _noted(turn: Turn) -> Iterator[Html]:
    if turn.mood_shift_tags:
        yield tag("div", "Felt, intensity 1-7", kind="quiet")
        yield tag("div", *(tag("span", emotion, kind="chip") for emotion in felt(turn.mood_shift_tags)))
    if wins := preferred(turn):
        yield tag("div", "Preferred response, times chosen", kind="quiet")
        yield tag("div", *(tag("span", f"{label} {count}", kind="chip") for label, count in wins))
    if made_by_pair := choices(turn):
        pairs = [_asked(name, name, f"chosen: {', '.join(made)}") for name, made in made_by_pair.items()]
        yield details(plural(len(turn.annotations.pairwise_comparisons), "comparison"), tag("ul", *pairs))
    for name, judgements in judged(turn).items():
        heading = f"{name}: {JUDGED[name]}" if name in JUDGED else name
        questions = tag("ul", *(_asked(asked(judgement), judgement.question_id) for judgement in judgements))
        if name in TELLING:
            yield tag("div", tag("div", heading, kind="quiet"), questions, kind="edge")
        else:
            yield details(f"{len(judgements)} {heading}", questions)


def _asked(shown: str, name: str, answer: str = "") -> Html:
    """Return a question with its text as an item of a list."""
    return tag("li", tag("b", shown), Html(" "), question_text(name), tag("div", answer, kind="quiet"))


def _after_html(conversation: ConversationData) -> Iterator[Html]:
    answers = [[question, answer] for question, answer in answers_given(conversation.conversation_wide_questions)]
    rated = list(affects(conversation))
    if answers or rated:
        yield tag("h5", "The conversation as a whole")
    if answers:
        yield table(answers)
    for affect, total, ratings in rated:
        items = [tag("span", f"{word} {_arrow(change)}", kind="chip") for word, change in ratings]
        yield tag("div", f"PANAS, {affect}, before \u2192 after{f': {_arrow(total)}' if total else ''}", kind="quiet")
        yield tag("div", *items)


def _arrow(change: str) -> str:
    return change.replace("->", " \u2192 ")


_LISTS = ("choices", *TELLING)


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
    known = labelled(facts(conversation).items(), columns)
    blocks = [[*wrapped(f"Conversation {conversation.id}{synthetic}", columns), *known]]
    for turn in conversation.turns:
        blocks += [[ruled(f"TURN {turn.turn_number}", columns)], *_turn(turn, columns)]
    after = list(_after(conversation, columns))
    if after:
        blocks += [[ruled("THE CONVERSATION AS A WHOLE", columns)], *after]
    questions = questions_of(conversation)
    if questions:
        blocks += [[ruled("QUESTIONS", columns)], labelled(questions.items(), columns), _legend(columns)]
    return "\n\n".join("\n".join(block) for block in blocks)


def _turn(turn: Turn, columns: int) -> Iterator[list[str]]:
    for speaker, message in (("Participant", turn.user_message), ("Model (original)", turn.llm_response)):
        yield [speaker, *(f"  {line}".rstrip() for line in wrapped(message, columns - 2) or ["-"])]
    alternates = turn.annotations.alternate_responses
    by_target = judged(turn)
    others = [f"{name}: {_ids(judgements)}" for name, judgements in by_target.items() if name not in JUDGED]
    rows = [
        ("felt", ", ".join(felt(turn.mood_shift_tags))),
        ("preferred", ", ".join(f"{label} {wins}" for label, wins in preferred(turn))),
        ("choices", "\n".join(f"{name}: {', '.join(made)}" for name, made in choices(turn).items())),
        *((name, (_listed if name in TELLING else _ids)(by_target.get(name, ()))) for name in JUDGED),
        ("other", "\n".join(others)),
        ("alternate", alternates.llm_improved),
        ("human", alternates.human_edited),
    ]
    annotated = labelled(rows, columns, hanging=_LISTS)
    if annotated:
        yield annotated


def _ids(judgements: Iterable[BinaryJudgement]) -> str:
    return ", ".join(map(asked, judgements))


def _listed(judgements: Iterable[BinaryJudgement]) -> str:
    """Return a line for each question, with its text."""
    return "\n".join(f"{asked(item)}: {question_text(item.question_id)}" for item in judgements)


def _after(conversation: ConversationData, columns: int) -> Iterator[list[str]]:
    answers = labelled(answers_given(conversation.conversation_wide_questions), columns)
    if answers:
        yield answers
    rows = [
        (affect, f"{f'total {total}: ' if total else ''}{', '.join(f'{word} {change}' for word, change in ratings)}")
        for affect, total, ratings in affects(conversation)
    ]
    if rows:
        yield ["PANAS, before->after", *labelled(rows, columns)]


def _legend(columns: int) -> list[str]:
    responses = [f"{label}: {what}" for label, what in RESPONSES.items()]
    words = [f"{name}: {what}" for name, what in JUDGED.items()]
    count = "preferred: how often each response was chosen"
    text = f"{'; '.join([*words, count, *responses])}; felt: with intensity, 1-7."
    return wrapped(text[0].upper() + text[1:], columns)


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
    blocks = [[*wrapped(f"Run {run.id}", columns), *labelled(facts_of_run(run).items(), columns)]]
    for turn in run.turns:
        blocks += [[ruled(f"TURN {turn.turn_number}", columns)], *_turn_of_run(turn, columns)]
    if run.post_conversation is not None:
        blocks += [[ruled("THE CONVERSATION AS A WHOLE", columns)], labelled(whole(run.post_conversation), columns)]
    if any(getattr(turn, name) for turn in run.turns for name in ANSWER_FIELDS):
        blocks.append(wrapped(_LEGEND, columns))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def facts_of_run(run: RunData) -> dict[str, str]:
    """Return what is known of a run, by heading; empty where it is not known."""
    return {
        "model": run.em_model,
        "mode": run.mode,
        "ended": run.run_timestamp or "",
        "seconds": "" if run.duration_seconds is None else f"{run.duration_seconds:g}",
        "cost, USD": "" if run.api_cost is None else f"{run.api_cost:g}",
    }


def _turn_of_run(turn: RunTurn, columns: int) -> Iterator[list[str]]:
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


def run_html(run: RunData) -> str:
    """Return a run as a piece of HTML for a notebook.

    Examples
    --------
    >>> "&lt;b&gt;" in run_html(RunData(conversation_id="c1", em_model="<b>"))
    True
    """
    known = [[heading, value] for heading, value in facts_of_run(run).items() if value]
    after = [] if run.post_conversation is None else [[name, said] for name, said in whole(run.post_conversation)]
    after = [row for row in after if row[1]]
    last = [tag("h5", "The conversation as a whole"), table(after)] if after else []
    return page(f"Run {run.id}", table(known), *(part for turn in run.turns for part in _turn_of_run_html(turn)), *last)


def _turn_of_run_html(turn: RunTurn) -> Iterator[Html]:
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
            asked = (_asked_of_run(name, answer) for name, answer in answers.items())
            yield details(f"{label}: {_counted(answers.values())}", tag("ul", *asked))
    if turn.em_pairwise_selections:
        yield tag("div", f"{plural(len(turn.em_pairwise_selections), 'choice')} between two responses", kind="quiet")


def _counted(answers: Iterable[str | None]) -> str:
    counts = Counter(answer or "no answer" for answer in answers)
    return ", ".join(f"{count} {answer}" for answer, count in counts.most_common())


def _asked_of_run(name: str, answer: str | None) -> Html:
    return tag("li", tag("b", f"{name} {answer or '-'}"), Html(" "), question_text(name))


class Conversation(ConversationData):
    """One annotated conversation, the ground truth that predictions are scored against.

    `print` shows the transcript with the annotations, a notebook the same as HTML.

    Examples
    --------
    >>> from attune_data import load
    >>> conversation = load("demo")[0]
    >>> conversation.turns[0].turn_number
    1
    """

    def __repr__(self) -> str:
        """Return one line; `print` shows the transcript, `model_dump` gives every field."""
        metadata = self.metadata
        facts = filter(None, (metadata.category, plural(len(self.turns), "turn"), metadata.model))
        return printable(f"<Conversation {self.id}: {', '.join(facts)}>")

    def __str__(self) -> str:
        """Return the transcript with the annotations, wrapped to the width of the terminal."""
        return transcript(self, columns_of_terminal())

    def _repr_html_(self) -> str:
        return conversation_html(self)
