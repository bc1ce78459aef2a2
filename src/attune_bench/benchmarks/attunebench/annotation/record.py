"""What comes of a person's answers: the record of the conversation, and the data card of all of them."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

from attune_bench.annotate.store import Value
from attune_bench.benchmarks.attunebench.annotation.study import Study
from attune_bench.benchmarks.attunebench.annotation.talk import exchanges
from attune_data import Conversation, load_codebook
from attune_data.attunebench.records import ComputedScores
from attune_data.licences import find_licence
from attune_data.text import plural


def conversation_of(
    study: Study,
    published: str,
    language: str,
    answers: Mapping[str, Value],
    comparisons: Mapping[int, Mapping[int, tuple[str, str, str]]],
) -> Conversation:
    """Return the record of a person who has answered everything.

    Parameters
    ----------
    study : Study
        What was asked.
    published : str
        The id under which the person is published, which is no id that tells the person's link.
    language : str
        The language in which the person answered.
    answers : mapping
        The answers by screen.
    comparisons : mapping
        By the number of a turn, what was compared, by its place: question, and the labels of A and B.
    """
    category = answers["topic"]["topic"]
    place = list(study.conversation.topics).index(category)
    subtopic = answers[f"subtopic/{place}"]["subtopic"]
    record = {
        "conversationId": str(UUID(bytes=sha256(published.encode()).digest()[:16], version=4)),
        "metadata": {
            "model": study.model.name,
            "category": category,
            "subtopic": subtopic,
            "text": f"{category}: {subtopic}",
            "language": answers["message/1"].get("language", language),
        },
        "participant_profile": {
            "schema_version": "2.0",
            "participant_id": published,
            "profile_type": "shortened",
            "demographics": dict(answers.get("participant", {})),
            "computed_scores": _scores(study, answers),
            "conversation_topic_attitude": answers["attitude"]["attitude"],
        },
        "prePanas": _panas(answers["panas/before"]),
        "postPanas": _panas(answers["panas/after"]),
        "conversationWideQuestions": _wide(answers),
        "turns": [
            {
                "turnNumber": number,
                "userMessage": one.message,
                "llmResponse": one.reply,
                "moodShiftTags": [
                    {"emotion": word, "intensity": intensity}
                    for word, intensity in answers[f"turn/{number}/mood"].get("tags", {}).items()
                ],
                "annotations": _annotations(study, answers, number, comparisons[number]),
            }
            for number, one in enumerate(exchanges(answers), 1)
        ],
        "licence": study.licence,
    }
    return Conversation.model_validate(record)


def _annotations(
    study: Study, answers: Mapping[str, Value], number: int, comparisons: Mapping[int, tuple[str, str, str]]
) -> dict[str, Any]:
    judged = [
        (question, answers[f"turn/{number}/{category}"])
        for category, questions in study.annotation.by_category().items()
        for question in questions
    ]
    compared = [
        {
            "questionId": question,
            "responseA": a,
            "responseB": b,
            "winner": answers[f"turn/{number}/pair/{place}"]["winner"],
        }
        for place, (question, a, b) in comparisons.items()
    ]
    return {
        "binaryJudgements": [
            {
                "questionId": question,
                "observedBehavior": one[f"{question}.observed"],
                "preferredBehavior": one[f"{question}.preferred"],
            }
            for question, one in judged
        ],
        "alternateResponses": {
            "llmImproved": answers[f"improved/{number}"]["text"],
            "humanEdited": answers[f"turn/{number}/edited"]["text"],
        },
        "pairwiseComparisons": compared,
        "selectedPairwiseQuestions": sorted({question for question, _, _ in comparisons.values()} - {"general"}),
    }


def _panas(ratings: Value) -> dict[str, Any]:
    responses = {word.lower(): int(rating) for word, rating in ratings.items()}
    totals = {"positive": 0, "negative": 0}
    for word, emotion in load_codebook().emotions.items():
        totals[emotion.affect] += responses[word]
    return {
        "totalPositiveAffect": totals["positive"],
        "totalNegativeAffect": totals["negative"],
        "responses": responses,
    }


def _wide(answers: Mapping[str, Value]) -> dict[str, Any]:
    wide = dict(answers["whole"])
    if wide["q3_modelFit"] in load_codebook().q3_negative:
        lines = answers["felt_off"].get("text", "").splitlines()
        wide["q3_followUp_whatFeltOff"] = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    return {"fourBranchScores": {branch: int(rating) for branch, rating in answers["branches"].items()}, **wide}


def _scores(study: Study, answers: Mapping[str, Value]) -> dict[str, float]:
    """Return the scores whose items are all answered, whole numbers where the benchmark has these."""
    found: dict[str, float] = {}
    for number, (name, one) in enumerate(study.questionnaires.items()):
        chosen = {int(place): int(option) for place, option in answers.get(f"questionnaire/{number}", {}).items()}
        found |= one.computed(name, chosen)
    is_whole = [name for name in ComputedScores.model_fields if not name.endswith("_t")]
    return {name: round(score) if name in is_whole else score for name, score in found.items()}


def data_card(study: Study, count: int, hosts: Sequence[str]) -> str:
    """Return the card of the collected conversations: no text of a participant, and what a reader has to know."""
    language = study.languages[0]
    licence = find_licence(study.licence)
    models = dict.fromkeys((study.model.name, study.improving.name))
    lines = [
        f"# {study.title[language]}",
        f"{plural(count, 'conversation')}, each of another person with a language model, annotated by these people. "
        "Collected with `attune-bench annotate collect`; each file is a record of AttuneBench, which `attune-bench "
        "validate` checks and `attune_data.load` reads.",
        "## How they were collected",
        f"- Models: {', '.join(models)}, served at {', '.join(hosts)}. People were not told which model it was. "
        f"Improved responses (`llmImproved`) were written by {study.improving.name}.",
        f"- The model was told: {study.model.instruction or 'nothing'}",
        f"- Languages: {', '.join(study.languages)}; `metadata.language` is the language of the interface at the first "
        "message. Questions and values in other languages than English were shown in unofficial translations.",
        f"- {study.conversation.minimum} to {study.conversation.maximum} messages of each person. Topics: "
        f"{', '.join(study.conversation.topics)}.",
        f"- For each turn: {', '.join(study.annotation.binary)}; the general comparison and three drawn from "
        f"{', '.join(study.annotation.pairwise)}, in random order, without saying which response is which. "
        "Two responses that are the same text were not compared.",
        f"- Questionnaires: {', '.join(study.questionnaires) or 'none'}. Questions about the person: "
        f"{', '.join(study.participant) or 'none'}; any could be left open.",
        "- Participant ids are random, and are not the ids of the personal links.",
        "## The consent",
        study.consent[language].strip(),
        "## Licence and use",
        f"{licence.title if licence else study.licence}. Please do not train on these data, and do not show a model "
        "the annotations while it is evaluated. They are for research, and say nothing of any single person's health.",
    ]
    return "\n\n".join(lines) + "\n"
