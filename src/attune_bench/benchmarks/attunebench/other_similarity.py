"""Another measure of similarity of a draft and the responses, such as BERTScore, beside token overlap.

A measure of similarity other than token overlap has columns of its own, which are made as the columns of token overlap
[1]_: the similarity of each draft to the three responses of its turn, 0 where a text is missing; the largest of the
three; their mean weighted by how often each response won. A conversation has the mean over its turns.

References
----------
.. [1] `attune_metrics.attunebench.preferences`
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, NamedTuple

from attune_bench.benchmarks.attunebench.conversation_score import ConversationScore, Truth
from attune_data import Conversation, Run
from attune_data.references import require
from attune_data.text import shortened
from attune_metrics.attunebench.preferences import METRICS, RESPONSE_LABELS, score_similarities
from attune_metrics.metric import Metric, MetricInputError

Similarity = Callable[[Sequence[str], Sequence[str]], Sequence[float]]
"""The similarity of each pair of two lists of texts: 1 for equal texts, lower for others. A call has the pairs of some
runs, so a value must depend on its own pair alone."""

_MEASURES = tuple(name for name in ConversationScore.__annotations__ if name.startswith("avg_response_"))
_MODEL = "roberta-large"  # the default of bert-score for English


@dataclass(frozen=True, slots=True)
class OtherSimilarity:
    """A measure of similarity.

    Attributes
    ----------
    name : str
        How its columns end.
    described : str
        The name in signatures, with the settings that change its values.
    function : callable
        See `Similarity`.
    """

    name: str
    described: str
    function: Similarity

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(f"{measure}.{self.name}" for measure in _MEASURES)


def other_similarity(given: str | Similarity) -> OtherSimilarity | None:
    """Return a measure of similarity by name or function; None for token overlap, which every score has.

    Parameters
    ----------
    given : str or callable
        ``"jaccard"``; ``"bertscore"``, the F1 of BERTScore [1]_ by roberta-large, or ``"bertscore:MODEL"`` with the
        name of a model on the Hub or a folder; or a function of two lists of texts; the columns are named after the
        function.

    Raises
    ------
    MetricInputError
        Where there is no measure of that name.
    ImportError
        Without bert-score, which the extra ``bertscore`` installs.

    References
    ----------
    .. [1] Zhang, Kishore, Wu, Weinberger, Artzi (2020), BERTScore: Evaluating Text Generation with BERT, ICLR.
    """
    if callable(given):
        name = getattr(given, "__name__", type(given).__name__).strip("<>")
        return OtherSimilarity(name, name, given)
    if given == "jaccard":
        return None
    if not isinstance(given, str):
        raise MetricInputError(f"similarity is {given!r:.60}; it is a text or a function of two lists of texts")
    name, _, model = given.partition(":")
    if name != "bertscore" or given.endswith(":"):
        raise MetricInputError(f"similarity: no {given!r}; it is jaccard, bertscore, bertscore:MODEL or a function")
    return _bertscore(model or _MODEL)


@lru_cache(maxsize=1)
def _bertscore(model: str) -> OtherSimilarity:
    scorer_class = require("bert_score", "bertscore").BERTScorer
    known: Mapping[str, int] = require("bert_score.utils", "bertscore").model2layers
    layers = known.get(model)
    if layers is None:
        # bert-score knows no better layer of this model: the last layer, as for all such models.
        layers = require("transformers", "bertscore").AutoConfig.from_pretrained(model).num_hidden_layers
    scorer = scorer_class(model_type=model, num_layers=layers)

    def function(drafts: Sequence[str], responses: Sequence[str]) -> list[float]:
        # One text at a time: within a batch the last digits depend on the others, and so on how runs are read.
        _, _, f1 = scorer.score(list(drafts), list(responses), batch_size=1)
        found: list[float] = f1.tolist()
        return found

    # A folder is told by its name and content, not by where it lies.
    named = f"{Path(model).name}@{_content(Path(model))}" if Path(model).is_dir() else model
    return OtherSimilarity("bertscore", f"bertscore({scorer.hash.replace(model, named, 1)})", function)


def _content(folder: Path) -> str:
    """Return a hash of the files of a folder."""
    digest = sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0")
        with file.open("rb") as content:
            digest.update(file_digest(content, "sha256").digest())
    return digest.hexdigest()[:12]


def is_of_similarity(name: str) -> bool:
    """Tell whether a key of a record is a column of another measure of similarity."""
    overlap, point, _ = name.partition(".")
    return bool(point) and overlap in _MEASURES


def similarity_metrics(names: Sequence[str]) -> dict[str, Metric]:
    """Return the catalogue entries of columns, ``<metric of token overlap>.<name of the measure>``.

    Examples
    --------
    >>> similarity_metrics(["avg_response_similarity.bertscore"])["avg_response_similarity.bertscore"].label
    'Response similarity, bertscore'
    """
    known = {metric.name: metric for metric in METRICS}
    found = {}
    for name in names:
        overlap, _, measure = name.partition(".")
        label = f"{known[overlap].label}, {measure}"
        found[name] = replace(known[overlap], name=name, label=label, short="", low=-math.inf, high=math.inf)
    return found


class Scored(NamedTuple):
    """A run with its record, its conversation and the prepared annotations."""

    record: ConversationScore
    run: Run
    conversation: Conversation
    truth: Truth


def add_similarities(scored: Sequence[Scored], other: OtherSimilarity) -> None:
    """Add the values of another measure to the records of some runs; the measure is called once.

    Raises
    ------
    MetricInputError
        Where the measure gives too few or too many values, or a value that is not finite.
    """
    turns = [list(_turns(one)) for one in scored]
    texts_of = [(draft, text) for of_run in turns for draft, texts, _ in of_run for text in texts]
    pairs = dict.fromkeys((draft, text) for draft, text in texts_of if draft and text)
    values = list(other.function([draft for draft, _ in pairs], [text for _, text in pairs])) if pairs else []
    if len(values) != len(pairs):
        raise MetricInputError(f"{other.name} gives {len(values)} values for {len(pairs)} pairs of texts")
    known = {pair: float(value) for pair, value in zip(pairs, values, strict=True)}
    for (draft, text), value in known.items():
        if not math.isfinite(value):
            pair = f"{shortened(repr(draft), 40)} and {shortened(repr(text), 40)}"
            raise MetricInputError(f"{other.name} of {pair} is {value}; expected a number")
    for one, of_run in zip(scored, turns, strict=True):
        of_turns = [
            score_similarities([known.get((draft, text), 0.0) for text in texts], weights)
            for draft, texts, weights in of_run
        ]
        means: dict[str, Any] = {
            name: math.fsum(of_measure) / len(of_measure)
            for name, of_measure in zip(other.columns, zip(*of_turns, strict=True), strict=True)
        }
        one.record.update(means)  # type: ignore[typeddict-item]  # keys that not every record has


def _turns(scored: Scored) -> Iterator[tuple[str, list[str], Sequence[float] | None]]:
    """Yield for each scored turn the draft, the responses (empty if blank), and how often each response won."""
    drafts = {turn.turn_number: turn.em_drafted_response for turn in scored.run.turns}
    responses = {turn.turn_number: turn.responses for turn in scored.conversation.turns}
    for number in (turn["turnNumber"] for turn in scored.record["turn_scores"]):
        texts = [_shown(responses[number][label]) for label in RESPONSE_LABELS]
        yield _shown(drafts[number]), texts, scored.truth.turns[number].responses.weights


def _shown(text: str | None) -> str:
    return text if text and text.strip() else ""
