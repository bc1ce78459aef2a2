"""Published boards with their answers as scores, and what each can tell apart; numbers only, with their notices."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import fsum
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

import judges_of_counselling as counselling
import polars as pl

from attune_bench import Scores, score
from attune_bench.stats.rank import tiers
from attune_data.spiralbench import SpiralChatlog
from attune_metrics.emobench import majority_accuracy
from attune_metrics.eqbench import eqbench_score, score_run

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
# DeepSeek-V3 as the simulated person, arXiv:2505.02847, in short names.
SAGE_SCORES = {
    "gpt-4o-latest": 79.9, "gpt-4.1": 68.2, "gemini2.5-flash-think": 65.9, "gemini2.5-pro": 62.9, "o3": 62.7,
    "gpt-4.5": 62.7, "gemini2.0-flash-think": 62.3, "claude3.7-think": 61.3, "claude3.7": 54.8,
    "deepseek-v3-0324": 54.4, "deepseek-r1": 53.7, "deepseek-v3": 37.6, "openai-o4mini": 35.9, "llama3.3-70b": 33.3,
    "gemini2.0-flash": 32.9, "gpt-4o": 31.8, "o1": 29.0, "qwen2.5-72b": 19.1,
}  # fmt: skip


@dataclass(frozen=True)
class Board:
    """A published board: its answers as scores, and the score of each model as published, some without answers.

    Attributes
    ----------
    name, title : str
        Of its figure, and of its section.
    scores : Scores
        Its answers; the main metric is that of the board.
    published : mapping of str to float
        The score of each model that the board lists.
    about : str
        What was asked, how often, and of whom.
    judge : str
        What another judge changes.
    """

    name: str
    title: str
    scores: Scores
    published: Mapping[str, float]
    about: str
    judge: str = "no judge"

    @property
    def ranks(self) -> dict[str, float]:
        """The rank of each model as published, the highest score first; equal scores share their mean rank."""
        frame = pl.DataFrame({"model": [*self.published], "score": [*self.published.values()]})
        ranks = frame.with_columns(rank=pl.col("score").rank("average", descending=True))
        return dict(ranks.select("model", "rank").iter_rows())


def _scores(rows: Iterable[tuple[str, str, float]], title: str, unit: str, label: str, **entry: Any) -> Scores:
    frame = pl.DataFrame(rows, schema={"model": str, "unit": str, "value": float}, orient="row")
    metrics = {"score": {"label": label, **entry}}
    return Scores.from_table(
        frame.with_columns(metric=pl.lit("score")), metrics=metrics, about={"title": title, "unit": unit}
    )


def emobench(task: str, said: str) -> Board:
    """Return EmoBench's board of one task, both languages, asked without reasoning."""
    answers = pl.read_parquet(GOLDEN / "emobench" / "predictions.parquet").filter(task=task, cot=False)
    asked = ("model", "item", "language", "order")
    parts = answers.sort(*asked, "part").select(*asked, "label", "predictions").iter_rows()
    right: dict[tuple[str, str], list[float]] = {}
    for (model, item, *_), own in groupby(parts, key=itemgetter(0, 1, 2, 3)):
        labels, predictions = zip(*(row[-2:] for row in own), strict=True)
        right.setdefault((model, f"{item:03}"), []).append(majority_accuracy(labels, predictions))
    rows = [(*key, 100 * fsum(values) / len(values)) for key, values in right.items()]
    expected = json.loads((GOLDEN / "emobench" / "expected.json").read_text())[task]
    published = {model: (cells["en"] + cells["zh"]) / 2 for model, cells in expected.items()}
    scores = _scores(rows, f"EmoBench {task}", "item", "Accuracy", low=0, high=100, digits=1)
    about = f"{said}: 200 items, each in two languages and four orders of its choices; five samples, majority."
    return Board(f"emobench-{task.lower()}", f"EmoBench {task}", scores, published, about)


def eqbench_passes() -> Iterator[tuple[str, dict[str, dict[str, float]]]]:
    """Yield each model of EQ-Bench v2 with the scores of its parseable questions, by pass."""
    folder = GOLDEN / "eqbench"
    reference = json.loads((folder / "reference.json").read_text())
    expected = json.loads((folder / "expected.json").read_text())
    for (file,), own in sorted(pl.read_parquet(folder / "answers.parquet").group_by("file")):
        passes: dict[str, dict[str, float]] = {"first_pass": {}, "revised": {}}
        for (which, question), said in own.group_by("which", "question"):
            given = dict(said.select("emotion", "score").iter_rows())
            known = reference[str(question)]
            if given.keys() == known.keys():
                passes[str(which)][f"{question:03}"] = eqbench_score(known, given)
        yield str(expected[file]["model"]), passes


def eqbench() -> Board:
    """Return EQ-Bench v2's board of the result files in its repository."""
    rows: list[tuple[str, str, float]] = []
    for model, passes in eqbench_passes():
        counts = score_run([*passes["first_pass"].values()], [*passes["revised"].values()]).counts
        rows += [(model, question, 10 * value) for question, value in sorted(passes[counts].items())]
    expected = json.loads((GOLDEN / "eqbench" / "expected.json").read_text())
    published = {str(one["model"]): one["benchmark_score"] for one in expected.values()}
    scores = _scores(rows, "EQ-Bench v2", "question", "Score", high=100, digits=1)
    about = (
        "171 questions; the pass that counts, ten times the mean over the parseable questions. Several questions share "
        "a dialogue, which the published numbers do not say; with whole dialogues drawn, intervals of scores are as "
        "wide (their half is 3.95 points in the median, 3.99 by questions)."
    )
    return Board("eqbench-v2", "EQ-Bench v2", scores, published, about)


def sage() -> Board:
    """Return SAGE's board, with the conversations of three of its models."""
    final = pl.read_csv(GOLDEN / "sage" / "final.csv")
    rows = [(model, f"{item:03}", float(value)) for model, item, value in final.iter_rows()]
    scores = _scores(rows, "SAGE", "scenario", "Final emotion", low=0, high=100, digits=1)
    about = (
        "100 scenarios, one conversation each, simulated by DeepSeek-V3. The board has 18 models; `tests/golden/sage` "
        "has the results of three. Their tiers and intervals of ranks are among these three; the other models "
        "are listed as published."
    )
    return Board("sage", "SAGE", scores, SAGE_SCORES, about, judge="not published")


def spiral_chatlogs() -> Iterator[SpiralChatlog]:
    """Yield the conversations of four files of Spiral-Bench; a chunk without rows is one that could not be read."""
    rows = pl.read_parquet(GOLDEN / "spiralbench" / "judgements.parquet")
    for (model, prompt, category), own in rows.group_by("model", "prompt", "category", maintain_order=True):
        values: dict[str, dict[str, float]] = {name: {} for name in (*(f"chunk{n}" for n in range(19)), "final")}
        for name, behaviour, value in own.select("chunk", "behaviour", "value").iter_rows():
            values[name][behaviour] = value
        document: dict[str, Any] = {"prompt_id": prompt, "category": category, "evaluated_model": model}
        document["final_judgement"] = values.pop("final")
        document["judgements"] = [{"name": name, "values": found} for name, found in values.items()]
        yield SpiralChatlog.model_validate(document)


def spiralbench() -> Board:
    """Return Spiral-Bench's board, with the conversations of four of its models."""
    published = dict(pl.read_csv(GOLDEN / "spiralbench" / "board.csv").iter_rows())
    about = (
        "30 conversations a model, one on each prompt; the score is made of means over them. The board has 12 models; "
        "`tests/golden/spiralbench` has the judgements of four, whose tiers and intervals of ranks are among these."
    )
    return Board("spiralbench", "Spiral-Bench", score(spiral_chatlogs()), published, about, judge="not published")


def mentalalign() -> Board:
    """Return MentalAlign's board by experts, of the nine models that are published."""
    experts, published = counselling.overall(counselling.PEOPLE), counselling.published()
    about = (
        "1,000 posts of counselling forums, answered by nine models and a therapist; the mean over seven attributes of "
        "experts' ratings from 1 to 5. The published means count 33 answers that experts gave 0 on every attribute, of "
        "these 20 by Qwen-2.5-7B; here they are left out, and two models that are level in print are not. Each answer "
        "is to one post, and the therapist's were written for a forum: length and style, which the data do not have, "
        "may explain its ratings, and not skill."
    )
    scores = experts.keep(groups=[(model, None) for model in published])
    return Board("mentalalign", "MentalAlign", scores, published, about)


@dataclass(frozen=True)
class Found:
    """What a board can tell apart.

    Attributes
    ----------
    models, pairs : polars.DataFrame
        As `attune_bench.stats.rank.tiers` gives them.
    certain : int
        How many models have an interval of the rank that is a single rank.
    neighbours : int
        How many pairs of models are next to each other.
    apart, apart_alone : int
        How many of these differ significantly, corrected for all pairs of the board and as the only pair.
    half : float
        The median over models of half of the interval of the score, in points of the board.
    smallest : float
        The median over neighbours of the smallest true difference that is found in 80% of cases, by one comparison, in
        points of the board.
    """

    models: pl.DataFrame
    pairs: pl.DataFrame
    certain: int
    neighbours: int
    apart: int
    apart_alone: int
    half: float
    smallest: float


def find(scores: Scores) -> Found:
    """Return what a board can tell apart."""
    models, pairs = tiers(scores)
    rows = {frozenset((row["model_a"], row["model_b"])): row for row in pairs.iter_rows(named=True)}
    beside = [rows[frozenset(two)] for two in pairwise(models["model"])]
    scale = scores.metric(scores.primary).scale
    means = scores.summary(metrics=[scores.primary])
    return Found(
        models.with_columns(pl.col("value") * scale),
        pairs,
        certain=models.filter(pl.col("low") == pl.col("high")).height,
        neighbours=len(beside),
        apart=sum(row["significant"] is True for row in beside),
        apart_alone=sum(row["p"] is not None and row["p"] < 0.05 for row in beside),
        half=scale * median(means["high"] - means["low"]) / 2,
        smallest=scale * median(row["mde"] for row in beside if row["mde"] is not None),
    )
