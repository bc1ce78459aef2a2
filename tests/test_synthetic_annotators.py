"""Simulated answers of annotators and models: what was planted is there, and intervals cover it."""

import numpy as np
import pytest
from synthetic.annotators import answers, forms

from attune_metrics.stats.consistency import internal_consistency
from attune_metrics.stats.skills import disattenuated


@pytest.mark.parametrize("between", [0.3, 0.6, 0.9])
def test_agreement_and_correlation_are_as_planted(between: float) -> None:
    generator = np.random.default_rng(1)
    made = answers(generator, models=1000, participants=20, between=between, agreement=0.8, annotators=2)
    assert made.others.mean(axis=1) == pytest.approx([0.8, 0.8], abs=0.03)
    assert made.participant.mean(axis=1) - made.expected == pytest.approx(np.zeros(1000), abs=0.1)
    assert (made.participant.mean(axis=1) - made.expected).mean() == pytest.approx(0, abs=0.005)
    found = disattenuated(made.participant, made.annotator, made.clusters)
    assert found.corrected.estimate == pytest.approx(between, abs=0.1)


def test_consistency_is_as_planted() -> None:
    filled, persons = forms(np.random.default_rng(1), np.full(10, 0.6), persons=600)
    found = internal_consistency(filled, persons)
    assert found.alpha.estimate == pytest.approx(36 / (36 + 6.4), abs=0.01)
    assert found.omega.estimate == pytest.approx(found.alpha.estimate, abs=0.005)
    assert found.alpha.clusters == 600


@pytest.mark.slow
def test_intervals_of_the_correlation_of_two_truths_cover() -> None:
    generator = np.random.default_rng(2)
    found = []
    for _ in range(150):
        made = answers(generator, models=11, participants=25, between=0.6)
        found.append(disattenuated(made.participant, made.annotator, made.clusters).corrected)
    shown = [one for one in found if not np.isnan(one.low)]
    assert len(shown) > 100
    assert np.mean([one.low <= 0.6 <= one.high for one in shown]) >= 0.89
    few = answers(generator, models=4, participants=25)
    assert disattenuated(few.participant, few.annotator, few.clusters).corrected.reason == "fewer than 6 models"
