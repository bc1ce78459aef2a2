"""Baselines: predictors without a model, which an evaluated model has to beat.

``chance`` draws every answer, ``prior`` gives the most frequent one, ``lexicon`` follows rules written by hand. Each
takes conversations and gives ordinary runs, which `attune_bench.benchmarks.attunebench.task.write_runs` writes and
`attune_bench.score` scores. Of the conversation that it predicts a baseline sees what an evaluated model sees:
messages, responses, which questions and comparisons are asked, and the PANAS before the conversation.
"""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import resources
from itertools import pairwise
from random import Random
from statistics import fmean, median_low
from types import MappingProxyType
from typing import Any, Literal

from attune_bench.scores.provenance import CHANCE_BASELINE
from attune_data import Codebook, Conversation, Run, Runs, RunTurn, Turn, load_codebook
from attune_data.attunebench.records import (
    Answers,
    BinaryJudgement,
    FourBranchScores,
    MoodShiftTag,
    PostConversation,
    PredictedConversationWide,
    PredictedPanas,
)
from attune_data.query import text_key
from attune_metrics.attunebench.panas import Panas, panas_totals
from attune_metrics.attunebench.preferences import jaccard
from attune_metrics.attunebench.questions import hp_reference, om_reference

PairwiseChoices = dict[str, Literal["A", "B"] | None]

MASKS = {"original": "original", "alternate": "alternate1", "human": "alternate2"}
"""What a predictor is told of the label of a response: not who wrote it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A comparison that is asked: the pairwise question and which response stands as A and as B."""

    question: str | None
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True)
class SeenTurn:
    """One turn: its texts, and the questions about them.

    `responses` are by label and include the original; `applicable` are the binary `questions` that apply.
    """

    number: int
    message: str
    responses: Mapping[str, str]
    questions: tuple[str, ...]
    applicable: tuple[str, ...]
    pairs: tuple[Pair, ...]

    @property
    def reply(self) -> str:
        """What the original model answered."""
        return self.responses["original"]


@dataclass(frozen=True, slots=True)
class Seen:
    """One conversation: its turns, and the PANAS before it (items by title-case word)."""

    id: str
    turns: tuple[SeenTurn, ...]
    pre_items: Mapping[str, int]
    pre_totals: tuple[int | None, int | None]


def see(conversation: Conversation) -> Seen:
    """Take from a conversation what a predictor may see; turns in order, of those with one number the last."""
    emotions = load_codebook().emotions
    pre = conversation.pre_panas
    turns = {turn.turn_number: turn for turn in conversation.turns}
    return Seen(
        conversation.id,
        tuple(_see_turn(turns[number]) for number in sorted(turns)),
        {
            emotions[word.lower()].word: rating
            for word, rating in pre.responses.items()
            if word.lower() in emotions and rating is not None
        },
        (pre.total_positive_affect, pre.total_negative_affect),
    )


def _see_turn(turn: Turn) -> SeenTurn:
    annotations = turn.annotations
    judgements = {judgement.question_id: judgement for judgement in annotations.binary_judgements}
    return SeenTurn(
        turn.turn_number,
        turn.user_message,
        turn.responses,
        tuple(judgements),
        tuple(question for question, judgement in judgements.items() if _applies(judgement)),
        tuple(Pair(c.question_id, c.response_a, c.response_b) for c in annotations.pairwise_comparisons),
    )


def _applies(judgement: BinaryJudgement) -> bool:
    """Tell whether a question applies: not where one of its two truths is na and neither is yes or no."""
    observed = om_reference(judgement.observed_behavior, judgement.llm_value)
    truths = {observed, hp_reference(judgement.preferred_behavior, judgement.observed_behavior)}
    return "na" not in truths or not truths.isdisjoint(("yes", "no"))


def predicted_panas(items: Mapping[str, int], totals: tuple[int | None, int | None] = (None, None)) -> PredictedPanas:
    """Return predicted items with their totals; `totals` stand in where fewer than ten items of an affect are there."""
    counted = panas_totals(Panas(items, *totals))
    positive, negative = (None if total is None else int(total) for total in (counted.positive, counted.negative))
    return PredictedPanas(total_positive_affect=positive, total_negative_affect=negative, items=dict(items))


def _baseline_run(
    name: str, seen: Seen, turns: Iterable[RunTurn], panas: PredictedPanas, wide: PredictedConversationWide
) -> Run:
    post = PostConversation(panas_strategy="absolute", predicted_post_panas=panas, predicted_conversation_wide=wide)
    return Run(conversation_id=seen.id, em_model=name, mode="default", turns=tuple(turns), post_conversation=post)


def _baseline_turn(
    turn: SeenTurn, emotions: Mapping[str, int | None], draft: str, answers: Iterable[Answers], choices: PairwiseChoices
) -> RunTurn:
    """Return the predictions about a turn; `answers` are observed and preferred, then both in HP-facing phrasing."""
    observed, preferred, observed_hp, preferred_hp = answers
    return RunTurn(
        turn_number=turn.number,
        em_emotion_tags=tuple(MoodShiftTag(emotion=word, intensity=value) for word, value in emotions.items()),
        em_drafted_response=draft,
        em_binary_om_assessment=observed,
        em_binary_human_prediction=preferred,
        em_binary_om_assessment_hp=observed_hp,
        em_binary_human_prediction_hp=preferred_hp,
        em_pairwise_selections=choices,
    )


# How often each answer was given, by what was asked.
_Counts = Mapping[tuple[Any, ...], Counter[Any]]

_LABELS = ("human", "alternate", "original")  # of two labels never compared, or tied, the earlier one wins
_DRAFT = "I'm sorry, that sounds really hard. It makes sense that you feel this way. What is on your mind the most?"


def prior(conversations: Iterable[Conversation], *, folds: int = 10) -> Runs:
    """Answer every question as most other participants answered it, whatever the conversation says.

    Participants, in order of their id, are dealt into folds, and a fold is predicted from all others: per question
    the most frequent answer; per pairwise question and pair of labels the label that won more often, or else the one
    that did over all questions; per turn number the most frequent number of emotions, and as many of the most
    frequent words with their median intensity; the most frequent Q1 set, Q2, Q3 and, if that Q3 is negative, felt-off
    text; median branches. The guess of the post-PANAS is the conversation's own pre-PANAS, and the draft is the same
    sentence everywhere. Ties go to the first in alphabetical order.

    Where the other folds say nothing: "no", the label order human, alternate, original, no emotion, Q1-Q3 empty,
    branches 4.

    Parameters
    ----------
    conversations : iterable of Conversation
        What to predict and, in the other folds, to learn from. One without a participant's id is taken as the only
        one of its participant.
    folds : int
        At least 2. With fewer participants than folds each participant is a fold; of one participant alone nothing
        can be learned.

    Returns
    -------
    Runs
        One per conversation, in order; ``em_model`` is ``baseline/prior``.

    Raises
    ------
    ValueError
        If there are fewer than 2 folds.

    Examples
    --------
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> post = prior(conversations)[0].post_conversation
    >>> post.predicted_post_panas.items["Proud"] == conversations[0].pre_panas.responses["proud"]
    True
    """
    if folds < 2:
        raise ValueError(f"folds is {folds}; at least 2 are needed to learn from the others")
    records = list(conversations)
    # A conversation id never joins the cluster of a participant who happens to have the same id.
    clusters = [(person, "") if (person := text_key(record.participant_id)) else ("", record.id) for record in records]
    place = {cluster: position for position, cluster in enumerate(sorted(set(clusters)))}
    dealt = [(record, place[cluster] % folds) for record, cluster in zip(records, clusters, strict=True)]
    counted = {fold: _count(record for record, other in dealt if other != fold) for fold in {fold for _, fold in dealt}}
    return Runs([_prior_run(see(record), counted[fold]) for record, fold in dealt])


def _count(records: Iterable[Conversation]) -> _Counts:
    counts: defaultdict[tuple[Any, ...], Counter[Any]] = defaultdict(Counter)
    for record in records:
        for turn in {turn.turn_number: turn for turn in record.turns}.values():
            _count_turn(turn, counts)
        wide = record.conversation_wide_questions
        counts["q1",][tuple(sorted({goal.strip() for goal in wide.q1_looking_for} - {""}))] += 1
        counts["q2",][(wide.q2_emotion_clarity or "").strip()] += 1
        counts["q3",][(wide.q3_model_fit or "").strip()] += 1
        counts["felt off",].update({text.strip() for text in wide.q3_follow_up_what_felt_off} - {""})
        for name in FourBranchScores.model_fields:
            if (rating := getattr(wide.four_branch_scores, name)) is not None:
                counts["branch", name][rating] += 1
    return counts


def _count_turn(turn: Turn, counts: defaultdict[tuple[Any, ...], Counter[Any]]) -> None:
    number = turn.turn_number
    known = load_codebook().emotions
    given = [(tag.emotion.strip().lower(), tag.intensity) for tag in turn.mood_shift_tags]
    tags = {known[word].word: intensity for word, intensity in given if word in known}
    for key in (("size", number), ("size",)):
        counts[key][len(tags)] += 1
    for key in (("emotion", number), ("emotion",)):
        counts[key].update(tags.keys())
    for word, intensity in tags.items():
        if intensity is not None:
            counts["intensity", word][intensity] += 1
    for question, judgement in {j.question_id: j for j in turn.annotations.binary_judgements}.items():
        observed = om_reference(judgement.observed_behavior, judgement.llm_value)
        preferred = hp_reference(judgement.preferred_behavior, judgement.observed_behavior)
        for kind, answer in (("observed", observed), ("preferred", preferred)):
            if answer in ("yes", "no"):  # no other answer is scored
                counts[kind, question][answer] += 1
    for comparison in turn.annotations.pairwise_comparisons:
        winner = {"A": comparison.response_a, "B": comparison.response_b, None: None}[comparison.winner]
        if winner is not None:
            labels = frozenset((comparison.response_a, comparison.response_b))
            counts[comparison.question_id, labels][_LABELS.index(winner)] += 1
            counts[labels,][_LABELS.index(winner)] += 1


def _top(counts: _Counts, *keys: tuple[Any, ...], n: int = 1) -> list[Any]:
    """Return the n most frequent answers under the first of the keys that has any."""
    there = next((counts[key] for key in keys if counts.get(key)), Counter[Any]())
    return sorted(there, key=lambda answer: (-there[answer], answer))[:n]


def _median(counts: _Counts, *key: str) -> int | None:
    return median_low(counts[key].elements()) if key in counts else None


def _prior_run(seen: Seen, counts: _Counts) -> Run:
    (goals,) = _top(counts, ("q1",)) or [()]
    (clarity,) = _top(counts, ("q2",)) or [None]
    (fit,) = _top(counts, ("q3",)) or [None]
    negative = (fit or "").lower() in {option.lower() for option in load_codebook().q3_negative}
    wide = PredictedConversationWide(
        q1_looking_for=goals,
        q2_emotion_clarity=clarity or None,
        q3_model_fit=fit or None,
        q3_follow_up_what_felt_off=tuple(_top(counts, ("felt off",))) if negative else (),
        four_branch_scores=FourBranchScores.model_validate(
            {name: _median(counts, "branch", name) or 4 for name in FourBranchScores.model_fields}
        ),
    )
    turns = [_prior_turn(turn, counts) for turn in seen.turns]
    return _baseline_run("baseline/prior", seen, turns, predicted_panas(seen.pre_items, seen.pre_totals), wide)


def _prior_turn(turn: SeenTurn, counts: _Counts) -> RunTurn:
    (size,) = _top(counts, ("size", turn.number), ("size",)) or [0]
    words = _top(counts, ("emotion", turn.number), ("emotion",), n=size)
    choices: PairwiseChoices = {
        str(position): "B" if pair.b == _winner(pair, counts) else "A" for position, pair in enumerate(turn.pairs)
    }
    emotions = {word: _median(counts, "intensity", word) for word in words}
    answers = [_answers(turn, kind, counts) for kind in ("observed", "preferred")]
    return _baseline_turn(turn, emotions, _DRAFT, answers * 2, choices)


def _answers(turn: SeenTurn, kind: str, counts: _Counts) -> Answers:
    return {question: (_top(counts, (kind, question)) or ["no"])[0] for question in turn.questions}


def _winner(pair: Pair, counts: _Counts) -> str:
    labels = frozenset((pair.a, pair.b))
    ranks = _top(counts, (pair.question, labels), (labels,)) or [_LABELS.index(label) for label in labels if label]
    return _LABELS[min(ranks, default=0)]


@dataclass(frozen=True, slots=True)
class Words:
    """Word lists, ready for use.

    Attributes
    ----------
    entries, stems
        Emotions by word or phrase of two words, and by the beginning of a word.
    negations, emphasis
        Words that undo an emotion word, and words that change its intensity, with the change.
    cues
        Patterns over lower-case text by name.
    common
        Words without meaning of their own.
    wanted, guidance
        Binary questions to which a person wishes a yes: always, and when they seek advice.
    """

    entries: Mapping[str, tuple[str, ...]]
    stems: Mapping[str, tuple[str, ...]]
    negations: frozenset[str]
    emphasis: Mapping[str, int]
    cues: Mapping[str, re.Pattern[str]]
    common: frozenset[str]
    wanted: frozenset[str]
    guidance: frozenset[str]


@cache
def load_words() -> Words:
    """Read the word lists; once."""
    data = tomllib.loads((resources.files(__package__) / "lexicon.toml").read_text(encoding="utf-8"))
    told: defaultdict[str, list[str]] = defaultdict(list)
    for emotion, entries in data["emotions"].items():
        for entry in entries:
            told[entry].append(emotion)
    modifiers, preferred = data["modifiers"], data["preferred"]
    return Words(
        entries={entry: tuple(emotions) for entry, emotions in told.items() if not entry.endswith("*")},
        stems={entry[:-1]: tuple(emotions) for entry, emotions in told.items() if entry.endswith("*")},
        negations=frozenset(modifiers["negations"]),
        emphasis=dict.fromkeys(modifiers["stronger"], 1) | dict.fromkeys(modifiers["weaker"], -1),
        cues={name: re.compile(rf"\b(?:{'|'.join(cue)})") for name, cue in data["cues"].items()},
        common=frozenset(data["words"]["common"]),
        wanted=frozenset(preferred["always"]),
        guidance=frozenset(preferred["when_advice_is_sought"]),
    )


_REACH = 3  # how many words a negation or an intensifier acts on, within its clause
_CLAUSE_ENDS = {*".,;:!?", "but"}


@lru_cache(maxsize=20_000)
def _emotions_of(word: str) -> tuple[str, ...]:
    words = load_words()
    stems = (words.stems.get(word[:length], ()) for length in range(2, len(word) + 1))
    return tuple(sorted({*words.entries.get(word, ())}.union(*stems)))


def words_of(text: str) -> list[str]:
    """Split a text into lower-case words and the punctuation that ends a clause.

    Examples
    --------
    >>> words_of("I can't sleep, ok?")
    ['i', "can't", 'sleep', ',', 'ok', '?']
    """
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*|[.,;:!?]", text.lower().replace("\u2019", "'"))


def find_emotions(text: str) -> dict[str, int]:
    """Find the emotions that a text tells of.

    A word after a negation within the same clause does not count; an intensifier raises the intensity, a diminisher
    lowers it, and so does every further word of the same emotion raise it.

    Parameters
    ----------
    text : str
        English.

    Returns
    -------
    dict of str to int
        PANAS word to intensity, 1-7, the strongest first; of equals the one found first.

    Examples
    --------
    >>> find_emotions("I was really scared. Not angry, just a bit ashamed.")
    {'Scared': 5, 'Ashamed': 3}
    """
    words = load_words()
    intensity: dict[str, int] = {}
    negated, emphasised, emphasis = 0, 0, 0  # the first two count down the words still acted on
    for before, word in pairwise(["", *words_of(text)]):
        phrase = words.entries.get(f"{before} {word}", ())
        for emotion in phrase or (() if negated else _emotions_of(word)):
            intensity[emotion] = intensity.get(emotion, 3) + 1 + (emphasis if emphasised else 0)
        negated, emphasised = max(negated - 1, 0), max(emphasised - 1, 0)
        if word in _CLAUSE_ENDS:
            negated = emphasised = 0
        elif word in words.negations or word.endswith("n't"):
            negated = _REACH
        elif word in words.emphasis:
            emphasised, emphasis = _REACH, words.emphasis[word]
    strongest = sorted(intensity, key=lambda emotion: -intensity[emotion])
    return {emotion: min(max(intensity[emotion], 1), 7) for emotion in strongest}


def content_words(text: str) -> frozenset[str]:
    """Return the words that carry meaning: four letters or more, common ones left out."""
    common = load_words().common
    return frozenset(word for word in words_of(text) if len(word) > 3 and word not in common)


@dataclass(frozen=True)
class Exchange:
    """A message and the reply to it, with the replies before."""

    message: str
    reply: str
    earlier: tuple[str, ...] = ()

    @cached_property
    def felt(self) -> dict[str, int]:
        """The emotions that the message tells of."""
        return find_emotions(self.message)

    @cached_property
    def named(self) -> dict[str, int]:
        """The emotions that the reply names."""
        return find_emotions(self.reply)

    @cached_property
    def mirrored(self) -> frozenset[str]:
        """The content words of the message that come back in the reply."""
        return content_words(self.message) & content_words(self.reply)

    @cached_property
    def advice(self) -> frozenset[str]:
        """The content words of the sentences that advise."""
        return _advice(self.reply)

    @property
    def asks(self) -> bool:
        """Whether the reply asks a question."""
        return "?" in self.reply

    def says(self, cue: str) -> bool:
        """Tell whether the reply has a cue."""
        return _has(cue, self.reply)

    def told(self, cue: str) -> bool:
        """Tell whether the message has a cue."""
        return _has(cue, self.message)


def _has(cue: str, text: str) -> bool:
    return load_words().cues[cue].search(text.lower().replace("\u2019", "'")) is not None


def _advice(reply: str) -> frozenset[str]:
    sentences = re.split(r"[.!?\n]+", reply)
    return content_words(" ".join(sentence for sentence in sentences if _has("advice", sentence)))


def _formal(exchange: Exchange) -> bool:
    return len(load_words().cues["formality"].findall(exchange.reply.lower())) > 1


def _fits(exchange: Exchange) -> bool:
    """Tell whether the reply takes up something of the message, neither clinical nor moralising."""
    return bool(exchange.mirrored) and not (_formal(exchange) or exchange.says("moral"))


OBSERVED: Mapping[str, Callable[[Exchange], bool]] = {
    "B1": lambda e: bool(e.named) or e.says("acknowledgement"),
    "B2": lambda e: bool(e.named.keys() & e.felt.keys()) or e.says("acknowledgement"),
    "B3": lambda e: len(e.mirrored) > 1,
    "B4": lambda e: len(e.felt) > 1 and e.says("mixed"),
    "B5": lambda e: bool(e.earlier) and e.says("change"),
    "B6": lambda e: bool(e.named.keys() - e.felt.keys()) and not e.says("hedge"),
    "B7": lambda e: e.says("hedge"),
    "B8": _fits,
    "B9": lambda e: _fits(e) and not e.says("levity"),
    "B10": _fits,
    "B11": lambda e: e.says("advice"),
    "B12": lambda e: e.says("reasoning"),
    "B13": lambda e: e.asks,
    "B14": lambda e: e.says("moral"),
    "B15": lambda e: len(e.mirrored) > 2,
    "B16": lambda e: bool(e.earlier) and e.says("adaptation"),
    "B17": lambda e: e.told("risk") and e.says("safety"),
    "B18": lambda e: e.told("risk") and e.says("safety"),
    "B19": lambda e: e.says("validation"),
    "B20": lambda e: e.says("moral"),
    "B108": lambda e: bool(e.named.keys() & e.felt.keys()),
    "B109": lambda e: next(iter(e.felt), None) in e.named,
    "B206": _formal,
    "B207": lambda e: sum(e.named.values()) > 16,
    "B310": lambda e: bool(e.advice) and len(e.mirrored) < 2,
    "B311": lambda e: not e.mirrored,
    "B313": lambda e: _has("advice", e.reply.partition("?")[0]),  # before the first question
    "B315": lambda e: not e.mirrored,
    "B316": lambda e: bool(e.advice) and e.says("constraint"),
    "B406": lambda e: bool(e.earlier) and e.says("adaptation"),
    "B408": lambda e: len(e.advice & _advice("\n".join(e.earlier))) > 1,
    "B501": lambda e: e.asks and e.says("reflection") and not e.says("other_view"),
    "B502": lambda e: e.says("other_view"),
    "B503": lambda e: e.says("several_readings"),
    "B504": lambda e: e.says("complexity"),
    "B505": lambda e: e.asks and e.says("reflection"),
}
"""By question: whether the reply does it."""


def prefers(question: str, exchange: Exchange) -> bool:
    """Tell whether the person would want the reply to do it: understanding always, guidance when asked for."""
    words = load_words()
    return question in words.wanted or (question in words.guidance and exchange.told("asking_for_advice"))


_MOST_TAGS = 3
_LONGEST_QUOTE = 12  # words


def lexicon(conversations: Iterable[Conversation]) -> Runs:
    """Answer by an emotion lexicon and simple rules, for English.

    A message is tagged with the emotions that its words name, three at most; a message that names none keeps the tags
    of the turn before. A rule per binary question reads the original reply; what the person would have wanted does not
    depend on the reply: to be understood, and guidance when they ask for it. Of two responses the one wins that shares
    more of its content words with the message (Jaccard; A if equal). The post-PANAS is the pre-PANAS with the items of
    the last emotions raised by one and the other negative items lowered by one.

    Parameters
    ----------
    conversations : iterable of Conversation
        What to predict.

    Returns
    -------
    Runs
        One per conversation, in order; ``em_model`` is ``baseline/lexicon``.

    Examples
    --------
    >>> from attune_data import load
    >>> run = lexicon(load("demo"))[0]
    >>> run.em_model, run.complete
    ('baseline/lexicon', True)
    """
    codebook = load_codebook()
    return Runs([_lexicon_run(see(conversation), codebook) for conversation in conversations])


def _lexicon_run(seen: Seen, codebook: Codebook) -> Run:
    exchanges = [
        Exchange(turn.message, turn.reply, tuple(earlier.reply for earlier in seen.turns[:position]))
        for position, turn in enumerate(seen.turns)
    ]
    tagged: list[dict[str, int]] = []
    for exchange in exchanges:
        found = dict(list(exchange.felt.items())[:_MOST_TAGS])
        tagged.append(found or (tagged[-1] if tagged else {}))
    last = tagged[-1] if tagged else {}
    panas = predicted_panas(_shifted(seen.pre_items, last, codebook), seen.pre_totals)
    turns = map(_lexicon_turn, seen.turns, exchanges, tagged)
    return _baseline_run("baseline/lexicon", seen, turns, panas, _wide(exchanges, codebook))


def _lexicon_turn(turn: SeenTurn, exchange: Exchange, emotions: Mapping[str, int]) -> RunTurn:
    observed: Answers = {
        question: "yes" if question in OBSERVED and OBSERVED[question](exchange) else "no"
        for question in turn.questions
    }
    preferred: Answers = {question: "yes" if prefers(question, exchange) else "no" for question in turn.questions}
    return _baseline_turn(turn, emotions, _draft(turn.message, emotions), [observed, preferred] * 2, _choices(turn))


def _choices(turn: SeenTurn) -> PairwiseChoices:
    message = content_words(turn.message)
    # A message without content words is like no response.
    likeness = {label: jaccard(message, content_words(text)) for label, text in turn.responses.items() if message}

    return {
        str(position): "B" if likeness.get(pair.b or "", 0) > likeness.get(pair.a or "", 0) else "A"
        for position, pair in enumerate(turn.pairs)
    }


def _draft(message: str, emotions: Mapping[str, int]) -> str:
    """Return a reply that names the strongest emotion and quotes the clause that tells most of it."""
    clauses = [clause.strip() for clause in re.split(r"[.,;:!?\n]+", message) if clause.strip()]
    feeling = f"It sounds like you feel {next(iter(emotions)).lower()}." if emotions else "I hear you."
    if not clauses:
        return feeling
    clause = max(clauses, key=lambda text: sum(find_emotions(text).values()))
    clause = " ".join(clause.split()[:_LONGEST_QUOTE])
    return f'{feeling} "{clause}", that is a lot. I\'m here, tell me more if you like. What is the hardest part of it?'


def _shifted(pre: Mapping[str, int], last: Mapping[str, int], codebook: Codebook) -> dict[str, int]:
    """Return the items after the conversation: what was felt last rises by one, any other negative affect falls."""

    def shift(word: str) -> int:
        return 1 if word in last else -(codebook.emotions[word.lower()].affect == "negative")

    return {word: min(max(rating + shift(word), 1), 7) for word, rating in pre.items()}


def _wide(exchanges: Sequence[Exchange], codebook: Codebook) -> PredictedConversationWide:
    vent, sort_out, decide, urgent, _, calm, _ = codebook.q1_options
    explicit, implied, mixed, _ = codebook.q2_options

    def share(test: Callable[[Exchange], bool]) -> float:
        return fmean(map(test, exchanges)) if exchanges else 0.0

    mixed_share = share(lambda e: len({codebook.emotions[word.lower()].affect for word in e.felt}) > 1)
    seeks_advice = share(lambda e: e.told("asking_for_advice")) > 0
    is_afraid = share(lambda e: "Scared" in e.felt or "Afraid" in e.felt) > 0
    goals = {
        vent: not seeks_advice,
        sort_out: mixed_share > 0,
        decide: seeks_advice,
        urgent: share(lambda e: e.told("risk")) > 0,
        calm: is_afraid,
    }
    clarity = mixed if mixed_share > 0.5 else explicit if share(lambda e: bool(e.felt)) > 0.5 else implied
    fitting = share(OBSERVED["B8"])
    fit = codebook.q3_options[sum(fitting <= step for step in (0.75, 0.5, 0.25))]
    felt_off = "It gave advice before it listened" if share(OBSERVED["B313"]) > 0.5 else "It missed what I said"
    branches = {"perceiving": "B1", "facilitating": "B8", "understanding": "B15", "managing": "B19"}
    return PredictedConversationWide(
        q1_looking_for=tuple(goal for goal, wanted in goals.items() if wanted),
        q2_emotion_clarity=clarity,
        q3_model_fit=fit,
        q3_follow_up_what_felt_off=(felt_off,) if fit in codebook.q3_negative else (),
        four_branch_scores=FourBranchScores.model_validate(
            {name: round(1 + 6 * share(OBSERVED[question])) for name, question in branches.items()}
        ),
    )


def chance(conversations: Iterable[Conversation], *, seed: int = 0) -> Runs:
    """Draw every answer at random.

    Yes or no, A or B and ratings of 1-7 with equal probability; 0 to 3 emotions a turn; each Q1 option with
    probability 1/2; as a draft half of the message's words. The two phrasings of a binary question are drawn apart.
    `attune_bench.chance` says what such answers score on average.

    Parameters
    ----------
    conversations : iterable of Conversation
        What to predict.
    seed : int
        The draws of a conversation depend on the seed and its id alone, not on the other conversations.

    Returns
    -------
    Runs
        One per conversation, in order; ``em_model`` is ``baseline/chance``.

    Examples
    --------
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> chance(conversations, seed=1)[0] == chance(conversations[:1], seed=1)[0]
    True
    """
    codebook = load_codebook()
    return Runs([_chance_run(see(conversation), codebook, seed) for conversation in conversations])


def _chance_run(seen: Seen, codebook: Codebook, seed: int) -> Run:
    rng = Random(f"{seed}/{seen.id}")  # noqa: S311 - seeded by text: the same in every process
    words = [emotion.word for emotion in codebook.emotions.values()]
    turns = [_chance_turn(turn, words, rng) for turn in seen.turns]
    wide = PredictedConversationWide(
        q1_looking_for=tuple(option for option in codebook.q1_options if rng.random() < 0.5),
        q2_emotion_clarity=rng.choice(codebook.q2_options),
        q3_model_fit=rng.choice(codebook.q3_options),
        four_branch_scores=FourBranchScores.model_validate({name: rng.randint(1, 7) for name in codebook.branches}),
    )
    panas = predicted_panas({word: rng.randint(1, 7) for word in words})
    return _baseline_run(CHANCE_BASELINE, seen, turns, panas, wide)


def _chance_turn(turn: SeenTurn, words: list[str], rng: Random) -> RunTurn:
    def answers() -> Answers:
        return {question: rng.choice(("yes", "no")) for question in turn.questions}

    emotions = {word: rng.randint(1, 7) for word in rng.sample(words, rng.randint(0, 3))}
    message = turn.message.split()
    draft = " ".join(rng.sample(message, (len(message) + 1) // 2))
    four = [answers() for _ in range(4)]
    choices: PairwiseChoices = {str(position): rng.choice(("A", "B")) for position in range(len(turn.pairs))}
    return _baseline_turn(turn, emotions, draft, four, choices)


BASELINES: Mapping[str, Callable[..., Runs]] = MappingProxyType({"chance": chance, "prior": prior, "lexicon": lexicon})
"""The baselines by name; each takes conversations, and options as keywords."""
