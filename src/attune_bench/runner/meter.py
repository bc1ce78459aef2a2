"""How far a run has come, in numbers and as one line."""

from dataclasses import dataclass, field
from time import monotonic

from attune_bench.runner.calls import Role
from attune_bench.runner.journal import Answer
from attune_bench.runner.prices import dollars

__all__ = ["Meter"]


@dataclass(slots=True)
class Meter:
    """Counts of a run; those of calls include answers that an earlier run had paid for.

    Examples
    --------
    >>> meter = Meter(conversations=2, calls=52)
    >>> meter.count(Answer("{}", 900, 100, cost=0.5), role="model", is_new=True)
    >>> meter.done = 1
    >>> meter.text().split(", ")[1:5]
    ['1/52 calls', '1,000 tokens', '0.50 USD', 'about 26.00 expected']
    >>> meter.answers = 52
    >>> meter.text().split(", ")[-1]
    '0.50 USD'
    """

    conversations: int
    calls: int
    done: int = 0
    failed: int = 0
    answers: int = 0
    asked: int = 0
    tokens: int = 0
    cost: float = 0.0
    judge_cost: float = 0.0
    simulator_cost: float = 0.0
    unpriced: int = 0
    _began: float = field(default_factory=monotonic)

    def count(self, answer: Answer, *, role: Role, is_new: bool) -> None:
        """Count an answer."""
        self.answers += 1
        self.asked += is_new
        self.tokens += (answer.prompt_tokens or 0) + (answer.answer_tokens or 0)
        if answer.cost is None:
            self.unpriced += 1
        elif role == "judge":
            self.judge_cost += answer.cost
        elif role == "simulator":
            self.simulator_cost += answer.cost
        else:
            self.cost += answer.cost

    @property
    def rate(self) -> float:
        """New answers per second."""
        return self.asked / max(monotonic() - self._began, 1e-3)

    def text(self) -> str:
        """Return all of it on one line."""
        parts = [f"{self.done}/{self.conversations} conversations", f"{self.answers:,}/{self.calls:,} calls"]
        if self.asked > 1:
            parts.append(f"{self.rate:.1f}/s" if self.rate >= 1 else f"{60 * self.rate:.1f}/min")
        parts.append(f"{self.tokens:,} tokens")
        if self.answers > self.unpriced:
            cost = self.cost + self.judge_cost + self.simulator_cost
            others = {"judges": self.judge_cost, "the simulator": self.simulator_cost}
            whose = "".join(f" ({dollars(amount)} of {who})" for who, amount in others.items() if amount)
            parts.append(f"{dollars(cost)} USD{whose}")
            if self.answers < self.calls:
                parts.append(f"about {dollars(cost / (self.answers - self.unpriced) * self.calls)} expected")
        if self.failed:
            parts.append(f"{self.failed} failed")
        return ", ".join(parts)
