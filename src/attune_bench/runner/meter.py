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
    >>> meter.parts()
    ['1/2 conversations', '1/52 calls', '0.50 USD', 'about 26.00 expected', '1,000 tokens']
    >>> meter.responses = 52
    >>> meter.text()
    '1/2 conversations, 52/52 calls, 0.50 USD, 1,000 tokens'
    >>> Meter(units=2, calls=52, unit="conversation").text()
    '0/2 conversations, waiting for the first answer, 0 s'
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
        return ", ".join([f"{self.tokens:,} tokens", *self._spent()])

    def _spent(self) -> list[str]:
        if self.responses == self.unpriced:
            return []
        others = {"judges": self.judge_cost, "the simulator": self.simulator_cost}
        whose = "".join(f" ({dollars(amount)} of {who})" for who, amount in others.items() if amount)
        return [f"{dollars(self._cost)} USD{whose}"]

    @property
    def share(self) -> float:
        """The share of the planned calls that have a response, 0 to 1."""
        return min(self.responses / self.calls, 1.0) if self.calls else 1.0

    def parts(self) -> list[str]:
        """Return what there is to say, the most important first."""
        done = f"{self.done:,}/{self.units:,} {self.unit}s"
        elapsed = monotonic() - self._began
        if not self.responses and self.calls:
            return [done, f"waiting for the first answer, {_duration(elapsed)}"]
        parts = [done, f"{self.responses:,}/{self.calls:,} calls"]
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        is_going = self.responses < self.calls and self.done + self.failed < self.units
        if self.requested > 1:
            parts.append(f"{self.rate:.1f}/s" if self.rate >= 1 else f"{60 * self.rate:.1f}/min")
            if is_going:
                parts.append(f"{_duration((self.calls - self.responses) / self.rate)} left")
        parts += self._spent()
        if is_going and self.unpriced < self.responses:
            parts.append(f"about {dollars(self._cost / (self.responses - self.unpriced) * self.calls)} expected")
        return [*parts, f"{self.tokens:,} tokens"]

    def text(self) -> str:
        """Return all of it on one line."""
        return ", ".join(self.parts())


def _duration(seconds: float) -> str:
    """Return a time as one would say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
