"""Answers of invented models to items of EmoBench, drawn from a seed; as a program the embedded demonstration data."""

import sys
from collections.abc import Iterable
from random import Random

from attune_data import load_records
from attune_data.emobench import LETTERS, EmoBenchItem, EmoBenchPrediction
from attune_data.kinds import ITEM

__all__ = ["answers_of", "demo_predictions"]


def answers_of(
    items: Iterable[EmoBenchItem], model: str, skill: float, *, orders: int = 2, samples: int = 3, seed: int = 0
) -> list[EmoBenchPrediction]:
    """Return answers with the right letter by a probability that is the skill, else any letter, rarely none."""
    found = []
    for item in items:
        source = Random(f"{seed}/{model}/{item.id}")
        answers = []
        for _ in range(orders):
            shown, predictions = {}, {}
            for part, (choices, label) in item.questions.items():
                letters = LETTERS[: len(choices)]
                shown[part] = "".join(source.sample(letters, len(letters)))
                right = letters[shown[part].index(letters[choices.index(label or "")])]
                predictions[part] = [
                    right if source.random() < skill else None if source.random() < 0.05 else source.choice(letters)
                    for _ in range(samples)
                ]
            answers.append({"shown": shown, "predictions": predictions})
        document = {"item": item.id, "model": model, "condition": "plain", "answers": answers, "synthetic": True}
        found.append(EmoBenchPrediction.model_validate(document))
    return found


def demo_predictions() -> list[EmoBenchPrediction]:
    """Return the embedded demonstration data."""
    items, models = load_records("demo", ITEM), {"synthetic/attentive": 0.75, "synthetic/hasty": 0.4}
    return [one for model, skill in models.items() for one in answers_of(items, model, skill, seed=2)]


if __name__ == "__main__":
    sys.stdout.buffer.writelines(one.to_line() + b"\n" for one in demo_predictions())
