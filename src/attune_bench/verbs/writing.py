"""Writing scores, in the library's own format or in a benchmark's."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from attune_bench.benchmarks import benchmark_in_use
from attune_bench.scores.parts import ScoreLists
from attune_data.references import resolve

if TYPE_CHECKING:
    from attune_bench.scores.table import ScoreTable


def write_scores(scores: "ScoreTable | ScoreLists", path: str | os.PathLike[str]) -> None:
    """Write scores, whole or not at all, as `attune_bench.Scores.write` says.

    Raises
    ------
    ValueError
        Where the name ends otherwise, or the benchmark has no file of its own.
    OSError
        Where the file cannot be written.
    """
    if Path(path).suffix.lower() != ".json":
        # Found here, as a benchmark's own format needs none of it.
        from attune_bench.scores.files import write_score_file
        from attune_bench.scores.table import table_of

        write_score_file(table_of(scores) if isinstance(scores, ScoreLists) else scores, path)
        return
    benchmark = benchmark_in_use(scores.provenance.benchmark)
    own = None if benchmark is None else benchmark.scores_format
    if own is None or scores.repeats is not None:
        raise ValueError(f"{Path(path).name!r}: these scores have no JSON file of their own; use a name in .parquet")
    resolve(own.write)(scores, path)
