"""The HTML report of EIBench: a board of models, their comparisons and trajectories, on the page of every report."""

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attune_bench._scenario_commands import PAIRS_NOTE, pairs_title
from attune_bench.benchmarks.eibench.comparison import (
    OVERALL,
    common_settings,
    compare_episodes,
    model_board,
    scene_board,
    summaries,
)
from attune_bench.benchmarks.eibench.states import mean_states
from attune_bench.benchmarks.eibench.tables import COMPARABLE, KINDS, TREATED, settings_text
from attune_bench.report import figures
from attune_bench.report._cells import count_cell, hundred_cell, p_cell, point_cell
from attune_bench.report._page import Cell, element, figure, joined, page, section, table
from attune_bench.stats.signing import sign_episodes
from attune_data import Episode, Scenario
from attune_data.display.html import Html
from attune_data.eibench.scenes import scenes
from attune_data.licences import named_licences
from attune_data.text import plural

if TYPE_CHECKING:
    import polars as pl

    from attune_metrics.eibench import Rule, Treatment

__all__ = ["eibench_report"]

Rows = list[list[str | Cell]]

_RULES = {
    "evaluation": "the direction in which an axis is better is inferred from its anchors, as published",
    "directed": "anger is better lower, trust higher",
}
_LIMITS = (
    "The person is played by a language model, which also judges how its state changes: a reward says what that "
    "simulator, under its instructions, made of the conversation, not what a person would have felt.",
    "An interval says how far a reward would move with other scenarios, drawn alike. It says nothing of another "
    "simulator, other languages or cultures, nor of a model that answers otherwise when asked again.",
    "A failed episode is a fault of the model, of the simulator or of a connection, and which treatment of it is fair "
    "depends on which. Where many failed, look at all three.",
)


def eibench_report(
    episodes: Iterable[Episode],
    scenarios: Iterable[Scenario],
    *,
    rule: "Rule" = "evaluation",
    failed: "Treatment" = "exclude",
    resamples: int = 10_000,
    seed: int = 0,
) -> str:
    """Return a report of the episodes of models as a page of HTML.

    Parameters
    ----------
    episodes, scenarios, rule, failed, resamples, seed
        As for `attune_bench.benchmarks.eibench.comparison.compare_episodes`.

    Returns
    -------
    str
        A page that makes no request.

    Raises
    ------
    ImportError
        Where the extra ``plots`` is not installed.
    ValueError
        As `attune_bench.benchmarks.eibench.comparison.compare_episodes`.
    """
    held, known = list(episodes), list(scenarios)
    settings = common_settings(held)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = summaries(held, known, rule=rule, failed=failed, resamples=resamples, seed=seed)
        pairs = compare_episodes(held, known, rule=rule, failed=failed, by="scene", resamples=resamples, seed=seed)
        states = mean_states(held, known, resamples=resamples, seed=seed)
    board = model_board(found)
    signature = sign_episodes(held, known, rule=rule, failed=failed, resamples=resamples, seed=seed)
    counts = [plural(len(found), "model"), plural(len(held), "episode"), plural(len(known), "scenario")]
    named = [f"simulator {settings['simulator']}"] if settings["simulator"] else []
    method = (
        "Every reward is computed from the state at the end of an episode and the anchors of its scenario, as the mean "
        f"of an anger score and a trust score, by the rule {rule!r}: {_RULES[rule]}. Rewards and scores are with "
        f"{TREATED[failed]}. Intervals are 95% expanded-percentile bootstrap intervals of {resamples:,} resamples of "
        f"scenarios, seed {seed}. With fewer than 5 scenarios, or where nothing varies, there is no interval. p-values "
        "are corrected by Holm's method, over all pairs of models, and within each scene over its pairs."
    )
    quoted = element("p", Html("Signature, to be quoted with the numbers: "), element("code", signature))
    title = "EIBench rewards"
    synthetic = [element("p", "SYNTHETIC demonstration scenarios.", class_="notice")]
    return page(
        title,
        element("h1", title),
        element("p", ", ".join(counts + named), class_="quiet"),
        *(synthetic if all(scenario.synthetic for scenario in known) else []),
        _models(board),
        _scenes(board, scene_board(found)),
        _comparisons(pairs),
        _trajectories(states, board["model"].to_list()),
        _failures(board),
        section(
            "Methods",
            element("p", method),
            element("p", f"{settings_text(settings)} {COMPARABLE}"),
            *(element("p", f"Warning: {text}.") for text in dict.fromkeys(str(warning.message) for warning in caught)),
            quoted,
        ),
        section("Limits", element("ul", *(element("li", limit) for limit in _LIMITS))),
        _data(known, sum(board["without_scenario"])),
    )


def _models(board: "pl.DataFrame") -> Html:
    head = ["model", "reward", "anger score", "trust score", "final anger", "final trust", "n", "failed", "coverage"]
    body: Rows = [
        [
            row["model"],
            hundred_cell(row["reward"], row["low"], row["high"]),
            *(hundred_cell(row[name]) for name in ("anger_score", "trust_score")),
            *(point_cell(row[name]) for name in ("final_anger", "final_trust")),
            *(count_cell(row[name]) for name in ("n", "failed")),
            Cell(f"{100 * row['coverage']:.1f}%", value=round(row["coverage"], 3)),
        ]
        for row in board.iter_rows(named=True)
    ]
    note = (
        "Rewards and scores times 100, -100 to 100, higher is better; rewards with 95% intervals. n: episodes that "
        f"count, one a scenario. Coverage: their share of the scenarios. {COMPARABLE}"
    )
    return section("Models", table(head, body, sortable=True), element("p", note, class_="quiet"))


def _scenes(board: "pl.DataFrame", blocks: "pl.DataFrame") -> Html:
    played = [scene for scene in scenes() if scene in blocks["scene"]]
    of: dict[tuple[str, str], Mapping[str, Any]] = {
        (row["model"], row["scene"]): row for row in blocks.iter_rows(named=True)
    }
    body: Rows = []
    for row in board.iter_rows(named=True):
        cells: list[str | Cell] = [row["model"], hundred_cell(row["macro"])]
        for scene in played:
            block = of.get((row["model"], scene), {"reward": None, "low": None, "high": None, "n": 0})
            cells.append(hundred_cell(block["reward"], block["low"], block["high"], more=f"n {block['n']}"))
        body.append(cells)
    meanings: Rows = [[one.title, one.anger, one.trust] for one in (scenes()[scene] for scene in played)]
    note = "Rewards times 100. Macro: the mean of the scenes. What the two axes of the person's state stand for:"
    return section(
        "Scenes",
        table(["model", "macro", *(scenes()[scene].title for scene in played)], body, sortable=True),
        element("p", note, class_="quiet"),
        table(["scene", "anger", "trust"], meanings),
    )


def _comparisons(pairs: "pl.DataFrame") -> Html:
    if pairs.is_empty():
        return section("Comparisons", element("p", "Nothing to compare: there is one model."))
    parts = []
    for (scene,), family in pairs.group_by("scene", maintain_order=True):
        body: Rows = [
            [
                row["model_a"],
                row["model_b"],
                hundred_cell(row["difference"], row["low"], row["high"], signed=True),
                p_cell(row["p"]),
                p_cell(row["p_holm"]),
                hundred_cell(row["detectable"]),
                count_cell(row["n"]),
            ]
            for row in family.iter_rows(named=True)
        ]
        name = "All scenes" if scene == OVERALL else scenes()[str(scene)].title
        said = pairs_title(family)
        head = ["A", "B", "A minus B", "p", "Holm p", "detectable", "n"]
        title, note = element("h3", name), element("p", f"{said[0].upper()}{said[1:]}.")
        parts.append(joined(title, note, table(head, body, sortable=True)))
    return section("Comparisons", *parts, element("p", PAIRS_NOTE, class_="quiet"))


def _trajectories(states: "pl.DataFrame", models: Iterable[str]) -> Html:
    drawn = [
        figure(figures.trajectories(states, model), model)
        for model in models
        if not states.filter(model=model)["mean"].is_null().all()
    ]
    note = (
        "Mean anger (better lower) and trust (better higher) of the person after each round, 0 to 100; round 0 is the "
        "start. Bands are 95% intervals, where there are 5 scenarios or more. An episode that has ended keeps its last "
        "state. Failed episodes are left out."
    )
    if not drawn:
        note = "None to show: no episode that did not fail says how the state moved."
    return section("Trajectories", element("p", note, class_="quiet"), element("div", *drawn, class_="grid"))


def _failures(board: "pl.DataFrame") -> Html:
    if not board["failed"].sum():
        return section("Failed episodes", element("p", "No episode failed."))
    treatments = {"reward_exclude": "reward: left out", "reward_start": "broken off", "reward_worst": "worst case"}
    head = ["model", *KINDS.values(), *treatments.values()]
    body: Rows = [
        [row["model"], *(count_cell(row[kind]) for kind in KINDS), *(hundred_cell(row[name]) for name in treatments)]
        for row in board.iter_rows(named=True)
    ]
    note = (
        "Rewards times 100 with failed episodes left out; at the state they broke off in, the published treatment, "
        "which leaves out errors; and at the worst case."
    )
    return section("Failed episodes", table(head, body, sortable=True), element("p", note, class_="quiet"))


def _data(scenarios: Iterable[Scenario], elsewhere: int) -> Html:
    named = named_licences(scenarios)
    said = f"Licence of the scenarios: {'; '.join(named)}." if named else "The scenarios state no licence."
    if elsewhere:
        said += f" Left out: {plural(elsewhere, 'episode')} of scenarios that are not in the data."
    return section("Data", element("p", said))
