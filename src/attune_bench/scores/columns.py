"""The frames of any scores: where each comes from, what a row is, what its columns mean.

The words of columns of frames: what a name means wherever it stands, and columns made of such names.

`attune_bench.scores.columns` has the frames of any scores. An analysis has its own in
`attune_bench.scores.columns.Analysis.columns`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import polars as pl

Type = Literal["text", "number", "whole number", "true or false", "object"]


class FrameColumn(NamedTuple):
    """A column of a frame: what it means, its type, and the range of its numbers, None where there is no bound."""

    description: str
    type: Type = "number"
    low: float | None = None
    high: float | None = None


def text(description: str) -> FrameColumn:
    """Return a column of text."""
    return FrameColumn(description, "text")


def whole(description: str, low: float | None = 0) -> FrameColumn:
    """Return a column of whole numbers, counts as a rule."""
    return FrameColumn(description, "whole number", low)


def true_false(description: str) -> FrameColumn:
    """Return a column of true and false."""
    return FrameColumn(description, "true or false")


def share(description: str) -> FrameColumn:
    """Return a column of numbers from 0 to 1."""
    return FrameColumn(description, low=0, high=1)


_COMMON: Mapping[str, FrameColumn] = {
    "model": text("The model; `human/...` is a person who answered, `baseline/...` a baseline."),
    "model_a": text("The first model of the pair."),
    "model_b": text("The second model of the pair."),
    "condition": text(
        "How the model was asked; empty where a benchmark has one way only. Commands call it what the benchmark does, "
        "such as `mode`."
    ),
    "metric": text("The metric, by its name in files of scores."),
    "unit": text("What is scored once: a conversation, a scenario, a question."),
    "cluster": text(
        "What the unit belongs to with others, such as the participant of several conversations; empty where each unit "
        "stands alone."
    ),
    "stratum": text("The part of the units: a value of the trait; of comparisons also `overall`, all units."),
    "value": FrameColumn(
        "The value, in the unit of the metric; reports may print a multiple, such as percent. Empty where it is not "
        "defined."
    ),
    "low": FrameColumn("Lower end of the interval, by default of 95%; empty where there is none."),
    "high": FrameColumn("Upper end of the interval; empty where there is none."),
    "n": whole("How many units the value rests on."),
    "clusters": whole("How many clusters, such as participants, these units come from."),
    "coverage": share(
        "Share of the questions that the model answered, the least where a metric has several tasks; of a metric that "
        "asks none, the share of all units that have a value. Empty where their number is not known."
    ),
    "excluded": whole("How many other units the model was run on that have no value."),
    "difference": FrameColumn("A minus B, in the unit of the metric, on the units of both."),
    "p": share("p-value of the test that exchanges the two sides within each cluster, without correction."),
    "p_min": share("The smallest p-value that this test could have given; few clusters cannot give a small one."),
    "p_holm": share("p-value with Holm's correction for all tests of the family."),
    "significant": true_false("Whether the corrected p-value is below 0.05."),
    "mde": FrameColumn(
        "Minimum detectable effect: the smallest true difference that such a comparison finds with 80% power, before "
        "correction. Empty where no result could be significant.",
        low=0,
    ),
    "rank": FrameColumn("Rank, 1 is the best; ties share their mean rank.", low=1),
    "mark": text("`few`: fewer than 20 clusters. `too few`: fewer than 5, no interval."),
    "reason": text("Why a value or an interval is missing; empty where nothing is."),
    "signature": text("The line to quote: every setting of the analysis, so that somebody else can repeat it."),
    "models": whole("How many models the value rests on."),
    "repeats": whole("How many times the model was asked."),
    "letter": text("The letter of a choice."),
}


def columns(names: str, **own: str | FrameColumn) -> dict[str, FrameColumn]:
    """Return columns by their names, in order: the common ones, and those of a frame's own.

    Parameters
    ----------
    names : str
        Names, with blanks between them.
    **own : str or FrameColumn
        By name what is not common, or means something else here; a text describes a number.

    Raises
    ------
    KeyError
        Where a column is neither common nor given.

    Examples
    --------
    >>> found = columns("model rate", rate="Wins per comparison.")
    >>> found["rate"].type, found["model"].type
    ('number', 'text')
    """
    given = {name: FrameColumn(one) if isinstance(one, str) else one for name, one in own.items()}
    if unused := given.keys() - names.split():
        raise KeyError(f"no such columns: {', '.join(sorted(unused))}")
    return {name: given.get(name) or _COMMON[name] for name in names.split()}


class Frame(NamedTuple):
    """A frame: where it comes from, what a row is, its columns in order; some are there on request only."""

    origin: str
    row: str
    columns: Mapping[str, FrameColumn]
    optional: tuple[str, ...] = ()


_TESTED = "p p_min p_holm significant"
_MARGIN = "margin p_same p_same_holm verdict"
_JUDGED = (
    "metric judge judge_low judge_high people people_low people_high corrected low high slope correlation n labels "
    "clusters label_clusters worth"
)
_OF_JUDGED: Mapping[str, str | FrameColumn] = {
    "judge": "Mean of all scores that the judge gave.",
    "judge_low": "Lower end of its interval.",
    "judge_high": "Upper end of its interval.",
    "people": "Mean of the ratings that people gave.",
    "people_low": "Lower end of its interval.",
    "people_high": "Upper end of its interval.",
    "corrected": "The judge's mean, corrected by the ratings.",
    "low": "Lower end of the interval of the corrected value.",
    "high": "Upper end of the interval of the corrected value.",
    "slope": "By how much people's ratings rise where the judge gives one point more.",
    "correlation": FrameColumn("Pearson's, of judge and people on the rated units.", low=-1, high=1),
    "n": whole("How many units the judge scored."),
    "labels": whole("How many of them people rated."),
    "clusters": whole("How many clusters the scored units come from."),
    "label_clusters": whole("How many clusters the rated units come from."),
    "worth": FrameColumn("How many ratings without a judge would be as precise.", low=0),
    "note": text("Why not to trust the corrected value; empty where nothing speaks against it."),
}
_PAIR_OF_JUDGED = {
    **_OF_JUDGED,
    "p": share("p-value of the corrected difference: 1 minus the level of the interval that just excludes 0."),
}
_KAPPA = {
    "dataset": text("Where the items are from, where the ratings say it."),
    "dimension": text("What was rated."),
    "n": whole("How many items."),
    "clusters": whole("How many clusters the items come from."),
}

FRAMES: Mapping[str, Frame] = {
    "summary": Frame(
        "`report --format csv`, `export` (`summary`), `scores.summary()`",
        "a model, condition and metric",
        columns("model condition metric value low high n clusters coverage excluded reason signature"),
        optional=("signature",),
    ),
    "scores": Frame(
        "`export` (`scores`), `scores.to_csv()`, `scores.to_pandas()`; traits of units are further columns",
        "a model, condition, unit and metric; with `repeat`, a repeat of these",
        columns(
            "model condition unit cluster repeat metric value",
            repeat=text("Which time, where models were asked several times."),
            value="The value of this unit, in the unit of the metric; empty where it is not defined.",
        ),
        optional=("repeat",),
    ),
    "subgroups": Frame(
        "`subset`, `export` (`subgroups`), `scores.by()`",
        "a stratum, metric, model and condition",
        columns(
            f"trait stratum n clusters metric model condition value low high mark reason difference difference_low "
            f"difference_high {_TESTED} signature",
            trait=text("The trait whose values are the strata."),
            difference="Stratum minus its complement: all other units whose value of the trait is known.",
            difference_low="Lower end of the interval of the difference.",
            difference_high="Upper end of the interval of the difference.",
            p=share("p-value of the difference, by resampling the clusters of both sides."),
        ),
        optional=(
            *("trait", "difference", "difference_low", "difference_high"),
            *_TESTED.split(),
            "signature",
        ),
    ),
    "comparisons": Frame(
        "`compare`, `scores.compare()`, `scores.compare_all()`",
        "a pair of models, condition and metric; with `--by`, in a stratum",
        columns(
            f"stratum model_a model_b condition metric difference low high {_TESTED} n clusters mde reason {_MARGIN} "
            "signature",
            low="Lower end of the interval of the difference.",
            high="Upper end of the interval of the difference.",
            margin=FrameColumn("The smallest difference that matters, as it was given.", low=0),
            p_same=share("p-value that the two differ by less than the margin: two one-sided tests."),
            p_same_holm=share("The same with Holm's correction."),
            verdict=text("`different`, `practically the same` or `undecided`, by both corrected p-values."),
        ),
        optional=("stratum", *_MARGIN.split(), "signature"),
    ),
    "ranks": Frame(
        "`rank`, `scores.rank()`",
        "a condition, metric and model",
        columns(
            "condition metric model value rank low high n clusters reason signature",
            low=FrameColumn("Best rank of the interval: other units would have put the model there.", low=1),
            high=FrameColumn("Worst rank of the interval.", low=1),
        ),
        optional=("signature",),
    ),
    "distribution": Frame(
        "`stats`",
        "a model, condition and metric that has a value for each unit",
        columns(
            "model condition metric n mean sd lowest median highest",
            mean="Mean over the units.",
            sd=FrameColumn("Standard deviation over the units (n - 1).", low=0),
            lowest="The lowest value of a unit.",
            median="The median.",
            highest="The highest value of a unit.",
        ),
    ),
    "plan": Frame(
        "`plan`, `scores.plan()`",
        "a pair of models, condition and metric of the pilot; one row where assumptions are stated",
        columns(
            "model_a model_b condition metric difference participants units sd correlation icc units_per_participant "
            "units_cv n clusters mde reason",
            difference=FrameColumn("The difference that is found with 80% power.", low=0),
            participants=whole("How many participants that takes."),
            units=whole("How many units they have together."),
            sd=FrameColumn("Standard deviation of a unit's score, as stated.", low=0),
            correlation=FrameColumn("Correlation of both models' scores on a unit, as stated.", low=-1, high=1),
            icc=share("How alike the differences of one participant are, as stated."),
            units_per_participant=FrameColumn("Mean number of units of a participant.", low=0),
            units_cv=FrameColumn(
                "How unequal participants are: the standard deviation of their numbers of units, over the mean.", low=0
            ),
            n=whole("How many units the pilot has."),
            clusters=whole("How many clusters the pilot has."),
            mde=FrameColumn("Minimum detectable effect of the pilot itself.", low=0),
        ),
    ),
    "judged models": Frame(
        "`debias`, `scores.debias()`",
        "a rated model and condition",
        columns(f"model condition {_JUDGED} reason note signature", **_OF_JUDGED),
        optional=("signature",),
    ),
    "judged differences": Frame(
        "`debias --format json`, `scores.debias_pairs()`; every number is of A minus B",
        "a pair of rated models and condition",
        columns(f"model_a model_b condition {_JUDGED} {_TESTED} reason note", **_PAIR_OF_JUDGED),
    ),
    "ratings needed": Frame(
        "`labels plan`, `attune_bench.stats.debias.plan_labels`",
        "a model and condition of the pilot; one row where numbers are stated",
        columns(
            "model condition metric width sd correlation design_effect pilot n labels reason",
            width=FrameColumn("Width of the interval that is wanted, from end to end.", low=0),
            sd=FrameColumn("Standard deviation of people's ratings (n - 1).", low=0),
            correlation=FrameColumn("Of judge and people.", low=-1, high=1),
            design_effect=FrameColumn(
                "By how much clusters raise the variance of the mean of what the judge leaves unexplained.", low=1
            ),
            pilot=whole("How many ratings the pilot has."),
            n=whole("How many units the judge scored."),
            labels=whole("How many ratings are needed."),
        ),
    ),
    "judges": Frame(
        "`judges`",
        "a data set, dimension and judge",
        columns(
            "dataset dimension judge with_experts with_experts_low with_experts_high among_experts among_experts_low "
            "among_experts_high difference low high verdict shift shift_low shift_high expert_shift judge_shift n "
            "clusters reason",
            **_KAPPA,
            judge=text("The judge."),
            with_experts=FrameColumn("Mean kappa of the judge with each expert.", low=-1, high=1),
            with_experts_low="Lower end of its interval.",
            with_experts_high="Upper end of its interval.",
            among_experts=FrameColumn("Mean kappa of every two experts.", low=-1, high=1),
            among_experts_low="Lower end of its interval.",
            among_experts_high="Upper end of its interval.",
            difference=FrameColumn("The first kappa minus the second.", low=-2, high=2),
            low="Lower end of the interval of the difference.",
            high="Upper end of the interval of the difference.",
            verdict=text("Whether the judge is as close to an expert as another expert is."),
            shift="By how much the judge rates above the experts, on average.",
            shift_low="Lower end of its interval.",
            shift_high="Upper end of its interval.",
            expert_shift=FrameColumn("Largest difference of the mean ratings of two experts.", low=0),
            judge_shift=FrameColumn("Largest difference of the mean ratings of this and another judge.", low=0),
        ),
    ),
    "pairs of raters": Frame(
        "`judges --pairs`",
        "a data set, dimension and pair of raters",
        columns(
            "dataset dimension rater_a rater_b kappa low high shift shift_low shift_high n clusters reason",
            **_KAPPA,
            rater_a=text("The first rater."),
            rater_b=text("The second rater."),
            kappa=FrameColumn("Cohen's kappa of the two.", low=-1, high=1),
            shift="Mean rating of the second rater minus that of the first.",
            shift_low="Lower end of its interval.",
            shift_high="Upper end of its interval.",
        ),
    ),
    "chance": Frame(
        "`report --format json` (`chance`)",
        "a condition and metric",
        columns(
            "condition metric chance n clusters",
            chance="What random answers to these units score on average, in the unit of the metric.",
        ),
    ),
    "file of scores": Frame(
        "`score -o scores.parquet`, `scores.write()`; what it says of metrics and runs is in the footer of the file",
        "a model, condition and unit, under each choice of its variants",
        columns(
            "model condition unit cluster repeat <metric> <term> coverage.<task>.expected coverage.<task>.present "
            "failed.<kind> calls.<outcome> variant.<choice> trait.<name> chance.<metric> detail",
            **{
                "repeat": text("Which time, where models were asked several times; empty in the rows of means."),
                "<metric>": FrameColumn("The value of this unit; empty where it is not defined."),
                "<term>": FrameColumn("A count that a metric of pooled counts is made of, such as `.tp`."),
                "coverage.<task>.expected": FrameColumn("How many questions of a task count.", low=0),
                "coverage.<task>.present": FrameColumn("How many of them have a prediction.", low=0),
                "failed.<kind>": FrameColumn("How often this unit failed in this way.", low=0),
                "calls.<outcome>": FrameColumn("How many calls of this unit ended in this way.", low=0),
                "variant.<choice>": text("The choice that the numbers of this row rest on."),
                "trait.<name>": text("A trait of the unit, of any type."),
                "chance.<metric>": FrameColumn("What random answers to this unit score on average."),
                "detail": text("What the benchmark keeps beyond this, as JSON."),
            },
        ),
        optional=("repeat", "detail"),
    ),
    "models in JSON": Frame(
        "`report --format json` (`models`)",
        "a model and condition",
        columns(
            "model condition n clusters <metric> <metric>_n coverage_<task> failed_<kind> calls_<outcome>",
            **{
                "n": whole("How many units the model was run on."),
                "<metric>": FrameColumn("The value of the metric; empty where it is not defined."),
                "<metric>_n": whole("How many units it rests on."),
                "coverage_<task>": share("Share of the questions of a task that have a prediction."),
                "failed_<kind>": whole("How many units failed in this way."),
                "calls_<outcome>": whole("How many calls ended in this way."),
            },
        ),
    ),
    "leaderboard": Frame(
        "`leaderboard`: `models` of each condition in `board.json`",
        "a model",
        columns(
            "model value rank rank_low rank_high n clusters reason tier tier_first tier_last kind metrics link date "
            "submitter licence library_version runs settings signature",
            value="The value of the metric by which models are ranked.",
            rank_low=FrameColumn("Best rank of the interval.", low=1),
            rank_high=FrameColumn("Worst rank of the interval.", low=1),
            tier=whole("Tier; the paired test does not tell apart the models of one tier.", 1),
            tier_first=whole("First tier with a model that this one is not told apart from.", 1),
            tier_last=whole("Last tier with such a model.", 1),
            kind=text("`model`, `person` or `baseline`."),
            metrics=FrameColumn("By metric, the columns of `summary`.", "object"),
            link=text("Where the model is described, as its entry says."),
            date=text("When it was run, as its entry says."),
            submitter=text("Who submitted it, as its entry says."),
            licence=text("The licence of the model, as its entry says."),
            library_version=text("The version of this library that scored it."),
            runs=text("Hash of what was scored."),
            settings=FrameColumn("The settings of its runs, by name.", "object"),
        ),
    ),
    "metrics": Frame(
        "`export` (`metrics`)",
        "a metric",
        columns(
            "metric label low high higher_is_better statistic source",
            label=text("What reports call it."),
            low="The lowest possible value; infinite where there is no bound.",
            high="The highest possible value; infinite where there is no bound.",
            higher_is_better=true_false("Whether a higher value is better; empty where neither direction is."),
            statistic=text("How values of units make that of a model: `mean`, `share`, or a score of pooled counts."),
            source=text("Where the definition is from."),
        ),
    ),
    "models": Frame(
        "`export` (`models`)",
        "a model",
        columns(
            "model kind synthetic",
            kind=text("`model`, `person` or `baseline`."),
            synthetic=true_false("Whether data or results were generated rather than collected."),
        ),
    ),
    "issues": Frame(
        "`records.issues`, `scores.issues`",
        "a finding about a file",
        columns(
            "file path rule severity value message consequence count",
            file=text("The file."),
            path=text("The place in it: a JSON path, `$` is the whole."),
            rule=text("The rule; the page on issues lists all."),
            severity=text(
                "`error`: the record is left out. `warning`: a value was changed, or contradicts another. `note`."
            ),
            value=text("The value, shortened."),
            message=text("What is wrong with it."),
            consequence=text("What was done."),
            count=whole("How many issues the row stands for.", 1),
        ),
    ),
}
"""By name, the frames of any scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """An analysis, what it needs, and what a report says of it.

    Attributes
    ----------
    function : callable
        ``function(scores, **needs, **options)``, which gives a frame.
    title : str
        Heading.
    note : str
        What the numbers are, in a sentence or two.
    exchanged : str
        For which tests p is corrected, where it is of the two sides of a pair exchanged within clusters.
    metrics : tuple of str, optional
        What it is about where no other metrics are asked for; None where that is its own affair.
    takes_metrics : bool
        Whether other metrics can be asked for.
    needs : tuple of {"data", "results"}
        The keywords it takes beside the scores: the reference data, what was scored.
    rows_need : str
        What scores must have for the frame to have a row.
    estimate : str
        The column of the frame whose interval its columns ``low`` and ``high`` are; where empty, reports show these as
        columns of their own.
    signed : tuple of str
        Columns whose sign matters, so that reports print it.
    by : tuple of str
        Columns that reports make tables by, beside ``condition``, ``reference`` and ``metric``.
    heads : mapping of str to str
        By column its heading, where it is not the name.
    row : str
        What a row of the frame is.
    columns : mapping of str to FrameColumn
        What its columns mean, in order; see `attune_bench.scores.columns.columns`.
    """

    function: Callable[..., pl.DataFrame]
    title: str
    note: str
    exchanged: str = ""
    metrics: tuple[str, ...] | None = None
    takes_metrics: bool = True
    needs: tuple[Literal["data", "results"], ...] = ()
    rows_need: str = "scores of at least one model"
    estimate: str = ""
    signed: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    heads: Mapping[str, str] = field(default_factory=dict)
    row: str = ""
    columns: Mapping[str, FrameColumn] = field(default_factory=dict)
