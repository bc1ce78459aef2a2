"""How far a run has come, in numbers and as one line."""

from dataclasses import dataclass, field
from time import monotonic

from attune_bench.runner.calls import Response, Role
from attune_bench.runner.prices import dollars

__all__ = ["Meter"]


@dataclass(slots=True)
class Meter:
    """Counts of a run; responses include those that an earlier run had paid for.

    Examples
    --------
    >>> meter = Meter(units=2, calls=52, unit="conversation")
    >>> meter.count(Response("{}", 900, 100, cost=0.5), role="model", is_new=True)
    >>> meter.done = 1
    >>> meter.text().split(", ")[:5]
    ['1/2 conversations', '1/52 calls', '1,000 tokens', '0.50 USD', 'about 26.00 expected']
    >>> meter.responses = 52
    >>> meter.text().split(", ")[-1]
    '0.50 USD'
    """

    units: int
    calls: int
    unit: str = "unit"
    done: int = 0
    failed: int = 0
    responses: int = 0
    requested: int = 0
    tokens: int = 0
    cost: float = 0.0
    judge_cost: float = 0.0
    simulator_cost: float = 0.0
    unpriced: int = 0
    _began: float = field(default_factory=monotonic)

    def count(self, response: Response, *, role: Role, is_new: bool) -> None:
        """Count a response."""
        self.responses += 1
        self.requested += is_new
        self.tokens += (response.prompt_tokens or 0) + (response.completion_tokens or 0)
        if response.cost is None:
            self.unpriced += 1
        elif role == "judge":
            self.judge_cost += response.cost
        elif role == "simulator":
            self.simulator_cost += response.cost
        else:
            self.cost += response.cost

    @property
    def rate(self) -> float:
        """New responses per second."""
        return self.requested / max(monotonic() - self._began, 1e-3)

    @property
    def _cost(self) -> float:
        return self.cost + self.judge_cost + self.simulator_cost

    def spent(self) -> str:
        """Return tokens, and the cost as far as it is known."""
        spent = f"{self.tokens:,} tokens"
        if self.responses > self.unpriced:
            others = {"judges": self.judge_cost, "the simulator": self.simulator_cost}
            whose = "".join(f" ({dollars(amount)} of {who})" for who, amount in others.items() if amount)
            spent += f", {dollars(self._cost)} USD{whose}"
        return spent

    def text(self) -> str:
        """Return all of it on one line."""
        parts = [f"{self.done}/{self.units} {self.unit}s", f"{self.responses:,}/{self.calls:,} calls"]
        if self.requested > 1:
            parts.append(f"{self.rate:.1f}/s" if self.rate >= 1 else f"{60 * self.rate:.1f}/min")
        parts.append(self.spent())
        if self.unpriced < self.responses < self.calls:
            parts.append(f"about {dollars(self._cost / (self.responses - self.unpriced) * self.calls)} expected")
        if self.failed:
            parts.append(f"{self.failed} failed")
        return ", ".join(parts)
