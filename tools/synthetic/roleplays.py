"""Role-plays of invented models with invented people, and the board's entries that follow from them; levels planted."""

from collections.abc import Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Any

from attune_data.eqbench4 import EQBench4Entry, EQBench4Roleplay
from attune_metrics.eqbench4 import MARGINS, TENDENCIES

MODELS: Mapping[str, float] = {"synthetic/attentive": 7.2, "synthetic/even": 6.4, "synthetic/hasty": 5.2}
"""By model its level of every tendency."""

_SCENARIOS = (
    ("The key is not under the mat", "friend", "friendship", None),
    ("I was not asked to the wedding", "chatbot", "family", None),
    ("My sister reads my letters", "chatbot", "family", None),
    ("They gave my desk away", "chatbot", "work", "social_exclusion_ambiguous_rejection"),
    ("I only told her the truth", "chatbot", "other", "ego_threat_accountability"),
    ("The rent goes up, and I said nothing", "tenant", "other", "power_imbalanced_navigation"),
    ("The neighbours count my bottles", "chatbot", "other", "reality_distortions"),
    ("He laughed at the wrong place", "partner", "other", "ego_threat_accountability"),
)
_SAID = (
    ("I read what you wrote. What happened before that?", "It started earlier, and I dislike telling it.", "Careful."),
    ("You need not tell all of it. Which part weighs most?", "That nobody noticed. Not even you.", "Too much said."),
    ("I notice it now. What should I have seen?", "That I was quiet. That is all I wanted said.", "Better."),
)  # fmt: skip


def roleplays(
    models: Mapping[str, float] = MODELS, *, scenarios: int = len(_SCENARIOS), seed: int = 0
) -> list[EQBench4Roleplay]:
    """Return a role-play of each model in each scenario, in an order of its own, as on the site.

    A scenario moves all models alike. Margins are centred on 0 for every model.
    """
    found = []
    for model, level in models.items():
        order = [*range(scenarios)]
        Random(f"{seed}/{model}").shuffle(order)
        for place, scenario in enumerate(order):
            title, relationship, category, task = _SCENARIOS[scenario % len(_SCENARIOS)]
            source, hard = Random(f"{seed}/{model}/{scenario}"), Random(f"{seed}/{scenario}").gauss(0, 0.8)
            turns: list[Any] = []
            for asked, answered, thought in _SAID:
                turns.append({"role": "assistant", "content": asked})
                turns.append({"role": "user", "content": answered, "monologue": thought})
            found.append(
                EQBench4Roleplay.model_validate(
                    {
                        "i": place, "scenario_id": f"{'hand' if task else 'made'}_{scenario:03}",
                        "evaluated_model": model, "persona_model": "synthetic/person", "final_status": "active",
                        "title": title, "category": category, "relationship": relationship,
                        "source_type": "hand_authored" if task else "generated", "task_type": task, "turns": turns,
                        "dims": {name: _half(level + hard + source.gauss(0, 1), 0, 10) for name in TENDENCIES},
                        "abilities": {name: _half(source.gauss(0, 2), -5, 5) for name in MARGINS},
                        "pointwise_judge_model": "synthetic/judge", "synthetic": True,
                    }
                )
            )  # fmt: skip
    return found


def _half(value: float, low: float, high: float) -> float:
    return min(high, max(low, round(2 * value) / 2))


def entries(played: Sequence[EQBench4Roleplay]) -> list[EQBench4Entry]:
    """Return the board's entry of each model; the rating follows from the mean of its tendencies."""
    of_models: dict[str, list[EQBench4Roleplay]] = {}
    for one in played:
        of_models.setdefault(one.evaluated_model, []).append(one)
    ratings = {name: 800 + 60 * fmean(fmean(one.dims.values()) for one in own) for name, own in of_models.items()}
    found = []
    for rank, model in enumerate(sorted(ratings, key=ratings.__getitem__, reverse=True), start=1):
        own, elo = of_models[model], round(ratings[model], 1)
        traits = {name: [one.dims[name] for one in own if name in one.dims] for name in TENDENCIES}
        margins = {name: [one.abilities[name] for one in own if name in one.abilities] for name in MARGINS}
        means = ({name: round(fmean(values), 2) for name, values in of.items() if values} for of in (traits, margins))
        about = {"model": model, "slug": slug(model), "rank": rank, "elo": elo}
        about |= {"n_scenarios": len(own), "scenarios": len(own)}
        about |= {"ci_low": round(elo - 12, 1), "ci_high": round(elo + 13, 1), "synthetic": True}
        points = {"traits": traits, "abilities": margins}
        about |= dict(zip(("dims", "abilities"), means, strict=True)) | {"profile_points": points}
        found.append(EQBench4Entry.model_validate(about))
    return found


def slug(model: str) -> str:
    """Return the folder of a model's role-plays."""
    return model.replace("/", "_")
