"""Training with TRL on conversations: each turn of a rollout gets credit of its own.

A rollout function, such as `attune_bench.benchmarks.eibench.rollouts.EpisodeRollout`, gives for each rollout the turn
of each token (``token_turns``, -1 for tokens that the model did not say) and the reward of each turn
(``turn_rewards``).
The advantage of a token is the advantage of its rollout over the others of the prompt, plus the credit of its turn
[1]_: see `attune_metrics.turn_credit`. docs/training.md has a script, what to log, and what not to train on.

References
----------
.. [1] Centred turn-credit GRPO, of EIBench.
"""

# ruff: noqa: E402 - a missing extra is named before its modules are imported

from typing import Any

from attune_data.references import require

require("trl", "trl")

import torch
from trl import GRPOTrainer

from attune_metrics.turn_credit import token_advantages, trace_advantages


class TurnCreditTrainer(GRPOTrainer):  # type: ignore[misc]  # The base class is of an extra.
    """`GRPOTrainer` with an advantage for each turn: the advantage of its rollout, plus centred turn credit.

    Parameters
    ----------
    turn_credit : float
        The weight of the credit, alpha; 0 for none.
    centered : bool
        Whether credit is centred within a rollout; docs/training.md says what that does where conversations stop.
    sigma_floor : float
        The rewards of a prompt are divided by at least this standard deviation; ``scale_rewards`` has no effect.
    *args, **kwargs
        As for `GRPOTrainer`, which also sums the rewards of several functions by their weights.
    """

    def __init__(
        self, *args: Any, turn_credit: float = 15.0, centered: bool = True, sigma_floor: float = 0.1, **kwargs: Any
    ) -> None:
        self._turn_credit, self._centered = turn_credit, centered
        self._sigma_floor = sigma_floor
        super().__init__(*args, **kwargs)

    def _calculate_rewards(self, *arguments: Any) -> Any:
        found = super()._calculate_rewards(*arguments)  # of all processes
        self._rewards = (found * self.reward_weights.to(found.device)).nansum(dim=1)
        self._rewards[torch.isnan(found).all(dim=1)] = torch.nan
        return found

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if missing := {"turn_rewards", "token_turns"} - inputs[0].keys():
            raise ValueError(f"the rollouts lack {', '.join(sorted(missing))}; does rollout_func give them?")
        rewards = self._rewards.tolist()
        generations = self.num_generations if self.model.training else self.num_generations_eval
        groups = [place // generations for place in range(len(rewards))]
        every = trace_advantages(rewards, groups, sigma_floor=self._sigma_floor)
        first = self.accelerator.process_index * len(inputs)
        found = token_advantages(
            every[first : first + len(inputs)].tolist(),
            [one["turn_rewards"] for one in inputs],
            [one["token_turns"] for one in inputs],
            output["completion_ids"].shape[1],
            alpha=self._turn_credit,
            centered=self._centered,
        )
        output["advantages"] = torch.tensor(found, dtype=torch.float32, device=self.accelerator.device)
        return output
