"""Answers of invented models to items of EmoBench, drawn from a seed; the skill of a model is planted."""

from collections.abc import Iterable
from random import Random

from attune_data.emobench import LETTERS, EmoBenchItem, EmoBenchPrediction


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
