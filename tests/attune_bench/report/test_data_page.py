"""The page of the data: values by hand, findings that follow the data, nothing about few people."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browsers import axe_script, browsers, choose_scheme, serious_violations
from commands import Call
from pages import text_of

from attune_bench.benchmarks.attunebench.measures import measures
from attune_bench.report.data_figures import figure_of, ordered
from attune_bench.report.data_findings import findings, title
from attune_bench.report.data_page import data_html, measure_table
from attune_bench.report.measures import MeasuredGroup, Measures, measured_group
from attune_bench.report.plots import drawn
from attune_bench.stats.options import MIN_CLUSTERS
from attune_data import Conversation, Conversations, load
from attune_data.attunebench.records import Metadata
from attune_metrics.stats.comparison import holm

FEW_RESAMPLES: Any = {"resamples": 400}
Change = Callable[[str, Conversation], str]


@cache
def measured(records: Conversations) -> Measures:
    return measures(records)


def asked_of(records: Conversations, traits: dict[str, list[str]] | None = None, **options: Any) -> MeasuredGroup:
    return group_of(records, json.dumps(traits or {}), **{**FEW_RESAMPLES, **options})


@cache
def group_of(records: Conversations, traits: str, **options: Any) -> MeasuredGroup:
    return measured_group(records, json.loads(traits), measures=measured(records), **options)


def frames(asked: MeasuredGroup) -> dict[str, pl.DataFrame]:
    return {family.title: frame for family, frame in asked.families}


def with_answers(records: Conversations, question: str, observed: Change, wanted: Change) -> Conversations:
    """Return conversations with other answers to one question; a function is given the answer and the conversation."""

    def changed(record: Conversation) -> Iterator[Any]:
        for turn in record.turns:
            given = turn.annotations.binary_judgements
            new = [
                one.model_copy(
                    update={
                        "observed_behavior": observed(one.observed_behavior or "", record),
                        "preferred_behavior": wanted(one.preferred_behavior or "", record),
                    }
                )
                if one.question_id == question
                else one
                for one in given
            ]
            annotations = turn.annotations.model_copy(update={"binary_judgements": tuple(new)})
            yield turn.model_copy(update={"annotations": annotations})

    return Conversations([record.model_copy(update={"turns": tuple(changed(record))}) for record in records])


# Values.


def test_values_of_a_conversation_are_counted_by_hand() -> None:
    records = load("demo")
    row = measures(records).table.values.row(0, named=True)
    record = records[0]
    assert row["unit"] == record.id
    judged = [one for turn in record.turns for one in turn.annotations.binary_judgements if one.question_id == "B206"]
    both = [one for one in judged if {one.observed_behavior, one.preferred_behavior} <= {"yes", "no"}]
    assert row["observed B206"] == sum(one.observed_behavior == "yes" for one in both) / len(both)
    assert row["wanted B206"] == sum(one.preferred_behavior == "yes" for one in both) / len(both)
    assert row["gap B206"] == pytest.approx(row["wanted B206"] - row["observed B206"], abs=1e-12)
    words = [{tag.emotion for tag in turn.mood_shift_tags} for turn in record.turns]
    assert row["emotion upset"] == sum("Upset" in tags for tags in words) / len(words)
    assert row["turn 1 negative"] == float(bool(words[0] & {"Upset", "Distressed", "Hostile"}))
    pairs = [pair for turn in record.turns for pair in turn.annotations.pairwise_comparisons]
    chosen = [
        (pair.response_a if pair.winner == "A" else pair.response_b) == "human"
        for pair in pairs
        if {pair.response_a, pair.response_b} == {"human", "original"} and pair.winner
    ]
    assert row["human over original"] == sum(chosen) / len(chosen)
    assert row["positive affect"] == record.post_panas.total_positive_affect - record.pre_panas.total_positive_affect  # type: ignore[operator]
    assert row[f"topic {record.metadata.category}"] == 1


def test_means_are_over_conversations_with_intervals_by_participant() -> None:
    asked = asked_of(load("demo").where(category=["Family", "Work"]))
    family = frames(asked)["What replies did, and what people wanted"]
    found = family.drop_nulls("low").row(0, named=True)
    values = asked.table.values[found["metric"]].drop_nulls()
    assert found["value"] == pytest.approx(values.mean(), abs=1e-12)
    assert found["n"] == len(values)
    assert found["low"] < found["value"] < found["high"]
    assert found["value"] == pytest.approx(found["first"] - found["second"], abs=1e-9)


@pytest.mark.slow
def test_p_is_corrected_over_the_measures_of_a_family() -> None:
    records = load("demo")
    for asked in (asked_of(records), asked_of(records, {"om_model": ["synthetic-om-a"]}, compare=True)):
        for frame in frames(asked).values():
            if "p" in frame.columns:
                expected = holm(frame["p"].fill_null(float("nan")))
                assert frame["p_holm"].fill_null(float("nan")).to_list() == pytest.approx(expected, nan_ok=True)


def test_others_have_a_known_value_of_the_trait() -> None:
    records = load("demo")
    silent = records[0].participant_profile
    silent = silent.model_copy(update={"demographics": silent.demographics.model_copy(update={"diagnoses": ()})})
    changed = Conversations([records[0].model_copy(update={"participant_profile": silent}), *records[1:]])
    asked = asked_of(changed, {"diagnosis": ["ADHD"]}, compare=True)
    assert asked.others is not None
    assert (len(asked.part), len(asked.others), records[0].id in asked.others.unit_ids) == (8, 31, False)


# What the page says first.


@pytest.mark.slow
def test_findings_follow_the_data() -> None:
    records = load("demo")
    said = findings(asked_of(records, resamples=4000))
    assert re.fullmatch(
        r'Wanted and observed differ significantly in \d+ of 36 .* most in "B109 .*": wanted 100\.0%, .* 3\.4%\.',
        said[0],
    )
    agreeing = records
    for question in sorted({name.removeprefix("gap ") for name in measures(records).table.metrics if "gap" in name}):
        agreeing = with_answers(agreeing, question, lambda _, __: "yes", lambda _, __: "yes")
    assert findings(asked_of(agreeing, resamples=4000))[0].startswith(
        "Wanted and observed do not differ significantly in any question"
    )


def test_a_few_people_cannot_show_a_difference_and_the_page_says_so() -> None:
    said = " ".join(findings(asked_of(load("demo"), {"diagnosis": ["ADHD"]})))
    assert "in any question of 30, and could not: the smallest possible Holm p is" in said
    assert "The group has only 6 participants" in said
    whole = " ".join(findings(asked_of(load("demo"), resamples=4000)))
    assert "could not" not in whole
    assert "has only" not in whole


@pytest.mark.slow
def test_a_comparison_of_few_people_names_the_largest_differences() -> None:
    asked = asked_of(load("demo"), {"diagnosis": ["ADHD"]}, compare=True)
    said = findings(asked)
    assert said[0] == "None of 82 tested differences is significant; this does not show that the groups are alike."
    assert said[1].startswith("The largest differences of the page, in percentage points or in hundredths of a scale,")
    shares = [
        (family.title, row)
        for family, frame in asked.families
        if "PANAS" not in family.about
        for row in frame.drop_nulls("p").to_dicts()
    ]
    largest = sorted(shares, key=lambda one: -abs(one[1]["difference"]))[:3]
    assert len({name for name, _ in largest}) == 2
    for (name, row), text in zip(largest, said[2:5], strict=True):
        assert text.startswith(f'{name}, "{asked.table.metrics[row["metric"]].label}": ')
        assert f", difference {100 * row['difference']:+.1f} [" in text
        assert text.endswith(f", n = {row['clusters']} and {row['other_clusters']} participants.")
    assert said[5].startswith("In brackets: 95% intervals, each of one difference alone.")
    # The largest is named without a test, too: here all of one group have the same value.
    adhd = {record.id for record in load("demo").where(diagnosis="ADHD")}
    change: Change = lambda _, record: "yes" if record.id in adhd or record.id > "f" else "no"  # noqa: E731
    apart = with_answers(load("demo"), "B8", lambda _, __: "yes", change)
    named = findings(asked_of(apart, {"diagnosis": ["ADHD"]}, compare=True))[2:5]
    assert any('"B8 ' in text and ", not tested, n = " in text for text in named)
    enough = asked_of(load("demo"), {"om_model": ["synthetic-om-a"]}, compare=True, resamples=4000)
    assert not any("largest differences" in text for text in findings(enough))


def test_each_section_says_its_own_measure() -> None:
    asked = asked_of(load("demo"), {"diagnosis": ["ADHD"]}, compare=True)
    abouts = {family.title: family.about for family, _ in asked.families}
    assert len(set(abouts.values())) == len(abouts)
    assert "after the conversation minus the PANAS total before" in abouts["Change of mood"]
    assert "Above 0 (right), people wanted it more often than they got it" in abouts["Wanted minus observed"]
    page = text_of(data_html(asked))
    assert all(" ".join(about.split()) in " ".join(page.split()) for about in abouts.values())


@pytest.mark.slow
def test_a_figure_says_which_interval_alone_would_be_a_finding() -> None:
    asked = asked_of(load("demo"), {"diagnosis": ["ADHD"]}, compare=True, resamples=4000)
    said = {family.title: figure_of(asked, family, frame).caption for family, frame in asked.families}
    gaps = frames(asked)["Wanted minus observed"]
    alone = gaps.filter((pl.col("difference_low") > 0) | (pl.col("difference_high") < 0))["metric"].to_list()
    assert alone == ["gap B315"]
    words = "Not significant after this, although the interval of the difference leaves out 0: "
    assert f'{words}"{asked.table.metrics["gap B315"].label}".' in said["Wanted minus observed"]
    assert words not in said["Mood after"]
    assert "p-values are corrected for the 29 tests (Holm)" in said["Wanted minus observed"]
    group = asked_of(load("demo"), {"diagnosis": ["ADHD"]})
    assert re.search(rf"{words}\d+ differences\.", figure_of(group, *group.families[0]).caption)
    assert "corrected" not in figure_of(group, *group.families[1]).caption


def test_a_figure_says_why_a_mark_has_no_interval() -> None:
    asked = asked_of(load("demo"), {"diagnosis": ["ADHD"]}, compare=True)
    for family, frame in asked.families:
        said = figure_of(asked, family, frame).caption
        ends = [row for row in frame.to_dicts() if family.places or row["difference"] is not None]
        ends = ends if family.places else ordered(family, frame).drop_nulls("difference").head(12).to_dicts()
        flat = any(
            row[value] is not None and row[low] is None
            for row in ends
            for value, low in (("value", "low"), ("other", "other_low"))
        )
        assert ("all participants of the group have the same value" in said) == flat


def test_sentences_are_whole_on_phones() -> None:
    asked = asked_of(load("demo"), {"diagnosis": ["ADHD"]}, compare=True)
    family, frame = asked.families[0]
    figure = figure_of(asked, family, frame)
    for drawing in drawn(figure.chart, "").split("<svg ")[1:]:
        words = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", drawing))
        assert all(row.name in words for row in figure.chart.rows)
        height = float(re.search(r'viewBox="0 0 \d+ (\d+)"', drawing)[1])  # type: ignore[index]
        assert all(float(y) < height for y in re.findall(r'<text x="[^"]*" y="([^"]*)"', drawing))


def test_a_figure_has_the_values_of_both_groups() -> None:
    asked = asked_of(load("demo"), {"diagnosis": ["ADHD"]}, compare=True)
    family, frame = next((family, frame) for family, frame in asked.families if family.title == "Mood after")
    plot = figure_of(asked, family, frame).chart
    row = ordered(family, frame).row(0, named=True)
    [marks] = plot.rows[0].marks
    assert [(mark.at, mark.low, mark.high) for mark in marks] == [
        (row["value"], row["low"], row["high"]),
        (row["other"], row["other_low"], row["other_high"]),
    ]
    assert len({(mark.shape, mark.colour, mark.shift) for mark in marks}) == 2


def test_numbers_have_p_with_and_without_correction_the_largest_difference_first() -> None:
    asked = asked_of(load("demo"), {"diagnosis": ["ADHD"]}, compare=True)
    for family, frame in asked.families:
        table = measure_table(asked, family, frame)
        heads = [column.head for column in table.columns]
        assert heads[heads.index("p") + 1] == "Holm p"
        found = [abs(row["difference"]) for row in table.rows if row["difference"] is not None]
        is_sorted = found == sorted(found, reverse=True)
        assert table.notes[0].startswith("The largest difference is first.") == (not family.places)
        assert family.places or is_sorted


def test_each_side_says_why_a_value_has_no_interval() -> None:
    for frame in frames(asked_of(load("demo"), {"diagnosis": ["ADHD"]}, compare=True)).values():
        for row in frame.drop_nulls("value").to_dicts():
            for side, low in (("Diagnosis ADHD", "low"), ("the others", "other_low")):
                said = f"no interval in {side}: all participants have the same value"
                assert (said in (row["reason"] or "")) == (row[low] is None)


@pytest.mark.slow
def test_counts_are_of_both_groups_and_hide_few_people() -> None:
    records = load("demo")
    page = text_of(data_html(asked_of(records, {"diagnosis": ["ADHD"]}, compare=True, resamples=50)))
    page = " ".join(page.split())
    assert page.index("number of") < page.index("Share of the turns")
    assert "conversations 8 32 participants 6 18" in page
    assert "ADHD 6 0 Anxiety disorder few few" in page
    assert "few: a number below 5" in page
    shown = data_html(asked_of(records, {"diagnosis": ["ADHD"]}, compare=True, resamples=50, small_cells=True))
    told = " ".join(text_of(shown).split())
    assert "Anxiety disorder 3" in told
    assert "few: a number below 5" not in told


def test_a_comparison_without_a_test_claims_no_result() -> None:
    untested = asked_of(load("demo"), {"diagnosis": ["ASD"]}, compare=True, small_cells=True)
    assert title(untested) == "Diagnosis ASD and the others: no difference could be tested (3 against 21 participants)"
    assert findings(untested)[0] == "No difference could be tested."


def test_captions_say_the_level_of_the_intervals() -> None:
    page = text_of(data_html(asked_of(load("demo"), level=0.9)))
    assert "Lines through the points are 90% intervals by resampling participants" in page
    assert "Bands are 90% intervals by resampling participants" in page
    assert "95%" not in page


@pytest.mark.slow
def test_the_title_of_a_comparison_is_its_result() -> None:
    records, traits = load("demo"), {"diagnosis": ["none"]}
    group = {record.id for record in records.where(diagnosis="none")}
    same = asked_of(records, {"diagnosis": ["ADHD"]}, compare=True, resamples=4000)
    assert title(same) == "Diagnosis ADHD and the others: no significant difference (6 against 18 participants)"
    changed = []
    for number, record in enumerate(records):
        total = (50 if record.id in group else 20) + number % 5
        after = record.post_panas.model_copy(update={"total_positive_affect": total})
        changed.append(record.model_copy(update={"post_panas": after}))
    apart = asked_of(Conversations(changed), traits, compare=True, resamples=4000)
    assert re.match(r"Diagnosis none and the others differ in [23] of ", title(apart))
    first, second, *others = findings(apart)
    assert {text.partition(",")[0] for text in (first, second)} == {"Mood after", "Change of mood"}
    assert re.search(
        r"positive affect after: 5\d\.\d against 2\d\.\d, difference \+\d\d\.\d \[.*\], Holm p <0\.0", first + second
    )
    assert any("Holm p: corrected for the other tests of the section, not for other sections." in one for one in others)
    assert not any("alike" in text for text in (first, second, *others))


@pytest.mark.slow
def test_a_group_is_not_compared_by_what_it_was_chosen_for() -> None:
    asked = asked_of(load("demo"), {"category": ["Family"]}, compare=True)
    assert "Topics" not in frames(asked)
    assert "Topics" in frames(asked_of(load("demo"), {"om_model": ["synthetic-om-a"]}, compare=True, small_cells=True))


def test_a_table_has_sizes_only_where_some_record_has_no_value() -> None:
    asked = asked_of(load("demo"), {"diagnosis": ["ADHD"]}, compare=True)
    heads = {family.title: [one.head for one in measure_table(asked, family, frame).columns]
             for family, frame in asked.families}  # fmt: skip
    notes = {family.title: measure_table(asked, family, frame).notes[0] for family, frame in asked.families}
    assert {name for name, head in heads.items() if "n" in head} == {
        name for name, said in notes.items() if " n: " in said
    }
    assert "n" not in heads["Emotions by name"]
    assert "n" in heads["What people wanted of replies"]


@pytest.mark.slow
def test_only_data_that_are_all_invented_are_about_nobody() -> None:
    records = load("demo")
    real = records[0].model_copy(update={"metadata": Metadata(category="Family")})
    said = "nothing here is about a real person"
    assert said in data_html(asked_of(records, resamples=50))
    mixed = data_html(asked_of(Conversations([real, *records[1:]]), resamples=50))
    assert (said in mixed, "SYNTHETIC data among real data." in mixed) == (False, True)


# Few people.


@pytest.mark.parametrize(
    "traits",
    [{"diagnosis": ["ADHD"]}, {"diagnosis": ["none"]}, {"om_model": ["synthetic-om-a"]}, {"category": ["Family"]}],
    ids=str,
)
@pytest.mark.parametrize("compare", [False, True])
def test_no_value_rests_on_few_people(traits: dict[str, list[str]], compare: bool) -> None:
    asked = asked_of(load("demo"), traits, compare=compare)
    for frame in frames(asked).values():
        for value, clusters in (("value", "clusters"), ("other", "other_clusters")):
            if value in frame.columns:
                shown = frame.drop_nulls(value)
                assert (shown[clusters] >= MIN_CLUSTERS).all()
        if compare:
            # Without one side, the difference would give the other away.
            hidden = frame.filter(pl.col("value").is_null() | pl.col("other").is_null())
            assert hidden["difference"].is_null().all()
            assert hidden["p"].is_null().all()


def test_topics_of_few_people_are_counted_together() -> None:
    records = load("demo")
    school = {record.participant_id for record in records if record.metadata.category == "School"}
    assert len(school) < MIN_CLUSTERS
    found = frames(asked_of(records))["Topics"]
    assert "topic School" not in found["metric"].to_list()
    # One alone would follow from the others: it is counted with the next.
    joined = [name for name in found["metric"] if name.endswith("others")]
    assert joined == ["2 others"]
    assert "topic School" in frames(asked_of(records, small_cells=True))["Topics"]["metric"].to_list()


@pytest.mark.parametrize("compare", [False, True])
def test_a_group_of_few_people_has_no_page(compare: bool) -> None:
    with pytest.raises(ValueError, match=r"Diagnosis ASD: fewer than 5 participants, .* \(--small-cells\)"):
        asked_of(load("demo"), {"diagnosis": ["ASD"]}, compare=compare)
    assert title(asked_of(load("demo"), {"diagnosis": ["ASD"]}, small_cells=True)) == (
        "Diagnosis ASD: 8 conversations by 3 participants"
    )


def test_others_of_few_people_are_not_compared_with() -> None:
    records = load("demo")
    part = records.where(diagnosis="ADHD") | records.where(diagnosis="ASD")
    with pytest.raises(ValueError, match="the others: fewer than 5 participants"):
        asked_of(Conversations(list(part)), {"diagnosis": ["ADHD"]}, compare=True)


# The command.


def test_describe_writes_the_page(call: Call, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    given = ("describe", "demo", "--where", "diagnosis=ADHD", "--html", page, "--resamples", "500")
    assert call(*given)[0] == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("<h1>") == 1
    assert "<h1>Diagnosis ADHD: 8 conversations by 6 participants</h1>" in text
    assert "SYNTHETIC" in text
    assert "Topics: each rests on fewer than 5 participants" in text
    assert "http://" not in text.replace("http://www.w3.org", "")


@pytest.mark.slow
def test_a_comparison_is_printed_or_given_as_json(call: Call) -> None:
    given = ("describe", "demo", "--where", "om_model=synthetic-om-a", "--compare", "--resamples", "500")
    status, out, err = call(*given)
    assert (status, err) == (0, "")
    assert out.startswith("Om model synthetic-om-a: 14 conversations by 12 participants; the others: ")
    assert "corrected for the tests of each table" in " ".join(out.split())
    found = json.loads(call(*given, "--format", "json")[1])
    rows = found["preferred_replies"]
    assert {row["metric"] for row in rows} == {"human over alternate", "human over original", "alternate over original"}
    differences = [abs(row["difference"]) for row in rows]
    assert differences == sorted(differences, reverse=True)
    assert {"value", "other", "difference", "p_holm"} <= rows[0].keys()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("demo", "--compare"), "a comparison needs a group: choose one by a trait (--where)"),
        (("demo", "--compare", "--benchmark", "eibench"), "scenarios have no measures to compare; leave out --compare"),
        (("demo", "--html", "page.txt"), "--html page.txt does not end in .html; try --html page.html"),
        (("demo", "--small-cells"), "--small-cells is for --html and --compare; leave it out"),
        (("demo", "--html", "no/page.html"), "no such folder: no"),
    ],
)
def test_mistakes_are_one_line(call: Call, words: tuple[str, ...], said: str) -> None:
    status, out, err = call("describe", *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_other_records_have_a_page_of_counts(call: Call, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert call("describe", "demo", "--benchmark", "eibench", "--html", page)[0] == 0
    text = page.read_text(encoding="utf-8")
    assert "<h1>16 scenarios</h1>" in text
    assert "Traits" in text


@pytest.mark.slow
def test_the_page_fits_a_phone_and_can_be_read_by_everybody(tmp_path: Path) -> None:
    records = load("demo")
    pages = {"all.html": asked_of(records), "group.html": asked_of(records, {"diagnosis": ["ADHD"]}, compare=True)}
    axe = axe_script(tmp_path)
    with browsers() as start:
        for name, asked in pages.items():
            path = tmp_path / name
            path.write_text(data_html(asked), encoding="utf-8")
            for scheme in ("light", "dark"):
                for width in (1280, 400):
                    browser = start(width)
                    choose_scheme(browser, scheme)
                    browser.get(path.as_uri())
                    browser.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
                    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
                    assert serious_violations(browser, axe) == []
                    letters = browser.execute_script(
                        "return getComputedStyle(document.querySelector('figure svg')).fill"
                    )
                    assert (letters == "rgb(27, 31, 36)") is (scheme == "light")
                    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
