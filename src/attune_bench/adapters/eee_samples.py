"""Samples of Every Eval Ever: beside a record of scores, a line for each of its results and each unit, with the texts.

The texts are whole records, so samples are made only of what was scored, as its hashes tell, and only where every
licence allows it.
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from attune_bench.adapters.eee import SCHEMA_VERSION, Record, as_texts
from attune_bench.report.suppression import hides
from attune_bench.score_table import CHANCE, ScoreTable, term_columns
from attune_bench.scored_records import ScoredRecords
from attune_bench.stats.summary import metrics_per_unit
from attune_data.collection import Collection, Messages
from attune_data.issues import PublishError
from attune_data.publishing import canary, permitted
from attune_data.record import is_generated
from attune_metrics.metric import Metric

__all__ = ["Samples"]


class Samples:
    """What samples of scores are made of, checked.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    results : Collection
        The results that were scored.
    data : Collection, optional
        What they were scored against, of a benchmark that has data.
    licence : str
        What the samples are published under, as for `attune_data.publishing.permitted`. A result may lack a licence,
        whatever the data state; nothing else may.
    small_cells : bool
        Whether to make samples of people, a sample being of a single one; samples of generated records do not need it.

    Raises
    ------
    MetricInputError
        The scores are means over repeats, of no benchmark, or of one that does not name the results' rows; data are
        missing or too many; these are not the records that were scored.
    PublishError
        A licence does not allow it, or is not known; or the records are of people, and `small_cells` is not set.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.adapters.eee import Publisher, eee_records
    >>> from attune_data import load, load_runs
    >>> data, results = load("demo"), load_runs("demo")
    >>> scores = score(data, results)
    >>> samples = Samples(scores, results=results, data=data, licence="cc-by-4.0")
    >>> records = eee_records(scores, Publisher(organization="Lab"), metrics=["composite_score"], resamples=200)
    >>> lines = [line for record in records.values() for line in samples.lines(record)]
    >>> len(lines), lines[0]["model_id"], lines[0]["evaluation_result_id"], lines[0]["messages"][0]["role"]
    (80, 'synthetic/attentive', 'composite_score', 'user')
    """

    def __init__(
        self,
        table: ScoreTable,
        *,
        results: Collection[Any],
        data: Collection[Any] | None = None,
        licence: str,
        small_cells: bool = False,
    ) -> None:
        self._table = table
        self._records = ScoredRecords(table, results=results, data=data, use="samples")
        # Results that hold all there is are data.
        chosen, sources = permitted(results, licence, needs_licence=data is None)
        if data is not None:
            sources += permitted(data, licence, needs_licence=True)[1]
        credit = dict.fromkeys(f"{one.name}, {one.licence.title}: {one.attribution}" for one in sources)
        given = results if data is None else data
        scored = set(table.units["unit"])
        shown = results if data is None else [one for one in data if one.id in scored]
        if hides(table, small_cells=small_cells) and not all(map(is_generated, shown)):
            raise PublishError(
                f"a sample shows a single {table.provenance.unit} of a person; with small_cells=True (--small-cells) "
                "samples are written"
            )
        self._terms = as_texts(
            {
                "samples_licence": chosen.id,
                "samples_attribution": "; ".join(credit),
                "samples_request": given.kind.request if sources else None,
                "samples_canary": "; ".join(canary(given).texts),
            }
        )
        self._synthetic = "yes" if table.provenance.synthetic else None
        self._about = {row["unit"]: row for row in table.units.iter_rows(named=True)}

    def lines(self, record: Record) -> Iterator[Record]:
        """Yield the samples of a record, unit by unit: one for each result of all units that has a value of the unit.

        Parameters
        ----------
        record : dict
            What `attune_bench.adapters.eee.eee_records` gives of these scores.

        Yields
        ------
        dict
            JSON that the schema of samples accepts.
        """
        own = metrics_per_unit(self._table)
        whole = [one for one in record["evaluation_results"] if "subgroup_trait" not in one["score_details"]["details"]]
        results = [
            (one, self._table.metrics[name]) for one in whole if (name := one["metric_config"]["metric_id"]) in own
        ]
        if not results:
            return
        model = record["model_info"]["name"]
        condition = whole[0]["score_details"]["details"].get(self._table.provenance.condition, "")
        rows = self._table.values.filter(pl.col("model") == model, pl.col("condition").fill_null("") == condition)
        for row in rows.iter_rows(named=True):
            values = [(one, metric, row[term_columns(metric)[0]]) for one, metric in results]
            defined = [(one, metric, value) for one, metric, value in values if value is not None and isfinite(value)]
            if not defined:
                continue
            texts, turns = self._texts(row)
            for one, metric, value in defined:
                yield {
                    "schema_version": SCHEMA_VERSION,
                    "evaluation_id": record["evaluation_id"],
                    "model_id": record["model_info"]["id"],
                    "evaluation_name": one["evaluation_name"],
                    "evaluation_result_id": one["evaluation_result_id"],
                    "sample_id": row["unit"],
                    **texts,
                    "answer_attribution": [],
                    "evaluation": {"score": value, "is_correct": value == _best(metric), "num_turns": turns or None},
                    "metadata": self._metadata(row, metric),
                }

    def write(self, records: Mapping[str, Record], folder: Path) -> dict[str, Record]:
        """Write the samples of records into a folder, a line at a time.

        Parameters
        ----------
        records : mapping of str to dict
            What `attune_bench.adapters.eee.eee_records` gives of these scores.
        folder : path
            Where their paths begin; the samples of ``<uuid>.json`` are in ``<uuid>_samples.jsonl``.

        Returns
        -------
        dict of str to dict
            The records, each with path, hash and number of its samples and what they are published under. One that has
            no sample is as it was, and has no file.
        """
        return {path: self._written(path, record, folder) for path, record in records.items()}

    def _written(self, path: str, record: Record, folder: Path) -> Record:
        name, checksum, lines = f"{path.removesuffix('.json')}_samples.jsonl", sha256(), 0
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            for sample in self.lines(record):
                line = json.dumps(sample, allow_nan=False).encode() + b"\n"
                checksum.update(line)
                file.write(line)
                lines += 1
        if not lines:
            target.unlink()
            return record
        source = record["source_metadata"]
        return {
            **record,
            "source_metadata": {**source, "additional_details": {**source["additional_details"], **self._terms}},
            "detailed_evaluation_results": {
                "format": "jsonl",
                "file_path": name,
                "hash_algorithm": "sha256",
                "checksum": checksum.hexdigest(),
                "total_rows": lines,
            },
        }

    def _texts(self, row: Mapping[str, Any]) -> tuple[Record, int]:
        """Return what was said in a row of the scores, what it was scored against, and how many messages were said."""
        held = self._records
        result = held.results[row["model"], row["condition"], row["unit"]]
        given = held.units.get(row["unit"])
        reference = [] if given is None else [given.to_json().decode()]
        answer = result.to_json().decode()
        messages: Messages | None = None
        if held.made.messages is not None:
            messages = held.made.messages(result)
        elif held.given is not None and held.given.messages is not None:
            messages = [*held.given.messages(given), ("assistant", answer)]
        if messages is None:
            raw, turns = "".join(reference), 1
            said: Record = {"interaction_type": "single_turn", "output": {"raw": [answer]}}
        else:
            # What the model begins with is no input.
            raw, turns = next((text for role, text in messages[:1] if role == "user"), ""), len(messages)
            numbered = [{"turn_idx": at, "role": role, "content": text} for at, (role, text) in enumerate(messages)]
            said = {"interaction_type": "multi_turn", "messages": numbered}
        source = {"raw": raw, "reference": reference}
        # As the coalition's own converters hash.
        hashed = sha256(json.dumps(source, sort_keys=True, separators=(",", ":")).encode())
        return {"sample_hash": hashed.hexdigest(), "input": source, **said}, turns

    def _metadata(self, row: Mapping[str, Any], metric: Metric) -> dict[str, str]:
        """Return the cluster, the condition and the traits of a row, what random answers score, if it is synthetic."""
        held, about = self._table.provenance, self._about[row["unit"]]
        traits = {name: about[name] for name in self._table.traits}
        chance = about.get(f"{CHANCE}{metric.name}")
        named = {held.cluster: about["cluster"], held.condition: row["condition"]}
        return as_texts({**traits, **named, "chance": chance, "synthetic_data": self._synthetic})


def _best(metric: Metric) -> float | None:
    """Return the best value that a metric can have, None where neither direction is better."""
    return {True: metric.high, False: metric.low, None: None}[metric.higher_is_better]
