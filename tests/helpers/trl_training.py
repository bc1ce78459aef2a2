"""Two steps of training a tiny random model on episodes, and the gradient of a case worked by hand.

As a program, where TRL and torch are installed: prints what it found as JSON.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from tiny_models import talker
from trl import GRPOConfig

from attune_bench.adapters.trl import TurnCreditTrainer
from attune_bench.benchmarks.eibench.rollouts import EpisodeRollout, episode_reward, training_scenarios
from attune_bench.benchmarks.eibench.task import EIBenchSettings
from attune_bench.runner.calls import Call


async def simulator(call: Call, _attempt: int) -> str:
    """Answer as a person whom each reply moves by its length."""
    moved = sum(map(ord, call.messages[-1]["content"])) % 21 - 10
    return json.dumps({"anger_delta": -moved, "trust_delta": moved, "reply": "Hm.", "continue": "yes"})


def main(folder: Path) -> None:
    """Train; print whether numbers are as expected."""
    model, words = talker()
    rollout = EpisodeRollout(
        training_scenarios("demo")[:2], simulator, EIBenchSettings("policy", "person", max_rounds=3)
    )
    arguments = GRPOConfig(
        output_dir=str(folder),
        per_device_train_batch_size=4,
        num_generations=2,
        max_completion_length=8,
        max_steps=2,
        learning_rate=1e-2,
        logging_steps=1,
        report_to=[],
        use_cpu=True,
        bf16=False,
        save_strategy="no",
        loss_type="grpo",
        beta=0.0,
        reward_weights=[1.0, 0.5],
    )
    seen: list[dict[str, Any]] = []

    class Watched(TurnCreditTrainer):
        def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
            output = super()._generate_and_score_completions(inputs)
            seen.append({"inputs": inputs, "output": output})
            return output

    trainer = Watched(
        model=model,
        reward_funcs=[episode_reward, short],
        args=arguments,
        train_dataset=rollout.prompts,
        processing_class=words,
        rollout_func=rollout,
    )
    before = [parameter.detach().clone() for parameter in model.parameters()]
    trainer.train()
    moved = any(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    found = {
        "steps": trainer.state.global_step,
        "moved": moved,
        **checked(seen),
        **hand_worked(trainer, seen[0]["output"]),
    }
    sys.stdout.write(f"{json.dumps(found)}\n")


def short(completion_ids: list[list[int]], **_: Any) -> list[float]:
    """Reward short rollouts a little."""
    return [-len(ids) / 1000 for ids in completion_ids]


def checked(seen: list[dict[str, Any]]) -> dict[str, Any]:
    """Tell whether the advantages of each step are those worked out here, on the tokens of the model alone."""
    distance, masked = 0.0, True
    for step in seen:
        advantages, mask = step["output"]["advantages"], step["output"]["tool_mask"]
        masked = masked and not advantages[mask == 0].any()
        # The second function counts half.
        rewards = [one["outcome"] - 0.5 * len(one["token_turns"]) / 1000 for one in step["inputs"]]
        for row, one in enumerate(step["inputs"]):
            group = rewards[row - row % 2 : row - row % 2 + 2]
            mean = sum(group) / 2
            deviation = sum((reward - mean) ** 2 for reward in group) ** 0.5
            of_rollout = (rewards[row] - mean) / (max(deviation, 0.1) + 1e-6)
            turns = one["turn_rewards"]
            expected = [of_rollout + 15 * (reward - sum(turns) / len(turns)) for reward in turns]
            for value, turn in zip(advantages[row].tolist(), one["token_turns"], strict=False):
                distance = max(distance, abs(value - (expected[turn] if turn >= 0 else 0)))
    return {"advantages": distance, "nothing_on_the_person": masked, "batches": len(seen)}


def hand_worked(trainer: Any, batch: dict[str, Any]) -> dict[str, float]:
    """Compare the gradient of the trainer's loss with that of the loss written out: -A log p, averaged over tokens."""
    model = trainer.model
    model.eval()  # nothing random
    model.zero_grad()
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    attention = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
    length = batch["completion_ids"].shape[1]
    logits = model(input_ids=ids, attention_mask=attention).logits[:, -length - 1 : -1]
    logs = torch.log_softmax(logits / trainer.temperature, dim=-1)
    chosen = logs.gather(2, batch["completion_ids"].unsqueeze(2)).squeeze(2)
    mask = batch["completion_mask"] * batch["tool_mask"]
    loss = -((batch["advantages"] * chosen * mask).sum(dim=1) / mask.sum(dim=1)).mean()
    loss.backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    model.train()
    own = {name: value for name, value in batch.items() if name != "old_per_token_logps"}
    trainer._compute_loss(model, own).backward()
    pairs = zip(expected, model.parameters(), strict=True)
    distance = max(float((one - parameter.grad).abs().max()) for one, parameter in pairs)
    return {"largest": max(float(one.abs().max()) for one in expected), "distance": distance}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
