"""Conversations and runs as texts and as pages: what was said, annotated and predicted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from attune_data.attunebench.codebook import load_codebook
from attune_data.attunebench.profile import diagnosis_groups, instruments
from attune_data.attunebench.records import (
    ANSWER_FIELDS,
    BinaryJudgement,
    ConversationData,
    ConversationWideQuestions,
    MoodShiftTag,
    Panas,
    PostConversation,
    PredictedConversationWide,
    PredictedPanas,
    RunData,
    RunTurn,
    Turn,
)
from attune_data.display import Compared, Message, Part, parts_html, parts_text, titled
from attune_data.issues import page
from attune_data.text import columns_of_terminal, plural, sanitize


class Run(RunData):
    """One run file: the predictions of one evaluated model, in one mode, on one conversation.

    A notebook shows the predictions as HTML.

    Examples
    --------
    >>> run = Run(conversation_id="c1", em_model="vendor/model", turns=[{"turn_number": 1}])
    >>> run.mode, run.complete
    ('default', False)
    """

    def __repr__(self) -> str:
        """Return one line; `model_dump` gives every field."""
        incomplete = "" if self.complete else ", incomplete"
        return sanitize(f"<Run {self.id}: {plural(len(self.turns), 'turn')}{incomplete}>")

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return page(titled("run", self), *parts_html(run_parts(self)))


_JUDGED = {
    "unwanted": "done, though not wanted",
    "missed": "wanted, but not done",
    "as wanted": "wanted and done",
    "avoided": "neither wanted nor done",
    "n/a": "not applicable",
}
"""What the two answers to a question say together: did the response do it, did the participant want it."""

_NEITHER = {"": "not answered", "na": "n/a"}
"""Answers that are neither yes nor no, in words."""

_OUTCOME: dict[tuple[str | None, str | None], str] = dict(
    zip([("yes", "no"), ("no", "yes"), ("yes", "yes"), ("no", "no"), ("na", "na")], _JUDGED, strict=True)
)

_RESPONSES = {
    "original": "what the model answered",
    "alternate": "the answer as a model improved it",
    "human": "the answer as the participant edited it",
}
"""The responses that were compared, by label."""


def topic(conversation: ConversationData) -> str:
    """Return the topic as ``category: subtopic``; empty where the file does not say."""
    metadata = conversation.metadata
    return metadata.text or ": ".join(filter(None, (metadata.category, metadata.subtopic)))


def _facts(conversation: ConversationData) -> dict[str, str]:
    """Return the known facts of the conversation and the participant, by heading."""
    profile = conversation.participant_profile
    person = profile.demographics
    english = person.english_proficiency and f"English: {person.english_proficiency}"
    about = [profile.participant_id, person.age_range, person.gender, person.country, person.education]
    groups = diagnosis_groups(person.diagnoses)
    of_groups = f" (in {'groups' if len(groups) > 1 else 'group'} {', '.join(groups)})" if person.diagnoses else ""
    scores = profile.computed_scores
    given = {name: getattr(scores, name) for name in type(scores).model_fields}
    found = {
        "topic": topic(conversation),
        "attitude": profile.conversation_topic_attitude,
        "model": conversation.metadata.model,
        "participant": ", ".join(filter(None, [*about, *person.work_edu_background, english])),
        "diagnoses": ", ".join(person.diagnoses) + of_groups,
        _SCORES: "\n".join(_score(name, score) for name, score in given.items() if score is not None),
    }
    return {heading: value for heading, value in found.items() if value}


_SCORES = "scores"


def _score(name: str, score: float) -> str:
    """Return a score of an instrument with its range, and what its published cut-off or bands say of it."""
    one = instruments[name]
    said = f"{name} {score} of {one.low:g}-{one.high:g}"
    if one.cut_off and (side := one.screen(score)):
        said += f": {side} (positive {one.cut_off})"
    if one.bands and (band := one.band(score)):
        said += f": {band}"
    return said


def _tags(tags: Sequence[MoodShiftTag]) -> list[str]:
    """Return each emotion with its intensity of 1-7, where one was given."""
    return [tag.emotion if tag.intensity is None else f"{tag.emotion} {tag.intensity}" for tag in tags]


def _judged(turn: Turn) -> dict[str, list[BinaryJudgement]]:
    """Return the judgements of a turn by what they say, `_JUDGED` first, then what any other two answers say."""
    found: dict[str, list[BinaryJudgement]] = {name: [] for name in _JUDGED}
    for judgement in turn.annotations.binary_judgements:
        answers = (judgement.observed_behavior, judgement.preferred_behavior)
        observed, preferred = (_NEITHER.get(answer or "", answer) for answer in answers)
        name = _OUTCOME.get(answers, f"observed {observed}, preferred {preferred}")
        found.setdefault(name, []).append(judgement)
    return {name: judgements for name, judgements in found.items() if judgements}


def _asked(judgement: BinaryJudgement) -> str:
    """Return the question, with a model's answer where the file has one."""
    model = f" (a model said {judgement.llm_value})" if judgement.llm_value else ""
    return _worded(judgement.question_id, model)


def _preferred(turn: Turn) -> list[tuple[str, int]]:
    """Return how often each response of a turn was chosen, most often first."""
    comparisons = turn.annotations.pairwise_comparisons
    compared = [label for pair in comparisons for label in (pair.response_a, pair.response_b) if label]
    wins: Counter[str] = Counter(dict.fromkeys(compared, 0))
    winners = ({"A": pair.response_a, "B": pair.response_b, None: None}[pair.winner] for pair in comparisons)
    wins.update(filter(None, winners))
    return wins.most_common()


def _choices(turn: Turn) -> dict[str, list[str]]:
    """Return every choice between two responses of a turn, by the words of its question."""
    found: dict[str, list[str]] = {}
    for pair in turn.annotations.pairwise_comparisons:
        first, second = pair.response_a or "A", pair.response_b or "B"
        if pair.winner is None:
            said = f"no choice of {first} and {second}"
        else:
            said = f"{first} over {second}" if pair.winner == "A" else f"{second} over {first}"
        found.setdefault(_worded(pair.question_id or "no question"), []).append(said)
    for name in turn.annotations.selected_pairwise_questions:
        found.setdefault(_worded(name), ["no comparison"])
    return found


def _affects(conversation: ConversationData) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yield positive and negative affect, then other items: a name, the recorded total, and item with rating.

    Totals and ratings are those before and after the conversation, with an arrow between.
    """
    before, after = conversation.pre_panas, conversation.post_panas
    items = dict.fromkeys([*before.responses, *after.responses])
    known = load_codebook().emotions
    for affect in ("positive", "negative", "other"):
        words = [word for word in items if (known[word].affect if word in known else "other") == affect]
        totals = [_total(panas, affect) for panas in (before, after)] if affect != "other" else []
        total = _change(*totals) if any(value is not None for value in totals) else ""
        if words or total:
            ratings = [(word, _change(before.responses.get(word), after.responses.get(word))) for word in words]
            yield affect, total, ratings


def _total(panas: Panas | PredictedPanas, affect: str) -> int | None:
    total: int | None = getattr(panas, f"total_{affect}_affect")
    return total


def _change(before: int | None, after: int | None) -> str:
    return "->".join("-" if value is None else str(value) for value in (before, after))


def _answers_given(wide: ConversationWideQuestions | PredictedConversationWide) -> Iterator[tuple[str, str]]:
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


def _worded(name: str, said: str = "") -> str:
    """Return a question by its id, with something said of it, and its text where the codebook has one."""
    text = question_text(name)
    return f"{name}{said}: {text}" if text else f"{name}{said}"


def question_text(name: str) -> str:
    """Return the text of a question about a turn; empty where the codebook has none."""
    book = load_codebook()
    if name in book.binary:
        return book.binary[name].text
    return (book.pairwise[name].text or "") if name in book.pairwise else ""


def conversation_parts(conversation: ConversationData) -> Iterator[Part]:
    """Yield the facts of a conversation, the words of annotations, the turns with their annotations, and the whole.

    Examples
    --------
    >>> from attune_data import Conversation, Turn
    >>> turns = [Turn(turn_number=1, user_message="I did it!", llm_response="Well done.")]
    >>> print(parts_text("Conversation c1", conversation_parts(Conversation(conversation_id="c1", turns=turns)), 40))
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
    yield Part(facts=[*_facts(conversation).items()], hanging=(_SCORES,))
    annotated = [[*_annotated(turn)] for turn in conversation.turns]
    if any(fact for facts in annotated for _, fact in facts):
        yield Part(text=_LEGEND)
    for turn, facts in zip(conversation.turns, annotated, strict=True):
        yield Part(heading=f"Turn {turn.turn_number}", messages=_said(turn), facts=facts, hanging=_LISTS)
    answers = [*_answers_given(conversation.conversation_wide_questions)]
    rated = [
        (affect, f"{f'total {total}: ' if total else ''}{', '.join(f'{word} {change}' for word, change in ratings)}")
        for affect, total, ratings in _affects(conversation)
    ]
    if answers or rated:
        yield Part(heading=_WHOLE, facts=answers)
        yield Part(title="PANAS, before->after", facts=rated)


_WHOLE = "The conversation as a whole"
_LISTS = ("choices", *_JUDGED, "other")
_LEGEND = "Felt: emotions with intensity, 1-7; {}.".format(
    "; ".join(
        f"{name}: {what}"
        for name, what in {**_RESPONSES, "preferred": "how often each response was chosen", **_JUDGED}.items()
    )
)


def _said(turn: Turn) -> list[Message]:
    return [
        Message(speaker="Participant", text=turn.user_message, is_person=True),
        Message(speaker="Model (original)", text=turn.llm_response),
    ]


def _annotated(turn: Turn) -> Iterator[tuple[str, str]]:
    by_target = _judged(turn)
    yield "felt", ", ".join(_tags(turn.mood_shift_tags))
    yield "alternate", turn.annotations.alternate_responses.llm_improved or ""
    yield "human", turn.annotations.alternate_responses.human_edited or ""
    yield "preferred", ", ".join(f"{label} {wins}" for label, wins in _preferred(turn))
    yield "choices", "\n".join(f"{name} {', '.join(made)}" for name, made in _choices(turn).items())
    for name in _JUDGED:
        yield name, "\n".join(map(_asked, by_target.get(name, ())))
    others = ((name, one) for name, them in by_target.items() if name not in _JUDGED for one in them)
    yield "other", "\n".join(f"{name}: {_asked(one)}" for name, one in others)


_DID, _WANTED = "Did the response do it?", "Would the participant have wanted it?"
_IN_WORDS = "(asked in the participant's words)"
_OBSERVED, _PREFERRED = ("observed_behavior", "llm_value"), ("preferred_behavior", "observed_behavior")
_BINARY = (
    (_DID, _OBSERVED, "em_binary_om_assessment"),
    (_WANTED, _PREFERRED, "em_binary_human_prediction"),
    (f"{_DID} {_IN_WORDS}", _OBSERVED, "em_binary_om_assessment_hp"),
    (f"{_WANTED} {_IN_WORDS}", _PREFERRED, "em_binary_human_prediction_hp"),
)
"""The question, the fields with its answer (the first that has one counts), and the field of the predictions."""


def conversation_beside(conversation: ConversationData, runs: Sequence[RunData]) -> Iterator[Part]:
    """Yield the turns of a conversation, then the whole, with the predictions of runs in their order.

    Answers agree where the benchmark scores them as agreeing. Of the participant this is what they said and answered,
    not who they are.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> conversation = load("demo")[0]
    >>> runs = [run for run in load_runs("demo") if run.conversation_id == conversation.id]
    >>> [part.heading for part in conversation_beside(conversation, runs) if part.heading][:2]
    ['Turn 1', 'Turn 2']
    """
    whose = ["the model"] if len(runs) == 1 else [f"model {number}" for number in range(1, len(runs) + 1)]
    asks_hp = any(getattr(turn, field) for run in runs for turn in run.turns for *_, field in _BINARY[2:])
    for turn in conversation.turns:
        own = [{one.turn_number: one for one in run.turns}.get(turn.turn_number) for run in runs]
        predicted = [one or RunTurn(turn_number=0) for one in own]
        yield Part(heading=f"Turn {turn.turn_number}", messages=[*_said(turn), *_others(turn, predicted, whose)])
        for who, one in zip(whose, own, strict=True):
            if one is None:
                yield Part(text=f"{who.capitalize()} predicted nothing of this turn.")
        yield from _turn_beside(turn, predicted, _BINARY if asks_hp else _BINARY[:2])
    yield from _whole_beside(conversation, runs, whose)


def _others(turn: Turn, predicted: Sequence[RunTurn], whose: Sequence[str]) -> Iterator[Message]:
    """Yield the responses that were compared with the original, and the drafts of the models."""
    alternates = turn.annotations.alternate_responses
    for label, text in (("alternate", alternates.llm_improved), ("human", alternates.human_edited)):
        if text:
            yield Message(speaker=f"{label.capitalize()} response: {_RESPONSES[label]}", text=text, folded=True)
    for who, one in zip(whose, predicted, strict=True):
        if one.em_drafted_response:
            notes = [("judged, 1-7", _ratings(one.em_draft_judge_scores))]
            yield Message(speaker=f"Draft of {who}", text=one.em_drafted_response, notes=notes, folded=True)


def _ratings(given: Any) -> str:
    """Return the ratings that were given, by name."""
    named = {name: getattr(given, name) for name in type(given).model_fields}
    return ", ".join(f"{name.replace('_', ' ')} {rating:g}" for name, rating in named.items() if rating is not None)


def _turn_beside(
    turn: Turn, predicted: Sequence[RunTurn], binary: Sequence[tuple[str, tuple[str, str], str]]
) -> Iterator[Part]:
    why = [
        Compared("why the model answered so", None, [one.response_reasoning for one in predicted]),
        Compared("why the participant felt so", None, [one.emotion_reasoning for one in predicted]),
    ]
    if given := [row for row in why if any(row.predicted)]:
        yield Part(rows=given, stacked=True)
    if emotions := [*_felt(turn, predicted)]:
        hits = sum(row.same[0] is True for row in emotions)
        count = f"{hits} of {sum(row.reference != '' for row in emotions)} predicted"
        yield Part(title="Emotions, intensity 1-7", rows=emotions, count=count, opened=True)
    else:
        yield Part(text="Emotions: none felt, none predicted: the same.")
    judgements = {one.question_id: one for one in turn.annotations.binary_judgements}
    for title, fields, field in binary:
        answers = [getattr(one, field) for one in predicted]
        if rows := [*_answers(judgements, fields, answers)]:
            yield Part(title=title, rows=rows)
    if chosen := [*_chosen(turn, predicted)]:
        yield Part(title="Which of two responses is preferred?", rows=chosen)


def _felt(turn: Turn, predicted: Sequence[RunTurn]) -> Iterator[Compared]:
    of_tags = [turn.mood_shift_tags, *(one.em_emotion_tags for one in predicted)]
    own, *others = [{tag.emotion.strip().lower(): tag for tag in tags} for tags in of_tags]
    words = {(True, False): "felt, not predicted", (False, True): "predicted, not felt"}
    for key in dict.fromkeys(chain(own, *others)):
        name = next(tags[key].emotion for tags in (own, *others) if key in tags)
        there = [(key in own, key in tags) for tags in others]
        same = [None if pair == (False, False) else all(pair) for pair in there]
        notes = [
            words.get(pair, _off_by(own.get(key), tags.get(key))) for pair, tags in zip(there, others, strict=True)
        ]
        yield Compared(name, _intensity(own.get(key)), [_intensity(tags.get(key)) for tags in others], same, notes)


def _off_by(felt: MoodShiftTag | None, predicted: MoodShiftTag | None) -> str:
    """Return in words that the emotion of two tags is the same; with both intensities, how far they differ."""
    if felt is None or predicted is None:
        return ""
    if felt.intensity is None or predicted.intensity is None:
        return "same emotion"
    off = predicted.intensity - felt.intensity
    return f"same emotion, intensity {off:+d}" if off else "same emotion and intensity"


def _intensity(tag: MoodShiftTag | None) -> str:
    return "" if tag is None else "no intensity" if tag.intensity is None else str(tag.intensity)


def _answers(
    judgements: Mapping[str, BinaryJudgement], fields: Iterable[str], answers: Sequence[Mapping[str, str | None]]
) -> Iterator[Compared]:
    """Yield the answers to the questions of a turn; any answer but yes counts as no, as it is scored."""
    for name in dict.fromkeys(chain(judgements, *answers)):
        given = (getattr(judgements.get(name), field, None) for field in fields)
        reference = next((answer for answer in given if answer is not None), "")
        predicted = [one.get(name) for one in answers]
        is_scored = reference in ("yes", "no")
        same = [(answer == "yes") == (reference == "yes") if is_scored else None for answer in predicted]
        notes = [
            f"{'same' if agrees else 'differs'}: no answer counts as no" if is_scored and answer is None else ""
            for answer, agrees in zip(predicted, same, strict=True)
        ]
        asked = f"{name} {question_text(name)}".strip()
        yield Compared(asked, reference, [answer or "" for answer in predicted], same, notes)


def _chosen(turn: Turn, predicted: Sequence[RunTurn]) -> Iterator[Compared]:
    for place, pair in enumerate(turn.annotations.pairwise_comparisons):
        labels = {"A": pair.response_a or "A", "B": pair.response_b or "B", None: ""}
        made = [one.em_pairwise_selections.get(str(place)) for one in predicted]
        name = f"{pair.question_id} {question_text(pair.question_id)}".strip() if pair.question_id else "no question"
        same = [None if pair.winner is None else choice == pair.winner for choice in made]
        asked = f"{name} ({labels['A']} or {labels['B']})"
        yield Compared(asked, labels[pair.winner], [labels[choice] for choice in made], same)


def _whole_beside(conversation: ConversationData, runs: Sequence[RunData], whose: Sequence[str]) -> Iterator[Part]:
    yield Part(heading=_WHOLE)
    for who, run in zip(whose, runs, strict=True):
        if not run.complete:
            yield Part(text=f"{who.capitalize()} predicted nothing of the whole conversation.")
    posts = [run.post_conversation or PostConversation() for run in runs]
    own, others = conversation.conversation_wide_questions, [one.predicted_conversation_wide for one in posts]
    asked = {
        "What the participant was looking for": "q1_looking_for",
        "How clear the feelings were": "q2_emotion_clarity",
        "How well the model fitted": "q3_model_fit",
        "What felt off": "q3_follow_up_what_felt_off",
    }
    texts = [
        _texts(name, getattr(own, field), [getattr(one, field) for one in others]) for name, field in asked.items()
    ]
    yield Part(title="Answers", rows=_given(texts), stacked=True, opened=True)
    branches = [
        _numbers(name, getattr(own.four_branch_scores, name), [getattr(one.four_branch_scores, name) for one in others])
        for name in type(own.four_branch_scores).model_fields
    ]
    yield Part(title="The four branches, 1-7", rows=_given(branches), opened=True)
    before, after = conversation.pre_panas.responses, conversation.post_panas
    forms = [one.predicted_post_panas for one in posts]
    items = [{word.lower(): rating for word, rating in form.items.items()} for form in forms]
    panas = [
        _numbers(f"total {affect} affect", _total(after, affect), [_total(form, affect) for form in forms])
        for affect in ("positive", "negative")
    ]
    for word in dict.fromkeys(chain(after.responses, *items)):
        name = word if before.get(word) is None else f"{word}, {before[word]} before"
        panas.append(_numbers(name, after.responses.get(word), [form.get(word) for form in items]))
    yield Part(title="PANAS after the conversation", rows=_given(panas), opened=True, folded=True)


def _given(rows: Iterable[Compared]) -> list[Compared]:
    """Return the rows with an answer."""
    return [row for row in rows if row.reference or any(row.predicted)]


def _texts(asked: str, actual: Iterable[str] | str | None, others: Iterable[Iterable[str] | str | None]) -> Compared:
    mine, *theirs = ([one] if isinstance(one, str) else list(one or ()) for one in (actual, *others))
    own, *keys = ({text.strip().lower() for text in texts} for texts in (mine, *theirs))
    same = [None if not own and not key else own == key for key in keys]
    return Compared(asked, "\n".join(mine), ["\n".join(texts) for texts in theirs], same)


def _numbers(asked: str, actual: int | None, others: Sequence[int | None]) -> Compared:
    """Return ratings, with how far each prediction is off."""
    off = [None if actual is None or one is None else one - actual for one in others]
    same = [None if by is None else by == 0 for by in off]
    reference, *predicted = ("" if one is None else str(one) for one in (actual, *others))
    return Compared(asked, reference, predicted, same, [f"differs by {by:+d}" if by else "" for by in off])


_ANSWERS = dict(zip(ANSWER_FIELDS, ("did", "wanted", "did (HP)", "wanted (HP)", "draft does"), strict=True))
"""The fields of a turn with answers to the binary questions, and what they are called in short."""


def run_parts(run: RunData) -> Iterator[Part]:
    """Yield the facts of a run, its turns, and its predictions about the whole conversation.

    Examples
    --------
    >>> run = RunData(conversation_id="c1", em_model="vendor/model", turns=[{"turn_number": 1}])
    >>> print(parts_text("Run c1/vendor/model/default", run_parts(run), 40))
    Run c1/vendor/model/default
      model         vendor/model
      mode          default
    <BLANKLINE>
    TURN 1 ---------------------------------
    <BLANKLINE>
    Draft
      -
    """
    yield Part(
        facts=[
            ("model", run.em_model),
            ("mode", run.mode),
            ("ended", run.run_timestamp or ""),
            ("seconds", "" if run.duration_seconds is None else f"{run.duration_seconds:g}"),
            ("cost, USD", "" if run.api_cost is None else f"{run.api_cost:g}"),
        ]
    )
    for turn in run.turns:
        draft = Message(speaker="Draft", text=turn.em_drafted_response)
        yield Part(heading=f"Turn {turn.turn_number}", messages=[draft], facts=[*_predicted(turn)])
    if run.post_conversation is not None:
        yield Part(heading=_WHOLE, facts=[*_of_whole(run.post_conversation)])
    if any(getattr(turn, name) for turn in run.turns for name in ANSWER_FIELDS):
        yield Part(
            text="Answers, by question: did: whether the response did it; wanted: whether the person would have wanted "
            "it; (HP): asked in the words that the person read; draft does: what the judges say of the draft."
        )


def _predicted(turn: RunTurn) -> Iterator[tuple[str, str]]:
    yield "felt", ", ".join(_tags(turn.em_emotion_tags))
    yield "why", turn.emotion_reasoning
    yield "reasoning", turn.response_reasoning
    for field, label in _ANSWERS.items():
        found: dict[str, list[str]] = {}
        for question, answer in getattr(turn, field).items():
            found.setdefault(answer or "no answer", []).append(question)
        by_answer = sorted(found.items(), reverse=True)
        yield label, "; ".join(f"{answer}: {', '.join(questions)}" for answer, questions in by_answer)
    yield "choices", ", ".join(f"{place}: {choice or '-'}" for place, choice in turn.em_pairwise_selections.items())
    yield "judged", _ratings(turn.em_draft_judge_scores)


def _of_whole(post: PostConversation) -> Iterator[tuple[str, str]]:
    """Yield each prediction about the whole conversation, after its name; empty where there is none."""
    yield from _answers_given(post.predicted_conversation_wide)
    panas = post.predicted_post_panas
    for sign in ("positive", "negative"):
        total = _total(panas, sign)
        yield f"PANAS {sign[:3]}.", "" if total is None else f"total {total}"
    yield "PANAS after", ", ".join(f"{word} {rating}" for word, rating in panas.items.items() if rating is not None)


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
        return sanitize(f"<Conversation {self.id}: {', '.join(facts)}>")

    def __str__(self) -> str:
        """Return the transcript with the annotations, wrapped to the width of the terminal."""
        return parts_text(titled("conversation", self), conversation_parts(self), columns_of_terminal())

    def _repr_html_(self) -> str:
        return page(titled("conversation", self), *parts_html(conversation_parts(self)))
