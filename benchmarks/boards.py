"""How many ranks of published boards are real? Ranks with intervals and tiers from the published answers themselves.

    python benchmarks/boards.py [DOCS]

Scores the answers in tests/golden (numbers only, with their notices), ranks the models by the published rule, and
writes ``boards.md``, by the template ``boards_page.md`` beside this file, and a figure for each board in the folder
``boards`` below DOCS, by default the project's docs.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import fsum
from operator import itemgetter
from pathlib import Path
from statistics import median
from string import Template
from typing import Any

import judges_of_counselling as counselling
import polars as pl

from attune_bench import Scores
from attune_bench.analyses import separation, skills
from attune_bench.report import figures
from attune_bench.report.figures import save
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.rank import tiers
from attune_metrics.emobench import majority_accuracy
from attune_metrics.eqbench import eqbench_score, score_run
from attune_metrics.eqbench3 import ability_scores, anchored_ratings
from attune_metrics.stats.agreement import spearman_rho
from attune_metrics.stats.separation import separation as separation_of

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
DOCS = Path(__file__).parents[1] / "docs"
TEMPLATE = Path(__file__).with_name("boards_page.md")
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

    `more` stands below its table.
    """

    name: str
    title: str
    scores: Scores
    published: Mapping[str, float]
    about: str
    more: str = ""

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
    return Board("sage", "SAGE", scores, SAGE_SCORES, about)


def mentalalign() -> Board:
    """Return MentalAlign's board by experts, and what judges make of it."""
    experts = counselling.overall(counselling.PEOPLE)
    published = counselling.published()
    [therapist] = {*experts.models} - {*published}
    by_experts, *by_judges = (
        counselling.overall(rater).summary(resamples=1).filter(model=therapist)["value"].item()
        for rater in (counselling.PEOPLE, *counselling.JUDGES)
    )
    about = (
        "1,000 posts of counselling forums, answered by nine models and a therapist; the mean over seven attributes of "
        f"experts' ratings from 1 to 5. The {therapist}, who is not on the published board, has {by_experts:.2f} by "
        f"experts and {min(by_judges):.2f} to {max(by_judges):.2f} by judges. The published means count 33 answers "
        "that experts gave 0 on every attribute, of these 20 by Qwen-2.5-7B; here they are left out, and two models "
        "that are level in print are not. Each answer is to one post, and the therapist's were written for a forum: "
        "length and style, which the data do not have, may explain its rank, and not skill."
    )
    rows = "\n".join(
        f"| {one.judge} | {one.agreement:.2f} | {one.responder}, from {one.by_people:g} to {one.by_judge:g} "
        f"| {_share(one.reversed_pairs, one.pairs)} |"
        for one in map(counselling.moved, counselling.JUDGES)
    )
    more = Template(JUDGES).substitute(rows=rows)
    scores = experts.keep(groups=[(model, None) for model in published])
    return Board("mentalalign", "MentalAlign", scores, published, about, more)


JUDGES = """What a judge in the place of the experts moves, of the nine models and the therapist:

| judge | Spearman with the experts' order | moves most | pairs that both find significant, in the other direction |
| --- | --- | --- | --- |
$rows

[Correcting judges](judges.md#judges-of-counselling) says what some ratings of experts mend."""


@dataclass(frozen=True)
class Found:
    """What a board can tell apart.

    Attributes
    ----------
    models, pairs : polars.DataFrame
        As `attune_bench.stats.rank.tiers` gives them.
    neighbours : int
        How many pairs of models are next to each other.
    apart, apart_alone : int
        How many of these differ significantly, corrected for all pairs of the board and as the only pair.
    smallest : float
        The median over neighbours of the smallest true difference that is found in 80% of cases, by one comparison.
    """

    models: pl.DataFrame
    pairs: pl.DataFrame
    neighbours: int
    apart: int
    apart_alone: int
    smallest: float


def find(board: Board) -> Found:
    """Return what a board can tell apart."""
    models, pairs = tiers(board.scores)
    order = models["model"].to_list()
    rows = {frozenset((row["model_a"], row["model_b"])): row for row in pairs.iter_rows(named=True)}
    beside = [rows[frozenset(two)] for two in pairwise(order)]
    known = [row["mde"] for row in beside if row["mde"] is not None]
    alone = sum(row["p"] is not None and row["p"] < 0.05 for row in beside)
    return Found(models, pairs, len(beside), sum(row["significant"] is True for row in beside), alone, median(known))


def page(found: Mapping[str, tuple[Board, Found]]) -> str:
    """Return the page of all boards."""
    rows = [
        f"| [{board.title}](#{board.title.lower().replace(' ', '-')}) | {_models(board, one)} "
        f"| {one.models['tier'].n_unique()} | {_share(one.apart, one.neighbours)} "
        f"| {_share(one.apart_alone, one.neighbours)} | {one.smallest:.{1 if one.smallest >= 1 else 2}f} |"
        for board, one in found.values()
    ]
    head = "| board | models | tiers | neighbours that differ | as the only pair | smallest difference |"
    boards = "\n".join([head, "| --- " * 6 + "|", *rows])
    sections = "\n\n".join(
        [*(_section(board, one) for board, one in found.values()), eqbench3_section(), separation_section()]
    )
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(boards=boards, sections=sections)


def _models(board: Board, found: Found) -> str:
    compared, listed = found.models.height, len(board.published)
    return str(compared) if compared == listed else f"{compared} of {listed}"


def _share(count: int, of: int) -> str:
    return f"{count} of {of} ({100 * count / of:.0f}%)"


def _section(board: Board, found: Found) -> str:
    rows = []
    for row in found.models.iter_rows(named=True):
        spans = f"{row['tier_first']}-{row['tier_last']}" if row["tier_first"] < row["tier_last"] else row["tier_first"]
        rows.append(
            f"| {board.ranks[row['model']]:g} | {row['model']} | {row['value']:.2f} | {row['low']:g}-{row['high']:g} "
            f"| {row['tier']} | {spans} |"
        )
    if len(rows) < len(board.published):
        ours = dict(zip(found.models["model"], rows, strict=True))
        rows = [
            ours.get(model, f"| {board.ranks[model]:g} | {model} | {score:.1f} | - | - | - |")
            for model, score in sorted(board.published.items(), key=lambda one: -one[1])
        ]
    head = "| published rank | model | score | interval of the rank | tier | tiers not significantly different |\n"
    table = head + "| --- " * 6 + "|\n" + "\n".join(rows)
    figure = f"![Ranks of {board.title} with their intervals](boards/{board.name}.svg)"
    return "\n\n".join([f"## {board.title}", board.about, figure, table, *([board.more] if board.more else [])])


def eqbench3() -> dict[str, Any]:
    """Return what EQ-Bench 3's published numbers, which are no answers, say of each other.

    By board how many neighbours have overlapping intervals, of how many, with how many models an interval overlaps, the
    half-widths, and how the rubric ranks; how far ratings and abilities are from those that follow from other numbers;
    and the two judges on the models of both boards.
    """
    folder = GOLDEN / "eqbench3"
    frame = pl.read_csv(folder / "boards.csv")
    boards: dict[str, dict[str, Any]] = {}
    for [year], board in frame.sort("board", pl.col("rating").neg()).group_by("board", maintain_order=True):
        low, high = board["low"].to_list(), board["high"].to_list()
        boards[str(year)] = {
            "models": board.height,
            "overlapping": sum(low[place] <= high[place + 1] for place in range(board.height - 1)),
            "met": median(
                sum(one <= top and bottom <= other for one, other in zip(low, high, strict=True)) - 1
                for bottom, top in zip(low, high, strict=True)
            ),
            "half": median((top - bottom) / 2 for bottom, top in zip(low, high, strict=True)),
            "rubric": spearman_rho(board["rating"], board["rubric"]),
        }
    own = json.loads((folder / "board.json").read_text())
    raw = {model: one["elo_raw"] for model, one in own.items()}
    ratings = anchored_ratings(raw)
    off = [abs(ratings[model] - one["elo_norm"]) for model, one in own.items()]
    abilities = [
        abs(value - one["abilities"][name])
        for one in own.values()
        for name, value in ability_scores(one["criteria"]).items()
    ]
    renamed = pl.col("model").replace("openai/o4-mini", "o4-mini")
    by_year = [frame.filter(board=year).with_columns(renamed) for year in (2025, 2026)]
    both = by_year[0].join(by_year[1], on="model")
    ranks = {name: pl.col(name).rank("average", descending=True) for name in both.columns if name != "model"}
    moved = {
        name: both.select("model", one=ranks[name], two=ranks[f"{name}_right"])
        .sort((pl.col("one") - pl.col("two")).abs(), descending=True, maintain_order=True)
        .row(0)
        for name in ("rubric", "rating")
    }
    return {
        "boards": boards,
        "ratings": (len(off), max(off)),
        "abilities": (len(abilities), max(abilities)),
        "both": both.height,
        "means": (both["rubric"].mean(), both["rubric_right"].mean()),
        "agreement": {name: spearman_rho(both[name], both[f"{name}_right"]) for name in ("rubric", "rating")},
        "moved": moved,
    }


def eqbench3_section() -> str:
    """Return the section on EQ-Bench 3's boards."""
    found = eqbench3()
    judges = {"2025": "Claude Sonnet 3.7", "2026": "Claude Opus 4.6"}
    rows = "\n".join(
        f"| {year} | {judges[year]} | {one['models']} | {_share(one['overlapping'], one['models'] - 1)} "
        f"| {one['met']:g} | {one['half']:.0f} | {one['rubric']:.2f} |"
        for year, one in found["boards"].items()
    )
    (rated, rated_off), (abilities, abilities_off) = found["ratings"], found["abilities"]
    before, after = found["means"]
    moved = " and ".join(
        f"by up to {abs(one - two):g} ranks of the {name} ({model}, from {one:g} to {two:g})"
        for name, (model, one, two) in found["moved"].items()
    )
    texts = {
        "rows": rows, "rated": rated, "rated_off": f"{rated_off:.2f}", "abilities": abilities,
        "abilities_off": f"{abilities_off:.3f}", "both": found["both"], "before": f"{before:.1f}",
        "after": f"{after:.1f}", "of_rubric": f"{found['agreement']['rubric']:.3f}",
        "of_rating": f"{found['agreement']['rating']:.3f}", "moved": moved,
    }  # fmt: skip
    return Template(EQBENCH3).substitute(texts)


EQBENCH3 = """## EQ-Bench 3

These are the numbers of the boards: ratings, their intervals, rubric scores. No answer is scored and nothing is tested anew; this is what the numbers say of each other. Of the files of comparisons in its repository, [pairs](eqbench3-pairs.md) makes ratings with intervals by story, and tests.

| board | judge | models | neighbours with overlapping intervals | other models that an interval overlaps | half of an interval | Spearman of rating and rubric |
| --- | --- | --- | --- | --- | --- | --- |
$rows

- **Neighbours with overlapping intervals**: of the models next to each other. Two such models may still differ, but the board does not show it. The intervals are 1.96 sigma of TrueSkill, which knows nothing of other situations, and the order of the comparisons alone [moves a rating](eqbench3-pairs.md#two-protocols) by about as much.
- **Other models that an interval overlaps** and **half of an interval**: medians over the models, the second in points of the rating.
- **Normalisation.** The $rated ratings of 2025 follow from the raw ones, `o3` at 1500 and `meta-llama/llama-3.2-1b-instruct` at 200, within $rated_off. Raw ratings are published with one digit, which is 0.23 points here. A new rating of one of the two moves all others.
- **Abilities.** The $abilities abilities of 2025 are means of the published means of criteria, within $abilities_off.
- **Two judges.** On the $both models of both boards the mean rubric score fell from $before to $after. The order of these models agrees by $of_rubric (Spearman) in the rubric and by $of_rating in the rating. Models moved $moved. Whether the two judges read the same answers is not published."""  # noqa: E501


def emobench_metrics() -> Scores:
    """Return the metrics of EmoBench by item, of its models without the random one, asked without reasoning."""
    answers = pl.read_parquet(GOLDEN / "emobench" / "predictions.parquet").filter(
        pl.col("model") != "random", cot=False
    )
    asked = ("model", "task", "item", "language", "order")
    parts = answers.sort(*asked, "part").select(*asked, "part", "label", "predictions").iter_rows()
    right: dict[tuple[str, str, str], list[float]] = {}
    for (model, task, item, *_), own in groupby(parts, key=itemgetter(0, 1, 2, 3, 4)):
        said = [row[-3:] for row in own]
        metrics = {task: said} if len(said) == 1 else {task: said, **{f"{task} {one[0]}": [one] for one in said}}
        for metric, of_metric in metrics.items():
            _, labels, predictions = zip(*of_metric, strict=True)
            right.setdefault((model, f"{task} {item:03}", metric), []).append(majority_accuracy(labels, predictions))
    return _of_metrics((*key, 100 * fsum(values) / len(values)) for key, values in right.items())


def eqbench_metrics() -> Scores:
    """Return both passes of EQ-Bench v2, of the models with a parseable answer to every question in both."""
    whole = {
        model: passes for model, passes in eqbench_passes() if min(len(scores) for scores in passes.values()) == 171
    }
    return _of_metrics(
        (model, question, which.replace("_", " "), 10 * value)
        for model, passes in whole.items()
        for which, scores in passes.items()
        for question, value in sorted(scores.items())
    )


def _of_metrics(rows: Iterable[tuple[str, str, str, float]]) -> Scores:
    schema = {"model": str, "unit": str, "metric": str, "value": float}
    return Scores.from_table(pl.DataFrame([*rows], schema=schema, orient="row"))


def empathy() -> list[tuple[str, str, float]]:
    """Return data set, dimension, and how reliably three experts tell 50 responses apart, the most reliable first."""
    ratings = pl.read_parquet(GOLDEN / "empathy" / "ratings.parquet").filter(pl.col("rater").str.starts_with("expert"))
    found = []
    for (data, dimension), own in ratings.group_by("dataset", "dimension", maintain_order=True):
        wide = own.pivot("rater", index="item", values="rating").drop("item").to_numpy()
        found.append((str(data), str(dimension), separation_of(wide, range(wide.shape[1])).reliability.estimate))
    return sorted(found, key=lambda row: -row[-1])


def separation_section() -> str:
    """Return the section on which metrics tell models apart."""
    eqbench = eqbench_metrics()
    best = eqbench.rank(metrics=["first pass"], resamples=1)["model"].to_list()[:10]
    boards: dict[str, tuple[ScoreTable, str]] = {
        "EmoBench": (emobench_metrics(), "items"),
        "EQ-Bench v2": (eqbench, "questions"),
        "EQ-Bench v2, ten best": (eqbench.keep(groups=[(model, None) for model in best]), "questions"),
    }
    rows = [
        f"| {board}: {row['metric']} | {row['models']} | {row['n']} {units} | {row['reliability']:.3f} "
        f"[{row['low']:.3f}, {row['high']:.3f}] | {row['differ']:.0%} | {row['models_share']:.0%} "
        f"| {row['units_share']:.0%} | {row['units_needed']} |"
        for board, (scores, units) in boards.items()
        for row in separation(scores).iter_rows(named=True)
    ]
    pairs = [
        f"| {board}: {row['metric_a']} and {row['metric_b']} | {row['models']} | {row['observed']:.3f} "
        f"| {row['corrected']:.3f} [{row['low']:.3f}, {row['high']:.3f}] | {row['within']:.2f} |"
        for board, (scores, _) in boards.items()
        for row in skills(scores).iter_rows(named=True)
        if row["corrected"] is not None and "EU" not in (row["metric_a"], row["metric_b"])
    ]
    ratings = "\n".join(f"| {data} | {name.replace('_', ' ')} | {value:.2f} |" for data, name, value in empathy())
    return Template(SEPARATION).substitute(rows="\n".join(rows), pairs="\n".join(pairs), ratings=ratings)


SEPARATION = """## Which metrics tell models apart?

Where a board publishes an answer for each question, [`separation`](separation.md) says how much of the difference between the models other questions of the same kind would show again (reliability), which share of the pairs differs (Holm), how much of the variance of one score lies between models and between units, and how many units a reliability of 0.9 takes. EmoBench without its random model; EQ-Bench v2 with the models that answered all 171 questions parseably in both passes.

| metric | models | units | reliability | pairs that differ | between models | between units | units for 0.9 |
| --- | --- | --- | --- | --- | --- | --- | --- |
$rows

Every metric orders these models reliably, since the models lie far apart. The ten best models of EQ-Bench v2 (by the first pass) lie closer, and need three to four times as many questions for the same reliability. A reliable order of all models does not mean that neighbours differ: the table at the top says how few do.

The correlation over models, observed and [without the noise](separation.md#one-skill-or-several) of both metrics, and over the units of a model. EmoBench's two tasks share no items, and so have no number; EU itself is made of its two parts.

| metrics | models | observed | corrected | within models |
| --- | --- | --- | --- | --- |
$pairs

The [empathy ratings](judges.md) name no models. They say how well three experts tell 50 responses apart: the responses take the place of the models, the experts the place of the units. Three experts are too few for an interval.

| data | dimension | reliability of the mean of three experts |
| --- | --- | --- |
$ratings

It cannot be done for EQ-Bench 3, whose boards publish ratings and means only. Of SAGE the repository has three models and one metric, too few to say which metric to trust."""  # noqa: E501


def main(docs: Path = DOCS) -> None:
    """Write the page and its figures."""
    boards = (
        emobench("EU", "Which emotion, and why (both must be right)"),
        emobench("EA", "The most effective action or response"),
        eqbench(),
        sage(),
        mentalalign(),
    )
    found = {board.name: (board, find(board)) for board in boards}
    (docs / "boards").mkdir(exist_ok=True)
    for name, (board, one) in found.items():
        figure = figures.ranks(board.scores, frame=one.models).properties(background="white")
        save(figure, docs / "boards" / f"{name}.svg")
    (docs / "boards.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
