"""Loading and scoring against `json.loads`: 200 conversations, 2,200 run files.

    PYTHONPATH=tools python benchmarks/load_and_score.py

Prints each ratio with its bound, and exits with 1 where one does not hold. Files are written to a temporary folder.
They are dense: 5 to 7 turns of about 15 judgements and 12 comparisons with messages of a few sentences, so that
`json.loads` makes many values of few bytes. `plain_scorer.py` is a scorer that checks nothing.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from figures import Figure, report
from pairs import compare
from synthetic.conversations import conversations
from synthetic.runs import SimulatedModel, runs

from attune_bench import score
from attune_bench.benchmarks.attunebench.task import write_runs
from attune_bench.verbs.workers import processors
from attune_data import Kind
from attune_data.attunebench.kinds import CONVERSATION, RUN
from attune_data.io.documents import Document
from attune_data.loading import Reader, load_records
from attune_data.record import Record

R = TypeVar("R", bound=Record)

CONVERSATIONS = 200
MODELS = 11
_JSON_LOADS = """
import json, pathlib, sys
for folder in sys.argv[1:]:
    kept = [json.loads(path.read_bytes()) for path in sorted(pathlib.Path(folder).glob("*.json"))]
"""


def figures() -> list[Figure]:
    """Generate, and measure."""
    with TemporaryDirectory() as folder:
        data, results = Path(folder, "data"), Path(folder, "runs")
        _write(data, results)
        truth = [Document(path.name, path.read_bytes()) for path in sorted(data.glob("*.json"))]
        predictions = [Document(path.name, path.read_bytes()) for path in sorted(results.glob("*.json"))]
        for kind, documents in (("conversation", truth), ("run", predictions)):
            size = sum(len(document.data) for document in documents) / len(documents)
            print(f"{len(documents)} {kind} files of {size / 1000:.1f} kB", file=sys.stderr)
        output = Path(folder, "scores.json")
        return [
            _loading(f"{len(truth):,} conversations and {len(predictions):,} runs", [data, results]),
            _loading(f"the {len(predictions):,} runs alone", [results]),
            _loading(f"the {len(truth):,} conversations alone", [data], bound=2.2),
            _scoring(truth, predictions),
            *_process(data, results, output, "in one process", ("--jobs", "1"), (8, 0.85)),
            *_process(data, results, output, f"by default on {processors()} processors", (), (5, 0.6)),
        ]


def _write(data: Path, results: Path) -> None:
    truth = conversations(CONVERSATIONS, seed=1, turns=(5, 7))
    models = [SimulatedModel(f"vendor/model-{number}") for number in range(MODELS)]
    data.mkdir()
    for number, conversation in enumerate(truth):
        (data / f"conversation_{number}.json").write_bytes(conversation.to_json(indent=2))
    write_runs(runs(truth, models, seed=2), results)


def _load(kind: Kind[R, Any], documents: list[Document]) -> list[R]:
    """Load from memory, so that both sides are timed without the disk."""
    reader = Reader(kind)
    return [record for document in documents if (record := reader.read(document))]


def _loading(what: str, folders: list[Path], *, bound: float = 1.7) -> Figure:
    """Load folders as a user does, against parsing their files."""
    return compare(
        f"loading {what}, against json.loads of every file",
        lambda: [load_records(folder) for folder in folders],
        lambda: [[json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))] for folder in folders],
        bound=bound,
    )


def _scoring(truth: list[Document], predictions: list[Document]) -> Figure:
    """Score every run, against loading every run and its conversation anew."""
    loaded, loaded_runs = _load(CONVERSATION, truth), _load(RUN, predictions)
    by_id = {conversation.id: document for conversation, document in zip(loaded, truth, strict=True)}
    asked = [by_id[run.conversation_id] for run in loaded_runs]
    return compare(
        "scoring a run, against loading it and its conversation",
        lambda: score(loaded, loaded_runs),
        lambda: (_load(CONVERSATION, asked), _load(RUN, predictions)),
        bound=1.5,
    )


def _process(
    data: Path, results: Path, output: Path, how: str, options: tuple[str, ...], bounds: tuple[float, float]
) -> Iterator[Figure]:
    command = [str(Path(sys.executable).with_name("attune-bench")), "score"]
    scored = [*command, "--results", str(results), "--data", str(data), "--output", str(output), *options]
    plain = str(Path(__file__).with_name("plain_scorer.py"))
    others = {
        "a process that only json.loads every file": [sys.executable, "-c", _JSON_LOADS, str(data), str(results)],
        "plain_scorer.py in one process": [sys.executable, plain, str(data), str(results), f"{output}.plain"],
    }
    for (against, other), bound in zip(others.items(), bounds, strict=True):
        yield compare(
            f"`attune-bench score` {how}, against {against}",
            partial(subprocess.run, scored, check=True, capture_output=True),
            partial(subprocess.run, other, check=True, capture_output=True),
            bound=bound,
        )


if __name__ == "__main__":
    sys.exit(report(figures()))
