"""Rules beyond types: what a valid record can still get wrong. Each finding is an issue, none costs a record."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from itertools import permutations
from operator import attrgetter
from typing import Any, get_args

from attune_data.attunebench.codebook import load_codebook
from attune_data.attunebench.profile import instruments
from attune_data.attunebench.records import (
    ANSWER_FIELDS,
    ComputedScores,
    ConversationWideQuestions,
    JudgeScores,
    MoodShiftTag,
    PredictedConversationWide,
    PredictedPanas,
    Turn,
)
from attune_data.attunebench.show import Conversation, Run
from attune_data.record import Label
from attune_data.repair import IssueCollector


class _Vocabulary:
    """What the codebook knows, as sets: this is asked for every turn of every file."""

    def __init__(self) -> None:
        book = load_codebook()
        emotions = book.emotions.items()
        self.emotions = frozenset(book.emotions)
        self.emotion_words = frozenset(emotion.word for _, emotion in emotions)
        self.positive = tuple(word for word, emotion in emotions if emotion.affect == "positive")
        self.negative = tuple(word for word, emotion in emotions if emotion.affect == "negative")
        self.binary = frozenset(book.binary)
        self.pairwise = frozenset(book.pairwise)
        self.q1 = frozenset(map(str.lower, book.q1_options))
        self.q2 = frozenset(map(str.lower, book.q2_options))
        self.q3 = frozenset(map(str.lower, book.q3_options))
        self.q3_negative = frozenset(map(str.lower, book.q3_negative))
        self.score_ranges = {
            name: (instruments[name].low, instruments[name].high) for name in ComputedScores.model_fields
        }


_vocabulary = cache(_Vocabulary)


def _repeated(found: Iterable[Any]) -> list[Any]:
    return [value for value, count in Counter(found).items() if count > 1]


def _report_repeated(found: Iterable[str], path: str, rule: str, message: str, findings: IssueCollector) -> None:
    if repeated := _repeated(found):
        findings.add(path, rule, "warning", repeated, message, "kept; the last one counts")


def _report_unknown(
    found: Iterable[str], path: str, rule: str, known: Collection[str], findings: IssueCollector
) -> None:
    for item in found:
        near = get_close_matches(item.strip().lower(), known, n=1)
        message = f"not in the codebook; did you mean {near[0]!r}?" if near else "not in the codebook"
        consequence = "kept; not scored" if rule == "unknown-panas-word" else "kept and scored as it is"
        findings.add(path, rule, "warning", item, message, consequence)


def _check_turn_numbers(record: Conversation | Run, findings: IssueCollector) -> None:
    numbers = [turn.turn_number for turn in record.turns]
    if not numbers:
        message = "the record has no turns"
        others = {key.strip().casefold(): key for key in record.model_extra or ()}
        if near := get_close_matches("turns", others, n=1):
            message += f"; its key {others[near[0]]!r} is not read: rename the key to 'turns'"
        findings.add("$.turns", "no-turns", "warning", [], message, "kept; nothing to score per turn")
    elif numbers == list(range(1, len(numbers) + 1)):
        return
    elif repeated := _repeated(numbers):
        message = "turn numbers repeat"
        findings.add("$.turns", "turn-number", "warning", repeated, message, "kept; the last turn of a number counts")
    elif sorted(numbers) == list(range(1, len(numbers) + 1)):
        findings.add("$.turns", "turn-order", "note", numbers, "turns are not in order", "kept; scored by number")
    else:
        message = "turn numbers skip; is a turn missing?"
        findings.add("$.turns", "turn-number", "warning", numbers, message, "kept; turns are matched by number")


def _check_tags(tags: Sequence[MoodShiftTag], path: str, known: frozenset[str], findings: IssueCollector) -> None:
    words = [tag.emotion.strip().lower() for tag in tags]
    _report_repeated(words, path, "repeated-tag", "an emotion is tagged twice in one turn", findings)
    for index, (word, tag) in enumerate(zip(words, tags, strict=True)):
        if word not in known:
            message, consequence = "not one of the 20 PANAS words", "kept; similarity 0 with every word"
            findings.add(f"{path}[{index}].emotion", "unknown-emotion", "warning", tag.emotion, message, consequence)


def _check_wide(
    wide: ConversationWideQuestions | PredictedConversationWide, path: str, known: _Vocabulary, findings: IssueCollector
) -> None:
    """Check the answers to Q1-Q3 against the codebook's options."""
    strange = [goal for goal in wide.q1_looking_for if goal.strip() and goal.strip().lower() not in known.q1]
    _report_unknown(strange, f"{path}.q1_lookingFor", "unknown-option", known.q1, findings)
    clarity, fit = wide.q2_emotion_clarity, wide.q3_model_fit
    if clarity and clarity.strip() and clarity.strip().lower() not in known.q2:
        _report_unknown([clarity], f"{path}.q2_emotionClarity", "unknown-option", known.q2, findings)
    if not fit or not fit.strip():
        return
    answer = fit.strip().lower()
    if answer not in known.q3:
        _report_unknown([fit], f"{path}.q3_modelFit", "unknown-option", known.q3, findings)
    elif answer not in known.q3_negative and any(item.strip() for item in wide.q3_follow_up_what_felt_off):
        message = f"asked only after a negative fit, but the fit is {fit!r}"
        found = list(wide.q3_follow_up_what_felt_off)
        findings.add(f"{path}.q3_followUp_whatFeltOff", "follow-up-on-positive-fit", "warning", found, message, "kept")


def _check_panas(
    items: Mapping[str, int | None],
    totals: tuple[int | None, int | None],
    path: str,
    where: str,
    known: _Vocabulary,
    findings: IssueCollector,
) -> None:
    """Check the item words, and each recorded total against its ten items where all ten are there."""
    ratings = items
    if not known.emotions.issuperset(items):
        ratings = {word.lower(): rating for word, rating in items.items()}
    if not known.emotions.issuperset(ratings):
        strange = [word for word in items if word.lower() not in known.emotions]
        _report_unknown(strange, f"{path}.{where}", "unknown-panas-word", known.emotions, findings)
    for (affect, (low, high)), total in zip(_sums_of_ten(ratings, known).items(), totals, strict=True):
        if low == high and total not in (None, low):
            message = f"the ten items add up to {low}"
            findings.add(f"{path}.total{affect.title()}Affect", "panas-total", "warning", total, message, "kept")


def _sums_of_ten(ratings: Mapping[str, int | None], known: _Vocabulary) -> dict[str, tuple[int, int]]:
    """Return the lowest and highest sum that the ratings of each affect allow; a missing item may be 1 to 7."""
    sums: dict[str, tuple[int, int]] = {}
    for affect, words in (("positive", known.positive), ("negative", known.negative)):
        rated = [rating for rating in map(ratings.get, words) if rating is not None]
        missing = len(words) - len(rated)
        sums[affect] = sum(rated) + missing, sum(rated) + 7 * missing
    return sums


_MIDPOINT = 40  # of a total of ten items from 1 to 7


def _check_predicted_panas(predicted: PredictedPanas, path: str, known: _Vocabulary, findings: IssueCollector) -> None:
    """Check a predicted PANAS; two totals at the midpoint against the items are one finding."""
    totals = (predicted.total_positive_affect, predicted.total_negative_affect)
    if totals == (_MIDPOINT, _MIDPOINT):
        sums = _sums_of_ten({word.lower(): rating for word, rating in predicted.items.items()}, known)
        if not all(low <= _MIDPOINT <= high for low, high in sums.values()):
            found = {
                f"{affect} items": low if low == high else f"{low} to {high}" for affect, (low, high) in sums.items()
            }
            message = (
                f"both totals are {_MIDPOINT}, the midpoint, but the items add up to something else; the tool that "
                "wrote the file probably filled the totals in without asking for them"
            )
            consequence = (
                "kept; protocol released measures the midpoint, not the model; protocol documented uses the items of "
                "an affect where all ten are there"
            )
            findings.add(path, "midpoint-totals", "warning", found, message, consequence)
            totals = (None, None)
    _check_panas(predicted.items, totals, path, "items", known, findings)


def _check_scores(scores: ComputedScores, path: str, known: _Vocabulary, findings: IssueCollector) -> None:
    """Check each score against the range of its instrument."""
    for name, (low, high) in known.score_ranges.items():
        score = getattr(scores, name)
        if score is not None and not low <= score <= high:
            message = f"outside {low:g}-{high:g}; {instruments[name].if_outside}"
            findings.add(f"{path}.{name}", "score-range", "warning", score, message, "kept; in no group")


def check_conversation(conversation: Conversation, findings: IssueCollector) -> None:
    """Check a conversation against the codebook and against itself."""
    known = _vocabulary()
    scores = conversation.participant_profile.computed_scores
    _check_scores(scores, "$.participant_profile.computed_scores", known, findings)
    for name, panas in (("prePanas", conversation.pre_panas), ("postPanas", conversation.post_panas)):
        totals = (panas.total_positive_affect, panas.total_negative_affect)
        _check_panas(panas.responses, totals, f"$.{name}", "responses", known, findings)
    _check_wide(conversation.conversation_wide_questions, "$.conversationWideQuestions", known, findings)
    _check_turn_numbers(conversation, findings)
    for index, turn in enumerate(conversation.turns):
        # Nearly every turn is in order, so each rule is first asked in one pass at the speed of C.
        path = f"$.turns[{index}]"
        annotations = turn.annotations
        if _suspicious(map(_emotion, turn.mood_shift_tags), len(turn.mood_shift_tags), known.emotion_words):
            _check_tags(turn.mood_shift_tags, f"{path}.moodShiftTags", known.emotions, findings)
        judgements = annotations.binary_judgements
        if _suspicious(map(_question, judgements), len(judgements), known.binary):
            place, asked = f"{path}.annotations.binaryJudgements", [one.question_id for one in judgements]
            _report_repeated(asked, place, "repeated-question", "a question is judged twice in one turn", findings)
            _report_unknown(sorted(set(asked) - known.binary), place, "unknown-question", known.binary, findings)
        comparisons = annotations.pairwise_comparisons
        if comparisons and (
            None in map(_winner, comparisons)
            or not known.pairwise.issuperset(map(_question, comparisons))
            or not _LABEL_PAIRS.issuperset(map(_labels, comparisons))
            or not all(map(str.strip, turn.responses.values()))
        ):
            _check_comparisons(turn, f"{path}.annotations.pairwiseComparisons", known.pairwise, findings)
        selected = annotations.selected_pairwise_questions
        if _suspicious(selected, len(selected), known.pairwise):
            place = f"{path}.annotations.selectedPairwiseQuestions"
            _report_repeated(selected, place, "repeated-question", "a question is selected twice", findings)
            _report_unknown(_strange(selected, known.pairwise), place, "unknown-question", known.pairwise, findings)


_LABEL_PAIRS = frozenset(permutations(get_args(Label), 2))
_labels = attrgetter("response_a", "response_b")
_emotion = attrgetter("emotion")
_question = attrgetter("question_id")
_winner = attrgetter("winner")


def _suspicious(found: Iterable[str], n: int, known: frozenset[str]) -> bool:
    """Tell whether any of the `n` values found is unknown, or there twice."""
    return len(known.intersection(found)) != n


def _strange(questions: Iterable[str | None], known: frozenset[str]) -> list[str]:
    """Return the pairwise questions that are neither known nor a participant's own, sorted."""
    unknown = {question or "null" for question in questions} - known
    return sorted(question for question in unknown if not question.startswith("custom:"))


def _check_comparisons(turn: Turn, path: str, known: frozenset[str], findings: IssueCollector) -> None:
    comparisons = turn.annotations.pairwise_comparisons
    _report_unknown(_strange(map(_question, comparisons), known), path, "unknown-question", known, findings)
    for index, labels in enumerate(map(_labels, comparisons)):
        if labels not in _LABEL_PAIRS:
            message = "a comparison needs two different labels"
            consequence = "kept; counts for accuracy, but an open label wins nothing"
            findings.add(f"{path}[{index}]", "comparison-labels", "warning", list(labels), message, consequence)
    compared = {label for comparison in comparisons for label in (comparison.response_a, comparison.response_b)}
    for label in sorted(label for label, text in turn.responses.items() if label in compared and not text.strip()):
        message = "compared, but its text is missing"
        findings.add(path, "label-without-text", "warning", label, message, "kept; its similarity is 0")
    if unanswered := sum(comparison.winner is None for comparison in comparisons):
        message = f"{unanswered} of {len(comparisons)} comparisons have no winner"
        findings.add(path, "missing-winner", "note", unanswered, message, "kept; no prediction can match it")


def check_run(run: Run, findings: IssueCollector) -> None:
    """Check a run against the codebook and against itself."""
    known = _vocabulary()
    if "mode" not in run.model_fields_set:
        findings.add("$", "missing-mode", "note", None, "the run does not say its mode", "read as default")
    _check_turn_numbers(run, findings)
    for index, turn in enumerate(run.turns):
        path = f"$.turns[{index}]"
        if _suspicious(map(_emotion, turn.em_emotion_tags), len(turn.em_emotion_tags), known.emotion_words):
            _check_tags(turn.em_emotion_tags, f"{path}.em_emotion_tags", known.emotions, findings)
        answers_of = _answers(turn)
        if not all(map(known.binary.issuperset, answers_of)):
            for name, answers in zip(ANSWER_FIELDS, answers_of, strict=True):
                strange = [question for question in answers if question not in known.binary]
                _report_unknown(strange, f"{path}.{name}", "unknown-question", known.binary, findings)
        for dimension, rating in zip(_DIMENSIONS, _ratings(turn.em_draft_judge_scores), strict=True):
            if rating is not None and not 1 <= rating <= 7:
                place, message = f"{path}.em_draft_judge_scores.{dimension}", "outside 1-7; is this another scale?"
                findings.add(place, "score-range", "warning", rating, message, "kept; the mean is clamped")
        if not _POSITIONS.issuperset(turn.em_pairwise_selections):
            strange = [key for key in turn.em_pairwise_selections if not (key.isascii() and key.isdigit())]
            if strange:
                message = "keys are positions of comparisons, from 0"
                place = f"{path}.em_pairwise_selections"
                findings.add(place, "unknown-position", "warning", strange, message, "kept; not scored")
    post = run.post_conversation
    if post is None or not run.complete:
        message = "the predictions after the last turn are missing; did the run stop early?"
        consequence = "turns are scored; what needs the rest is null"
        findings.add("$.post_conversation", "incomplete-run", "warning", None, message, consequence)
        return
    path = "$.post_conversation.predicted_post_panas"
    _check_predicted_panas(post.predicted_post_panas, path, known, findings)
    path = "$.post_conversation.predicted_conversation_wide"
    _check_wide(post.predicted_conversation_wide, path, known, findings)


_POSITIONS = frozenset(str(position) for position in range(12))
_DIMENSIONS = tuple(JudgeScores.model_fields)
_ratings = attrgetter(*_DIMENSIONS)
_answers = attrgetter(*ANSWER_FIELDS)
