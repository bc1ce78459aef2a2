"""Fits of comparisons with ties, terms and a penalty: by hand, by the formulas, and against choix and evalica."""

import json
import subprocess
import venv
from collections.abc import Mapping
from math import inf, isnan, log, nan, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attune_metrics import MetricInputError
from attune_metrics.stats.bradley_terry import Counts, Likelihood
from attune_metrics.stats.pairwise import ComparisonFit, anchor_line, anchored, fit_comparisons
from attune_metrics.stats.sums import Floats

quick = settings(deadline=None, max_examples=40)
EVALICA = Path(__file__).with_name("evalica_bradley_terry.json")
FORMS = [(ties, terms, penalty) for ties in ("half", "davidson") for terms in (0, 2) for penalty in (None, 0.7)]


class Judged(NamedTuple):
    """Comparisons, as `fit_comparisons` takes them."""

    left: Any
    right: Any
    outcome: Any
    clusters: Any
    weights: Any
    terms: Mapping[str, Any]

    def fit(self, **options: Any) -> ComparisonFit:
        left, right, outcome, clusters, weights, terms = self
        return fit_comparisons(left, right, outcome, clusters=clusters, weights=weights, terms=terms, **options)


def judged(seed: int, models: int = 4, n: int = 150, terms: int = 2) -> Judged:
    """Return comparisons of models with ties, in 12 clusters, and terms that decide with them."""
    generator = np.random.default_rng(seed)
    left = generator.integers(models, size=n)
    right = (left + generator.integers(1, models, size=n)) % models
    values = {"position": generator.choice([-1.0, 1.0], size=n), "length": generator.normal(size=n) * 3}
    odds = (left - right) / models + 0.4 * values["position"] - 0.1 * values["length"]
    drawn = odds + generator.logistic(size=n)
    outcome = np.where(np.abs(drawn) < 0.3, 0.5, drawn > 0)
    names = np.array([f"m{place}" for place in range(models)])
    return Judged(
        names[left], names[right], outcome, generator.integers(12, size=n), generator.random(n) + 0.1,
        dict([*values.items()][:terms]),
    )  # fmt: skip


def two(wins: int, losses: int, tied: int = 0, **options: Any) -> ComparisonFit:
    n = wins + losses + tied
    return fit_comparisons(["a"] * n, ["b"] * n, [1] * wins + [0] * losses + [0.5] * tied, clusters=range(n), **options)


# Fits by hand.


def test_a_saturated_fit_with_davidsons_ties() -> None:
    # exp(s - s') is wins over losses; nu is ties over the geometric mean of wins and losses.
    fit = two(6, 2, 4, ties="davidson")
    assert fit.strengths == pytest.approx([log(3) / 2, -log(3) / 2], abs=1e-12)
    assert fit.tie == pytest.approx(4 / sqrt(12), abs=1e-12)
    assert (fit.ties, fit.penalty, fit.terms) == ("davidson", 0, {})
    assert fit.log_likelihood == pytest.approx(6 * log(6 / 12) + 2 * log(2 / 12) + 4 * log(4 / 12), abs=1e-8)


def test_ties_by_half_wins() -> None:
    fit = two(6, 2, 4)
    assert fit.strengths == pytest.approx([log(2) / 2, -log(2) / 2], abs=1e-12)
    assert (fit.ties, fit.tie) == ("half", None)


def test_without_ties_davidsons_fit_is_the_other_one() -> None:
    one, other = (two(3, 1, ties=ties) for ties in ("davidson", "half"))
    assert one.tie == 0
    assert one.strengths.tolist() == other.strengths.tolist()
    assert one.influence == pytest.approx(other.influence, abs=1e-12)


def test_a_penalty_balances_what_it_costs() -> None:
    # The slope of 5 log p + 0 log(1 - p) - penalty / 2 * (s^2 + s^2), with s and -s, is 0: 5 (1 - p) = penalty * s.
    fit = two(5, 0, penalty=0.5)
    strength = fit.strengths[0]
    assert 5 / (1 + np.exp(2 * strength)) == pytest.approx(0.5 * strength, abs=1e-10)
    assert fit.strengths[1] == pytest.approx(-strength, abs=1e-12)
    assert fit.reasons == tuple(f"finite by the penalty alone: {why} every comparison" for why in ("won", "lost"))
    assert fit.groups.tolist() == [1, 1]


def test_a_penalty_joins_groups() -> None:
    left, right, outcome = [*"aabbccdd"], [*"bbaaddcc"], [1, 1, 1, 0, 1, 1, 0, 1]
    apart = fit_comparisons(left, right, outcome, clusters=range(8))
    assert apart.groups.tolist() == [1, 1, 2, 2]
    assert apart.reasons[3] == "compared within group 2 of 2 only"
    assert np.isnan(apart.covariance).tolist() == [[i // 2 != j // 2 for j in range(4)] for i in range(4)]
    joined = fit_comparisons(left, right, outcome, clusters=range(8), penalty=0.1)
    assert joined.groups.tolist() == [1] * 4
    assert set(joined.reasons) == {"finite by the penalty alone: no chains of wins join all 2 groups"}
    assert np.isfinite(joined.covariance).all()


def test_a_model_without_a_comparison_has_no_strength_with_a_penalty_either() -> None:
    fit = fit_comparisons([*"abc"], [*"bab"], [1, 1, 1], clusters=range(3), weights=[1, 1, 0], penalty=1)
    assert isnan(fit.strengths[2])
    assert fit.reasons == (None, None, "no comparison counts")
    assert np.isnan(fit.influence[:, 2]).all()


def test_an_unbeaten_model_leaves_the_terms_to_the_others() -> None:
    data = judged(3)
    better = Judged(
        [*data.left, "best"], [*data.right, "m0"], [*data.outcome, 1], [*data.clusters, 1], [*data.weights, 1],
        {name: [*values, 5.0] for name, values in data.terms.items()},
    )  # fmt: skip
    one, other = data.fit(), better.fit()
    assert isnan(other.strengths[0])
    assert other.reasons[0] == "won every comparison"
    assert other.strengths[1:] == pytest.approx(one.strengths, abs=1e-12)
    assert other.terms == pytest.approx(one.terms, abs=1e-12)


def test_groups_share_a_term() -> None:
    # Of two pairs that never meet, the first one shown wins three of four: each pair alone, and both together.
    pair = Judged([*"ab" * 8], [*"ba" * 8], [1, 1, 1, 1, 1, 1, 0, 0] * 2, range(16), [1] * 16, {"position": [1] * 16})
    other = pair._replace(left=[*"cd" * 8], right=[*"dc" * 8])
    both = Judged(
        pair.left + other.left, pair.right + other.right, pair.outcome * 2, range(32), [1] * 32, {"position": [1] * 32}
    )
    fit = both.fit()
    assert fit.terms["position"] == pytest.approx(log(3), abs=1e-12)
    assert fit.strengths == pytest.approx(np.zeros(4), abs=1e-12)
    assert fit.term_influence["position"].sum() == pytest.approx(0, abs=1e-12)


def test_terms_in_characters_are_fitted_as_well() -> None:
    data = judged(5)
    large = data._replace(terms=dict(data.terms) | {"length": 1e5 * data.terms["length"]})
    one, other = data.fit(), large.fit()
    assert other.terms["length"] * 1e5 == pytest.approx(one.terms["length"], rel=1e-10)
    assert other.strengths == pytest.approx(one.strengths, abs=1e-11)
    assert other.term_influence["length"] * 1e5 == pytest.approx(one.term_influence["length"], abs=1e-11)


# The formulas.


def small(davidson: bool, terms: int, penalty: float) -> tuple[Likelihood, Counts, Floats]:
    """Return a likelihood of three models in six designs, counts of two fits, and parameters."""
    generator = np.random.default_rng(8)
    likelihood = Likelihood(
        np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([0, 1, 4]), np.array([1, 3, 2]),
        generator.normal(size=(terms, 6)), np.zeros(3, dtype=np.intp), davidson, penalty,
    )  # fmt: skip
    tied = generator.random((2, 6))
    counts = Counts(generator.random((2, 6)) + tied / 2, generator.random((2, 6)) + tied / 2, tied)
    return likelihood, counts, generator.normal(size=(2, len(likelihood.start)))


@pytest.mark.parametrize(("ties", "terms", "penalty"), FORMS)
def test_slope_and_curvature_are_derivatives_of_the_objective(ties: str, terms: int, penalty: float | None) -> None:
    likelihood, counts, parameters = small(ties == "davidson", terms, penalty or 0)
    chances = likelihood.chances(parameters)
    slope, curvature = likelihood.slope(counts, chances, parameters), likelihood.curvature(counts, chances)
    # What makes the curvature regular is of the constant vector of strengths alone.
    extra = np.zeros_like(curvature)
    n = (counts.left + counts.right) * (chances.left * chances.right + chances.tie * (chances.left + chances.right) / 4)
    extra[:, :3, :3] = (2 * n.sum(axis=1) / 9)[:, np.newaxis, np.newaxis]
    for place in range(parameters.shape[1]):
        step = np.zeros(parameters.shape[1])
        step[place] = 1e-5
        rise = likelihood.objective(counts, parameters + step) - likelihood.objective(counts, parameters - step)
        assert rise / 2e-5 == pytest.approx(slope[:, place], abs=1e-8)
        slopes = [
            likelihood.slope(counts, likelihood.chances(moved), moved)
            for moved in (parameters + step, parameters - step)
        ]
        assert (slopes[1] - slopes[0]) / 2e-5 == pytest.approx((curvature - extra)[:, place], abs=1e-8)


@pytest.mark.parametrize("ties", ["half", "davidson"])
@given(seed=st.integers(0, 2**32 - 1), terms=st.integers(0, 2))
@quick
def test_what_happened_is_what_was_expected(ties: str, seed: int, terms: int) -> None:
    # What makes parameters the most likely ones: expected sums of wins, of terms and of ties are those observed.
    data = judged(seed, terms=terms)
    fit = data.fit(ties=ties)
    place = {label: position for position, label in enumerate(fit.labels)}
    left, right = ([place[label] for label in side] for side in (data.left, data.right))
    odds = fit.strengths[left] - fit.strengths[right]
    odds += sum(fit.terms[name] * data.terms[name] for name in fit.terms)
    z = np.exp(odds / 2) + np.exp(-odds / 2) + (fit.tie or 0)
    chance, tie = np.exp(odds / 2) / z, (fit.tie or 0) / z
    surplus = data.weights * (data.outcome - chance - tie / 2)
    for model in range(4):
        assert surplus[np.equal(left, model)].sum() - surplus[np.equal(right, model)].sum() == pytest.approx(
            0, abs=1e-8
        )
    for name in fit.terms:
        assert (surplus * data.terms[name]).sum() == pytest.approx(0, abs=1e-8)
    if ties == "davidson":
        assert (data.weights * ((data.outcome == 0.5) - tie)).sum() == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize(("ties", "terms", "penalty"), FORMS)
def test_influence_is_the_slope_with_the_weight_of_a_cluster(ties: Any, terms: int, penalty: float | None) -> None:
    data = judged(11, terms=terms)
    fit = data.fit(ties=ties, penalty=penalty)
    assert fit.influence.shape == (12, 4)
    assert fit.influence.sum(axis=0) == pytest.approx(np.zeros(4), abs=1e-12)
    assert (fit.strengths + 12 * fit.influence).mean(axis=0) == pytest.approx(fit.strengths, abs=1e-12)
    assert (fit.influence @ np.ones(4) == pytest.approx(np.zeros(12), abs=1e-12)) or penalty
    step = 1e-4
    for cluster in (0, 7):
        # The penalty grows with the sum of weights, of which a cluster has a twelfth.
        more, less = (
            data._replace(weights=data.weights * np.where(data.clusters == cluster, 1 + side, 1)).fit(
                ties=ties, penalty=penalty and penalty * (1 + side / 12)
            )
            for side in (step, -step)
        )
        assert (more.strengths - less.strengths) / (2 * step) == pytest.approx(fit.influence[cluster], abs=1e-6)
        for name, influence in fit.term_influence.items():
            assert (more.terms[name] - less.terms[name]) / (2 * step) == pytest.approx(influence[cluster], abs=1e-6)


def test_the_covariance_of_two_models() -> None:
    # The difference has the variance 1 / (n p (1 - p)) = 12 / (9 * 3); of strengths that sum to 0 it is a quarter each.
    fit = two(9, 3)
    variance = 12 / (9 * 3)
    assert fit.covariance == pytest.approx(np.array([[1, -1], [-1, 1]]) * variance / 4, abs=1e-12)
    # Each comparison is a cluster: that is what the influence says, too.
    assert (fit.influence**2).sum(axis=0) == pytest.approx([variance / 4] * 2, abs=1e-12)


# Other libraries.

# choix 0.4.1, opt_pairwise(alpha=0.25, tol=1e-14), whose alpha is half of the penalty, of the comparisons of EVALICA
# without ties; evalica 0.4.2, newman(tolerance=1e-15), log scores centred at 0, whose v is half of nu, with ties.
CHOIX = [1.3355136621, 0.8068149976, 0.1126670580, -0.0973612778, -0.8335504017, -1.3240840382]
NEWMAN = [1.3971792085, 0.8585043538, 0.1015802222, -0.0297172593, -0.9597925630, -1.3677539622]
NEWMAN_V = 0.18872321283434368


def votes() -> tuple[Any, Any, Any]:
    stored = json.loads(EVALICA.read_text(encoding="utf-8"))
    return tuple(np.array(stored[name]) for name in ("left", "right", "outcome"))  # type: ignore[return-value]


def test_a_penalty_is_that_of_choix() -> None:
    left, right, outcome = (values[votes()[2] != 0.5] for values in votes())
    fit = fit_comparisons(left, right, outcome, clusters=range(len(left)), penalty=0.5)
    assert fit.strengths == pytest.approx(CHOIX, abs=1e-8)
    # An unbeaten model: opt_pairwise(3, [(0, 1)] * 3 + [(1, 2)] * 2 + [(2, 1)], alpha=0.25).
    fit = fit_comparisons([0, 0, 0, 1, 1, 2], [1, 1, 1, 2, 2, 1], [1] * 6, clusters=range(6), penalty=0.5)
    assert fit.strengths == pytest.approx([1.0842595439, -0.4272855262, -0.6569740177], abs=1e-7)


def test_davidsons_ties_are_those_of_evalica() -> None:
    fit = fit_comparisons(*votes(), clusters=range(240), ties="davidson")
    assert fit.strengths == pytest.approx(NEWMAN, abs=1e-8)
    assert fit.tie == pytest.approx(2 * NEWMAN_V, abs=1e-8)


@pytest.mark.slow
def test_the_installed_libraries_agree(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install: list[Any] = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile"]
    subprocess.run([*install, "choix", "evalica"], check=True)
    # 400 comparisons of 9 models, a sixth of them ties.
    generator = np.random.default_rng(21)
    left = generator.integers(9, size=400)
    right = (left + generator.integers(1, 9, size=400)) % 9
    drawn = (right - left) / 6 + generator.logistic(size=400)
    outcome = np.where(np.abs(drawn) < 0.3, 0.5, drawn > 0)
    program = """
import choix, evalica, json, numpy, sys
left, right, outcome = json.load(sys.stdin)
won = {1: evalica.Winner.X, 0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
winners = [won[one] for one in outcome]
decided = [(a, b) if one else (b, a) for a, b, one in zip(left, right, outcome) if one != 0.5]
half = evalica.bradley_terry(left, right, winners, tie_weight=0.5, tolerance=1e-15, limit=100000)
newman = evalica.newman(left, right, winners, tolerance=1e-15, limit=100000)
logs = [numpy.log(found.scores.sort_index().to_numpy()).tolist() for found in (half, newman)]
choix = [choix.opt_pairwise(9, decided, alpha=alpha, tol=1e-14).tolist() for alpha in (0, 0.25)]
json.dump([*logs, newman.v, *choix], sys.stdout)
"""
    given_to = json.dumps([left.tolist(), right.tolist(), outcome.tolist()])
    done = subprocess.run([python, "-c", program], input=given_to, stdout=subprocess.PIPE, check=True, text=True)
    half, newman, v, plain, penalized = json.loads(done.stdout)
    decided = outcome != 0.5
    for expected, chosen, options in (
        (half, outcome > -1, {}),
        (newman, outcome > -1, {"ties": "davidson"}),
        (plain, decided, {}),
        (penalized, decided, {"penalty": 0.5}),
    ):
        fit = fit_comparisons(
            left[chosen], right[chosen], outcome[chosen], clusters=range(int(chosen.sum())), **options
        )
        assert fit.strengths == pytest.approx(np.array(expected) - np.mean(expected), abs=1e-6)
        assert fit.tie is None or fit.tie == pytest.approx(2 * v, abs=1e-6)


# Invariances.


@pytest.mark.parametrize(("ties", "penalty"), [("half", None), ("davidson", 0.3)])
@given(seed=st.integers(0, 2**32 - 1), terms=st.integers(0, 2))
@quick
def test_the_order_of_comparisons_and_sides_does_not_matter(ties: Any, penalty: Any, seed: int, terms: int) -> None:
    data = judged(seed, n=60, terms=terms)
    generator = np.random.default_rng(seed)
    order, turned = generator.permutation(60), generator.random(60) < 0.5
    moved = Judged(
        np.where(turned, data.right, data.left)[order], np.where(turned, data.left, data.right)[order],
        np.where(turned, 1 - data.outcome, data.outcome)[order], data.clusters[order], data.weights[order],
        {name: np.where(turned, -values, values)[order] for name, values in data.terms.items()},
    )  # fmt: skip
    one, other = (each.fit(ties=ties, penalty=penalty) for each in (data, moved))
    # To the last digit: comparisons are counted in an order of their own.
    assert repr(one.strengths.tolist()) == repr(other.strengths.tolist())
    assert repr((one.terms, one.tie, one.log_likelihood)) == repr((other.terms, other.tie, other.log_likelihood))
    assert repr(one.influence.tolist()) == repr(other.influence.tolist())


@given(st.integers(0, 2**32 - 1), st.sampled_from(["half", "davidson"]), st.permutations("abcd"))
@quick
def test_names_are_names(seed: int, ties: Any, names: list[str]) -> None:
    data = judged(seed)
    renamed = data._replace(
        left=[names[int(label[1])] for label in data.left], right=[names[int(label[1])] for label in data.right]
    )
    one, other = data.fit(ties=ties), renamed.fit(ties=ties)
    place = [other.labels.index(name) for name in names]
    assert other.strengths[place] == pytest.approx(one.strengths, abs=1e-10, nan_ok=True)
    assert other.influence[:, place] == pytest.approx(one.influence, abs=1e-10, nan_ok=True)
    assert other.terms == pytest.approx(one.terms, abs=1e-10, nan_ok=True)


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 100), st.floats(0.01, 100))
@quick
def test_units_of_weights_and_of_terms_do_not_matter(seed: int, weight: float, scale: float) -> None:
    data = judged(seed)
    one = data.fit(ties="davidson")
    terms = dict(data.terms) | {"length": scale * data.terms["length"]}
    other = data._replace(weights=weight * data.weights, terms=terms).fit(ties="davidson")
    assert other.strengths == pytest.approx(one.strengths, abs=1e-9, nan_ok=True)
    assert other.terms["length"] * scale == pytest.approx(one.terms["length"], abs=1e-9, nan_ok=True)
    assert weight * other.influence == pytest.approx(weight * one.influence, abs=1e-7, nan_ok=True)


def test_a_weight_of_two_is_the_comparison_twice() -> None:
    data = judged(4)._replace(weights=np.where(np.arange(150) < 50, 2.0, 1.0))
    again = np.append(np.arange(150), np.arange(50))
    terms = {name: values[again] for name, values in data.terms.items()}
    twice = Judged(data.left[again], data.right[again], data.outcome[again], data.clusters[again], None, terms)
    for ties in ("half", "davidson"):
        one, other = data.fit(ties=ties), twice.fit(ties=ties)
        assert other.strengths == pytest.approx(one.strengths, abs=1e-12)
        assert other.influence == pytest.approx(one.influence, abs=1e-12)


# What cannot be fitted.

ONE_ORDER = {"left": ["a", "a", "b", "a"], "right": ["b", "b", "c", "c"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"terms": {"position": [1, 1, 1, 1]}} | ONE_ORDER, "^term 'position' has one value for each pair of models"),
        ({"terms": {"length": [0, 0, 0, 0]}}, "^term 'length' is 0 in every comparison that counts$"),
        ({"terms": {"family": [1, -1, 1, -1]}}, "^term 'family' has one value for each pair of models"),
        ({"terms": {"one": [1, 2, 3, 4], "two": [2, 4, 6, 8]}}, "^term 'two' is a sum of constants of the two models "
         "and of 'one', so that it cannot be estimated beside the strengths; is there one judge only?"),
        ({"terms": {"length": [1, 2, 3]}}, "^term 'length' has 3 comparisons, clusters 4$"),
        ({"terms": {"length": [1, nan, 3, 4]}}, "^term 'length' is nan in comparison 1; expected finite numbers$"),
        ({"terms": {"length": [1, 2, 3, -inf]}}, "^term 'length' is -inf in comparison 3"),
        ({"terms": [1, 2, 3, 4]}, "^terms is .* expected a mapping of names to values"),
        ({"ties": "drop"}, "^unknown ties 'drop'; expected half or davidson$"),
        ({"penalty": 0}, "^penalty 0 is not above 0; None is no penalty"),
        ({"penalty": -1}, "^penalty -1 is not above 0"),
        ({"clusters": [1, 2, 3]}, "^left has 4 comparisons, clusters 3$"),
        ({"clusters": 4}, "^clusters is 4"),
        ({"outcome": [1, 0, 2, 1]}, r"^outcome\[2\] is 2; expected 1, 0.5 or 0$"),
    ],
)  # fmt: skip
def test_mistakes(change: Any, message: str) -> None:
    given: Any = {
        "left": ["a", "b", "a", "b"], "right": ["b", "a", "b", "a"], "outcome": [1, 0, 0, 1], "clusters": range(4),
    }  # fmt: skip
    with pytest.raises(MetricInputError, match=message):
        fit_comparisons(**(given | change))


def test_one_judge_prefers_its_family_as_if_the_family_were_stronger() -> None:
    # Of one judge the term is 1 for a model of its family less 1 for the other: a constant of each model.
    left, right = [*"aabbccaabbcc"], [*"bcacabbcacab"]
    own = {"a": 1.0, "b": 0.0, "c": 0.0}
    term = [own[x] - own[y] for x, y in zip(left, right, strict=True)]
    outcome = [1, 0, 0, 1, 1, 0] * 2
    with pytest.raises(MetricInputError, match=r"^term 'self' is a sum of constants of the two models, .* one judge"):
        fit_comparisons(left, right, outcome, clusters=range(12), terms={"self": term})
    # Beside a judge of another family it can be told from strength.
    fit = fit_comparisons(left, right, outcome, clusters=range(12), terms={"self": [*term[:6], *[0.0] * 6]})
    assert np.isfinite(fit.terms["self"])


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_a_term_that_predicts_every_outcome(ties: Any) -> None:
    first = [1, -1, 1, -1]
    fit = fit_comparisons(["a"] * 4, ["b"] * 4, [1, 0, 1, 0], clusters=range(4), terms={"position": first}, ties=ties)
    assert np.isnan(fit.strengths).all()
    assert isnan(fit.terms["position"])
    what = "term 'position'" + (" and the tie parameter" if ties == "davidson" else "")
    assert fit.reasons == (f"no finite strengths fit best beside {what}: some outcomes never vary",) * 2


def test_ties_and_wins_without_a_loss() -> None:
    # A tie is a win both ways, so that there is a chain; but the stronger the first and the larger nu, the better.
    fit = two(3, 0, 3, ties="davidson")
    assert fit.reasons[0] == "no finite strengths fit best beside the tie parameter: some outcomes never vary"
    assert fit.tie is not None
    assert isnan(fit.tie)
    assert np.isfinite(two(3, 0, 3).strengths).all()


def test_no_comparisons() -> None:
    fit = fit_comparisons([], [], [], clusters=[], terms={"position": []}, ties="davidson")
    assert (fit.labels, fit.clusters, fit.strengths.shape, fit.influence.shape) == ((), (), (0,), (0, 0))


def test_clusters_have_their_labels() -> None:
    fit = fit_comparisons([*"abab"], [*"baba"], [1, 1, 1, 0], clusters=["z", "x", "z", "y"])
    assert fit.clusters == ("x", "y", "z")
    assert fit.influence[0, 1] > 0  # b won in x


# Anchors.


def test_two_anchors_are_a_line_and_one_is_a_shift() -> None:
    ratings = {"top": 1561.3, "low": 991.8, "new": 1300.0, "none": nan}
    found = anchored(ratings, {"top": 1500, "low": 200})
    assert (found["top"], found["low"]) == (1500, 200)
    assert found["new"] == pytest.approx(903.5294, abs=1e-4)
    assert isnan(found["none"])
    assert anchored({"a": 0.5, "b": -1.0}, {"b": 1000}) == {"a": 1001.5, "b": 1000}
    assert anchor_line({"a": 1, "b": 3}, {"a": 10, "b": 0}) == (-5, 15)


@pytest.mark.parametrize(
    ("anchors", "message"),
    [
        ({}, "^anchors has 0 models; expected two, or one that shifts"),
        ({"a": 1, "b": 2, "c": 3}, "^anchors has 3 models"),
        ({"a": 1, "b": 2}, "^anchors 'a' and 'b' have the same rating, 0.5; choose two that differ"),
        ({"eve": 1}, "^anchor 'eve' is not among the 4 rated models"),
        ({"none": 1}, "^anchor 'none' has the rating nan; choose a model with a finite one"),
        ({"a": nan}, "^value of anchor 'a' nan is not a finite number"),
    ],
)
def test_anchors_that_make_no_line(anchors: dict[str, float], message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        anchored({"a": 0.5, "b": 0.5, "c": 1.0, "none": nan}, anchors)
