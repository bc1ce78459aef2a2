"""Scoring protocols: the two places where AttuneBench's documentation and its released scorer differ.

Everything else is the same under every protocol. Report the name of the protocol with every number.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from attune_metrics.errors import MetricInputError

__all__ = ["DOCUMENTED", "PROTOCOLS", "RELEASED", "Protocol", "get_protocol"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """A named set of scoring choices.

    Attributes
    ----------
    name : str
        The name printed on reports.
    goals : {"jaccard", "f1"}
        How two sets of goals (Q1) are compared: intersection over union, or set F1.
    panas_totals : {"items", "recorded"}
        Which PANAS total counts: the sum of the ten items when all are there, or the recorded total if there is one.
    """

    name: str
    goals: Literal["jaccard", "f1"]
    panas_totals: Literal["items", "recorded"]


DOCUMENTED = Protocol("documented", goals="jaccard", panas_totals="items")
RELEASED = Protocol("released", goals="f1", panas_totals="recorded")

PROTOCOLS: Mapping[str, Protocol] = MappingProxyType({p.name: p for p in (DOCUMENTED, RELEASED)})


def get_protocol(name_or_protocol: str | Protocol) -> Protocol:
    """Return the protocol of that name; a `Protocol` is returned as it is.

    Raises
    ------
    MetricInputError
        If no protocol has that name.

    Examples
    --------
    >>> get_protocol("released").goals
    'f1'
    """
    if isinstance(name_or_protocol, Protocol):
        return name_or_protocol
    if name_or_protocol not in PROTOCOLS:
        raise MetricInputError(f"unknown protocol {name_or_protocol!r}; known: {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name_or_protocol]
