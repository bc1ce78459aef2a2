import dataclasses

import pytest

from attune_metrics import MetricInputError
from attune_metrics.attunebench.composite import DOCUMENTED, PROTOCOLS, RELEASED, get_protocol


def test_the_two_protocols() -> None:
    assert dataclasses.astuple(DOCUMENTED) == ("documented", "jaccard", "items")
    assert dataclasses.astuple(RELEASED) == ("released", "f1", "recorded")
    assert dict(PROTOCOLS) == {"documented": DOCUMENTED, "released": RELEASED}


def test_get_protocol() -> None:
    assert get_protocol("released") is RELEASED
    assert get_protocol(DOCUMENTED) is DOCUMENTED
    with pytest.raises(MetricInputError, match="unknown protocol 'paper'; known: documented, released"):
        get_protocol("paper")


def test_protocols_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        DOCUMENTED.name = "mine"  # type: ignore[misc]
