"""The answer of a report: the sentences about the scores of one condition that a report begins with."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import compress
from operator import not_

import polars as pl

from attune_bench.report.columns import Row, drawn, interval, label, number, range_words, signs_of, words_under
from attune_bench.report.elements import breakable
from attune_bench.report.page_scores import PageScores
from attune_bench.report.tables import called, rows_under, too_few_to_differ, under
from attune_bench.scores.provenance import CHANCE_BASELINE, PRIOR_BASELINE, GroupKind, kind_of_group
from attune_bench.scores.rating_tables import RATER
from attune_bench.stats.comparability import is_mixed
from attune_bench.stats.options import ALPHA
from attune_data.issues import Html, element
from attune_data.text import joined, plural, pluralize, sanitize
from attune_metrics.metric import Metric

_MOST_NAMED = 4
_MOST_METRICS = 2
_KINDS: tuple[GroupKind, ...] = ("model", "person", "baseline")
_VERDICTS = {
    1: "significantly worse", -1: "significantly better", 0: "not significantly different", None: "not compared",
}  # fmt: skip
"""The verdict on a model against which another model has a sign, as `signs_of` gives it."""


@dataclass(frozen=True)
class Answer:
    """The sentences about the scores of one condition.

    The best is the model with the best value; it is compared with all other models, people and baselines. If there is
    no model, the best row of any kind is the best.
    """

    page: PageScores
    condition: str | None

    @cached_property
    def metric(self) -> Metric:
        """The primary metric."""
        return self.page.table.metric(self.page.table.primary)

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of the ranking that have a value."""
        return [*rows_under(self.page.ranking.drop_nulls("value"), self.condition)]

    @cached_property
    def models(self) -> list[Row]:
        """The rows of models; if no row is of a model, all rows."""
        return [row for row in self.rows if kind_of_group(row["model"]) == "model"] or self.rows

    @cached_property
    def best(self) -> list[str]:
        """The models with the best value, several if they share it."""
        return [row["model"] for row in self.models if row["value"] == self.models[0]["value"]]

    @cached_property
    def others(self) -> list[str]:
        """All rows but the first of the best."""
        return [row["model"] for row in self.rows if row["model"] not in self.best[:1]]

    @cached_property
    def signs(self) -> Mapping[tuple[str, str], int | None]:
        """The verdict on every two models, as `signs_of` gives it; empty where runs that differ are not compared."""
        return {} if is_mixed(self.page.table) else signs_of(self.pairs.to_dicts(), self.metric)

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """The comparisons of every two rows."""
        return under(self.page.pairs, self.condition)

    @cached_property
    def kinds(self) -> dict[str, int]:
        """How many rows are of models, people and baselines."""
        counts = Counter(kind_of_group(row["model"]) for row in self.rows)
        return {kind: counts[kind] for kind in _KINDS if counts[kind]}

    @cached_property
    def chances(self) -> dict[str, float]:
        """The average score of random answers by metric, as far as it is known and may be shown."""
        known = rows_under(self.page.chance.drop_nulls("chance"), self.condition)
        return {row["metric"]: row["chance"] for row in known}

    @property
    def judged(self) -> list[str]:
        """The others that sentences judge; one set of random answers only where the average of all sets is unknown."""
        known = self.metric.name in self.chances
        return [one for one in self.others if not (known and one == CHANCE_BASELINE)]

    @cached_property
    def above_chance(self) -> dict[str, Row]:
        """How far each model is above the average of random answers, with the ends of the interval if it has one."""
        known = rows_under(self.page.above_chance.drop_nulls("value"), self.condition)
        return {row["model"]: row for row in known if row["model"] != CHANCE_BASELINE}

    @property
    def all_worse(self) -> bool:
        """Whether all others with a value are significantly worse than the best."""
        return bool(self.others) and all(self.signs.get((self.best[0], one)) == 1 for one in self.others)

    @property
    def among(self) -> str:
        """Where a row of another kind is better than the best model, that the best is so of the models."""
        return " of the models" if self.rows and _is_better(self.rows[0], self.models[0], self.metric) else ""

    def finding(self) -> str:
        """Return what the scores show, without a full stop."""
        metric, signs = self.metric, self.signs
        measured = f"{metric.label}{words_under(self.page.table, self.condition)}"
        if not self.rows:
            return f"No model has a value of {measured} that can be shown"
        if metric.higher_is_better is None:
            return _no_direction(metric)
        best, others, few = self.best, self.others, self._too_few()
        noun, where = _noun(metric), "" if _is_unnamed(metric) else " in "
        within = measured.removeprefix(metric.label) if _is_unnamed(metric) else measured
        value = f"{_marked_name(best[0])} has the {noun} {_estimate(self.models[0], metric)}{where}{within}"
        if len(self.models) == 1:
            value += self._beside_random(best[0])
        if not others:
            return value
        if is_mixed(self.page.table):
            return _no_leader(measured)
        if len(self.models) == 1:
            return "; ".join([value, *([few] if few else self._verdicts(best[0], self.judged, _VERDICTS))])
        extreme = _extreme(metric)
        if signs and all(sign == 0 for sign in signs.values()):
            none = few or f"No two {joined([pluralize(kind) for kind in self.kinds])} differ significantly"
            first = [row["model"] for row in self.rows if row["value"] == self.rows[0]["value"]]
            lead = f"{_are(first if self.among else best, 'has', 'have')} the {extreme} value"
            lead += f", {_listed(best)} the {extreme}{self.among}" if self.among else ""
            if self.rows[0]["value"] == self.rows[-1]["value"]:
                lead = "all have the same value"
            return f"{none} in {measured}; {lead}"
        found = f"{_are(best, 'has', 'have')} the {extreme} {measured}{self.among}"
        if not signs:
            return f"{found}; no test compares the models"
        if self.all_worse:
            worse = f"{_marked_name(others[0])} is" if len(others) == 1 else "all others are"
            return f"{found}, and {worse} {_VERDICTS[1]}"
        rest = [one for one in self.judged if one not in best]
        return "; ".join([found, *self._verdicts(best[0], rest, (-1, 0, None))])

    def details(self) -> list[str]:
        """Return the sentences below a finding: value, comparisons, random answers, models without a value."""
        if not self.rows:
            return []
        found = []
        if self.metric.higher_is_better is not None and len(self.models) > 1:
            value = _estimate(self.models[0], self.metric)
            of = f"The {_noun(self.metric)} of {_listed(self.best)}"
            where = "" if _is_unnamed(self.metric) else f" in {self.metric.label}"
            found = [f"{of}{where} is {value}.", *self._compared()]
        ranked = rows_under(self.page.ranking, self.condition)
        lacking = [row["model"] for row in ranked if row["value"] is None]
        without = [f"{_are(lacking, 'has', 'have')} no value that can be shown."] if lacking else []
        return [*found, *self.random_answers(), *without]

    def prior(self) -> list[str]:
        """Return sentences: what baseline/prior is, and the models with a worse value; none without such a model.

        They name up to two other metrics in which baseline/prior is better than the first of these models.
        """
        table, metric = self.page.table, self.metric
        prior = next((row for row in self.rows if row["model"] == PRIOR_BASELINE), None)
        if prior is None or metric.higher_is_better is None:
            return []
        is_model = [row for row in self.rows if kind_of_group(row["model"]) == "model"]
        below = [row["model"] for row in is_model if _is_better(prior, row, metric)]
        if not below:
            return []
        said = {1: " (significantly)", 0: " (not significantly)", None: ""}
        names = [f"{_marked_name(one)}{said[self.signs.get((PRIOR_BASELINE, one))]}" for one in below]
        values = {(row["model"], row["metric"]): row for row in rows_under(self.page.summary, self.condition)}
        why = [
            f"{label(one)} ({number(own['value'], one)} against {number(other['value'], one)})"
            for one in self._directed(name for name in table.headline if name != metric.name)
            for own, other in [(values[PRIOR_BASELINE, one.name], values[below[0], one.name])]
            if None not in (own["value"], other["value"]) and _is_better(own, other, one)
        ]
        name, better = _marked_name(PRIOR_BASELINE), "higher" if metric.higher_is_better else "lower"
        better_in = f"; {name} is better than {_marked_name(below[0])} in {joined(why[:_MOST_METRICS])}" if why else ""
        return [
            f"{name} gives the most frequent answers and reads no {table.provenance.unit}.",
            f"Its value is {better} than the values of {joined(names)}{better_in}.",
        ]

    def good_score(self) -> list[tuple[str, str]]:
        """Return what tells a good score from a poor one: (term, value) of direction, range and random answers."""
        metric = self.metric
        better = {True: "higher", False: "lower", None: "neither higher nor lower"}[metric.higher_is_better]
        # In a user's own table a metric may have only a name.
        is_undescribed = metric == Metric(name=metric.name, label=metric.name)
        if self.page.table.provenance.benchmark is None and is_undescribed:
            better = "higher (assumed: the table does not say)"
        found = [("better", better), ("possible", range_words(metric) or "any number")]
        if (random := self.chances.get(metric.name)) is not None:
            found.append(("random answers, on average", number(random, metric)))
        return found

    def _directed(self, names: Iterable[str]) -> list[Metric]:
        """Return the metrics with a better direction."""
        metrics = map(self.page.table.metric, names)
        return [metric for metric in metrics if metric.higher_is_better is not None]

    def _verdicts(self, one: str, others: Sequence[str], signs: Iterable[int | None]) -> list[str]:
        """Return for each sign a clause: which of the others have this verdict against a model."""
        groups = [(sign, [other for other in others if self.signs.get((one, other)) == sign]) for sign in signs]
        return [f"{_are(names)} {_VERDICTS[sign]}" for sign, names in groups if names]

    def _too_few(self) -> str:
        """Return that no difference could be significant, even if the two of a pair differed in every participant.

        Empty if a difference could be significant, and where no test compares the rows.
        """
        pairs = self.pairs.drop_nulls("p")
        few = "" if pairs.is_empty() else too_few_to_differ(self.page.table, pairs, pairs["family"][0])
        compared = joined([plural(count, kind) for kind, count in self.kinds.items()])
        return f"{few} {'is' if few.startswith('1 ') else 'are'} too few to compare {compared}" if few else ""

    def _compared(self) -> list[str]:
        """Return sentences: which others are significantly worse than the best, and whether any difference can be."""
        table = self.page.table
        if not self.signs:
            return []
        found = []
        if said := [] if self.all_worse else self._verdicts(self.best[0], self.judged, (1,)):
            both = f"on the {pluralize(table.provenance.unit)} that both have"
            found = [f"Compared with {_marked_name(self.best[0])} {both}: {said[0]}."]
        pairs = self.pairs.drop_nulls("p_min")
        possible = (pairs["p_min"] * pairs["family"] < ALPHA).any()
        if not (pairs.is_empty() or possible or self._too_few()):
            found.append(
                f"No two models have different values for enough {pluralize(drawn(table, self.page.chosen))}: no "
                "difference can be significant."
            )
        return found

    def _beside_random(self, model: str) -> str:
        """Return the end of a sentence about a model's value: how it compares with random answers on average."""
        expected, row = self.chances.get(self.metric.name), self.above_chance.get(model)
        if expected is None or row is None:
            return ""
        average = number(expected, self.metric)
        if row["low"] is None:
            return f"; random answers score {average} on average"
        verdict = _BESIDE_RANDOM[_side(row, self.metric)]
        return (
            f" and is {verdict} than random answers, which score {average} on average ({_difference(row, self.metric)})"
        )

    def random_answers(self) -> list[str]:
        """Return a sentence: which models are better than random answers on average, and which are worse.

        If that average is unknown for the primary metric, the sentence says how models compare with baseline/chance;
        without this baseline, it names metrics of the best model. The finding of a single model says it itself.
        """
        table, metric, known = self.page.table, self.metric, self.chances
        if metric.higher_is_better is None:
            return []
        if metric.name in known:
            average = f"Random answers score {number(known[metric.name], metric)} on average"
            beside = [self.above_chance[row["model"]] for row in self.models if row["model"] in self.above_chance]
            if len(self.models) == 1 or not beside:
                return []
            clauses = []
            for side, verdict in _BESIDE_RANDOM.items():
                rows = [row for row in beside if row["low"] is not None and _side(row, metric) == side]
                names = [f"{_marked_name(row['model'])} ({_difference(row, metric)})" for row in rows]
                clauses += [f"{_first(names)} {'is' if len(rows) == 1 else 'are'} {verdict}"] if rows else []
            return [f"{average}: {'; '.join(clauses)}." if clauses else f"{average}."]
        drawn_once = [row for row in self.rows if row["model"] == CHANCE_BASELINE]
        named = [row["model"] for row in self.models if row["model"] != CHANCE_BASELINE]
        if drawn_once and named and self.signs:
            value = number(drawn_once[0]["value"], metric)
            said = "; ".join(self._verdicts(CHANCE_BASELINE, named, (-1, 1, 0, None)))
            return [f"Compared with one set of random answers, {_marked_name(CHANCE_BASELINE)} ({value}): {said}."]
        best = self.models[0]["model"]
        values = {row["metric"]: row for row in rows_under(self.page.summary.filter(model=best), self.condition)}
        bounded = [name for name in table.headline if name in known and values[name]["low"] is not None]
        compared = self._directed(bounded)
        if not compared:
            return []
        beaten = [label(one) for one in compared if _beats(values[one.name], known[one.name], one)]
        name = _marked_name(best)
        return [
            f"{name} can be compared with random answers in {plural(len(compared), 'metric')}; the whole interval of "
            f"{name} is better in {joined(beaten) if beaten else 'none'}."
        ]


def title(page: PageScores) -> str:
    """Return the finding of all conditions, without a full stop: the title of a page."""
    table = page.table
    metric, condition = table.metric(table.primary), table.provenance.condition
    at = "for" if condition == RATER else "in"
    answers = [Answer(page, one) for one in table.conditions]
    if len(answers) == 1:
        return answers[0].finding()
    if metric.higher_is_better is None:
        return _no_direction(metric)
    if is_mixed(table):
        return _no_leader(metric.label)
    answers = [answer for answer in answers if answer.rows]
    if not answers:
        return f"No model has a value of {metric.label} that can be shown"
    are_equal = [answer.rows[0]["value"] == answer.rows[-1]["value"] for answer in answers]
    telling = list(compress(answers, map(not_, are_equal)))
    if not telling:
        return f"All have the same {metric.label} {at} every {condition}"
    shared = [model for model in telling[0].best if all(model in answer.best for answer in telling)]
    if not shared:
        leads: dict[str, list[str]] = {}
        for answer in answers:
            leads.setdefault(_listed(answer.best), []).append(str(answer.condition))
        each = "; ".join(_few([f"{models} {at} {_first(under)}" for models, under in leads.items()]))
        return f"Which model has the {_extreme(metric)} {metric.label} depends on the {condition}: {each}"
    among = next((answer.among for answer in answers if answer.among), "")
    level = [str(answer.condition) for answer in compress(answers, are_equal)]
    but = f" but {_first(level)} (all are equal there)" if level else ""
    found = f"{_are(shared, 'has', 'have')} the {_extreme(metric)} {metric.label}{among} {at} every {condition}{but}"
    if len(shared) > 1:
        return found
    if not (ahead := sum(answer.all_worse for answer in answers)):
        return f"{found}, but is significantly better than all others {at} no {condition}"
    return f"{found}, and is significantly better than all others {at} {ahead} of {plural(len(answers), condition)}"


def answers(page: PageScores) -> list[str]:
    """Return the answer of a page: one paragraph for each condition."""
    with warnings.catch_warnings():
        # Tables of the same numbers give the same warnings.
        warnings.simplefilter("ignore")
        every = [Answer(page, condition) for condition in page.table.conditions]
        return [plain_sentence(" ".join([f"{one.finding()}.", *one.details(), *one.prior()])) for one in every]


def _no_direction(metric: Metric) -> str:
    if metric.own_scale:
        return f"No model can be said to lead: {metric.own_scale}"
    return f"No model is the best: neither higher nor lower values of {metric.label} are better"


def _no_leader(measured: str) -> str:
    return f"No model can be said to lead in {measured}: the runs differ in settings that change answers"


def _is_unnamed(metric: Metric) -> bool:
    """Tell whether the table has values without the name of a metric."""
    return metric.label == "value"


def _noun(metric: Metric) -> str:
    return "mean" if _is_unnamed(metric) and metric.statistic == "mean" else "value"


def _extreme(metric: Metric) -> str:
    return "highest" if metric.higher_is_better else "lowest"


def _is_better(row: Row, other: Row, metric: Metric) -> bool:
    """Tell whether the value of a row is better than the value of another."""
    return bool(metric.sign * (row["value"] - other["value"]) > 0)


def _beats(row: Row, expected: float, metric: Metric) -> bool:
    """Tell whether the whole interval of a value is better than another value; False if the row has no interval."""
    end = row["low" if metric.sign > 0 else "high"]
    return end is not None and metric.sign * (end - expected) > 0


_BESIDE_RANDOM = {1: "better", -1: "worse", 0: "neither clearly better nor clearly worse"}


def _side(row: Row, metric: Metric) -> int:
    """Return 1 where the whole interval of a difference is better than 0, -1 where it is worse, 0 where it has both."""
    worst, best = sorted(metric.sign * row[end] for end in ("low", "high"))
    return 1 if worst > 0 else -1 if best < 0 else 0


def _difference(row: Row, metric: Metric) -> str:
    ends = interval(row["low"], row["high"], metric, signed=True)
    return f"difference {number(row['value'], metric, signed=True)} {ends}"


def _estimate(row: Row, metric: Metric) -> str:
    return f"{number(row['value'], metric)} {interval(row['low'], row['high'], metric)}".rstrip()


_BEGIN, _END = "\ue000", "\ue001"  # mark begin and end of a name; private-use characters, which no script has


def _marked_name(model: str) -> str:
    """Return a name for a sentence, between marks; a person's is followed by its kind."""
    plain = sanitize(model).replace(_BEGIN, "\ufffd").replace(_END, "\ufffd")
    return f"{_BEGIN}{plain}{_END}{called(model).removeprefix(model)}"


def plain_sentence(text: str) -> str:
    """Return a sentence of an answer as text."""
    return text.replace(_BEGIN, "").replace(_END, "")


def sentence(text: str) -> Html:
    """Return a sentence of an answer as markup, in which the names of models stand out."""
    found = []
    for piece in text.split(_BEGIN):
        name, marked, rest = piece.partition(_END)
        found += [element("strong", breakable(name)), escape(sanitize(rest))] if marked else [escape(sanitize(name))]
    return Html("".join(found))


def _first(parts: Sequence[str]) -> str:
    """Return parts as a sentence lists them, as `_few`."""
    return joined(_few(parts))


def _few(parts: Sequence[str]) -> Sequence[str]:
    """Return parts; of more than five, four and the number of the rest."""
    if len(parts) > _MOST_NAMED + 1:
        return [*parts[:_MOST_NAMED], f"{len(parts) - _MOST_NAMED} more"]
    return parts


def _listed(models: Sequence[str]) -> str:
    return _first([_marked_name(model) for model in models])


def _are(models: Sequence[str], one: str = "is", several: str = "are") -> str:
    """Return the names of models with their verb."""
    return f"{_listed(models)} {one if len(models) == 1 else several}"
