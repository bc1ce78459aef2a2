"""Hashes of results: they tell what was answered, to what, by whom and how, not when, how long or at what cost."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from datetime import date
from decimal import Decimal
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import richest
from model_server import ModelServer, answer_to, said, talk

from attune_bench import BENCHMARKS, Benchmark, score
from attune_bench.benchmarks.attunebench.rejudging import REJUDGE, drafted_runs
from attune_bench.benchmarks.attunebench.task import AttuneBenchSettings
from attune_bench.runner import endpoint, run_sync
from attune_bench.scores.provenance import digest, fingerprint, result_digests, results_fingerprint, version_of
from attune_bench.scores.records import ScoredRecords
from attune_bench.verbs.streaming import stream
from attune_data import Kind, load, load_records, load_runs, load_sage
from attune_data.collection import NOTED, record_kind
from attune_data.kinds import DIALOGUE, RUN
from attune_data.record import Record
from attune_data.references import resolve
from attune_metrics import MetricInputError

Json = dict[str, Any]

RUNS = load_runs("demo")[:6]

# Results of every benchmark are hashed by the same code; those of EQ-Bench take the least time.
each = pytest.mark.parametrize(
    "benchmark",
    [pytest.param(one, marks=() if one.name == "eqbench" else pytest.mark.slow) for one in BENCHMARKS],
    ids=lambda benchmark: benchmark.name,
)
asking = pytest.mark.parametrize(
    "benchmark",
    [pytest.param(one, marks=pytest.mark.slow if one.name == "attunebench" else ()) for one in BENCHMARKS if one.task],
    ids=lambda benchmark: benchmark.name,
)


def hashed(kind: Kind[Any, Any], document: Json) -> bytes:
    """Return the hash that counts, of a document as its file has it."""
    return result_digests(kind.model.model_validate_json(json.dumps(document)), kind)[0]


def documents_of(kind: Kind[Any, Any]) -> list[Json]:
    """Return a result of the demonstration data, and a drawn one with many fields."""
    return [json.loads(load_records("demo", kind)[0].to_line()), deepcopy(richest(kind))]


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every value that has no parts, in lists that of the first item only."""
    if isinstance(value, dict | list) and value:
        for key, item in value.items() if isinstance(value, dict) else enumerate(value[:1]):
            yield from leaves(item, (*path, key))
    else:
        yield path


_TEXTS = ("other", "no", "na", "B", "alternate", "verbose", "delta", "reasoning", "defender", "assistant", "user")
_PARTS: tuple[Any, ...] = ({}, {"other": "2"}, {"B1": "no"}, {"0": "A"}, {"0": {"A": "human"}}, [], ["other"])
_VALUES = (*_TEXTS, 1, 2, 11, 57.5, True, False, None, *_PARTS)


def changed(kind: Kind[Any, Any], document: Json, path: tuple[str | int, ...]) -> Json:
    """Return the document with another value at a path, one that a file of this kind can have there."""
    *way, last = path
    for value in _VALUES:
        other = deepcopy(document)
        place: Any = other
        for step in way:
            place = place[step]
        before = place[last] if isinstance(last, int) else place.get(last)
        place[last] = value
        with suppress(ValueError):
            kind.model.model_validate_json(json.dumps(other))
            if value != before:
                return other
    raise AssertionError(f"no other value for {path}")


@each
def test_what_a_result_notes_beside_its_answers_changes_no_hash(benchmark: Benchmark) -> None:
    kind = resolve(benchmark.results)
    assert kind.unhashed >= {"api_cost", "simulator_cost", "duration_seconds", "run_key", "usage", "request_id"}
    for document in documents_of(kind):
        for key in kind.unhashed:
            for value in ("2026-05-05", None) if key in ("run_timestamp", "source_file") else (1.5, None):
                assert hashed(kind, {**document, key: value}) == hashed(kind, document), key


@each
def test_any_other_field_changes_the_hash(benchmark: Benchmark) -> None:
    kind = resolve(benchmark.results)
    fields = {info.alias or name for name, info in kind.model.model_fields.items()} - kind.unhashed
    settings = {*benchmark.comparability_keys, "temperature", "seed", "provider", "prompt_hash"}
    for document in documents_of(kind):
        before = hashed(kind, document)
        paths = [path for path in leaves(document) if path[0] not in kind.unhashed]
        assert paths
        for path in [*paths, *((name,) for name in fields | settings)]:
            assert hashed(kind, changed(kind, document, path)) != before, path


def test_a_field_of_the_answer_is_hashed_though_others_note_a_cost_by_its_name() -> None:
    class Word(Record):
        id: str
        usage: str

    kind = record_kind(Word, noun="word", plural="words", keys=frozenset(["usage"]))
    assert kind.unhashed == NOTED - {"usage"}
    assert hashed(kind, {"id": "w", "usage": "formal"}) != hashed(kind, {"id": "w", "usage": "plain"})
    every = record_kind(Word, noun="word", plural="words", keys=frozenset(["usage"]), unhashed=frozenset())
    assert hashed(every, {"id": "w", "usage": "", "latency": 1}) != hashed(every, {"id": "w", "usage": ""})


def test_the_other_hash_tells_any_difference(run: Json) -> None:
    first, other = (RUN.model.model_validate(run | {"api_cost": cost}) for cost in (1.0, 2.0))
    assert result_digests(first, RUN)[0] == result_digests(other, RUN)[0]
    assert result_digests(first, RUN)[1] != result_digests(other, RUN)[1]


def test_a_model_that_the_name_of_a_file_tells_is_hashed(tmp_path: Path) -> None:
    content = [json.loads(one.to_line()) for one in load_sage("demo").where(model="synthetic/attentive")[:2]]
    for one in content:
        del one["model"]
    found = []
    for model in ("a", "b"):
        (tmp_path / model).mkdir()
        (tmp_path / model / f"{model}_result.jsonl").write_text("\n".join(map(json.dumps, content)))
        found.append(load_sage(tmp_path / model))
    hashes = [results_fingerprint(one, DIALOGUE) for one in found]
    assert hashes[0] != hashes[1]
    # A copy names the model in the record.
    found[0].to_jsonl(tmp_path / "copy.jsonl")
    assert results_fingerprint(load_sage(tmp_path / "copy.jsonl"), DIALOGUE) == hashes[0]


def served(speak: Callable[[Json], str], cost: float) -> ModelServer:
    return ModelServer(lambda _number, body: said(speak(body), cost=cost))


def ran(benchmark: Benchmark, folder: Path, cost: float) -> Any:
    """Return what a run writes about two records, on a server whose answers have a cost."""
    task = resolve(benchmark.task)
    others = {option.name: "vendor/other" for option in benchmark.options if option.required}
    given = task.settings("vendor/model", **others)
    data = [one for one in load_records("demo", resolve(benchmark.units)) if not task.unusable(one)][:2]
    with served(talk if benchmark.name == "eibench" else answer_to, cost) as server:
        run_sync(task, data, given, endpoint("openai-compatible", base_url=server.url), output=folder)
    return load_records(folder, resolve(benchmark.results))


@asking
def test_two_runs_with_equal_answers_have_one_hash(benchmark: Benchmark, tmp_path: Path) -> None:
    cheap, dear = (ran(benchmark, tmp_path / str(cost), cost) for cost in (0.25, 0.5))
    assert len(cheap) == len(dear) == 2
    assert [one.model_extra | dict(one) for one in cheap] != [one.model_extra | dict(one) for one in dear]
    data = None if benchmark.data is None else load_records("demo", resolve(benchmark.data))
    first, second = (score(made) if data is None else score(data, made) for made in (cheap, dear))
    assert first.provenance.runs == second.provenance.runs
    assert first.sign() == second.sign()


def test_runs_that_are_judged_again_have_one_hash_whatever_the_first_run_cost(tmp_path: Path) -> None:
    conversations = load("demo")[:1]
    settings = AttuneBenchSettings("vendor/model", judges=("vendor/judge",))
    hashes = []
    for cost in (0.25, 0.5):
        runs = [one.model_copy(update={"api_cost": cost}) for one in load_runs("demo")[:1]]
        with served(answer_to, cost) as server:
            where, output = endpoint("openai-compatible", base_url=server.url), tmp_path / str(cost)
            outcome = run_sync(REJUDGE, drafted_runs(runs, conversations), settings, where, output=output)
        assert outcome.finished == 1
        hashes.append(results_fingerprint(load_runs(output), RUN))
    assert hashes[0] == hashes[1]


@pytest.mark.slow
def test_runs_scored_while_they_are_read_have_the_same_hash(tmp_path: Path) -> None:
    hashes = []
    for cost in (0.25, 0.5):
        runs = [one.model_copy(update={"api_cost": cost, "run_timestamp": f"2026-0{cost * 4:g}-01"}) for one in RUNS]
        path = tmp_path / f"{cost}.jsonl"
        path.write_bytes(b"\n".join(one.to_line() for one in runs))
        for jobs in (1, 2):
            found = stream("attunebench", "demo", [path], jobs=jobs, check=lambda *_: None, progress=(int, int))
            hashes.append(found.scores.provenance.runs)
        hashes.append(score(load("demo"), runs).provenance.runs)
    assert hashes == hashes[:1] * 6


def test_samples_are_made_of_scores_that_have_the_hash_of_everything() -> None:
    data = load("demo")
    scores = score(data, RUNS)
    for runs in (results_fingerprint(RUNS, RUN), fingerprint(RUNS, version=1)):
        table = replace(scores, provenance=scores.provenance.model_copy(update={"runs": runs}))
        assert len(
            ScoredRecords(table, benchmark=BENCHMARKS[0], results=RUNS, data=data, use="samples").results
        ) == len(RUNS)
    table = replace(scores, provenance=scores.provenance.model_copy(update={"runs": "0" * 32}))
    with pytest.raises(MetricInputError, match="these are not the runs that were scored"):
        ScoredRecords(table, benchmark=BENCHMARKS[0], results=RUNS, data=data, use="samples")


def test_what_is_not_hashed_does_not_choose_the_form_of_what_is() -> None:
    asked = [
        type(RUNS[0]).model_validate(json.loads(RUNS[0].to_line()) | {"model": "café/x", "request_id": name})
        for name in ("req_a1", "req_NaN1")
    ]
    assert len({results_fingerprint([run], RUN) for run in asked}) == 1
    # Nor does an integer of more than 64 bits, or a value that JSON does not have.
    for usage in (1, 2**70, date(2026, 1, 1)):
        other = type(RUNS[0]).model_validate({**json.loads(asked[0].to_line()), "usage": usage})
        assert results_fingerprint([other], RUN) == results_fingerprint(asked[:1], RUN)
    # NaN in what is hashed is not null.
    odd = [type(RUNS[0]).model_validate(json.loads(RUNS[0].to_line()) | {"note": value}) for value in (None, nan)]
    assert len({results_fingerprint([run], RUN) for run in odd}) == 2


@pytest.mark.parametrize(
    "value",
    [
        date(2026, 1, 1),
        Decimal("1.50"),
        {"a"},
        b"text",
        Path("a/b"),
        np.float64(0.1),
        {1: "a"},
        nan,
        2**70,
        "NaN",
        None,
    ],
    ids=str,
)
def test_a_record_in_memory_has_the_hash_of_the_record_in_its_file(value: object) -> None:
    record = type(RUNS[0]).model_validate({**json.loads(RUNS[0].to_line()), "em_model": "café/x", "note": value})
    assert digest(record) == digest(type(record).model_validate_json(record.to_line()))


def test_hashes_of_the_first_version_are_compared_in_its_form() -> None:
    conversations = load("demo")[:3]
    first = fingerprint(conversations, version=1)
    assert not first.startswith("v")
    assert (version_of(first), version_of(fingerprint(conversations)), version_of(None)) == (1, 2, 1)
    table = score(load("demo"), RUNS)
    older = {
        "data": fingerprint([one for one in load("demo") if one.id in {*table.units["unit"]}], version=1),
        "runs": results_fingerprint(RUNS, RUN, version=1),
    }
    scored = replace(table, provenance=table.provenance.model_copy(update=older))
    given: Json = {"benchmark": BENCHMARKS[0], "results": RUNS, "data": load("demo"), "use": "transcripts"}
    assert len(ScoredRecords(scored, **given).results) == len(RUNS)
    other = replace(table, provenance=table.provenance.model_copy(update=older | {"runs": first}))
    with pytest.raises(MetricInputError, match="another hash"):
        ScoredRecords(other, **given)
