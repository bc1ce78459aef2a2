"""How often the interval of a judge corrected by people covers the truth, how wide it is, and what a warning catches.

    python benchmarks/prediction_powered.py

Simulates ratings between 0 and 1 (Beta(4, 3), mean 0.571) of 200 drafts, and a judge that is lenient by 0.09 with
noise; people rate 30. Ratings and noise of one participant correlate by 0.3 where there are clusters. Then several
judges, together and each alone. Ten minutes on two cores; prints the tables of docs/judges.md. Coverage, width and
errors are of the simulations with an interval, `none` is the share of those without.
"""

import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations, product
from math import inf, sqrt
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr

from attune_metrics.metric import UnreliableIntervalWarning
from attune_metrics.stats.bootstrap import Resamples, draw_resamples
from attune_metrics.stats.comparison import holm
from attune_metrics.stats.judge_panels import combine_judges
from attune_metrics.stats.judges import PredictionPowered, prediction_powered, prediction_powered_difference

Floats = NDArray[np.float64]
Choice = Literal["drafts", "participants", "judge's best", "people's best", "not one kind"]

SIMULATIONS, TESTS, BATCH, RESAMPLES = 1_000, 2_000, 100, 1_000
OF_PANELS, OF_GRID = 400, 500
SYSTEMS = 3
DRAFTS, LENIENT, ICC = 200, 0.09, 0.3
_NORMAL = np.linspace(-8, 8, 20_001)


@dataclass(frozen=True)
class Design:
    """What is simulated.

    `sizes` is ``alone``, every draft of a participant of its own; ``skewed``, the same with ratings that are
    Beta(3, 0.75), most of them near 1; ``fives``, 40 participants with 5 drafts; ``eights``, 25 with 8; or
    ``dominant``, 28 with 5 and one with 60. `rated` says what is drawn for rating: drafts, or whole participants until
    `labels` drafts are reached; or, not at random, drafts of the half that the judge, or people, like best, or none of
    a kind, a fifth of all, that people like less by 0.2 and the judge as well as any other. `paired`: the difference of
    two systems that people like alike, with the judge's leniency to A 0.09 and to B 0.
    """

    correlation: float
    sizes: str = "alone"
    rated: Choice = "drafts"
    labels: int = 30
    paired: bool = False

    def clusters(self) -> NDArray[np.intp]:
        """Return the participant of each draft."""
        sizes = {"alone": [1] * DRAFTS, "skewed": [1] * DRAFTS, "fives": [5] * 40}
        sizes |= {"eights": [8] * 25, "dominant": [60, *[5] * 28]}
        return np.repeat(np.arange(len(sizes[self.sizes])), sizes[self.sizes])

    @property
    def _beta(self) -> tuple[float, float]:
        return (3.0, 0.75) if self.sizes == "skewed" else (4.0, 3.0)

    @property
    def mean(self) -> float:
        """What people would give on average."""
        a, b = self._beta
        return a / (a + b)

    def scores(self, generator: Generator) -> tuple[Floats, Floats]:
        """Return people's ratings and the judge's scores (simulations, drafts)."""
        a, b = self._beta
        people = np.interp(self._normal(generator), _NORMAL, betaincinv(a, b, ndtr(_NORMAL)))
        noise = sqrt(a * b / ((a + b) ** 2 * (a + b + 1))) * sqrt(1 / self.correlation**2 - 1) * self._normal(generator)
        return people, people + LENIENT + noise

    def _normal(self, generator: Generator) -> Floats:
        clusters = self.clusters()
        own = generator.normal(size=(BATCH, DRAFTS))
        if self.sizes in {"alone", "skewed"}:
            return own
        levels = generator.normal(size=(BATCH, clusters.max() + 1))[:, clusters]
        return sqrt(ICC) * levels + sqrt(1 - ICC) * own

    def chosen(self, generator: Generator, people: Floats, judge: Floats, kind: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which drafts are rated (simulations, drafts)."""
        order = generator.random((BATCH, DRAFTS))
        if self.rated == "participants":
            clusters = self.clusters()
            order = generator.random((BATCH, clusters.max() + 1))[:, clusters]
            ranked = np.sort(order, axis=1)[:, self.labels - 1 : self.labels]
            return order <= ranked
        if self.rated in {"judge's best", "people's best"}:
            by = judge if self.rated == "judge's best" else people
            order[by < np.median(by, axis=1, keepdims=True)] += 1
        elif self.rated == "not one kind":
            order[kind] += 1
        return order.argsort(axis=1).argsort(axis=1) < self.labels

    def __str__(self) -> str:
        return f"{'pair' if self.paired else 'mean':<6}{self.sizes:<10}{self.rated:<15}{self.labels:>4}"


_RANDOM: tuple[Choice, ...] = "drafts", "participants"
_CHOSEN: tuple[Choice, ...] = "judge's best", "people's best", "not one kind"
DESIGNS = [
    *(Design(one) for one in (0.3, 0.5, 0.7, 0.85)),
    *(Design(0.7, labels=number) for number in (10, 15, 60, 100)),
    *(Design(0.7, "skewed", labels=number) for number in (6, 10, 15, 30)),
    *(Design(one, sizes, rated) for sizes, rated, one in product(("fives", "dominant"), _RANDOM, (0.5, 0.85))),
    *(Design(0.7, sizes, rated, 60) for sizes, rated in product(("fives", "dominant"), _RANDOM)),
    *(Design(one, sizes, paired=True) for sizes, one in product(("alone", "fives"), (0.5, 0.85))),
    Design(0.7, "dominant", paired=True),
    Design(0.7, "fives", "participants", paired=True),
    *(Design(0.7, rated=rated) for rated in _CHOSEN),
]

TESTED = [
    *(Design(0.7, sizes, paired=True) for sizes in ("alone", "eights", "fives", "dominant")),
    Design(0.7, "eights", labels=60, paired=True),
    Design(0.7, labels=15, paired=True),
    Design(0.7, "skewed", paired=True),
    Design(0.7, "fives", "participants", 60, paired=True),
    Design(0.7, "dominant", "participants", 60, paired=True),
]


def _batch(design: Design, seed: int) -> tuple[float, list[PredictionPowered]]:
    """Return the truth, and what is found in each simulation of a batch."""
    generator = np.random.default_rng([seed, *str(design).encode(), round(100 * design.correlation)])
    people, judge = design.scores(generator)
    kind = generator.random((BATCH, DRAFTS)) < 0.2
    truth = design.mean
    if design.rated == "not one kind":
        people, truth = people - 0.2 * kind, design.mean - 0.2 * 0.2
    rated = design.chosen(generator, people, judge, kind)
    ratings = np.where(rated, people, np.nan)
    resamples = draw_resamples(design.clusters(), n_resamples=RESAMPLES, seed=seed)
    if not design.paired:
        return truth, prediction_powered(judge, ratings, resamples)
    return 0.0, _difference((people, judge), _unfavoured(design, generator), rated, resamples)


def _unfavoured(design: Design, generator: Generator) -> tuple[Floats, Floats]:
    """Return ratings and scores of a system to which the judge is not lenient."""
    people, judge = design.scores(generator)
    return people, judge - LENIENT


def _difference(
    a: tuple[Floats, Floats], b: tuple[Floats, Floats], rated: NDArray[np.bool_], resamples: Resamples
) -> list[PredictionPowered]:
    """Return the corrected difference of two systems, ratings and scores each; people rate the same drafts of both."""
    ratings_a, ratings_b = (np.where(rated, ratings, np.nan) for ratings, _ in (a, b))
    return prediction_powered_difference(a[1], b[1], ratings_a, ratings_b, resamples)


def simulate(design: Design) -> str:
    """Return the line of a design."""
    found: list[tuple[float, PredictionPowered]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableIntervalWarning)  # how unreliable is the question
        for seed in range(SIMULATIONS // BATCH):
            truth, batch = _batch(design, seed)
            found += [(truth, one) for one in batch]
    given = [(truth, one) for truth, one in found if one.corrected.reason is None]
    judge, people, own = (
        np.mean([low <= truth <= high for low, high, truth in ends])
        for ends in (
            [(one.judge.low, one.judge.high, truth) for truth, one in given],
            [(one.people.low, one.people.high, truth) for truth, one in given],
            [(one.corrected.low, one.corrected.high, truth) for truth, one in given],
        )
    )
    width = np.mean([one.corrected.high - one.corrected.low for _, one in given]) / np.mean(
        [one.people.high - one.people.low for _, one in given]
    )
    unlike = np.mean([any("unlike" in caution for caution in one.cautions) for _, one in given])
    return (
        f"{design}{np.mean([one.correlation for _, one in given]):>6.2f}{judge:>8.1%}{people:>8.1%}"
        f"{own:>11.1%}{width:>7.2f}{np.median([one.equivalent_ratings for _, one in given]):>7.0f}{unlike:>8.1%}"
        f"{1 - len(given) / len(found):>8.1%}"
    )


def test(design: Design) -> str:
    """Return the line of a design in the table of errors: how often systems that are alike differ significantly."""
    pairs = list(combinations(range(SYSTEMS), 2))
    found: list[list[PredictionPowered]] = []  # of each simulation, its pairs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableIntervalWarning)
        for seed in range(TESTS // BATCH):
            generator = np.random.default_rng([seed, *str(design).encode(), round(100 * design.correlation)])
            systems = [design.scores(generator), *(_unfavoured(design, generator) for _ in range(SYSTEMS - 1))]
            rated = design.chosen(generator, *systems[0], np.zeros((BATCH, DRAFTS), dtype=np.bool_))
            resamples = draw_resamples(design.clusters(), n_resamples=RESAMPLES, seed=seed)
            batch = [_difference(systems[a], systems[b], rated, resamples) for a, b in pairs]
            found += [list(one) for one in zip(*batch, strict=True)]
    given = [one[0] for one in found if one[0].corrected.reason is None]
    judge, people = (
        np.mean([end.low > 0 or end.high < 0 for end in ends])
        for ends in ([one.judge for one in given], [one.people for one in given])
    )
    own = np.mean([one.p_value < 0.05 for one in given])
    any_pair = np.mean([np.nanmin(holm([one.p_value for one in of]), initial=1) < 0.05 for of in found])
    return (
        f"{design}{np.mean([one.correlation for one in given]):>6.2f}{judge:>8.1%}{people:>8.1%}{own:>11.1%}"
        f"{any_pair:>8.1%}{1 - len(given) / len(found):>8.1%}"
    )


@dataclass(frozen=True)
class Panel:
    """Several judges of drafts, of which people rate some.

    `kind` says how judges and people correlate: ``independent``, 0.8, 0.7, ... with errors of their own; ``alike``, the
    same, and 70% of the variance of all errors is shared; ``equal``, 0.7 each; ``one knows``, 0.7 and 0 else;
    ``useless``, 0; ``truth``, 0.5, and the last judge is what people say; ``negative``, likewise, and it is the
    opposite; ``constant``, as independent, and the last judge gives all drafts one score; ``missing``, as independent,
    and each judge lacks the score of a fifth of the drafts; ``others 70%``, as independent, and the first judge scored
    all rated drafts and 70% of the others.
    """

    kind: str
    judges: int
    labels: int = 30
    sizes: str = "alone"
    drafts: int = DRAFTS

    def __str__(self) -> str:
        return f"{self.kind:<13}{self.judges:>2} {self.sizes:<10}{self.labels:>4}"

    def _correlations(self) -> list[float]:
        falling = [0.8 - 0.1 * judge for judge in range(self.judges)]
        last = {"truth": 1.0, "negative": -1.0}
        return {
            "equal": [0.7] * self.judges,
            "one knows": [0.7, *[0.0] * (self.judges - 1)],
            "useless": [0.0] * self.judges,
            "truth": [*[0.5] * (self.judges - 1), last["truth"]],
            "negative": [*[0.5] * (self.judges - 1), last["negative"]],
        }.get(self.kind, falling)

    def draw(self, generator: Generator, simulations: int) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """Return scores (simulations, judges, drafts), ratings with mean 0 (simulations, drafts), and participants."""
        sizes = {"alone": [1] * self.drafts, "fives": [5] * (self.drafts // 5), "dominant": [60, *[5] * 28]}[self.sizes]
        clusters = np.repeat(np.arange(len(sizes)), sizes)

        def normal() -> Floats:
            own = generator.normal(size=(simulations, self.drafts))
            levels = generator.normal(size=(simulations, len(sizes)))[:, clusters]
            return own if self.sizes == "alone" else sqrt(ICC) * levels + sqrt(1 - ICC) * own

        people, shared = normal(), normal()
        scores = np.empty((simulations, self.judges, self.drafts))
        for judge, correlation in enumerate(self._correlations()):
            error = sqrt(0.7) * shared + sqrt(0.3) * normal() if self.kind == "alike" else normal()
            scores[:, judge] = correlation * people + sqrt(1 - correlation**2) * error + LENIENT
        if self.kind == "constant":
            scores[:, -1] = 3
        if self.kind == "missing":
            scores[generator.random(scores.shape) < 0.2] = np.nan
        rated = generator.random(people.shape).argsort(axis=1).argsort(axis=1) < self.labels
        if self.kind.startswith("others"):
            share = int(self.kind.removeprefix("others").removesuffix("%")) / 100
            scores[:, 0][~rated & (generator.random(people.shape) >= share)] = np.nan
        return scores, np.where(rated, people, np.nan), clusters


PANELS = [
    *(Panel(kind, judges) for kind, judges in product(("independent", "alike"), (2, 4, 6))),
    *(Panel(kind, 6, labels) for kind, labels in product(("independent", "alike", "useless"), (60, 100))),
    *(Panel(kind, 6, 200, drafts=500) for kind in ("independent", "alike", "useless")),
    *(Panel(kind, 4) for kind in ("equal", "truth", "negative", "constant", "missing")),
    *(Panel("useless", judges) for judges in (2, 4, 6)),
    Panel("one knows", 6),
    *(Panel(kind, 6, 30, sizes) for sizes, kind in product(("fives", "dominant"), ("independent", "alike", "useless"))),
    *(Panel("one knows", 6, 30, sizes) for sizes in ("fives", "dominant")),
]

UNEVEN = [Panel(f"others {share}%", 2, 40) for share in (90, 70, 50, 20, 0)]

NUMBERS = (20, 50, 100, 200)
GRID = [*product(("useless", "one knows", "equal"), (2, 4), ("alone", "fives"))]
"""Kinds, judges and clusters of the table by the number of ratings."""


@dataclass(frozen=True)
class PanelFigures:
    """How often intervals cover, how wide they are as a part of others, and equivalent ratings.

    `shortest` is how often the shortest of the single judges' intervals covers, which is another judge's in each case.
    """

    best: float
    together: float
    width: float
    of_people: float
    worth: float
    shortest: float


def panel_figures(panel: Panel, simulations: int = OF_PANELS, resamples: int = RESAMPLES) -> PanelFigures:
    """Simulate several judges; the best one has the shortest intervals on average."""
    made: list[list[PredictionPowered]] = []  # of all judges together, then of each
    for seed in range(-(-simulations // BATCH)):
        generator = np.random.default_rng([seed, *str(panel).encode()])
        scores, ratings, clusters = panel.draw(generator, min(BATCH, simulations))
        drawn = draw_resamples(clusters, n_resamples=resamples, seed=seed)
        of_all = [combine_judges(*one, drawn.clusters).scores for one in zip(scores, ratings, strict=True)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnreliableIntervalWarning)
            found = [prediction_powered(np.array(of_all), ratings, drawn, slope=1)]
            found += [prediction_powered(scores[:, judge], ratings, drawn) for judge in range(panel.judges)]
        made = [[*before, *own] for before, own in zip(made or [[]] * len(found), found, strict=True)]
    kept = [[one.corrected for one in of if one.corrected.reason is None] for of in made]
    widths = [float(np.mean([one.high - one.low for one in of])) if of else inf for of in kept]
    best = 1 + int(np.argmin(widths[1:]))
    cases = [[one.corrected for one in of if one.corrected.reason is None] for of in zip(*made[1:], strict=True)]
    hindsight = [min(of, key=lambda one: one.high - one.low) for of in cases if of]
    together, of_best, shortest = (
        float(np.mean([one.low <= 0 <= one.high for one in of])) for of in (kept[0], kept[best], hindsight)
    )
    people = float(np.mean([one.people.high - one.people.low for one in made[0]]))
    worth = float(np.median([one.equivalent_ratings for one in made[0]]))
    return PanelFigures(of_best, together, widths[0] / widths[best], widths[0] / people, worth, shortest)


def by_number(kind: str, judges: int, sizes: str, simulations: int = SIMULATIONS) -> list[PanelFigures]:
    """Simulate several judges with each number of ratings."""
    panels = [Panel(kind, judges, labels, sizes, 500 if labels == 200 else DRAFTS) for labels in NUMBERS]
    return [panel_figures(panel, simulations, OF_GRID) for panel in panels]


def line_by_number(cell: tuple[str, int, str]) -> str:
    """Return the line of several judges in the table by the number of ratings."""
    found = by_number(*cell)
    covered = [f"{share:>7.1%}" for share in (*(one.together for one in found), *(one.shortest for one in found))]
    widths = [f"{width:>6.2f}" for width in (*(one.width for one in found), *(one.of_people for one in found))]
    kind, judges, sizes = cell
    return f"{kind:<10}{judges:>2} {sizes:<7}{''.join(covered)}{''.join(widths)}"


def simulate_panel(panel: Panel) -> str:
    """Return the line of several judges."""
    found = panel_figures(panel)
    return (
        f"{panel}{found.best:>9.1%}{found.together:>8.1%}{found.width:>11.2f}{found.of_people:>8.2f}{found.worth:>7.0f}"
    )


def main() -> None:
    """Simulate and print."""
    error = sqrt(0.95 * 0.05 / SIMULATIONS)
    print(f"{SIMULATIONS} simulations for each line, standard error {error:.1%} at 95%; {RESAMPLES} resamples\n")
    print("                                        coverage of 95%")
    print("of    clusters  rated         number     r   judge  people  corrected  width  worth  unlike    none")
    with ProcessPoolExecutor(2) as pool:
        for line in pool.map(simulate, DESIGNS):
            print(line, flush=True)
        print(f"\n{TESTS} simulations for each line, standard error {sqrt(0.05 * 0.95 / TESTS):.1%} at 5%\n")
        print("                                        differ, p < 0.05")
        print("of    clusters  rated         number     r   judge  people  corrected   Holm    none")
        for line in pool.map(test, TESTED):
            print(line, flush=True)
        error = sqrt(0.95 * 0.05 / OF_PANELS)
        print(f"\n{OF_PANELS} simulations for each line, standard error {error:.1%} at 95%; {RESAMPLES} resamples\n")
        for panels in (PANELS, UNEVEN):
            print("                                coverage of 95%   width, a part of")
            print("judges        k clusters  number    best     all       best  people  worth")
            for line in pool.map(simulate_panel, panels):
                print(line, flush=True)
            print()
        error = sqrt(0.95 * 0.05 / SIMULATIONS)
        print(f"{SIMULATIONS} simulations for each cell, standard error {error:.1%} at 95%; {OF_GRID} resamples\n")
        print(
            "                     coverage of 95%             of the shortest        of best's width         people's"
        )
        numbers = "".join(f"{number:>{size}}" for size in (7, 6) for number in NUMBERS * 2)
        print(f"judges     k cluster{numbers}")
        for line in pool.map(line_by_number, GRID):
            print(line, flush=True)


if __name__ == "__main__":
    main()
