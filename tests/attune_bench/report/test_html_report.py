"""The page of AttuneBench: what is on it, what is not, and that nothing from data is markup."""

import re
from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest
from pages import Tags, headings, left_out, section, tables, text_of

from attune_bench import Scores, chance, score
from attune_bench.benchmarks.attunebench.baselines import BASELINES
from attune_bench.benchmarks.attunebench.run_analyses import question_agreement
from attune_data import Conversations, Run, load, load_runs
from attune_metrics.signature import Signature

EXCHANGE = "What one participant said, and what the models answered"
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def conversations() -> Conversations:
    return load("demo")


@pytest.fixture(scope="module")
def runs(conversations: Conversations) -> list[Run]:
    return [*load_runs("demo"), *BASELINES["chance"](conversations)]


@pytest.fixture(scope="module")
def scores(conversations: Conversations, runs: list[Run]) -> Scores:
    return score(conversations, runs)


@pytest.fixture(scope="module")
def page(scores: Scores, conversations: Conversations, runs: list[Run]) -> str:
    return scores.report(format="html", data=conversations, results=runs, resamples=200)


@pytest.fixture(scope="module")
def tags(page: str) -> Tags:
    return Tags(page)


@pytest.mark.slow
def test_a_section_for_each_subject(page: str) -> None:
    assert headings(page) == [
        EXCHANGE,
        "Scores",
        "Profiles",
        "Comparisons",
        "Win rates: Pairwise accuracy",
        "Ratings: Pairwise accuracy",
        "Separation of models",
        "What the metrics are about",
        "Pairwise accuracy",
        "Profile of the four branches",
        "Perspective gap",
        "Turn drift: OM accuracy",
        "Turn drift: Emotion VA",
        "Misreads in a row: Emotion F1",
        "After an unwanted or a missing behaviour",
        "Subgroups",
        "Emotion VA by diagnosis",
        "Agreement by question",
        "Methods",
        "Limits",
        "Data",
    ]
    assert list(left_out(page))[:3] == [
        "Differences between modes",
        "Correlation of metrics without noise",
        "Difficulty of conversations",
    ]


@pytest.mark.slow
def test_the_line_of_random_answers_is_that_of_the_data(scores: Scores, page: str) -> None:
    # Every comparison of the demo has a winner.
    expected = dict(chance(scores).select("metric", "chance").rows())
    assert expected["avg_pairwise_accuracy"] == 0.5
    assert "random answers on these data" in section(page, "Pairwise accuracy")
    board = text_of(section(page, "Scores"))
    assert "Random answers on these data score on average: Composite 39.42, Emotion F1 0.082, " in board
    assert f", Four-branch normalized {expected['four_branch_normalized']:.3f}." in board
    profiles = section(page, "Profiles")
    assert "<title>random answers on these data, OM accuracy: 0.500</title>" in profiles
    assert "random answers on these data, Evaluation quality: " in profiles


@pytest.mark.slow
def test_correlations_are_drawn_of_six_models(conversations: Conversations) -> None:
    drawn = [(f"random {seed}", run) for seed in range(6) for run in BASELINES["chance"](conversations, seed=seed)]
    runs = [run.model_copy(update={"em_model": name}) for name, run in drawn]
    page = score(conversations, runs).report(format="html", resamples=50)
    said = text_of(section(page, "Correlation of metrics without noise"))
    # Models that answer at random differ by chance alone.
    assert "Above: observed. 1: the same order of the models. " in said
    assert "pairs without a number below: one of the two has a reliability below 0.3" in said


@pytest.mark.slow
def test_the_values_are_those_of_the_analyses(scores: Scores, page: str) -> None:
    summary = scores.summary(metrics=["composite_score"], resamples=200)
    assert summary.height == 3
    said = text_of(page)
    for row in summary.iter_rows(named=True):
        assert f"{row['model']} {row['value']:.2f} [{row['low']:.2f}, {row['high']:.2f}]" in said
    (first, *_) = scores.compare_all(metrics=["composite_score"], resamples=200).iter_rows(named=True)
    ends = f"[{first['low']:+.2f}, {first['high']:+.2f}]"
    assert f"{first['model_a']} {first['model_b']} {first['difference']:+.2f} {ends}" in said
    # The main one of two metrics that are compared is in the comparisons of any scores, the other in our own section.
    found = text_of(section(page, "Pairwise accuracy"))
    assert re.search(r"Pairwise accuracy, mode default: \d of \d pairs differ", found)


def test_nothing_is_fetched(page: str, tags: Tags) -> None:
    for tag, attributes in tags.found:
        assert tag not in {"img", "iframe", "object", "embed", "form", "base", "image", "use", "audio", "video"}
        assert "src" not in attributes
        # Links lead to sections of the page.
        assert attributes.get("href") in {None, "data:,"} or (tag == "a" and str(attributes["href"])[0] == "#")
    assert "url(" not in page
    assert "@import" not in page
    policy = next(found["content"] for tag, found in tags.found if found.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert sum(tag == "script" for tag, _ in tags.found) == 1


def test_questions_are_one_table(page: str, scores: Scores, conversations: Conversations, runs: list[Run]) -> None:
    part = section(page, "Agreement by question")
    [[head, *rows]] = tables(part)
    assert head == ["question", "about", "OM", "HP", "gap"]
    first = rows[0]
    assert first[:2] == ["B1 Does the response acknowledge the emotion expressed in the HP's message?", "perceiving"]
    # Random answers are no model.
    frame = question_agreement(scores, data=conversations, results=runs, resamples=50)
    of_models = frame.filter(pl.col("question") == "B1", pl.col("model").str.starts_with("synthetic/"))
    for cell, task in zip(first[2:4], ("binary_om", "binary_human"), strict=True):
        values = of_models.filter(task=task)["agreement"].to_list()
        assert cell == f"{sum(values) / 2:.3f} {min(values):.3f} to {max(values):.3f}"
    assert "mean of 2 models, below it the lowest and the highest" in text_of(part)
    assert "\ufffd" not in page


def test_every_element_is_closed(tags: Tags) -> None:
    assert tags.open == []


def test_figures_are_named_and_marks_say_their_numbers(tags: Tags) -> None:
    drawings = [found for tag, found in tags.found if tag == "svg"]
    assert len(drawings) > 10
    # Bars and bands of the ranking repeat the numbers beside them.
    named = [found for found in drawings if found.get("aria-hidden") != "true"]
    assert len(drawings) - len(named) == 6
    assert all(found["aria-label"] and found["role"] == "img" for found in named)
    assert sum(tag == "title" for tag, _ in tags.found) > 100


def test_no_participant_and_no_conversation_is_named(page: str, conversations: Conversations) -> None:
    people = {conversation.participant_id for conversation in conversations} - {None}
    assert len(people) == 24
    assert [name for name in (*people, *(one.id for one in conversations)) if str(name) in page] == []
    # Of generated data, one exchange is quoted.
    others = page.replace(section(page, EXCHANGE), "")
    said = {message[:40] for one in conversations for turn in one.turns for message in turn.responses.values()}
    assert [message for message in said if message and message in others] == []


@pytest.mark.slow
def test_the_baselines_of_a_ranking_are_defined() -> None:
    data = load("demo")[:8]
    chosen = {one.id for one in data}
    runs = [run for run in load_runs("demo") if run.conversation_id in chosen]

    def said(*names: str) -> str:
        baselines = [run for name in names for run in BASELINES[name](data)]
        return text_of(score(data, [*runs, *baselines]).report(format="html", resamples=20))

    both = said("prior", "chance")
    assert "prior: Answer every question as most other participants answered it" in both
    assert "chance: Draw every answer at random." in both
    assert "lexicon: " not in both
    assert "Baselines, which use no model" not in said()


def test_subgroups_without_a_value_are_a_sentence() -> None:
    def of(count: int) -> str:
        data = load("demo")[:count]
        chosen = {one.id for one in data}
        runs = [run for run in load_runs("demo") if run.conversation_id in chosen]
        scores = score(data, runs)
        return scores.report(format="html", data=data, resamples=20)

    said = "Subgroups: diagnosis group: fewer than 5 participants, not shown. category: fewer than 5 participants, not"
    few = of(8)
    assert said in text_of(few)
    assert "Subgroups with their numbers" not in few


def test_skewed_scores_are_one_warning_with_labels() -> None:
    def page_of(far: float | None) -> str:
        rows = [
            (model, f"u{unit:02}", metric, (unit >> place) % 2 if far is None or unit != place else far)
            for place, model in enumerate("ab")
            for unit in range(12)
            for metric in ("hit", "rate")
        ]
        frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
        metrics = {"hit": {"label": "Hits"}, "rate": {"label": "Rate"}}
        return Scores.from_table(frame, metrics=metrics).report(format="html", resamples=200)

    def warned(page: str) -> list[str]:
        return re.findall(r"Warning: [^<]*far from the rest[^<]*", section(page, "Methods"))

    skewed, plain = page_of(90.0), page_of(None)
    [said] = warned(skewed)
    assert said.startswith("Warning: some means of Hits, Rate ")
    assert " depend on a few units far from the rest. In simulations " in said
    assert warned(plain) == []


def test_a_title_that_rests_on_doubtful_tests_points_at_the_warning_of_them() -> None:
    def top(*far: float) -> str:
        values = {"a": [0.1, 0.2] * 6, "b": [*far, *[0.2, 0.1] * 6][:12]}
        rows = [(model, f"u{unit}", "hit", value) for model, own in values.items() for unit, value in enumerate(own)]
        frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
        return text_of(Scores.from_table(frame).report(format="html", resamples=200)).partition("Ranking by")[0]

    notice = "The title rests on tests of differences that a few units decide: the warning in Methods says how far to"
    assert notice in top(90.0)
    assert notice not in top()


def test_no_value_of_a_few_participants(page: str, scores: Scores, conversations: Conversations) -> None:
    groups = scores.by("diagnosis_group", data=conversations, metrics=["composite_score"], resamples=10)
    few = groups.filter(groups["clusters"] < 5)
    assert few.height > 0

    def shown(markup: str) -> dict[tuple[str, str], str]:
        [head, *rows] = tables(section(markup, "Subgroups"))[0]
        return {(row[0], row[1]): row[head.index("Composite")] for row in rows}

    hidden, whole = (
        shown(text) for text in (page, scores.report(format="html", data=conversations, resamples=10, small_cells=True))
    )
    for row in few.iter_rows(named=True):
        assert hidden[row["stratum"], row["model"]] == "-"
        assert f", {row['stratum']}: " not in page
    for row in groups.iter_rows(named=True):
        assert whole[row["stratum"], row["model"]].startswith(f"{row['value']:.2f}")
    # AnxDep and none are of many people, and the rest of all is.
    assert {stratum for (stratum, _), value in hidden.items() if value != "-"} == {"AnxDep", "none"}


@pytest.mark.slow
def test_a_figure_hides_the_groups_that_the_tables_hide(
    page: str, scores: Scores, conversations: Conversations
) -> None:
    def groups(markup: str) -> set[str]:
        drawn = section(markup, "Emotion VA by diagnosis")
        return set(re.findall(r"<title>[^<]*, ([^<,]+): [^<]* without a diagnosis", drawn))

    assert groups(page) == {"any", "AnxDep"}
    whole = scores.report(format="html", data=conversations, resamples=10, small_cells=True)
    assert groups(whole) == {"any", "AnxDep", "ADHD", "ASD", "other"}


@pytest.mark.slow
def test_calls_are_counted(make_scores: Callable[..., Scores]) -> None:
    calls = {"parsed": 5, "repaired": 2, "retried": 1, "failed": 0}
    page = make_scores(["a", "b"], conversations=6, calls=calls).report(format="html", resamples=20)
    [table] = tables(section(page, "Calls"))
    assert table == [
        ["model", "calls", "parsed", "repaired", "retried", "failed", "of conversations"],
        ["a", "48", "30", "12", "6", "0", "6"],
        ["b", "48", "30", "12", "6", "0", "6"],
    ]


@pytest.mark.slow
def test_small_cells_show_single_conversations(scores: Scores) -> None:
    whole = scores.report(format="html", resamples=50, small_cells=True)
    assert "Difficulty of conversations" in headings(whole)
    drawn = section(whole, "Difficulty of conversations")
    # Points at one place have one title.
    titles = re.findall(r"<title>(?:(\d+) of: )?mean ", drawn)
    assert sum(int(number or 1) for number in titles) == 40


@pytest.mark.slow
def test_what_was_not_given_is_named(scores: Scores, conversations: Conversations) -> None:
    bare = left_out(scores.report(format="html", resamples=50))
    assert bare["Subgroups"] == "need the conversations (--data)"
    assert bare["Agreement by question"] == "needs the conversations and the run files (--data, --results)"
    with_data = scores.report(format="html", data=conversations, resamples=50)
    assert "Subgroups" in headings(with_data)
    assert "Subgroups" not in left_out(with_data)
    assert "Agreement by question" in left_out(with_data)


def test_methods_and_limits(page: str) -> None:
    methods = text_of(section(page, "Methods"))
    assert "AttuneBench, scored by the protocol documented, with attune-bench" in methods
    assert "Protocol: which definition counts where the documentation and the released scorer differ." in methods
    assert "Signature (every setting, hashes of data, runs, settings), to be quoted with the numbers: attune" in methods
    assert "200 resamples, seed 0: participants are drawn, each with all of its conversations" in methods
    assert "in one mode" in methods
    assert methods.count("An expanded percentile interval lies between two quantiles of the resampled values.") == 1
    limits = text_of(section(page, "Limits"))
    assert "agreement with what the participant reported, not the emotional intelligence of a model" in limits
    signature = re.search(r"attune:\S+seed:\d+", methods)
    assert signature is not None
    parsed = Signature.parse(signature[0])
    assert (parsed.n, parsed.clusters, parsed.boot, parsed.seed) == (40, 24, 200, 0)


def test_a_metric_is_explained(page: str, scores: Scores) -> None:
    table, settings = tables(section(page, "Methods"))
    kinds = {name: kind for name, kind, *_ in settings[1:]}
    assert kinds == {name: name.partition("/")[0].replace("synthetic", "model") for name in scores.models}
    rows = {row[0]: row[1:4] for row in table[1:]}
    assert len(rows) == len(scores.headline)
    assert rows["Composite"] == ["0 to 100", "higher", "mean over conversations"]
    assert rows["PANAS baseline-adjusted"] == ["-1 to 1", "higher", "mean over conversations"]


@pytest.mark.slow
def test_the_options_are_those_that_were_asked_for(scores: Scores) -> None:
    page = scores.report(format="html", resamples=50, seed=3, level=0.9, unit="conversation", interval="percentile")
    said = text_of(page)
    assert "90% intervals by resampling conversations (percentile)" in text_of(section(page, "Scores"))
    # A coverage may be 95% too.
    assert not re.search(r"95%( bootstrap)? interval", said)
    assert "expanded" not in said
    assert "50 resamples, seed 3: conversations are drawn." in said
    assert "level:0.9|" in said
    assert "interval:percentile|" in said


@pytest.mark.slow
def test_bca_leaves_out_what_has_no_such_interval(scores: Scores) -> None:
    page = scores.report(format="html", resamples=50, interval="bca")
    assert left_out(page)["Ratings"] == "a strength has no BCa interval"


@pytest.mark.slow
def test_same_seed_same_bytes(scores: Scores) -> None:
    assert scores.report(format="html", resamples=50) == scores.report(format="html", resamples=50)
    assert scores.report(format="html", resamples=50) != scores.report(format="html", resamples=50, seed=1)


@pytest.mark.slow
def test_two_modes(make_scores: Callable[..., Scores]) -> None:
    page = make_scores(["a", "b"], ["default", "verbose"], conversations=6).report(format="html", resamples=50)
    differences = text_of(section(page, "Differences between modes"))
    assert "Mode verbose minus default" in differences
    assert "Difference: the mode minus the reference" in differences
    assert "Composite. Mode verbose." not in page
    assert page.count("Mode verbose.") == page.count("Mode default.") > 2
    assert "a [verbose]" in page


@pytest.mark.slow
@pytest.mark.parametrize("name", [EVIL, "\u202eright", "a|b", "x" * 400, "</script><script>alert(1)</script>"])
def test_names_are_text(make_scores: Callable[..., Scores], name: str) -> None:
    plain = make_scores([name, "b", "c"], [name, "default"], conversations=12)
    hostile = replace(
        plain,
        units=plain.units.with_columns(topic=pl.Series([f"{name}{place % 2}" for place in range(12)])),
        provenance=plain.provenance.model_copy(
            update={"notes": (name,), "unit": name, "cluster": name, "condition": name, "title": name}
        ),
        metrics={
            key: replace(metric, label=f"{name} {key}", source=name) if key in plain.headline else metric
            for key, metric in plain.metrics.items()
        },
    )
    page = hostile.report(format="html", resamples=50)
    tags = Tags(page)
    assert tags.open == []
    assert not any(tag == "img" or "onerror" in found for tag, found in tags.found)
    assert sum(tag == "script" for tag, _ in tags.found) == 1
    assert "\u202e" not in page
    assert name.replace("\u202e", "\ufffd") in tags.text


@pytest.mark.slow
def test_names_are_text_in_every_section(conversations: Conversations) -> None:
    names = [EVIL, "\u202eright", "a|b", f"{EVIL}{'x' * 400}"]
    runs = [
        run.model_copy(update={"em_model": name, "mode": mode})
        for name in names
        for mode, of_mode in (("default", BASELINES["chance"](conversations)), (EVIL, load_runs("demo")[:40]))
        for run in of_mode
    ]
    hostile = Conversations(
        [
            one.model_copy(update={"metadata": one.metadata.model_copy(update={"category": f"{EVIL}{place % 3}"})})
            for place, one in enumerate(conversations)
        ]
    )
    page = score(hostile, runs).report(format="html", data=hostile, results=runs, resamples=20)
    assert len(headings(page)) == 21
    tags = Tags(page)
    assert tags.open == []
    assert not any(tag == "img" or "onerror" in found for tag, found in tags.found)
    assert "\u202e" not in page
    unnamed = {"What the metrics are about", "After an unwanted or a missing behaviour", "Limits", "Data"}
    assert unnamed < set(headings(page))
    assert [heading for heading in headings(page) if EVIL not in text_of(section(page, heading))] == [
        heading for heading in headings(page) if heading in unnamed
    ]
    assert f"{EVIL}2" in text_of(section(page, "Subgroups"))


@pytest.mark.parametrize("conversations", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_one_model_few_conversations(make_scores: Callable[..., Scores], conversations: int) -> None:
    page = make_scores(conversations=conversations).report(format="html", resamples=20, small_cells=True)
    assert left_out(page)["Comparisons"] == "the scores have one model"
    assert headings(page)[0] == "Scores"


def test_scores_without_rows_are_refused(make_scores: Callable[..., Scores]) -> None:
    with pytest.raises(ValueError, match="no scores to report: the table has no row"):
        make_scores([]).report(format="html")


def test_what_a_page_takes_is_refused_for_a_text(scores: Scores) -> None:
    taken = "data, results, small_cells, margin, labels, label_metric and transcripts"
    with pytest.raises(ValueError, match=f"{taken} are for format='html'; 'json' takes none"):
        scores.report(format="json", small_cells=True)


@pytest.mark.slow
def test_other_conversations_for_the_subgroups_are_another_signature(scores: Scores) -> None:
    def signature(part: Conversations) -> str:
        (found,) = re.findall(r"attune:[^<]*", scores.report(format="html", data=part, resamples=50))
        return str(found)

    whole = load("demo")
    assert signature(whole) != signature(whole[:30])
    assert signature(whole) == signature(whole[::-1])
