"""Files of scores with one place changed: every use of them gives output, or one error of the library's own."""

import copy
import json
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from benchmark_scores import scores_named
from commands import strict_json

from attune_bench import Scores, score
from attune_bench.cli import main
from attune_data import SourceError, load, load_runs
from attune_metrics.metric import MetricInputError

HOSTILE: list[Any] = [
    None, True, False, 0, 1, -1, 2.5, -0.5, 1e308, -1e308, 10**400, 2**63, -(2**63) - 1, float("nan"), float("inf"),
    float("-inf"), "", "x", "1", "1e308", "nan", "\x1b[31m", "\ud83d", "=1+1", "<script>", [], [1], ["a"], {}, {"a": 1},
    [[]], "a" * 1000,
]  # fmt: skip


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value within a JSON value."""
    yield path
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def changed(content: Any, chance: random.Random) -> Any:
    """Return a JSON value with one place changed, left out, or doubled."""
    content = copy.deepcopy(content)
    found = list(places(content))[1:]
    *way, last = chance.choice(found)
    parent = content
    for key in way:
        parent = parent[key]
    kind = chance.randrange(10)
    if kind == 0:
        del parent[last]
    elif kind == 1 and isinstance(parent, list):
        parent.append(copy.deepcopy(parent[last]))
    elif kind == 1:
        parent["unknown key"] = parent.pop(last)
    else:
        parent[last] = chance.choice(HOSTILE)
    return content


def written(content: Any) -> bytes:
    """Return JSON as other tools may write it, with NaN, and with halves of surrogate pairs as escapes."""
    return json.dumps(content).encode()


def parquet_parts(path: Path) -> tuple[Any, list[dict[str, Any]], pl.Schema]:
    frame = pl.read_parquet(path)
    return json.loads(pl.read_parquet_metadata(path)["attune-bench"]), frame.to_dicts(), frame.schema


def parquet_bytes(rows: list[Any], schema: pl.Schema, about: Any = None) -> bytes:
    """Return a Parquet file; a column whose values do not fit its type gets the type that they have."""
    names = list(dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row))
    columns = []
    for name in names:
        values = [row.get(name) for row in rows if isinstance(row, dict)]
        for dtype in (schema.get(name), None, pl.String):
            try:
                given = list(map(str, values)) if dtype == pl.String and name not in schema else values
                columns.append(pl.Series(name, given, dtype=dtype, strict=True))
                break
            except (pl.exceptions.PolarsError, TypeError, OverflowError, UnicodeEncodeError, ValueError):
                continue
    buffer = BytesIO()
    pl.DataFrame(columns).write_parquet(buffer, metadata=None if about is None else {"attune-bench": json.dumps(about)})
    return buffer.getvalue()


def csv_bytes(rows: list[Any]) -> bytes:
    names = list(dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row))
    lines = [names, *([row.get(name) for name in names] if isinstance(row, dict) else [row] for row in rows)]
    cells = [["" if cell is None else str(cell).replace(",", ";") for cell in line] for line in lines]
    return "\n".join(",".join(line) for line in cells).encode("utf-8", "surrogatepass")


def toml_bytes(content: Any) -> bytes:
    """Return a mapping as TOML, its values on one line; None and what TOML has no word for is written as JSON."""
    if not isinstance(content, dict):
        return written(content)
    top = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in content.items() if key != "metrics"]
    metrics = content.get("metrics", {})
    if not isinstance(metrics, dict):
        return "\n".join([*top, f"metrics = {json.dumps(metrics)}"]).encode()
    for name, fields in metrics.items():
        if isinstance(fields, dict):
            top.append(f"[metrics.{json.dumps(name)}]")
            top += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in fields.items()]
    return "\n".join(top).encode()


ABOUT = {
    "title": "Grades",
    "unit": "question",
    "primary": "grade",
    "private": True,
    "metrics": {"grade": {"label": "Grade", "low": 0, "high": 1, "digits": 2}},
}
COMMANDS: dict[str, tuple[str, ...]] = {
    "report": ("--format", "json"),
    "report as CSV": ("--format", "csv"),
    "report as Markdown": ("--format", "markdown"),
    "compare": ("--format", "json"),
    "rank": ("--format", "json"),
    "subset": ("--by", "half", "--compare", "--format", "json"),
    "stats": ("--format", "json"),
    "analyze": ("--format", "json"),
    "page": (),
}
SLOW_ONES = {"page": 0.06, "analyze": 0.1}


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return valid files of scores, small."""
    folder = tmp_path_factory.mktemp("originals")
    some = load("demo")[:6]
    runs = load_runs("demo")
    kept = [run for run in runs if run.conversation_id in some.unit_ids]
    of_conversations = score(some, kept)
    halves = pl.Series("half", [("one", "other")[place % 2] for place in range(of_conversations.units.height)])
    of_conversations.write(folder / "conversations.json")
    replace(of_conversations, units=of_conversations.units.with_columns(halves)).write(folder / "conversations.parquet")
    scores_named("eibench").write(folder / "variants.parquet")
    return {path.name: path for path in folder.iterdir()}


TABLE = [
    {"model": model, "unit": f"q{unit}", "cluster": f"c{unit // 2}", "metric": "grade", "value": grade / 10,
     "half": ("one", "other")[unit % 2]}
    for model, grades in {"a": (1, 3, 5, 7, 9, 2), "b": (2, 2, 6, 8, 8, 1)}.items()
    for unit, grade in enumerate(grades)
]  # fmt: skip


def tampered(originals: dict[str, Path], chance: random.Random, folder: Path) -> Path:
    """Write one of the files with one place changed."""
    kind = chance.choice(["json", "parquet", "variants", "csv", "jsonl", "table", "toml"])
    if kind == "json":
        path = folder / "scores.json"
        path.write_bytes(written(changed(json.loads(originals["conversations.json"].read_bytes()), chance)))
        return path
    if kind in {"parquet", "variants"}:
        path = folder / "scores.parquet"
        about, rows, schema = parquet_parts(originals[{"parquet": "conversations"}.get(kind, kind) + ".parquet"])
        if chance.random() < 0.5:
            about = changed(about, chance)
        else:
            rows = changed(rows, chance)
        path.write_bytes(parquet_bytes(rows, schema, about))
        return path
    ending = chance.choice(["csv", "jsonl", "parquet"]) if kind == "toml" else {"table": "parquet"}.get(kind, kind)
    path = folder / f"table.{ending}"
    rows = TABLE if kind == "toml" else changed(TABLE, chance)
    if ending == "csv":
        path.write_bytes(csv_bytes(rows))
    elif ending == "jsonl":
        path.write_bytes(b"\n".join(map(written, rows)))
    else:
        path.write_bytes(parquet_bytes(rows, pl.DataFrame(TABLE).schema))
    path.with_suffix(".toml").write_bytes(toml_bytes(changed(ABOUT, chance) if kind == "toml" else ABOUT))
    return path


def use(path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> bool:
    """Run a command on a file of scores; tell whether it gave output, else check that it ended in one error."""
    html = ("--html", str(path.with_suffix(".html"))) if name == "page" else ()
    command = "report" if name == "page" else name.split(maxsplit=1)[0]
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        main([command, "--scores", str(path), *COMMANDS[name], *html, "--resamples", "50"])
    out, err = capsys.readouterr()
    if stopped.value.code == 0:
        assert out
        if "json" in COMMANDS[name]:
            strict_json(out)
        return True
    assert stopped.value.code == 2
    assert err.startswith("attune-bench: ")
    assert err.count("\n") == 1
    return False


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_a_tampered_file_of_scores_gives_output_or_one_error(
    originals: dict[str, Path], tmp_path: Path, scale: int, capsys: pytest.CaptureFixture[str]
) -> None:
    given = refused = 0
    for seed in range(150 * scale):
        chance = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        path = tampered(originals, chance, folder)
        usual = [name for name in COMMANDS if chance.random() < SLOW_ONES.get(name, 0.25)] or ["report"]
        try:
            for name in usual:
                if use(path, name, capsys):
                    given += 1
                else:
                    refused += 1
            with suppress(SourceError, MetricInputError):
                Scores.read(path).summary(resamples=20)
        except BaseException as error:
            raise AssertionError(f"seed {seed}, {path.name}, {usual}: {error!r:.300}") from error
    # Both happen often, or the changes are too crude or too tame to say anything.
    assert given > 25 * scale
    assert refused > 25 * scale
