"""The section of a page where a judge is corrected by people: numbers, warnings, what is hidden, what is refused."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from pages import headings, left_out, section, tables, text_of
from slow_cases import slow_after

from attune_bench import Scores
from attune_bench.stats.labels import read_labels
from attune_metrics import MetricInputError
from attune_metrics.metric import UnreliableIntervalWarning
from attune_metrics.signature import Signature

TITLE = "Judge and people"
EVIL = "<img src=x onerror=alert(1)>"
QUICK: dict[str, Any] = {"resamples": 200}
pytestmark = pytest.mark.filterwarnings("ignore::attune_metrics.metric.UnreliableIntervalWarning")


def frame(models: tuple[str, ...] = ("a", "b"), noise: float = 0.1, clusters: int = 60) -> pl.DataFrame:
    """Return a judge's scores of 60 units, and as a column what people would say."""
    generator = np.random.default_rng(7)
    parts = []
    for place, model in enumerate(models):
        people = generator.beta(4, 3, size=60) * 0.8
        judge = np.clip(people + 0.1 + 0.05 * place + generator.normal(scale=noise, size=60), 0, 1)
        units = {
            "unit": [f"u{unit:02}" for unit in range(60)],
            "cluster": [f"p{unit % clusters:02}" for unit in range(60)],
        }
        parts.append(pl.DataFrame({"model": model, **units, "metric": "warm", "value": judge, "rating": people}))
    return pl.concat(parts)


def scores_of(table: pl.DataFrame) -> Scores:
    about: Any = {"metrics": {"warm": {"label": "Warmth", "low": 0, "high": 1}}, "about": {"unit": "draft"}}
    return Scores.from_table(table.drop("rating"), **about)


def private(scores: Scores) -> Scores:
    return replace(scores, provenance=scores.provenance.model_copy(update={"private": True}))


def rated(table: pl.DataFrame, number: int) -> pl.DataFrame:
    """Return the ratings of so many units, drawn at random."""
    units = np.random.default_rng(11).permutation(60)[:number]
    return table.filter(pl.col("unit").is_in([f"u{unit:02}" for unit in units])).select("model", "unit", "rating")


def page_of(scores: Scores, labels: pl.DataFrame | None, **options: Any) -> str:
    return scores.report(format="html", labels=labels, **QUICK, **options)


def test_the_numbers_are_those_of_debias() -> None:
    table = frame()
    scores, labels = scores_of(table), rated(table, 36)
    page = page_of(scores, labels)
    assert headings(page)[:3] == ["Scores", "Comparisons", "Judge and people"]
    found = section(page, TITLE)
    models, differences, tests = tables(found)
    expected = []
    for row in scores.debias(labels, **QUICK).iter_rows(named=True):
        for kind, ends, n in (("judge", "judge_", 60), ("people", "people_", 36), ("corrected", "", 36)):
            value = f"{row[kind]:.3f} [{row[f'{ends}low']:.3f}, {row[f'{ends}high']:.3f}]"
            expected.append([row["model"], kind, value, str(n)])
    assert [row[:4] for row in models[1:]] == expected
    [pair] = scores.debias_pairs(labels, **QUICK).iter_rows(named=True)
    assert differences[3][:4] == [
        "b", "a", "corrected", f"{pair['corrected']:+.3f} [{pair['low']:+.3f}, {pair['high']:+.3f}]",
    ]  # fmt: skip
    assert tests[1][:3] == ["b", "a", f"{pair['p']:.4f}"]
    differ = int(pair["significant"])
    assert f"A minus B corrected: {differ} of 1 pairs differ (Holm p < 0.05, family of 1)" in text_of(found)
    assert "Every other section has the judge's scores as they are, uncorrected." in text_of(found)


@pytest.mark.slow
def test_the_other_sections_stay_as_they_are() -> None:
    table = frame()
    scores, labels = scores_of(table), rated(table, 36)
    page, plain = page_of(scores, labels), page_of(scores, None)
    assert TITLE not in plain
    assert "corrected by" not in text_of(section(plain, "Scores"))
    signature = Signature.parse(text_of(page).partition("quoted with the numbers: ")[2].split()[0])
    held = read_labels(scores, labels).hash
    assert signature.labels == held
    link = f'<li><a href="#judge-and-people">{TITLE}</a></li>'
    assert link in page
    without = page.replace(section(page, TITLE), "").replace(link, "").replace(f"|labels:{held}", "")
    assert without.split() == plain.split()


@pytest.mark.slow
def test_the_warnings_are_told() -> None:
    table = frame(noise=0.25)
    worst = table.sort("value").group_by("model", maintain_order=True).head(12).select("model", "unit", "rating")
    page = page_of(scores_of(table), worst)
    told = text_of(section(page, TITLE))
    assert "Warning: a: 12 ratings, fewer than 30" in told
    assert "below 0.5: these scores add little by themselves" in told
    assert "the judge scores rated units unlike the others (p < 0.05): were they drawn at random?" in told
    assert "12 ratings" not in section(page, "Methods")


def test_what_is_not_corrected_is_not_called_so() -> None:
    table = frame().with_columns(value=pl.lit(0.5))
    found = section(page_of(scores_of(table), rated(table, 36)), TITLE)
    models, differences = tables(found)
    for row in [models[3], models[6], differences[3]]:
        assert row[row.index("corrected") + 1] == "-"
    assert "the judge scores all rated units the same, so that the slope is undefined" in text_of(found)
    assert "A minus B corrected" not in text_of(found)


def test_one_model_has_no_differences() -> None:
    table = frame(("a",))
    found = section(page_of(scores_of(table), rated(table, 36)), TITLE)
    assert len(tables(found)) == 1
    assert "Holm" not in found


def test_names_are_text() -> None:
    table = frame((EVIL, "b"))
    page = page_of(scores_of(table), rated(table, 12))
    assert "<img" not in page
    assert f"Warning: {EVIL}: 12 ratings" in text_of(section(page, TITLE))


@pytest.mark.parametrize(("clusters", "number"), slow_after(1, [(60, 4), (60, 57), (12, 4)]))
def test_what_is_of_few_people_is_hidden(clusters: int, number: int) -> None:
    # Of 57 of 60, the three others follow: 60 times the mean of all minus 57 times that of the rated.
    table = frame(clusters=clusters)
    scores, labels = private(scores_of(table)), rated(table, number)
    page = page_of(scores, labels)
    found = section(page, TITLE)
    assert "No row has a value of" in text_of(found)
    assert not re.search(r"\d\.\d", " ".join(cell for row in tables(found)[0][1:] for cell in row[1:]))
    assert "the rated drafts, or the others, are of fewer than 5 clusters, not shown" in text_of(found)
    assert "Warning" not in text_of(page)
    for frame_ in (scores.debias(labels, **QUICK), scores.debias_pairs(labels, **QUICK)):
        for name in ("people", "corrected", "slope", "correlation"):
            assert all(f"{value:.3f}" not in text_of(found) for value in frame_[name].drop_nulls())
    shown = section(page_of(scores, labels, small_cells=True), TITLE)
    assert f"{scores.debias(labels, **QUICK)['people'][0]:.3f}" in text_of(shown)


def test_many_people_are_shown() -> None:
    table = frame(clusters=12)
    found = section(page_of(private(scores_of(table)), rated(table, 36)), TITLE)
    assert "not shown" not in found
    # All rated: no others, of whom anything could follow.
    assert "not shown" not in section(page_of(private(scores_of(table)), rated(table, 60)), TITLE)


@pytest.mark.slow
def test_ratings_of_a_model_that_is_not_shown() -> None:
    table = frame(("a", "b", "few")).filter((pl.col("model") != "few") | (pl.col("unit") < "u04"))
    labels = rated(table, 60)
    page = page_of(private(scores_of(table)), labels)
    assert "few" not in {row[0] for row in tables(section(page, TITLE))[0]}
    assert text_of(section(page, TITLE)) == text_of(
        section(
            page_of(
                private(scores_of(table.filter(pl.col("model") != "few"))), labels.filter(pl.col("model") != "few")
            ),
            TITLE,
        )
    )
    alone = page_of(private(scores_of(table)), labels.filter(model="few"))
    assert left_out(alone)[TITLE] == "only models that are not shown are rated"


def test_where_each_cluster_counts_once() -> None:
    table = frame(clusters=12)
    page = page_of(scores_of(table), rated(table, 36), weight="cluster")
    assert left_out(page)[TITLE] == "counts each draft once (--weight unit)"


def test_another_metric() -> None:
    table = frame()
    other = table.with_columns(metric=pl.lit("cold"), value=pl.lit(0.5))
    scores = Scores.from_table(pl.concat([other, table]).drop("rating"))
    assert scores.primary == "cold"
    page = page_of(scores, rated(table, 36), label_metric="warm")
    assert len(tables(section(page, TITLE))) == 3


def test_wrong_use() -> None:
    table = frame()
    scores, labels = scores_of(table), rated(table, 36)
    with pytest.raises(MetricInputError, match="the labels have no rating"):
        page_of(scores, labels.with_columns(rating=None))
    with pytest.raises(MetricInputError, match="label_metric is 'warm', and there are no labels"):
        page_of(scores, None, label_metric="warm")
    with pytest.raises(MetricInputError, match="no metric 'warmth'; did you mean 'warm'"):
        page_of(scores, labels, label_metric="warmth")
    with pytest.raises(ValueError, match="label_metric and transcripts are for format='html'; 'json' takes none"):
        scores.report(format="json", labels=labels)


@pytest.mark.slow
def test_a_page_warns_of_nothing_that_it_says(recwarn: pytest.WarningsRecorder) -> None:
    table = frame()
    page_of(scores_of(table), rated(table, 12))
    assert [one for one in recwarn if one.category is UnreliableIntervalWarning] == []
