"""Adjusted p-values: statsmodels, hand derivations."""

import gc
from math import isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from attune_metrics import MetricInputError
from attune_metrics.stats.comparison import benjamini_hochberg, holm

quick = settings(deadline=None, max_examples=15)


@given(st.lists(st.floats(0, 1) | st.sampled_from([0.01, 0.02, nan]), max_size=20))
@settings(quick)
def test_statsmodels_gives_the_same_adjusted_p_values(p_values: list[float]) -> None:
    known = [p for p in p_values if not isnan(p)]
    for adjust, method in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        adjusted = adjust(p_values)
        assert np.isnan(adjusted).tolist() == [isnan(p) for p in p_values]
        if known:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(gc, "collect", lambda: 0)  # which multipletests does at every call
                expected = multipletests(known, method=method)[1]
            assert adjusted[~np.isnan(adjusted)].tolist() == pytest.approx(expected.tolist(), abs=1e-12)


def test_adjusted_by_hand() -> None:
    # Holm: 4 x 0.01, 3 x 0.02, 2 x 0.03 (not below the one before), 1 x 0.04 (likewise).
    p_values = [0.03, nan, 0.01, 0.04, 0.02]
    assert holm(p_values).tolist() == pytest.approx([0.06, nan, 0.04, 0.06, 0.06], abs=1e-12, nan_ok=True)
    # Benjamini-Hochberg: 4/1 x 0.01, 4/2 x 0.02, 4/3 x 0.03, 4/4 x 0.04, all 0.04.
    assert benjamini_hochberg(p_values).tolist() == pytest.approx([0.04, nan, 0.04, 0.04, 0.04], abs=1e-12, nan_ok=True)
    assert holm([0.6, 0.7]).tolist() == [1, 1]


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
@pytest.mark.parametrize(
    ("p_values", "message"),
    [
        ([0.1, 1.5], r"p_values\[1\] 1.5 is outside 0-1"),
        ([-0.1], r"p_values\[0\] -0.1 is outside 0-1"),
        ([[0.1, 0.2]], r"p_values has shape \(1, 2\); expected \(tests\)"),
        (["0.5"], "p_values value '0.5' is not a number; convert text to a number first"),
    ],
)
def test_odd_p_values(adjust: Any, p_values: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        adjust(p_values)
