"""EQ-Bench 4's tendencies and margins as scores: from role-plays, and from the board's file with its indexes."""

import json
from functools import partial
from pathlib import Path
from statistics import fmean

import polars as pl
import pytest
from commands import QUICK, Call
from eqbench4_files import write_site
from pages import text_of
from polars.testing import assert_frame_equal
from synthetic.roleplays import entries, roleplays, slug

from attune_bench import Scores, score
from attune_bench.benchmarks.eqbench4 import board
from attune_bench.report import figures
from attune_bench.stats.comparability import MixedSettingsError
from attune_data import load_records
from attune_data.kinds import ROLEPLAY
from attune_metrics.eqbench4 import MARGINS, TENDENCIES
from attune_metrics.metric import MetricInputError

PLAYED = roleplays(scenarios=24, seed=3)
YIELDING, ATTUNEMENT = "eqbench4_yielding", "eqbench4_attunement"
OWN_SCALE = (
    f"{ATTUNEMENT!r} cannot rank or compare models: Attunement against neighbours is relative to the model's "
    "neighbours on the board, so that values of two models are not on one scale"
)


@pytest.fixture(scope="module")
def scores() -> Scores:
    return score(ROLEPLAY.collection(PLAYED))


def test_values_are_those_of_the_role_plays_by_scenario(scores: Scores) -> None:
    assert {*scores.metrics} == {f"eqbench4_{name}" for name in (*TENDENCIES, *MARGINS)}
    assert scores.headline == tuple(f"eqbench4_{name}" for name in TENDENCIES)
    for one in PLAYED:
        (row,) = scores.values.filter(model=one.evaluated_model, unit=one.scenario_id).to_dicts()
        assert {name: row[f"eqbench4_{name}"] for name in one.dims} == one.dims
    means = dict(scores.summary(metrics=[YIELDING], resamples=50).select("model", "value").iter_rows())
    own = {model: [one.dims["yielding"] for one in PLAYED if one.evaluated_model == model] for model in means}
    assert means == pytest.approx({model: fmean(values) for model, values in own.items()}, abs=1e-12)


def test_pairs_are_of_the_same_scenario(scores: Scores) -> None:
    row = scores.compare("synthetic/attentive", "synthetic/hasty", metrics=[YIELDING], resamples=200).row(0, named=True)
    values = {(one.evaluated_model, one.scenario_id): one.dims["yielding"] for one in PLAYED}
    gaps = [values["synthetic/attentive", one] - values["synthetic/hasty", one] for one in {name for _, name in values}]
    assert (row["n"], row["difference"]) == (24, pytest.approx(fmean(gaps), abs=1e-12))


def test_types_of_scenarios_are_traits(scores: Scores) -> None:
    found = scores.by("type", metrics=[YIELDING], resamples=50)
    assert found.filter(model="synthetic/even", stratum="generated")["n"].item() == 9
    assert "ego_threat_accountability" in found["stratum"].to_list()
    assert "partner" in scores.by("relationship", metrics=[YIELDING], resamples=50)["stratum"].to_list()


def test_margins_neither_rank_nor_compare(scores: Scores) -> None:
    for verb in (scores.rank, scores.compare_all, partial(scores.compare, "synthetic/even", "synthetic/hasty")):
        with pytest.raises(MetricInputError) as raised:
            verb(metrics=[ATTUNEMENT])
        assert str(raised.value) == OWN_SCALE
    # They are shown, and a comparison of everything leaves them out.
    assert scores.summary(metrics=[ATTUNEMENT], resamples=50)["value"].null_count() == 0
    compared = {*scores.compare_all(resamples=100)["metric"]}
    assert compared == {f"eqbench4_{name}" for name in TENDENCIES}
    (note,) = (one for one in scores.provenance.notes if "margins" in one)
    assert note == (
        "The margins of 6 abilities neither rank nor compare models: each is relative to the model's neighbours on the"
        " board."
    )
    without = [one.model_copy(update={"abilities": {}}) for one in PLAYED]
    assert not any("margins" in one for one in score(ROLEPLAY.collection(without)).provenance.notes)


def test_tendencies_rank_nobody(scores: Scores) -> None:
    with pytest.raises(MetricInputError, match="neither higher nor lower values of it are better"):
        scores.rank(metrics=[YIELDING])


def test_another_judge_of_tendencies_is_not_compared() -> None:
    mixed = [
        one.model_copy(update={"pointwise_judge_model": "b"}) if one.evaluated_model.endswith("even") else one
        for one in PLAYED
    ]
    found = score(ROLEPLAY.collection(mixed))
    with pytest.raises(
        MixedSettingsError, match=r"judge of the tendencies \(for Yielding\) .* b \(of synthetic/even\)"
    ):
        found.compare("synthetic/attentive", "synthetic/even", metrics=[YIELDING])
    found.compare("synthetic/attentive", "synthetic/hasty", metrics=[YIELDING], resamples=50)


def test_the_board_with_its_indexes_scores_as_the_role_plays_do(scores: Scores, tmp_path: Path) -> None:
    write_site(tmp_path, PLAYED)
    cells = load_records(tmp_path / "eqbench4_data.js", ROLEPLAY)
    named = score(cells, index=tmp_path / "transcripts")
    keys = ["model", "unit"]
    for mine, theirs in ((named.values, scores.values), (named.units, scores.units)):
        by = [name for name in keys if name in mine.columns]
        assert_frame_equal(mine.sort(by), theirs.sort(by), check_column_order=False)
    alone = score(cells)
    assert alone.summary(metrics=[YIELDING], resamples=50)["n"].to_list() == [24, 24, 24]
    assert alone.compare_all(metrics=[YIELDING])["n"].to_list() == [0, 0, 0]
    said = "no two models are compared. --index names the folder with <slug>/index.json, which says it."
    assert any(note.endswith(said) for note in alone.provenance.notes)
    assert not any(note.endswith(said) for note in named.provenance.notes)
    unseen = "The file of the board names no judge of tendencies, so models of two judges are compared unseen."
    assert [unseen in one.provenance.notes for one in (alone, named, scores)] == [True, True, False]


def test_an_index_of_another_day_is_refused(tmp_path: Path) -> None:
    write_site(tmp_path, PLAYED)
    cells = load_records(tmp_path / "eqbench4_data.js", ROLEPLAY)
    path = tmp_path / "transcripts" / slug("synthetic/even") / "index.json"
    index = json.loads(path.read_text())
    index["transcripts"].pop()
    path.write_text(json.dumps(index))
    with pytest.raises(MetricInputError, match=r"index\.json: 23 role-plays, the board has 24; are they of one day\?"):
        score(cells, index=tmp_path / "transcripts")
    role_play = {"i": 0, "scenario_id": "s"}
    for listed, said in (
        (None, " is null"),
        ([3], "[0] is 3"),
        ([role_play | {"i": []}], "[0].i is []"),
        ([role_play | {"i": True}], "[0].i is true"),
        ([role_play, role_play | {"scenario_id": " "}], '[1].scenario_id is " "'),
        ([role_play, role_play | {"scenario_id": 5}], "[1].scenario_id is 5"),
        ([role_play | {"relationship": ["a"]}], '[0].relationship is ["a"]'),
    ):
        path.write_text(json.dumps({"transcripts": listed}))
        with pytest.raises(MetricInputError) as caught:
            score(cells, index=tmp_path / "transcripts")
        assert str(caught.value) == f"{path}: $.transcripts{said}; is it the index of another version of the site?"
    path.write_text("{")
    with pytest.raises(MetricInputError, match=r"index\.json: not JSON"):
        score(cells, index=tmp_path / "transcripts")
    path.unlink()
    with pytest.raises(OSError, match=r"index\.json"):
        score(cells, index=tmp_path / "transcripts")


def test_values_beyond_the_scale_are_counted_and_not_scored() -> None:
    first, *rest = PLAYED
    changed = first.model_copy(update={"dims": {**first.dims, "yielding": 12.0, "unheard_of": 1.0}})
    found = score(ROLEPLAY.collection([changed, *rest]))
    row = found.values.filter(model=first.evaluated_model, unit=first.scenario_id)
    assert row[YIELDING].to_list() == [None]
    assert "Not scored: 1 value beyond the scale." in found.provenance.notes
    with pytest.raises(MetricInputError, match="none of 1 role-play has a tendency or a margin"):
        score(ROLEPLAY.collection([first.model_copy(update={"dims": {}, "abilities": {}})]))


@pytest.mark.slow
def test_the_board_is_drawn_with_its_published_intervals() -> None:
    given = entries(PLAYED)
    ratings, published = board(given)
    chart = json.dumps(figures.scores(ratings, frame=published).to_dict())
    for one in given:
        assert f"{one.model}: {one.elo:.0f} [{one.ci_low:.0f}, {one.ci_high:.0f}], n = 24" in chart
    # No pair was tested here.
    assert "differ significantly" not in chart
    with pytest.raises(MetricInputError, match="no entry has a rating"):
        board([one.model_copy(update={"elo": None}) for one in given])
    assert published.select(pl.col("value").is_sorted(descending=True)).item()


@pytest.mark.slow
@pytest.mark.parametrize("licence", [None, "cc-by-4.0"])
def test_a_page_of_ones_own_copy_has_the_texts_and_says_that_they_stay(licence: str | None) -> None:
    stated = {"synthetic": False} | ({} if licence is None else {"licence": licence})
    own = ROLEPLAY.collection([one.model_copy(update=stated) for one in PLAYED[:24]])
    page = text_of(score(own).report(format="html", results=own, transcripts=True, resamples=50))
    assert own[0].turns[1].content in page
    assert own[0].turns[1].monologue in page
    said = "none stated by EQ-Bench 4, so that they may not be passed on without its author's permission"
    assert (said in page) == (licence is None)


@pytest.mark.slow
def test_commands_refuse_margins_in_a_sentence(tmp_path: Path, call: Call) -> None:
    write_site(tmp_path, PLAYED)
    path = str(tmp_path / "s.parquet")
    assert call("score", "--results", str(tmp_path / "transcripts"), "-o", path)[0] == 0
    for verb, *name in (["rank"], ["compare"], ["analyze", "win_rates"], ["analyze", "separation"]):
        status, _, said = call(verb, path, *name, "--metric", ATTUNEMENT)
        assert (status, OWN_SCALE in said) == (2, True), (verb, said)
    _, out, _ = call("report", path, *QUICK)
    assert out.startswith("No model is the best: neither higher nor lower values of Naturalness are better.")
    assert "better than" not in out
    said = call("run", "local", "m", "demo", "--benchmark", "eqbench4", "--base-url", "http://localhost:1/v1")[2]
    assert "EQ-Bench 4 cannot be run; attune-bench score scores its published results" in said
