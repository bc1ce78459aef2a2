"""A program of a user: loads, asks, scores, compares, goes through records."""
# ruff: noqa: T201

import attune_data
from attune_bench import Scores, figures, score
from attune_data import all_of, describe, load, load_episodes, load_records, load_runs, load_sage, load_scenarios, show
from attune_data.kinds import ITEM, QUESTION

conversations = load("demo")
runs = load_runs("demo")
adhd = conversations.where(diagnosis=all_of("ADHD"), category=["Family", "Work"]).filter("n_turns > 2")
for conversation in adhd:
    for turn in conversation.turns:
        for tag in turn.mood_shift_tags:
            print(conversation.id, turn.turn_number, tag.emotion.lower(), tag.intensity)
        for judgement in turn.annotations.binary_judgements:
            print(judgement.question_id.upper(), judgement.observed_behavior)
for run in runs:
    for predicted in run.turns:
        print(run.em_model, predicted.em_drafted_response.strip(), dict(predicted.em_binary_om_assessment))
first = conversations["4efd"]
other = conversations.get("nobody")
print(first.participant_id, other is None, show(first, runs), describe(conversations)["conversations"])
print(conversations.issues.height, [issue.message for issue in conversations.found], repr(conversations.issue_report()))
print(adhd.tables.mood_tags.columns, runs.joined(conversations).mood_tags.height)
for name, part in conversations.stratify("diagnosis_group").items():
    print(name, len(part))
train, test = conversations.split(0.5, 0.5, seed=1)
print(len(train | test), conversations[1:3], conversations.sample(3, seed=1))

scores = score(conversations, runs)
print(scores.summary(metrics=["composite_score"], resamples=200).height)
print(scores.compare("synthetic/attentive", "synthetic/hasty", metrics=["avg_emotion_f1"], resamples=200))
print(scores.compare_all(metrics=["avg_emotion_f1"]), scores.by("category", data=conversations), scores.rank())
print(scores.report(format="markdown"), scores.sign(), scores.metrics["composite_score"].label, scores.models)
scores.write("scores.parquet")
again: Scores = Scores.read("scores.parquet")
figures.save(again.plot("avg_emotion_f1", resamples=200), "plot.svg")
figures.save(figures.ranks(again), "ranks.svg")

for scenario in load_scenarios("demo", split="test"):
    print(scenario.id, scenario.initial_calibration.initial_anger)
for episode in load_episodes("demo"):
    print(episode.model, [line.content for line in episode.history])
for dialogue in load_sage("demo"):
    print(dialogue.model, dialogue.emo_point)
for item in load_records("demo", ITEM):
    print(item.scenario.strip(), item.questions)
for question in load_records("demo", QUESTION):
    print(question.reference)
codebook = attune_data.load_codebook()
print(codebook.binary["B7"].category.upper(), codebook.emotions["proud"].valence + 1)
