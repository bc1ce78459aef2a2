"""How often the interval of a judge's agreement with experts, minus that of experts, covers the truth.

    python benchmarks/judge_reliability.py

Simulates three experts and a judge who rate items from 1 to 5. An item has a quality, standard normal; a rater adds an
error of standard deviation `error` and rounds ``3 + quality + error`` to the scale. Experts have an error of 0.7. The
truth is that of 200,000 items. Three minutes on one core; prints the table of docs/judges.md.
"""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attune_metrics.stats.agreement import cohen_kappa
from attune_metrics.stats.bootstrap import draw_resamples
from attune_metrics.stats.judges import JudgeCloseness, judge_reliability

SIMULATIONS, RESAMPLES, EXPERT_ERROR = 500, 1_000, 0.7


def rate(items: int, judge: float, generator: Generator) -> NDArray[np.float64]:
    """Return ratings (items, raters), the judge's last."""
    errors = generator.normal(size=(items, 4)) * [*[EXPERT_ERROR] * 3, judge]
    return np.clip(np.rint(3 + generator.normal(size=(items, 1)) + errors), 1, 5)


def truth(judge: float) -> float:
    """Return the kappa of the judge with an expert minus that of two experts."""
    one, other, _, judged = rate(200_000, judge, np.random.default_rng(1)).T
    return cohen_kappa(one, judged, weights="quadratic") - cohen_kappa(one, other, weights="quadratic")


def simulated(items: int, judge: float) -> list[JudgeCloseness]:
    """Return what each simulation finds."""
    found: list[JudgeCloseness] = []
    for seed in range(SIMULATIONS):
        ratings = rate(items, judge, np.random.default_rng([items, seed]))
        resamples = draw_resamples(range(items), n_resamples=RESAMPLES, seed=seed)
        found += judge_reliability(ratings, [0, 1, 2], resamples, margin=0.1).judges
    return found


def main() -> None:
    """Print the table."""
    print(f"{SIMULATIONS} simulations for each line, standard error 1.0% at 95%; {RESAMPLES} resamples\n")
    print("judge's error  items  difference  coverage  width   closer  less close  as close")
    for judge in (EXPERT_ERROR, 0.4, 1.1):
        true = truth(judge)
        for items in (20, 50, 200):
            found = simulated(items, judge)
            known = [one.difference for one in found if one.difference.reason is None]
            cover = np.mean([one.low <= true <= one.high for one in known])
            width = np.mean([one.high - one.low for one in known])
            shares = [np.mean([one.verdict == word for one in found]) for word in ("closer", "less close", "as close")]
            print(
                f"{judge:13.1f}  {items:5}  {true:+10.3f}  {cover:8.1%}  {width:5.2f}  "
                f"{shares[0]:7.1%}  {shares[1]:10.1%}  {shares[2]:8.1%}"
            )


if __name__ == "__main__":
    main()
