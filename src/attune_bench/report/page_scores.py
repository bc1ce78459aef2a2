"""The scores and options of a page; hides what must not be shown, and makes each analysis once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from attune_bench.report.columns import profiled
from attune_bench.report.privacy import hide_small_cells, shown_summary, without_few
from attune_bench.report.tables import ranking_frame
from attune_bench.scores.columns import Analysis
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.compare import all_pairs_tested, compare_all
from attune_bench.stats.labels import Labels
from attune_bench.stats.options import AnalysisOptions, SamplingKeywords, sorted_groups
from attune_bench.stats.rank import rank
from attune_bench.stats.summary import above_chance, chance_of_units
from attune_metrics.stats.bootstrap import STATISTICS


@dataclass(frozen=True, kw_only=True)
class PageScores:
    """The scores and options of a page.

    Attributes
    ----------
    table : ScoreTable
        The scores.
    analyses : mapping of str to Analysis
        The analyses of any scores; an analysis of the benchmark replaces one of the same name.
    small_cells : bool
        Whether to show what rests on few people.
    options : SamplingKeywords
        How intervals are made.
    margin : float, optional
        The smallest difference of interest of the main metric, where models are also tested for being the same.
    labels : Labels, optional
        People's ratings, where a judge is corrected by them.
    only_sentences : bool
        Whether only the sentences about the scores are made: ranks and comparisons then have no intervals.
    board : polars.DataFrame, optional
        The summary of some metrics, where it is made already and all of it may be shown.
    """

    table: ScoreTable
    analyses: Mapping[str, Analysis]
    small_cells: bool
    options: SamplingKeywords
    margin: float | None = None
    labels: Labels | None = None
    only_sentences: bool = False
    board: pl.DataFrame | None = None

    @cached_property
    def chosen(self) -> AnalysisOptions:
        """The options, checked."""
        return AnalysisOptions(**self.options)

    @cached_property
    def summary(self) -> pl.DataFrame:
        """The metrics of the board and of profiles, without what must not be shown."""
        of_profiles = () if self.only_sentences else profiled(self.table)
        metrics = list(dict.fromkeys([self.table.primary, *self.table.headline, *of_profiles]))
        if self.board is not None and set(metrics) <= set(self.board["metric"]):
            return self.board
        return shown_summary(self.table, small_cells=self.small_cells, **self.options, metrics=metrics)

    @cached_property
    def of_primary(self) -> pl.DataFrame:
        """The primary metric, as in `summary`."""
        return self.summary.filter(metric=self.table.primary)

    @cached_property
    def hidden(self) -> tuple[tuple[str, str | None], ...]:
        """The models and conditions with a suppressed value, and therefore a suppressed rank, of the primary metric."""
        return tuple(self.of_primary.filter(pl.col("n").is_null()).select("model", "condition").rows())

    @cached_property
    def shown(self) -> ScoreTable:
        """The scores without the models in `hidden`: the missing rank, or wins, would tell where these stand.

        Of the other models, it lacks the values that must not be shown.
        """
        others = [one for one in self.table.groups if one not in self.hidden]
        known = without_few(self.table, small_cells=self.small_cells)
        return known.keep(groups=others) if 0 < len(others) < len(self.table.groups) else known

    @cached_property
    def numbers(self) -> dict[tuple[str, str | None], int]:
        """The number of every model and condition, the best first, the hidden ones last."""
        shown = [group for group in sorted_groups(self.table, self.chosen) if group not in self.hidden]
        return {group: place for place, group in enumerate([*shown, *sorted(self.hidden, key=str)], start=1)}

    @cached_property
    def no_ranks(self) -> str:
        """Why models have no ranks by the primary metric; empty where they have some."""
        metric = self.table.metric(self.table.primary)
        if len(self.table.models) < 2:
            return "need two models"
        if metric.statistic not in STATISTICS:
            return f"{metric.label} depends on all models' results"
        if metric.own_scale:
            return metric.own_scale
        if metric.higher_is_better is None:
            return f"neither higher nor lower values of {metric.label} are better"
        if why := self.chosen.lacks_weight(self.table, metric.name):
            return f"{metric.label} is {why}"
        return "a rank has no BCa interval" if self.chosen.interval == "bca" else ""

    @cached_property
    def ranks(self) -> pl.DataFrame | None:
        """The ranks by the primary metric of the models that may be shown; None where they have none or need none."""
        if self.only_sentences or self.no_ranks or len(self.hidden) == len(self.table.groups):
            return None
        return rank(self.shown, **self.options, metrics=[self.table.primary])

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """The comparisons by the primary metric, as `compared` gives them."""
        table, metric = self.table, self.table.metric(self.table.primary)
        if metric.statistic not in STATISTICS or metric.own_scale or self.chosen.lacks_weight(table, metric.name):
            empty = dict.fromkeys(("p", "p_min", "family"), pl.Float64)
            return pl.DataFrame(schema={"condition": pl.String, **empty})
        return self.compared(table.primary, margin=self.margin)

    def compared(self, metric: str, *, margin: float | None = None) -> pl.DataFrame:
        """Return the comparisons of every two models by a metric, without what must not be shown.

        The column ``family`` says over how many pairs Holm's method corrects: pairs that are not shown count too.
        """
        if self.only_sentences:
            found = all_pairs_tested(self.table, metric, **self.options)
        else:
            found = compare_all(self.table, **self.options, metrics=[metric], margin=margin)
        families = found.select(pl.col("p").count().over("condition").alias("family")).to_series()
        shown = self.hide_small_cells(found).with_columns(families)
        # Which of two is named first, and in which row, would tell where a hidden model stands.
        hidden = pl.DataFrame(self.hidden, schema={"model": pl.String, "condition": pl.String}, orient="row")
        for side in ("model_a", "model_b"):
            of_side = hidden.rename({"model": side})
            shown = shown.join(of_side, on=[side, "condition"], how="anti", nulls_equal=True, maintain_order="left")
        return shown

    @cached_property
    def ranking(self) -> pl.DataFrame:
        """The rank and tier of every model, as `attune_bench.report.tables.ranking_frame` gives it."""
        return ranking_frame(self.table, self.of_primary, self.pairs, self.ranks, list(self.numbers))

    @cached_property
    def chance(self) -> pl.DataFrame:
        """What random answers score: `attune_bench.stats.summary.chance_of_units` without what must not be shown."""
        return self.hide_small_cells(chance_of_units(self.table))

    @cached_property
    def above_chance(self) -> pl.DataFrame:
        """How far models are above random answers in the primary metric, without what must not be shown."""
        return self.hide_small_cells(above_chance(self.table, self.table.primary, **self.options))

    def hide_small_cells(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a frame without what must not be shown."""
        return hide_small_cells(self.table, frame, small_cells=self.small_cells)

    def in_order(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the frame of an analysis with the models of each condition from the best."""
        if not {"model", "condition"} <= set(frame.columns):
            return frame
        groups = frame.select("model", "condition").rows()
        places = [(self.table.conditions.index(group[1]), self.numbers[group]) for group in groups]
        return frame[sorted(range(len(places)), key=places.__getitem__)]

    def analysis(self, name: str, metrics: Sequence[str], **needs: Any) -> pl.DataFrame:
        """Return what an analysis gives of some metrics, the best models first, without what must not be shown."""
        chosen = {"metrics": list(metrics)} if self.analyses[name].takes_metrics else {}
        made = self.analyses[name].function(self.shown, **needs, **self.options, **chosen)
        return self.in_order(self.hide_small_cells(made))

    def metrics_of(self, name: str, default: Sequence[str]) -> list[str]:
        """Return the metrics that an analysis is about: its own, as far as the scores have them, else the default."""
        own = [metric for metric in self.analyses[name].metrics or default if metric in self.table.metrics]
        made_of_units = [metric for metric in own if self.table.metrics[metric].statistic in STATISTICS]
        return [metric for metric in made_of_units if not self.chosen.lacks_weight(self.table, metric)]
