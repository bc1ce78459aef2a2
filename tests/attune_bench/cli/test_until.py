"""`run --until-decided`: looks in a random order of clusters, a stop where the difference is decided, and words."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import Call, strict_json
from model_server import ModelServer, reply

from attune_bench import Scores
from attune_bench.cli.stops import with_stops, write_stop
from attune_bench.cli.until import Until
from attune_bench.runner import RunOutcome
from attune_bench.runner.cost import Meter
from attune_data import load_records
from attune_data.kinds import ITEM

pytestmark = pytest.mark.usefixtures("elsewhere")

DATA = ("demo", "--benchmark", "emobench", "--limit", 32)  # of 32 scenarios
METRIC = "item_accuracy"


@pytest.fixture
def server() -> ModelServer:
    return ModelServer()


def run(call: Call, server: ModelServer, model: str, *more: object, output: str = "results") -> tuple[int, str, str]:
    status, out, err = call("run", "local", model, *DATA, "--base-url", server.url, "-o", output, *more)
    return status, " ".join(out.split()), " ".join(err.split())


def rival(call: Call, server: ModelServer, name: str = "rival.parquet", accuracy: float | None = None) -> Path:
    """Write scores of a model `n`: what it answers, or the same accuracy on every item."""
    assert run(call, server, "n", output="theirs")[0] == 0
    assert call("score", "--results", "theirs", "--data", "demo", "--benchmark", "emobench", "-o", name)[0] == 0
    if accuracy is not None:
        scores = Scores.read(name)
        values = scores.values.with_columns(pl.lit(accuracy).alias(METRIC))
        replace(scores, values=values, variants=None, detail=None).write(name)
    return Path(name)


def files(output: str = "results") -> list[str]:
    return sorted(path.name for path in Path(output).glob("[!._]*.json"))


@pytest.mark.slow
def test_it_stops_where_the_difference_is_decided_and_goes_on_as_a_plain_run(call: Call) -> None:
    with ModelServer() as server:
        path = rival(call, server, accuracy=1.0)
        asked = ("--against", path, "--until-decided", METRIC)
        status, out, err = run(call, server, "m", *asked)
        assert (status, err) == (0, "")
        assert "compared with n after 16, 24, 32 scenarios" in out
        assert "look 1 of 4" not in out, "8 scenarios decide nothing"
        assert "look 2 of 4, 16 of 32 scenarios: Accuracy of m minus n -78.1 [-95.1, -60.3], p = 0.0034 over all" in out
        assert " over all looks: decided stopped: the difference is decided; 16 scenarios with 16 items were not" in out
        assert "look 3" not in out
        assert len(files()) == 16
        assert "results: 16 predictions, one item each" in out
        assert "16/16 items" in out, "the last line is of all looks"
        calls = server.calls
        again = run(call, server, "m", *asked)
        assert server.calls == calls, "nothing is asked twice"
        assert "all from before, nothing was asked" in again[1]
        assert "look 2 of 4, 16 of 32 scenarios" in again[1]

        results = ("--results", "results", "theirs", "--data", "demo", "--benchmark", "emobench")
        said = " ".join(call("compare", *results, "--resamples", 200)[1].split())
        warned = (
            "m was compared while it ran, with n in Accuracy; it stopped early, as the difference was decided, at look "
            "2 of 4, with 16 of 32 scenarios. Intervals and p-values of one look are too optimistic for it; those of "
            "attune-bench compare SCORES --metric item_accuracy --looks 4 --look 2 hold."
        )
        assert warned in said
        assert "To quote" not in said, "the interval of one look does not hold"
        assert call("score", *results, "-o", "both.parquet")[0] == 0
        assert warned in " ".join(call("report", "both.parquet", "--resamples", 200)[1].split())
        assert "To quote: " in call("compare", "both.parquet", "--looks", 4, "--look", 2)[1]
        assert strict_json(call("compare", "both.parquet", "--looks", 4, "--look", 2, "--format", "json")[1])[
            "comparisons"
        ]

        assert run(call, server, "m")[0] == 0
        assert len(files()) == 32
        assert "while it ran" not in call("compare", *results, "--resamples", 200)[1], "all scenarios are there"


@pytest.mark.slow
def test_a_look_compares_what_could_be_run(call: Call) -> None:
    bad = reply("400 Bad Request", json.dumps({"error": {"message": "filtered", "code": "content_filter"}}))
    with ModelServer() as server:
        path = rival(call, server)
    with ModelServer(lambda number, _: bad if number in (31, 61) else None) as server:
        status, out, err = run(call, server, "j", "--against", path, "--until-decided", METRIC, "--concurrency", 1)
    assert (status, err) == (0, "")
    assert "look 2 of 4, 14 of 32 scenarios: Accuracy of j minus n" in out
    assert "look 3 of 4, 24 of 32 scenarios: Accuracy of j minus n" in out, "what failed is run again"
    assert "32/32 items" in out


def test_a_note_of_a_look_stays_until_all_units_are_there(scores: Path, tmp_path: Path) -> None:
    read = Scores.read(scores)
    about: dict[str, Any] = {"model": "n", "metric": read.metrics[METRIC], "looks": 4, "of_clusters": 20}
    for against, look, units, decided in (("r", 3, 15, True), ("q", 1, 5, False), ("r", 1, 5, False)):
        write_stop(
            tmp_path, against=against, look=look, clusters=units, units=units, of_units=20, decided=decided, **about
        )
    (tmp_path / "_until_decided_odd.json").write_text('{"model": "n", "units": 5}', encoding="utf-8")

    def noted(units: int) -> list[str]:
        part = read.keep(groups=[("n", None)], units=read.units["unit"].to_list()[:units])
        kept = part.provenance.notes
        return [one for one in with_stops(part, [str(tmp_path)]).provenance.notes if one not in kept]

    assert ["with r in" in one for one in sorted(noted(15))] == [False, True], "each comparison has its note"
    assert [len(noted(units)) for units in (10, 20)] == [2, 0]


@pytest.mark.slow
def test_a_run_that_decides_nothing_says_so(call: Call) -> None:
    with ModelServer() as server:
        path = rival(call, server)
        status, out, err = run(call, server, "j", "--against", path, "--until-decided", METRIC, "--looks", 2)
        assert (status, err) == (0, "")
        assert out.count("not decided") == 3
        assert "look 2 of 2, 32 of 32 scenarios: Accuracy of j minus n +1.6 [-8.2, +10.2], p = 0.8688" in out
        assert "the difference is not decided with all 32 scenarios" in out
        assert len(files()) == 32
        assert call("score", "--results", "results", "theirs", *("--data", "demo"), "--benchmark", "emobench")[0] == 0
        [note] = Scores.read("scores.parquet").provenance.notes[-1:]
        assert (
            "while it ran, with n in Accuracy; the last comparison was at look 2 of 2, with 32 of 32 scenarios." in note
        )


@pytest.mark.slow
def test_it_looks_at_any_time(call: Call) -> None:
    with ModelServer() as server:
        path = rival(call, server, accuracy=1.0)
        _, out, _ = run(call, server, "m", "--against", path, "--until-decided", METRIC, "--looks", "any")
    assert "compared with n after 12, 13, 15, 16, 18, 20, ... scenarios" in out
    assert "at any time, 12 of 32 scenarios: Accuracy of m minus n " in out
    [note] = Path("results").glob("_until_decided_m_*.json")
    content = json.loads(note.read_bytes())
    assert (content["looks"], content["look"], content["decided"]) == ("any", None, True)
    assert content["clusters"] == 12


@pytest.mark.slow
def test_the_budget_stops_it_before_it_is_decided(call: Call) -> None:
    with ModelServer() as server:
        path = rival(call, server)
        Path("prices.toml").write_text("[j]\ninput = 1000\noutput = 1000\n", encoding="utf-8")
        more = ("--prices", "prices.toml", "--max-cost", 40, "--max-tokens", 100)
        status, out, err = run(call, server, "j", "--against", path, "--until-decided", METRIC, *more, "--allow-mixed")
    assert status == 1
    assert "look 2 of 4" in out
    assert "look 3 of 4" not in out
    assert "Accuracy of j minus n: not decided when the run stopped" in out
    assert "stopped: the limit of 40 USD" in err
    assert 16 <= len(files()) < 24


@pytest.mark.slow
def test_models_that_are_asked_in_other_ways_cost_one_unit(call: Call) -> None:
    with ModelServer() as server:
        path = rival(call, server, accuracy=1.0)
        asked = ("--against", path, "--until-decided", METRIC, "--temperature", 0.1)
        calls = server.calls
        refused = "would stop after one item: the runs differ in settings that change answers"
        warned = " ".join(run(call, server, "m", *asked, "--dry-run")[2].split())
        assert f"{refused}, so their numbers are not comparable: temperature 0.1 (of m), 0.7 (of n). --al" in warned
        for more in (asked[:4], (*asked, "--allow-mixed")):
            assert run(call, server, "m", *more, "--dry-run")[2] == ""
        assert server.calls == calls
        status, _, err = run(call, server, "m", *asked)
        assert status == 2
        assert "the runs differ in settings that change answers" in err
        assert "temperature" in err
        assert len(files()) == 1
        assert server.calls - calls <= 40, "calls of one item"
        status, out, _ = run(call, server, "m", *asked, "--allow-mixed")
        assert status == 0
        assert "stopped: the difference is decided" in out


@pytest.fixture
def scores() -> Path:
    """Return scores of two models on the items of the demonstration data, one item each a scenario."""
    items = [item.id for item in load_records("demo", ITEM)]
    rows = [(model, item, METRIC, 0.5) for model in ("n", "o") for item in items]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    Scores.from_table(frame).write("scores.parquet")
    return Path("scores.parquet")


def test_nothing_is_sent_before_it_is_clear_what_is_compared(call: Call, scores: Path) -> None:
    with ModelServer() as server:
        asked = ("--against", scores, "--until-decided", METRIC, "--against-model", "o")
        status, out, err = run(call, server, "m", *asked, "--dry-run")
        assert (status, err) == (0, "")
        assert "compared with o after 16, 24, 32 units" in out
        wrong: dict[tuple[object, ...], str] = {
            ("--until-decided", METRIC): "--until-decided takes --against SCORES too",
            ("--against", scores): "--against takes --until-decided METRIC too",
            ("--looks", "any"): "--against-model, --looks and --allow-mixed are for --until-decided METRIC",
            asked[:4]: "--against scores.parquet has n, o; name one with --against-model",
            (*asked[:4], "--against-model", "p"): "--against-model p: not in scores.parquet",
            (*asked[:3], "accuracy", *asked[4:]): "no metric 'accuracy'",
            (*asked, "--looks", 21): "looks 21 is not a whole number from 1 to 20",
            (*asked, "--looks", "often"): "'often' is neither a whole number nor any",
            (*asked, "--pairs", 4): "--pairs judges answers to all units",
            (*asked, "--limit", 4): "4 units of the data have scores of o, and fewer than 12 decide nothing",
        }
        for options, message in wrong.items():
            status, out, err = run(call, server, "m", *options)
            assert status == 2, options
            assert message in err
        assert server.calls == 0


def test_scores_of_another_benchmark_and_other_units_are_refused(call: Call, demo_scores: Path, scores: Path) -> None:
    with ModelServer() as server:
        asked = ("--against", demo_scores, "--until-decided", "composite_score")
        assert "has scores of AttuneBench, and this run is of EmoBench" in run(call, server, "m", *asked)[2]
        few = Scores.read(scores)
        few.keep(units=few.units["unit"].to_list()[:4]).write("few.parquet")
        few.keep(groups=[("n", None)]).write("own.parquet")
        own = run(call, server, "n", "--against", Path("own.parquet"), "--until-decided", METRIC)
        assert "--against own.parquet has no model but n, which is run; name scores of another one" in own[2]
        asked = ("--against", Path("few.parquet"), "--until-decided", METRIC)
        _, out, err = run(call, server, "m", *asked, "--against-model", "n")
        assert "30 units left out, without a score of n" in out  # two of the four are among the first 32
        assert "2 units of the data have scores of n, and fewer than 12 decide nothing" in err
        assert server.calls == 0


def test_of_several_conditions_a_look_says_how_many_are_decided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = load_records("demo", ITEM)[:40]

    def scores_of(model: str, stern: float) -> Scores:
        rows = [
            (model, condition, item.id, METRIC, ((place * 7) % 5) / 5 + (0.0 if condition == "plain" else stern))
            for condition in ("plain", "stern") for place, item in enumerate(items)
        ]  # fmt: skip
        columns = ["model", "condition", "unit", "metric", "value"]
        return Scores.from_table(pl.DataFrame(rows, schema=columns, orient="row"))

    def finished(part: Any) -> RunOutcome:
        nothing = Meter(units=0, calls=0)
        return RunOutcome(tmp_path, len(part), 0, 0, 0, (), None, nothing, unread=0, unread_in=0, answers=9)

    # In one condition every value is the same as the rival's, in the other all are higher by about 3.
    own = scores_of("m", 3.0)
    Until("m", scores_of("n", 0.0), METRIC, 2).run(items, finished, lambda _: own)
    out = " ".join(capsys.readouterr().out.split())
    assert "condition stern: " in out
    assert "look 1 of 2: decided in 1 of 2 conditions; the run goes on until all are look 2 of 2, " in out
    assert "look 2 of 2: decided in 1 of 2 conditions the difference is not decided with all 40 units" in out
    # With one condition the sentence of the comparison is all.
    plain = [groups for groups in own.groups if groups[1] == "stern"]
    rival = scores_of("n", 0.0).keep(groups=[("n", "stern")])
    Until("m", rival, METRIC, 2).run(items, finished, lambda _: own.keep(groups=plain))
    assert "decided in" not in capsys.readouterr().out


def test_clusters_come_whole_in_a_random_order_that_stays(scores: Path) -> None:
    read = Scores.read(scores)
    people = read.units.with_columns(cluster=pl.format("p{}", pl.int_range(pl.len()) // 4))
    rival = replace(read, units=people).keep(groups=[("n", None)])
    items = load_records("demo", ITEM)
    stages = Until("m", rival, METRIC, 4).stages(items)
    assert [(len(one.units), one.clusters) for one in stages] == [(60, 15), (80, 20)]
    assert stages == Until("m", rival, METRIC, 4).stages(items)
    cluster = dict(people.select("unit", "cluster").iter_rows())
    for one in stages:
        assert len({cluster[items[place].id] for place in one.units}) == one.clusters
        assert set(one.units) <= set(stages[-1].units)
    first = {cluster[items[place].id] for place in stages[0].units}
    assert first != {f"p{number}" for number in range(5)}
