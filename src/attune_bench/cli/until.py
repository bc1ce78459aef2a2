"""`run --until-decided`: run participants in a random order, until the difference to another model is decided."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from attune_bench import Scores
from attune_bench.cli.output import UserError, mistakes, say
from attune_bench.cli.stops import write_stop
from attune_bench.report.columns import interval, number, row_p
from attune_bench.runner import RunOutcome
from attune_bench.runner.cost import Job, Meter
from attune_bench.runner.terminal import warn
from attune_bench.scores.benchmark import Benchmark
from attune_bench.scores.provenance import group_settings, sent_where_set
from attune_bench.stats.comparability import MixedSettingsError, check_comparable
from attune_bench.stats.compare import looking_at
from attune_data.collection import Collection
from attune_data.text import did_you_mean, listed, plural, pluralize
from attune_metrics.metric import PSEUDO_VALUES
from attune_metrics.stats.bootstrap import STATISTICS
from attune_metrics.stats.looking import Looking
from attune_metrics.stats.looks import MIN_CLUSTERS_OF_LOOK

LOOKS = 4
"""How many looks a run has where no other number is asked for."""

_MOST_AT_ANY_TIME = 20  # looks of a run at any time, each with a run of its own


class Stage(NamedTuple):
    """The units of a look and of all looks before, how many clusters they have, and which look it is."""

    units: list[int]
    clusters: int
    looking: Looking


@dataclass(frozen=True)
class Until:
    """The comparison that a run stops for.

    Attributes
    ----------
    model : str
        The model that is run.
    rival : Scores
        The scores of the other model alone.
    metric : str
        The metric that is compared.
    looks : int or "any"
        How many looks are planned.
    """

    model: str
    rival: Scores
    metric: str
    looks: int | Literal["any"]

    @property
    def other(self) -> str:
        """The model that the run is compared with."""
        return self.rival.models[0]

    def scored_units(self, units: Collection[Any]) -> Collection[Any]:
        """Return the units of which the other model has scores, and say how many have none and when looks come.

        Raises
        ------
        UserError
            If units of too few clusters have scores of the other model.
        """
        held, known = self.rival.provenance, {*self.rival.values.drop_nulls(self.metric)["unit"]}
        kept = units[[place for place, unit in enumerate(units) if unit.id in known]]
        if len(kept) < len(units):
            say(f"{plural(len(units) - len(kept), held.unit)} left out, without a score of {self.other}")
        stages, clusters = self.stages(kept), pluralize(held.cluster)
        if not stages:
            size = len({*self._clusters(kept)})
            few = f"{plural(size, held.cluster)} of the data {'has' if size == 1 else 'have'} scores of {self.other}"
            raise UserError(f"--until-decided: {few}, and fewer than {MIN_CLUSTERS_OF_LOOK} decide nothing")
        say(f"compared with {self.other} after {listed([f'{one.clusters:,}' for one in stages], 6)} {clusters}")
        return kept

    def warn_of_settings(self, jobs: Iterable[Job]) -> None:
        """Warn where the two models could not be compared, as the planned settings differ from the other model's."""
        held = self.rival.provenance
        planned: list[tuple[str, str | None, Mapping[str, Any]]] = []
        for job in jobs:
            known = {name: job.recorded[name] for name in held.comparability_keys if name in job.recorded}
            planned.append((self.model, job.condition, known | sent_where_set(job.recorded)))
        settings = (*held.settings, *group_settings(planned))
        both = replace(self.rival, provenance=held.model_copy(update={"settings": settings}))
        for condition in self.rival.conditions:
            groups = [(model, condition) for model in (self.model, self.other)]
            try:
                check_comparable(both, groups=groups, metrics=[self.metric])
            except MixedSettingsError as error:
                warn(f"--until-decided would stop after one {held.unit}: {error}")
                return

    def stages(self, units: Sequence[Any]) -> list[Stage]:
        """Return the looks of a run, with the positions of their units.

        Clusters come in a random order, the same in every run.
        """
        groups: dict[str, list[int]] = {}
        for place, cluster in enumerate(self._clusters(units)):
            groups.setdefault(cluster, []).append(place)
        total = len(groups)
        order = np.random.default_rng(0).permutation(total).tolist()
        names = [sorted(groups)[place] for place in order]
        count = min(_MOST_AT_ANY_TIME, total) if self.looks == "any" else self.looks
        found = []
        for look in range(1, count + 1):
            size = ceil(total * look / count)
            looking = looking_at(self.looks, None if self.looks == "any" else look) or Looking(1, 1)
            if size >= MIN_CLUSTERS_OF_LOOK:
                found.append(Stage([place for name in names[:size] for place in groups[name]], size, looking))
        return found

    def _clusters(self, units: Sequence[Any]) -> list[str]:
        known = dict(self.rival.units.select("unit", pl.coalesce("cluster", "unit")).iter_rows())
        return [known[unit.id] for unit in units]

    def run(
        self,
        units: Collection[Any],
        execute: Callable[[Collection[Any]], RunOutcome],
        score: Callable[[Path], Scores],
    ) -> RunOutcome:
        """Run the units of one look after another until the difference is decided, and say what was found.

        Parameters
        ----------
        units : Collection
            All units, as from `scored_units`.
        execute : callable
            Runs some of the units, those that are finished too.
        score : callable
            Returns the scores of the results in a folder.
        """
        stages, held = self.stages(units), self.rival.provenance
        of_all, before, replaced, extended, outcome = stages[-1].clusters, 0, 0, 0, None
        meter = Meter(units=0, calls=0, unit=held.unit)
        # One unit alone: where models that are asked in other ways are not compared, no other unit is paid for.
        stages = [stages[0]._replace(units=stages[0].units[:1], clusters=1), *stages]
        clusters = pluralize(held.cluster)
        for place, stage in enumerate(stages):
            last = execute(units[stage.units])
            before += last.earlier - (0 if outcome is None else outcome.finished)
            outcome, replaced, extended = last, replaced + last.replaced, extended + last.extended
            meter.add(last.meter)
            if last.stopped is not None or (place and (not last.finished or last.is_unreadable)):
                say(f"{self._metric}: not decided when the run stopped")
                break
            if not last.finished:
                continue
            rows = self._compared(score(last.folder), [unit.id for unit in units[stage.units]], stage.looking)
            if not place:
                continue
            decided = bool(rows) and all(row["significant"] for row in rows)
            said = f"look {stage.looking}" if stage.looking.look else "at any time"
            for row in rows:
                size = f"{min(stage.clusters, row['clusters'])} of {of_all} {clusters}"
                under = "" if len(rows) == 1 else f", {held.condition} {row['condition']}"
                say(f"{said}, {size}{under}: {self._sentence(row)}")
            if len(rows) > 1:
                of_rows = f"{sum(row['significant'] for row in rows)} of {plural(len(rows), held.condition)}"
                more = "" if decided or stage is stages[-1] else "; the run goes on until all are"
                say(f"{said}: decided in {of_rows}{more}")
            if not rows:
                say(f"{said}: no {held.unit} has a score of both models; not decided")
            write_stop(
                last.folder, model=self.model, against=self.other, metric=self.rival.metrics[self.metric],
                looks=self.looks, look=stage.looking.look, clusters=stage.clusters, of_clusters=of_all,
                units=len(stage.units), of_units=len(units), decided=decided,
            )  # fmt: skip
            if decided:
                left = len(units) - len(stage.units)
                saved = f"{of_all - stage.clusters} {clusters} with {plural(left, held.unit)} were not needed"
                say(f"stopped: the difference is decided; {saved}" if left else "the difference is decided")
                break
        else:
            say(f"the difference is not decided with all {of_all} {clusters}")
        assert outcome is not None  # noqa: S101 - there is a stage
        # Units that failed at a look and were run again at the next one count once.
        meter.failed = outcome.meter.failed
        meter.units = meter.done + meter.failed
        return replace(outcome, earlier=before, replaced=replaced, extended=extended, meter=meter)

    @property
    def _metric(self) -> str:
        return f"{self.rival.metrics[self.metric].label} of {self.model} minus {self.other}"

    def _sentence(self, row: dict[str, Any]) -> str:
        metric = self.rival.metrics[self.metric]
        if row["p"] is None:
            return f"{self._metric}: {row['reason']}; not decided"
        ends = interval(row["low"], row["high"], metric, signed=True)
        difference = number(row["difference"], metric, signed=True)
        p = row_p(row, "p")
        over = "" if row.get("look") is None else " over all looks"
        return (
            f"{self._metric} {difference}{f' {ends}' if ends else ''}, p {p if p.startswith('<') else f'= {p}'}{over}: "
            f"{'' if row['significant'] else 'not '}decided"
        )

    def _compared(self, own: Scores, units: Sequence[str], looking: Looking) -> list[dict[str, Any]]:
        """Return the comparison of both models on the units of a look, one for each condition."""
        groups = [group for group in own.groups if group[0] == self.model]
        both = {*own.values.filter(model=self.model)["unit"]}.intersection(units)
        if not groups or not both:
            return []
        own = own.keep(groups=groups, units=[unit for unit in units if unit in both])
        rival = self.rival.keep(units=[unit for unit in units if unit in both])
        shared = [name for name in own.values.columns if name in rival.values.columns]
        values = pl.concat([own.values, rival.values.select(shared)], how="diagonal_relaxed")
        settings = (*own.provenance.settings, *rival.provenance.settings)
        about = {"settings": settings, "mixed": rival.provenance.mixed}
        with mistakes(), warnings.catch_warnings():
            # The p-value says it.
            warnings.filterwarnings("ignore", message=".* too few for ")
            table = Scores.of(
                replace(
                    own, values=values, units=own.units, detail=None, variants=None, repeats=None,
                    provenance=own.provenance.model_copy(update=about),
                )
            )  # fmt: skip
            asked: Any = {"looks": "any"} if looking.look is None else {"looks": looking.looks, "look": looking.look}
            return table.compare(self.model, self.other, metrics=[self.metric], **asked).to_dicts()


def until(
    model: str,
    path: Path | None,
    metric: str | None,
    against: str | None,
    looks: Any,
    benchmark: Benchmark,
    *,
    allow_mixed: bool,
) -> Until | None:
    """Return the comparison that options ask for: SCORES, the metric, the other model, and the looks; None without any.

    Raises
    ------
    UserError
        One of SCORES and the metric is missing, or the other model, the metric or the looks cannot be used.
    """
    if path is None and metric is None:
        if against is not None or looks is not None or allow_mixed:
            flags = "--against-model, --looks and --allow-mixed"
            raise UserError(f"{flags} are for --until-decided METRIC, which takes --against SCORES too")
        return None
    if path is None or metric is None:
        raise UserError(
            "--until-decided takes --against SCORES too"
            if path is None
            else "--against takes --until-decided METRIC too"
        )
    with mistakes():
        scores = Scores.read(path)
        entry = scores.metric(metric)
        asked: Any = LOOKS if looks is None else looks
        looking_at(asked, None if asked == "any" else 1)
    if scores.provenance.benchmark not in {None, benchmark.name}:
        raise UserError(
            f"--against {path} has scores of {scores.provenance.title}, and this run is of {benchmark.title}"
        )
    if entry.statistic not in STATISTICS or entry.statistic == PSEUDO_VALUES:
        raise UserError(f"--until-decided {metric}: {metric} depends on the results of all models; name another metric")
    others = [name for name in scores.models if name != model]
    if not others:
        raise UserError(f"--against {path} has no model but {model}, which is run; name scores of another one")
    if against is None and len(others) > 1:
        raise UserError(f"--against {path} has {listed(others, 5)}; name one with --against-model")
    if against is not None and against not in others:
        raise UserError(f"--against-model {against}: not in {path}; {did_you_mean(against, others)}")
    chosen = against or others[0]
    rival = scores.keep(groups=[group for group in scores.groups if group[0] == chosen])
    return Until(model, rival.allow_mixed() if allow_mixed else rival, entry.name, asked)
