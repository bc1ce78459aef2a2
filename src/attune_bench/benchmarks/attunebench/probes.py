"""Continuation probes: the calls that ask a model to continue the first half of a participant's message.

A probe stands alone: it shows neither the conversation nor anything that the participant annotated. A probe of a
paraphrase shows the first half of a text that says the same as the message in words that were never published.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from attune_bench.benchmarks.attunebench import parsing
from attune_bench.benchmarks.attunebench.baselines import SeenTurn
from attune_bench.benchmarks.attunebench.parsing import Tally
from attune_bench.runner.calls import TEXT, Call, message, object_schema
from attune_bench.runner.cost import PROBE
from attune_bench.runner.prompts import Fence, Prompts, load_prompts
from attune_bench.runner.task import Fields
from attune_metrics.attunebench.continuation import MIN_WORDS, halves

Paraphrases = Mapping[tuple[str, int], str]
"""Paraphrases of messages by the id of the conversation and the number of the turn."""

_COLUMNS = ("conversationId", "turnNumber", "text")


class Probe(NamedTuple):
    """A probe about a turn, and the end of the paraphrase that it shows the begin of; empty for the message itself."""

    turn: SeenTurn
    call: Call
    end: str

    def read(self, answer: Mapping[str, Any], tally: Tally) -> Fields:
        """Return the fields of the turn of a run file that an answer gives."""
        if not self.end:
            return parsing.read_text(answer, "continuation", "em_continuation", tally)
        fields = parsing.read_text(answer, "continuation", "em_paraphrase_continuation", tally)
        return fields and fields | {"paraphrase_end": self.end}


@cache
def _prompts() -> Prompts:
    return load_prompts("attune_bench.benchmarks.attunebench", "probe-v1")


def probes(conversation_id: str, turns: Iterable[SeenTurn], model: str, paraphrases: Paraphrases) -> Iterator[Probe]:
    """Yield the probes of a conversation: of each message that is long enough, and of its paraphrase if there is one.

    Parameters
    ----------
    conversation_id : str
        The conversation.
    turns : iterable of SeenTurn
        Its turns.
    model : str
        The model that is asked.
    paraphrases : mapping
        Paraphrases of messages, see `Paraphrases`.
    """
    for turn in turns:
        cut = halves(turn.message)
        if cut is None:
            continue
        yield Probe(turn, _call(f"turn-{turn.number}/probe", conversation_id, model, cut.begin), "")
        other = halves(paraphrases.get((conversation_id, turn.number), ""))
        if other is not None:
            call = _call(f"turn-{turn.number}/probe-paraphrase", conversation_id, model, other.begin)
            yield Probe(turn, call, other.end)


def _call(name: str, conversation_id: str, model: str, begin: str) -> Call:
    fence, prompts = Fence.around(conversation_id, [begin]), _prompts()
    system = message("system", prompts.render("system", boundary=fence.code))
    request = message("user", prompts.render("probe", begin=fence.block("beginning", begin)))
    return Call(name, model, "model", (system, request), object_schema({"continuation": TEXT}), PROBE)


def probe_hash(paraphrases: Paraphrases) -> str | None:
    """Return the SHA-256 of paraphrases in any order, None without any."""
    rows = sorted([conversation, turn, said] for (conversation, turn), said in paraphrases.items())
    return sha256(json.dumps(rows).encode()).hexdigest() if rows else None


def read_paraphrases(path: Path | None) -> dict[tuple[str, int], str]:
    """Read paraphrases of messages from a CSV file, or from a JSONL file with an object a line.

    Parameters
    ----------
    path : Path, optional
        With the columns, or keys, ``conversationId``, ``turnNumber`` and ``text``; None for no paraphrases.

    Raises
    ------
    ValueError
        Where the file cannot be read, or a row lacks a column, has no number of a turn, is too short to be cut in half,
        or repeats the turn of another row; the text names the file and the row.
    """
    if path is None:
        return {}
    found: dict[tuple[str, int], str] = {}
    for place, row in _rows(path):
        where = f"{path}, {place}"
        if lacking := [name for name in _COLUMNS if row.get(name) in (None, "")]:
            raise ValueError(f"{where}: no {lacking[0]}; expected {', '.join(_COLUMNS)}")
        conversation, number, said = (str(row[name]) for name in _COLUMNS)
        if not number.isdecimal():
            raise ValueError(f"{where}: turnNumber is {number!r:.40}; expected a whole number from 1")
        if halves(said) is None:
            raise ValueError(f"{where}: the text has fewer than {MIN_WORDS} words, and cannot be cut in half")
        if (conversation, int(number)) in found:
            raise ValueError(f"{where}: a second paraphrase of turn {number} of conversation {conversation!r:.60}")
        found[conversation, int(number)] = said
    if not found:
        raise ValueError(f"{path} has no paraphrase; expected rows with {', '.join(_COLUMNS)}")
    return found


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows of a file, each with its place."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ValueError(f"{path} cannot be read: {why}") from None
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        reader = csv.DictReader(text.splitlines(keepends=True), strict=True)
        try:
            for row in reader:
                yield f"line {reader.line_num}", row
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}; expected CSV or a .jsonl file") from None
        return
    # A line ends at a line feed only.
    for place, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict):
            raise ValueError(f"{path}, line {place}: no JSON object")
        yield f"line {place}", entry
