"""How many ranks of published boards are real? The page that says it, from the published numbers themselves.

    python benchmarks/boards.py [DOCS [EQBENCH4_DATA]]

Scores the answers in tests/golden (numbers only, with their notices), ranks the models by the published rule, and
writes ``boards.md``, by the template ``boards_page.md`` beside this file, and a figure for each board in the folder
``boards`` below DOCS, by default the project's docs. With a copy of ``eqbench4_data.js``, whose licence is not stated,
the row of EQ-Bench 4 is made from it, and its figure too.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import judges_of_counselling as counselling
from boards_figures import intervals_of_ranks, people_and_judges, two_judges
from boards_judged import EQBENCH4, Overlaps, eqbench3, eqbench4
from boards_published import Board, Found, emobench, eqbench, find, mentalalign, sage, spiralbench
from boards_separation import separation_section
from judges_of_counselling import Moved

from attune_bench.report import figures
from attune_bench.report.figures import save

DOCS = Path(__file__).parents[1] / "docs"
TEMPLATE = Path(__file__).with_name("boards_page.md")
BOARDS: tuple[Callable[[], Board], ...] = (
    lambda: emobench("EU", "Which emotion, and why (both must be right)"),
    lambda: emobench("EA", "The most effective action or response"),
    eqbench,
    sage,
    spiralbench,
    mentalalign,
)
ORDER = ("EmoBench EU", "EmoBench EA", "EQ-Bench v2", "EQ-Bench 3", "EQ-Bench 4", "SAGE", "Spiral-Bench", "MentalAlign")
ROOM = {"left": 40, "right": 12, "top": 8, "bottom": 8}
"""Pixels around a figure: a browser's font may be wider than the one that names were measured in."""
_TALL = 40
"""With more models the figure of a board has no names."""


def _share(count: int, of: int) -> str:
    return f"{count} of {of}"


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _points(value: float) -> str:
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}"


# The table and the sentences.


def _row(board: Board, found: Found, judge: str) -> str:
    compared, listed = found.models.height, len(board.published)
    models = str(compared) if compared >= listed else _share(compared, listed)
    return (
        f"| [{board.title}](#{_anchor(board.title)}) | {models} | {_share(found.certain, compared)} "
        f"| {_share(found.apart, found.neighbours)} | {_points(found.half)} | {judge} |"
    )


def sentence(found: Found) -> str:
    """Return what is quoted of a board with answers."""
    certain, differ = ("is" if found.certain == 1 else "are"), ("differs" if found.apart == 1 else "differ")
    return (
        f"{_share(found.certain, found.models.height)} ranks {certain} certain and "
        f"{_share(found.apart, found.neighbours)} neighbours {differ} significantly; half of an interval is "
        f"{_points(found.half)} points, and a comparison finds a lead of {_points(found.smallest)} points in 80% of "
        "cases."
    )


def _apart(found: Overlaps) -> str:
    return _share(found.models - 1 - found.overlapping, found.models - 1)


def _overlap_row(title: str, anchor: str, found: Overlaps, moved: float | None = None) -> str:
    alone, judge = _share(found.alone, found.models), "not published" if moved is None else f"up to {moved:g} ranks"
    return f"| [{title}](#{anchor}) | {found.models} | {alone}\\* | {_apart(found)}\\* | {found.half:.0f} | {judge} |"


def eqbench3_sentence(found: Mapping[str, Any]) -> str:
    """Return what is quoted of EQ-Bench 3."""
    model, one, two = found["moved"]["rating"]
    return (
        f"{_apart(found['boards']['2026'])} neighbours of the board of 2026 have intervals that do not overlap, and "
        f"another judge moved models by up to {abs(one - two):g} ranks ({model}, from {one:g} to {two:g})."
    )


def eqbench4_sentence(found: Overlaps) -> str:
    """Return what is quoted of EQ-Bench 4."""
    return (
        f"{_apart(found)} neighbours have intervals that do not overlap, and half of an interval is {found.half:.0f} "
        f"points of Elo; intervals that overlap no other: {found.alone}."
    )


def mentalalign_sentence(judges: Sequence[Moved]) -> str:
    """Return what is quoted of MentalAlign, of the responder that the judges move most."""
    [name] = {one.responder for one in judges}
    [own] = {one.by_people for one in judges}
    return (
        f"Of the {_span([one.pairs for one in judges])} pairs of responders that experts and a judge both tell apart, "
        f"a judge orders {_span([one.reversed_pairs for one in judges])} the other way round, and moves {name}, rank "
        f"{own:g} by experts, to ranks {_span([one.by_judge for one in judges])}."
    )


def _span(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


# Sections.


def _details(board: Board, found: Found) -> str:
    rows, ranks = [], board.ranks
    for row in found.models.iter_rows(named=True):
        spans = f"{row['tier_first']}-{row['tier_last']}" if row["tier_first"] < row["tier_last"] else row["tier_first"]
        place = f"{ranks[row['model']]:g}" if row["model"] in ranks else "-"
        interval = f"{row['low']:g}-{row['high']:g}"
        rows.append(f"| {place} | {row['model']} | {row['value']:.2f} | {interval} | {row['tier']} | {spans} |")
    ours = dict(zip(found.models["model"], rows, strict=True))
    if len(rows) < len(board.published):
        rows = [
            ours.get(model, f"| {ranks[model]:g} | {model} | {score:.1f} | - | - | - |")
            for model, score in sorted(board.published.items(), key=lambda one: -one[1])
        ]
    head = "| published rank | model | score | interval of the rank | tier | tiers not significantly different |\n"
    return f"### {board.title}, model by model\n\n{head}{'| --- ' * 6}|\n" + "\n".join(rows)


def _section(board: Board, found: Found, more: str = "") -> str:
    drawn = f"Ranks of {board.title} with their intervals" if not more else f"{board.title}: people and judges"
    figure = f"![{drawn}](boards/{board.name}.svg)"
    return "\n\n".join(filter(None, (f"## {board.title}", f"{sentence(found)} {board.about}", figure, more)))


def eqbench3_section() -> str:
    """Return the section on EQ-Bench 3's boards."""
    found = eqbench3()
    judges = {"2025": "Claude Sonnet 3.7", "2026": "Claude Opus 4.6"}
    rows = "\n".join(
        f"| {year} | {judges[year]} | {one.models} | {_share(one.overlapping, one.models - 1)} | {one.met:g} "
        f"| {one.half:.0f} | {found['rubric'][year]:.2f} |"
        for year, one in found["boards"].items()
    )
    (rated, rated_off), (abilities, abilities_off) = found["ratings"], found["abilities"]
    before, after = found["means"]
    moved = " and ".join(
        f"by up to {abs(one - two):g} ranks of the {name} ({model}, from {one:g} to {two:g})"
        for name, (model, one, two) in found["moved"].items()
    )
    texts = {
        "sentence": eqbench3_sentence(found), "rows": rows, "rated": rated, "rated_off": f"{rated_off:.2f}",
        "abilities": abilities, "abilities_off": f"{abilities_off:.3f}", "both": found["ranks"].height,
        "before": f"{before:.1f}", "after": f"{after:.1f}", "of_rubric": f"{found['agreement']['rubric']:.3f}",
        "of_rating": f"{found['agreement']['rating']:.3f}", "moved": moved,
    }  # fmt: skip
    return Template(EQBENCH3).substitute(texts)


EQBENCH3 = """## EQ-Bench 3

$sentence These are the numbers of the boards: ratings, their intervals, rubric scores. No answer is scored and nothing is tested anew. Of the files of comparisons in its repository, [pairs](eqbench3-pairs.md) makes ratings with intervals by story, and tests.

![Ranks of 32 models by two judges of EQ-Bench 3](boards/eqbench-3.svg)

| board | judge | models | neighbours with overlapping intervals | other models that an interval overlaps | half of an interval | Spearman of rating and rubric |
| --- | --- | --- | --- | --- | --- | --- |
$rows

- **Neighbours with overlapping intervals**: two such models may still differ, but the board does not show it. The intervals are 1.96 sigma of TrueSkill, which knows nothing of other situations, and the order of the comparisons alone [moves a rating](eqbench3-pairs.md#two-protocols) by about as much.
- **Other models that an interval overlaps** and **half of an interval**: medians over the models, the second in points of the rating.
- **Normalisation.** The $rated ratings of 2025 follow from the raw ones, `o3` at 1500 and `meta-llama/llama-3.2-1b-instruct` at 200, within $rated_off. Raw ratings are published with one digit, which is 0.23 points here. A new rating of one of the two moves all others.
- **Abilities.** The $abilities abilities of 2025 are means of the published means of criteria, within $abilities_off.
- **Two judges.** On the $both models of both boards the mean rubric score fell from $before to $after. The order of these models agrees by $of_rubric (Spearman) in the rubric and by $of_rating in the rating. Models moved $moved. Whether the two judges read the same answers is not published."""  # noqa: E501


def eqbench4_section(found: Overlaps, *, is_drawn: bool) -> str:
    """Return the section on EQ-Bench 4's board."""
    figure = "![Ratings of EQ-Bench 4 with their intervals](boards/eqbench-4.svg)" if is_drawn else NOT_DRAWN
    of = "a copy" if is_drawn else "the board of 26 July 2026"
    return f"## EQ-Bench 4\n\n{eqbench4_sentence(found)} These are the numbers of {of}: {EQBENCH4_ABOUT}\n\n{figure}"


EQBENCH4_ABOUT = "ratings by comparisons in pairs, in each scenario by one of three judges, and published intervals. The comparisons are not on its site, so what another judge would move cannot be computed. [EQ-Bench 4](eqbench4.md) compares models by what one judge saw of each role-play."  # noqa: E501
NOT_DRAWN = "Its site states no licence, so its figure is not here. With your copy `python benchmarks/boards.py DOCS eqbench4_data.js` draws it, and makes these numbers anew."  # noqa: E501


def mentalalign_more(judges: Sequence[Moved], means: Mapping[str, Mapping[str, float]]) -> str:
    """Return what the section on MentalAlign says of the judges; `means` are by rater and responder."""
    people, *others = means.values()
    last = min(people, key=lambda name: people[name])
    by_judges = _span([round(one[last], 2) for one in others])
    inflated = f"The {last}, not on the published board, has {people[last]:.2f} by experts and {by_judges} by judges."
    head = "| judge | Spearman with experts | moves most | pairs that both tell apart, the other way round |"
    rows = [
        f"| {one.judge} | {one.agreement:.2f} | {one.responder}, from {one.by_people:g} to {one.by_judge:g} "
        f"| {_share(one.reversed_pairs, one.pairs)} |"
        for one in judges
    ]
    return f"{mentalalign_sentence(judges)} {inflated} {CORRECTED}\n\n" + "\n".join([head, "| --- " * 4 + "|", *rows])


CORRECTED = "[Correcting judges](judges.md#judges-of-counselling) says what some ratings of experts mend."


# The page.


def page(
    found: Mapping[str, tuple[Board, Found]],
    judges: Sequence[Moved],
    means: Mapping[str, Mapping[str, float]],
    fourth: Overlaps,
    *,
    is_drawn: bool,
) -> str:
    """Return the page of all boards."""
    third = eqbench3()
    experts, people = found["mentalalign"]
    moved = max(abs(one.by_people - one.by_judge) for one in judges)
    _, one, two = third["moved"]["rating"]
    answered = {board.title: _row(board, held, board.judge) for board, held in found.values()}
    answered["MentalAlign"] = _row(experts, people, f"up to {moved:g} ranks")
    years = (
        _overlap_row(f"EQ-Bench 3, {year}", "eq-bench-3", held, abs(one - two))
        for year, held in third["boards"].items()
    )
    rated = {"EQ-Bench 3": "\n".join(years), "EQ-Bench 4": _overlap_row("EQ-Bench 4", "eq-bench-4", fourth)}
    said = {board.title: sentence(held) for board, held in found.values()}
    said |= {"EQ-Bench 3": eqbench3_sentence(third), "EQ-Bench 4": eqbench4_sentence(fourth)}
    said["MentalAlign"] = mentalalign_sentence(judges)
    sections = {board.title: _section(board, held) for board, held in found.values()}
    sections |= {"EQ-Bench 3": eqbench3_section(), "EQ-Bench 4": eqbench4_section(fourth, is_drawn=is_drawn)}
    sections["MentalAlign"] = _section(experts, people, mentalalign_more(judges, means))
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        boards="\n".join((answered | rated)[title] for title in ORDER),
        sentences="\n".join(f"- **{title}.** {said[title]}" for title in ORDER),
        sections="\n\n".join(sections[title] for title in ORDER),
        separation=separation_section(),
        details="\n\n".join(_details(board, held) for board, held in found.values()),
    )


def means_by(rater: str) -> dict[str, float]:
    """Return a rater's mean rating of each responder of MentalAlign."""
    return dict(counselling.overall(rater).summary(resamples=1).select("model", "value").iter_rows())


def main(docs: Path = DOCS, eqbench4_data: Path | None = None) -> None:
    """Write the page and its figures."""
    folder = docs / "boards"
    folder.mkdir(exist_ok=True)
    fourth = EQBENCH4
    if eqbench4_data is not None:
        fourth, figure = eqbench4(str(eqbench4_data))
        save(figure.properties(background="white", padding=ROOM), folder / "eqbench-4.svg")
    boards = [make() for make in BOARDS]
    found = {board.name: (board, find(board.scores)) for board in boards}
    judges = [counselling.moved(judge) for judge in counselling.JUDGES]
    means = {rater: means_by(rater) for rater in (counselling.PEOPLE, *counselling.JUDGES)}
    for name, (board, one) in found.items():
        if name == "mentalalign":
            people, *others = means.values()
            figure = people_and_judges(people, others)
        elif one.models.height > _TALL:
            figure = intervals_of_ranks(one.models)
        else:
            figure = figures.ranks(board.scores, frame=one.models)
        save(figure.properties(background="white", padding=ROOM), folder / f"{name}.svg")
    titles = ("rank by Claude Sonnet 3.7 (2025)", "rank by Claude Opus 4.6 (2026)")
    save(two_judges(eqbench3()["ranks"], titles), folder / "eqbench-3.svg")
    text = page(found, judges, means, fourth, is_drawn=eqbench4_data is not None)
    (docs / "boards.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
