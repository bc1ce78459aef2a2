"""Scores for leaderboards: names that try to be markup, in two conditions, on two boards; and those of 86 models."""

import random
from functools import cache
from typing import Any

import polars as pl

from attune_bench import Scores, score
from attune_bench.leaderboard.boards import Entry, leaderboard_content, make_boards
from attune_data import load, load_runs

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
EMPTY = "vendor/empty"
MODELS = (EVIL, "\"quoted\" 'name' & more", "x" * 300, "a b c", "vendor/large", "vendor/small", EMPTY)
ABOUT = {"link": "https://example.org/?x=<y>", "date": "2026-01-02", "submitter": "Lab <b>", "licence": "cc-by-4.0"}


def hostile_scores() -> Scores:
    """Return scores of models with hostile names; the last has no value."""
    source = random.Random(1)
    rows: list[tuple[str, str, str, str, float | None, str]] = []
    for place, model in enumerate(MODELS):
        for condition in ("plain", EVIL):
            for unit in range(24):
                value = source.random() / 4 + place // 2 * 0.1
                topic = ("grief", EVIL, "joy")[unit % 3]
                rows.append((model, condition, f"u{unit}", "hit", None if model == EMPTY else value, topic))
                rows.append((model, condition, f"u{unit}", "cost", 1 - value, topic))
    frame = pl.DataFrame(rows, schema=["model", "condition", "unit", "metric", "value", "topic"], orient="row")
    metrics = {"hit": {"label": "Hits <i>", "scale": 100, "digits": 1}, "cost": {"higher_is_better": False}}
    return Scores.from_table(frame, metrics=metrics, about={"title": "Own <b>", "unit": "question"})


@cache
def hostile_content() -> dict[str, Any]:
    """Return the content of two boards, the second of hostile names."""
    demo = Entry("demo.parquet", score(load("demo"), load_runs("demo")))
    entries = [Entry("own.parquet", hostile_scores(), ABOUT), demo]
    return leaderboard_content(make_boards(entries), resamples=200)


def many_scores(models: int = 86, units: int = 171) -> list[Scores]:
    """Return synthetic scores of as many models as published boards have, of which some lack units, a file each."""
    source = random.Random(86)
    easy = [source.gauss(0, 8) for _ in range(units)]
    found = []
    for model in range(models):
        name = f"vendor-{model % 9}/synthetic-model-{model:02}-instruct-gguf"
        rows = [
            (name, f"q{unit:03}", "score", 85 - 0.7 * model + easy[unit] + source.gauss(0, 15))
            for unit in range(units)
            if unit % 29 or model % 5
        ]
        frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
        metrics = {"score": {"label": "Score", "digits": 2}}
        found.append(Scores.from_table(frame, metrics=metrics, about={"title": "Synthetic", "unit": "question"}))
    return found
