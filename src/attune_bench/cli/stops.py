"""What `run --until-decided` notes in its folder, and the sentence that scores of the folder then have."""

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeVar

from attune_bench.cli.output import command_line
from attune_bench.scores.parts import Grouped
from attune_bench.scores.provenance import compared_early
from attune_data.io.documents import write_whole
from attune_data.text import pluralize
from attune_metrics.metric import Metric

S = TypeVar("S", bound=Grouped)

_PREFIX = "_until_decided_"
_KEYS = {*"model against metric label looks look clusters of_clusters units of_units decided".split()}


def write_stop(
    folder: Path,
    *,
    model: str,
    against: str,
    metric: Metric,
    looks: int | Literal["any"],
    look: int | None,
    clusters: int,
    of_clusters: int,
    units: int,
    of_units: int,
    decided: bool,
) -> None:
    """Write into a folder of results at which look, after how many clusters, a model was last compared.

    The note of a larger look of the same comparison stays.
    """
    # Found here, as commands that run nothing only read such notes.
    from attune_bench.runner.calls import safe_part

    content = {
        "model": model, "against": against, "metric": metric.name, "label": metric.label, "looks": looks, "look": look,
        "clusters": clusters, "of_clusters": of_clusters, "units": units, "of_units": of_units,
        "decided": decided,
    }  # fmt: skip
    compared = sha256(json.dumps([model, against, metric.name]).encode()).hexdigest()[:8]
    path = folder / f"{_PREFIX}{safe_part(model)[:80]}_{compared}.json"
    if max((one["units"] for one in _read([path])), default=0) <= units:
        write_whole(path, [json.dumps(content, indent=2).encode() + b"\n"])


def _stops(folders: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield what runs in folders have noted of their looks."""
    for folder in map(Path, folders):
        yield from _read(sorted(folder.glob(f"{_PREFIX}*.json")) if folder.is_dir() else ())


def _read(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Yield the notes in files; files that are not there, or are no notes, have none."""
    for path in paths:
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(content, dict) and content.keys() >= _KEYS:
            yield content


def with_stops(scores: S, folders: Sequence[str]) -> S:
    """Return scores with a sentence on each model in them that was compared while it ran, and not run further."""
    for one in _stops(folders):
        rows = zip(scores.values["model"], scores.values["unit"], strict=True)
        present = len({unit for model, unit in rows if model == one["model"]})
        if not 0 < present < one["of_units"] and present != one["units"]:
            continue
        held = scores.provenance
        planned = one["looks"] != "any"
        look = f"look {one['look']} of {one['looks']}" if planned else "one of any number of looks"
        size = f"{one['clusters']} of {one['of_clusters']} {pluralize(held.cluster)}"
        how = "it stopped early, as the difference was decided," if one["decided"] else "the last comparison was"
        options: dict[str, Any] = {"--metric": one["metric"], "--looks": one["looks"]}
        options |= {"--look": one["look"]} if planned else {}
        line = command_line("compare", ("SCORES",), options)
        scores = scores.note(
            f"{compared_early(one['model'])}, with {one['against']} in {one['label']}; {how} at {look}, with "
            f"{size}. Intervals and p-values of one look are too optimistic for it; those of {line} hold."
        )
    return scores
