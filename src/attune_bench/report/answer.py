"""The answer of a report: what it says first of one condition, in sentences."""

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from attune_bench.report.columns import drawn, interval, label, number, range_words, signs_of, words_under
from attune_bench.report.elements import breakable
from attune_bench.report.page_scores import PageScores
from attune_bench.report.tables import called, rows_under
from attune_bench.scores.provenance import CHANCE_BASELINE, PRIOR_BASELINE, GroupKind, kind_of_group
from attune_bench.stats.comparability import differences
from attune_bench.stats.options import ALPHA
from attune_data.issues import Html, element
from attune_data.text import joined, plural, pluralize, sanitize
from attune_metrics.metric import Metric

_MOST_NAMED = 4
_MOST_METRICS = 2

Rows = Sequence[Mapping[str, Any]]


def chances(page: PageScores, condition: str | None) -> dict[str, float]:
    """Return what random answers score on average, by metric, as far as it is known and may be shown."""
    return {row["metric"]: row["chance"] for row in rows_under(page.chance.drop_nulls("chance"), condition)}


def sentences(page: PageScores, condition: str | None) -> list[str]:
    """Return the sentences about one condition: the finding, then the `details`."""
    return [f"{finding(page, condition)}.", *details(page, condition)]


def title(page: PageScores) -> str:
    """Return the finding of all conditions, without a full stop: the title of a page."""
    table = page.table
    if len(table.conditions) == 1:
        return finding(page, table.conditions[0])
    metric, name = table.metric(table.primary), table.provenance.condition
    if metric.higher_is_better is None:
        return _no_direction(metric)
    if _is_mixed(page):
        return f"No model can be said to lead in {metric.label}: the runs differ in settings that change answers"
    leaders = {condition: best[0] for condition in table.conditions if (best := _best(page, condition))}
    if not leaders:
        return f"No model has a value of {metric.label} that can be shown"
    one = _best(page, next(iter(leaders)))
    shared = [model for model in one if all(model in _best(page, condition) for condition in leaders)]
    if not shared:
        each = [f"{_marked_name(model)} in {condition}" for condition, model in leaders.items()]
        more = [f"{len(each) - _MOST_NAMED} more"] if len(each) > _MOST_NAMED + 1 else []
        said = joined([*each[:_MOST_NAMED], *more] if more else each)
        return f"Which model has the {_extreme(metric)} {metric.label} depends on the {name}: {said}"
    first = shared[0]
    ahead = sum(_all_worse(page, condition, first) for condition in leaders)
    among = _among(metric, *(with_value(page, condition) for condition in leaders))
    found = f"{_marked_name(first)} has the {_extreme(metric)} {metric.label}{among} in every {name}"
    return f"{found}, and is significantly better than all others in {ahead} of {plural(len(leaders), name)}"


def finding(page: PageScores, condition: str | None) -> str:
    """Return what the scores of one condition show, without a full stop.

    The best is the model with the best value. The finding compares the best model with all other models, people and
    baselines. If there is no model, the best row of any kind is the best.
    """
    table = page.table
    metric, under = table.metric(table.primary), words_under(table, condition)
    rows = with_value(page, condition)
    if not rows:
        return f"No model has a value of {metric.label}{under} that can be shown"
    if metric.higher_is_better is None:
        return _no_direction(metric)
    models, best = _of_models(rows), _best(page, condition)
    others = [row["model"] for row in rows if row["model"] != best[0]]
    if not others:
        return f"{_marked_name(best[0])} has the value {_estimate(models[0], metric)} in {metric.label}{under}"
    if _is_mixed(page):
        return f"No model can be said to lead in {metric.label}{under}: the runs differ in settings that change answers"
    signs, few = _signs(page, condition), _too_few(page, condition, rows)
    if len(models) == 1:
        value = f"{_marked_name(best[0])} has the value {_estimate(models[0], metric)} in {metric.label}{under}"
        return "; ".join([value, *([few] if few else _verdicts(signs, best[0], others))])
    among = _among(metric, rows)
    if signs and all(sign == 0 for sign in signs.values()):
        kinds = [pluralize(kind) for kind in _KINDS if any(kind_of_group(row["model"]) == kind for row in rows)]
        first = [row["model"] for row in rows if row["value"] == rows[0]["value"]] if among else best
        lead = f"{_listed(first)} {_have(first)} the {_extreme(metric)} value"
        lead += f", {_listed(best)} the {_extreme(metric)}{among}" if among else ""
        none = f"{few} in" if few else f"No two {joined(kinds)} differ significantly in"
        return f"{none} {metric.label}{under}; {lead}"
    found = f"{_listed(best)} {_have(best)} the {_extreme(metric)} {metric.label}{under}{among}"
    if not signs:
        return f"{found}; no test compares the models"
    if _all_worse(page, condition, best[0]):
        worse = f"{_marked_name(others[0])} is" if len(others) == 1 else "all others are"
        return f"{found}, and {worse} significantly worse"
    near = [one for one in others if one not in best and signs.get((best[0], one)) == 0]
    above = [one for one in others if signs.get((best[0], one)) == -1]
    said = [f"{_listed(names)} {_are(names)} {what}" for names, what in (
        (above, _VERDICTS[-1]), (near, _VERDICTS[0])
    ) if names]  # fmt: skip
    return "; ".join([found, *said])


def details(page: PageScores, condition: str | None) -> list[str]:
    """Return the sentences below a finding: value, comparisons, random answers, models without a value."""
    table = page.table
    metric = table.metric(table.primary)
    rows = with_value(page, condition)
    if not rows:
        return []
    models, found = _of_models(rows), []
    if metric.higher_is_better is not None and len(models) > 1:
        best = _best(page, condition)
        value = _estimate(models[0], metric)
        found = [
            f"The value of {_listed(best)} in {metric.label} is {value}.",
            *_compared(page, best[0], rows, condition),
        ]
    lacking = [row["model"] for row in rows_under(page.ranking, condition) if row["value"] is None]
    without = [f"{_listed(lacking)} {_have(lacking)} no value that can be shown."] if lacking else []
    return [*found, *_random_answers(page, condition, models), *without]


_KINDS: tuple[GroupKind, ...] = ("model", "person", "baseline")
_VERDICTS = {
    1: "significantly worse", -1: "significantly better", 0: "not significantly different", None: "not compared",
}  # fmt: skip


_AGAINST_RANDOM = {
    -1: "significantly better than random answers", 1: "significantly worse than random answers",
    0: "not significantly different from random answers", None: "not compared with random answers",
}  # fmt: skip


def _no_direction(metric: Metric) -> str:
    return f"No model is the best: neither higher nor lower values of {metric.label} are better"


def _among(metric: Metric, *ranked: Rows) -> str:
    """Return " of the models" if in some ranking the first row, of any kind, is better than the first model."""
    beaten = any(_is_better(rows[0], _of_models(rows)[0], metric) for rows in ranked)
    return " of the models" if beaten else ""


def _too_few(page: PageScores, condition: str | None, rows: Rows) -> str:
    """Return that no difference could be significant, even if the two of a pair differed in every participant.

    Empty if a difference could be significant, and where no test compares the rows.
    """
    pairs = [] if page.pairs.is_empty() else rows_under(page.pairs, condition)
    sizes = [row["clusters"] for row in pairs if row["p"] is not None]
    if not sizes or 2 * 0.5 ** max(sizes) * pairs[0]["family"] < ALPHA:
        return ""
    counts = Counter(kind_of_group(row["model"]) for row in rows)
    compared = joined([plural(counts[kind], kind) for kind in _KINDS if counts[kind]])
    drawn_units = plural(max(sizes), drawn(page.table, page.chosen))
    return f"{drawn_units} {'is' if max(sizes) == 1 else 'are'} too few to compare {compared}"


def _extreme(metric: Metric) -> str:
    return "highest" if metric.higher_is_better else "lowest"


def _is_mixed(page: PageScores) -> bool:
    return page.table.provenance.mixed and bool(differences(page.table))


def _best(page: PageScores, condition: str | None) -> list[str]:
    """Return the models with the best value; if several models share the best value, return all of them."""
    models = _of_models(with_value(page, condition))
    return [row["model"] for row in models if row["value"] == models[0]["value"]]


def _signs(page: PageScores, condition: str | None) -> dict[tuple[str, str], int | None]:
    """Return the verdict on every two models, as `attune_bench.report.columns.signs_of` gives it."""
    pairs = [] if page.pairs.is_empty() else rows_under(page.pairs, condition)
    return signs_of(pairs, page.table.metric(page.table.primary))


def _all_worse(page: PageScores, condition: str | None, best: str) -> bool:
    """Tell whether all others with a value are significantly worse than `best`."""
    signs = _signs(page, condition)
    others = [row["model"] for row in with_value(page, condition) if row["model"] != best]
    return bool(others) and all(signs.get((best, one)) == 1 for one in others)


def _verdicts(signs: Mapping[tuple[str, str], int | None], best: str, others: Sequence[str]) -> list[str]:
    """For each verdict on the best model against others, return a clause that lists the others with this verdict."""
    groups = [([one for one in others if signs.get((best, one)) == sign], said) for sign, said in _VERDICTS.items()]
    return [f"{_listed(names)} {_are(names)} {said}" for names, said in groups if names]


def _compared(page: PageScores, best: str, rows: Rows, condition: str | None) -> list[str]:
    """Return sentences: which others are significantly worse than the best model, and which were not compared with it.

    Empty where no test compares the models.
    """
    table = page.table
    others = [row["model"] for row in rows if row["model"] != best]
    signs = {} if _is_mixed(page) else _signs(page, condition)
    if not signs:
        return []
    found = []
    if said := [] if _all_worse(page, condition, best) else [
        f"{_listed(names)} {_are(names)} {_VERDICTS[sign]}"
        for sign in (1, None)
        if (names := [one for one in others if signs.get((best, one)) == sign])
    ]:  # fmt: skip
        found = [
            f"Compared with {_marked_name(best)} on the {pluralize(table.provenance.unit)} that both have: "
            f"{'; '.join(said)}."
        ]
    pairs = rows_under(page.pairs, condition)
    smallest = min((row["p_min"] for row in pairs if row["p_min"] is not None), default=0)
    if smallest * pairs[0]["family"] >= ALPHA and not _too_few(page, condition, rows):
        found.append(
            f"No two models have different values for enough {pluralize(drawn(table, page.chosen))}: no difference can "
            "be significant."
        )
    return found


def _random_answers(page: PageScores, condition: str | None, models: Rows) -> list[str]:
    """Return a sentence: which models have an interval wholly better than the mean score of random answers.

    If that mean is unknown for the primary metric, the sentence says how models compare with baseline/chance; without
    this baseline, it names metrics of the best model.
    """
    table = page.table
    metric, known = table.metric(table.primary), chances(page, condition)
    if metric.higher_is_better is None:
        return []
    if metric.name in known:
        above = [row["model"] for row in models if _beats(row, known[metric.name], metric)]
        if not above:
            return ["For no model is the whole interval better than the average score of random answers."]
        return [f"The whole interval of {_listed(above)} is better than the average score of random answers."]
    signs = {} if _is_mixed(page) else _signs(page, condition)
    drawn_once = [row for row in with_value(page, condition) if row["model"] == CHANCE_BASELINE]
    named = [row["model"] for row in models if row["model"] != CHANCE_BASELINE]
    if drawn_once and named and signs:
        groups = [([one for one in named if signs.get((CHANCE_BASELINE, one)) == sign], said)
                  for sign, said in _AGAINST_RANDOM.items()]  # fmt: skip
        said = "; ".join(f"{_listed(names)} {_are(names)} {which}" for names, which in groups if names)
        value = number(drawn_once[0]["value"], metric)
        return [f"Random answers ({_marked_name(CHANCE_BASELINE)}) score {value}: {said}."]
    best = models[0]["model"]
    compared = [
        (one, row)
        for row in rows_under(page.summary.filter(model=best).drop_nulls("low"), condition)
        if row["metric"] in known and row["metric"] in table.headline
        if (one := table.metric(row["metric"])).higher_is_better is not None
    ]
    if not compared:
        return []
    beaten = [label(one) for one, row in compared if _beats(row, known[one.name], one)]
    return [
        f"{_marked_name(best)} can be compared with random answers in {plural(len(compared), 'metric')}; the whole "
        f"interval of {_marked_name(best)} is better in {joined(beaten) if beaten else 'none'}."
    ]


def prior_sentences(page: PageScores, condition: str | None) -> list[str]:
    """Return a sentence: the models with a worse value than baseline/prior.

    It names up to two other metrics in which baseline/prior is better than the first of these models. No such model,
    no sentence.
    """
    table = page.table
    metric, rows = table.metric(table.primary), with_value(page, condition)
    prior = next((row for row in rows if row["model"] == PRIOR_BASELINE), None)
    if prior is None or metric.higher_is_better is None:
        return []
    below = [row["model"] for row in rows if kind_of_group(row["model"]) == "model" and _is_better(prior, row, metric)]
    if not below:
        return []
    signs = signs_of([] if page.pairs.is_empty() else rows_under(page.pairs, condition), metric)
    names = [
        f"{_marked_name(one)} ({'' if signs.get((PRIOR_BASELINE, one)) == 1 else 'not '}significantly)" for one in below
    ]
    said = f"{_marked_name(PRIOR_BASELINE)} gives the most frequent answers and reads no {table.provenance.unit}."
    better = "higher" if metric.higher_is_better else "lower"
    said += f" Its value is {better} than the values of {joined(names)}"
    values = {(row["model"], row["metric"]): row for row in rows_under(page.summary, condition)}
    pairs = [
        (one, values[PRIOR_BASELINE, name], values[below[0], name])
        for name in table.headline
        if name != metric.name and (one := table.metric(name)).higher_is_better is not None
    ]
    why = [
        f"{label(one)} ({number(own['value'], one)} against {number(other['value'], one)})"
        for one, own, other in pairs
        if None not in (own["value"], other["value"]) and _is_better(own, other, one)
    ]
    if why:
        better_in = joined(why[:_MOST_METRICS])
        said += f"; {_marked_name(PRIOR_BASELINE)} is better than {_marked_name(below[0])} in {better_in}"
    return [f"{said}."]


def _is_better(row: Mapping[str, Any], other: Mapping[str, Any], metric: Metric) -> bool:
    """Tell whether the value of a row is better than the value of another."""
    return bool(metric.sign * (row["value"] - other["value"]) > 0)


def _beats(row: Mapping[str, Any], expected: float, metric: Metric) -> bool:
    """Tell whether the whole interval of a value is better than another value; False if the row has no interval."""
    end = row["low" if metric.sign > 0 else "high"]
    return end is not None and metric.sign * (end - expected) > 0


def good_score(page: PageScores, condition: str | None) -> list[tuple[str, str]]:
    """Return what tells a good score from a poor one: (term, value) of direction, range and random answers."""
    table = page.table
    metric = table.metric(table.primary)
    better = {True: "higher", False: "lower", None: "neither higher nor lower"}[metric.higher_is_better]
    # In a user's own table a metric may have only a name.
    if table.provenance.benchmark is None and metric == Metric(name=metric.name, label=metric.name):
        better = "higher (assumed: the table does not say)"
    found = [("better", better), ("possible", range_words(metric) or "any number")]
    if (random := chances(page, condition).get(metric.name)) is not None:
        found.append(("random answers, on average", number(random, metric)))
    return found


def with_value(page: PageScores, condition: str | None) -> Rows:
    """Return the rows of the ranking that have a value."""
    return [row for row in rows_under(page.ranking, condition) if row["value"] is not None]


def _of_models(rows: Rows) -> list[Mapping[str, Any]]:
    """Return the rows of models; if no row is of a model, return all rows."""
    return [row for row in rows if kind_of_group(row["model"]) == "model"] or list(rows)


def _estimate(row: Mapping[str, Any], metric: Metric) -> str:
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


def _listed(models: Sequence[str]) -> str:
    """Return names as a sentence has them: of more than five names, four and the number of the rest."""
    names = [_marked_name(model) for model in models]
    if len(names) > _MOST_NAMED + 1:
        names = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]
    return joined(names)


def _have(models: Sequence[str]) -> str:
    return "has" if len(models) == 1 else "have"


def _are(models: Sequence[str]) -> str:
    return "is" if len(models) == 1 else "are"
