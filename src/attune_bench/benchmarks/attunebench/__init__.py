"""AttuneBench: predictions of what participants annotated in their conversations with a model."""

from pathlib import Path

from attune_bench.scores.benchmark import (
    PROMPTS_OPTION,
    Benchmark,
    Command,
    Option,
    ScoresFormat,
    Streaming,
    role_options,
)

_ROOM = "attune_bench.benchmarks.attunebench"

BENCHMARK = Benchmark(
    name="attunebench",
    title="AttuneBench",
    docs="attunebench.md",
    data="attune_data.kinds:CONVERSATION",
    results="attune_data.kinds:RUN",
    cluster="participant_id",
    score=f"{_ROOM}.scoring:score",
    row=f"{_ROOM}.scoring:row",
    streaming=Streaming(
        scorer=f"{_ROOM}.run_scorer:RunScorer",
        kept_data=f"{_ROOM}.run_scorer:kept_conversation",
        kept_result=f"{_ROOM}.run_scorer:kept_run",
        join=f"{_ROOM}.scoring:join",
    ),
    options=(
        Option(
            name="protocol",
            help="Which definition counts where the documentation and the released scorer differ; by default the "
            "documented one.",
            verbs=("score",),
            values=("documented", "released"),
            is_common=True,
        ),
        Option(
            name="similarity",
            help="What measures the similarity of drafts and responses beside token overlap: bertscore, or "
            "bertscore:MODEL with a model of the Hub or a folder.",
            verbs=("score",),
        ),
        Option(
            name="modes",
            help="What the model is shown and asked for; by default default.",
            verbs=("run",),
            values=("default", "verbose", "omniscient", "verbose_omniscient", "all"),
            multiple=True,
            is_common=True,
        ),
        *role_options("judge", "Models that judge the answers.", multiple=True),
        Option(
            name="panas_strategy",
            help="How the PANAS after the conversation is asked for; by default absolute.",
            verbs=("run",),
            values=("absolute", "delta", "blind_delta"),
        ),
        Option(
            name="codebook",
            help="The data set's own annotation_codebook.json, instead of the bundled questions.",
            verbs=("run",),
            kind=Path,
        ),
        PROMPTS_OPTION,
        Option(
            name="probes",
            help="Also ask for the rest of each message of a participant, cut in half, to look for contamination.",
            verbs=("run",),
            kind=bool,
        ),
        Option(
            name="paraphrases",
            help="Paraphrases of messages, which --probes cuts in half too: CSV or JSONL with conversationId, "
            "turnNumber and text.",
            verbs=("run",),
            kind=Path,
        ),
    ),
    task=f"{_ROOM}.task:TASK",
    baselines=f"{_ROOM}.baselines:BASELINES",
    analyses=f"{_ROOM}.analyses:ANALYSES",
    sections=f"{_ROOM}.report:sections",
    transcripts=f"{_ROOM}.report:transcript",
    answers=f"{_ROOM}.annotation.drafts:drafts",
    measures=f"{_ROOM}.measures:measures",
    commands=(
        Command(
            name="rejudge", help="Let judges judge the drafts of run files anew.", command=f"{_ROOM}.rejudging:rejudge"
        ),
        Command(
            name="profile",
            help="Ask a model for participants' profiles (an experiment).",
            command=f"{_ROOM}.rejudging:profile",
        ),
    ),
    annotation=(
        Command(
            name="predict",
            help="Have people predict what models predict.",
            command=f"{_ROOM}.annotation.predict:predict",
        ),
        Command(
            name="collect",
            help="Let people talk with a model, and annotate their conversations.",
            command=f"{_ROOM}.annotation.collect:collect",
        ),
        Command(
            name="demo",
            help="Try a study with a stand-in for the model, without a key.",
            command=f"{_ROOM}.annotation.collect:demo",
        ),
    ),
    limits=(
        "Scores measure agreement with what the participant reported, not the emotional intelligence of a model: a "
        "self-report can be incomplete, and a model can agree with it for other reasons than understanding.",
        "For research, not a clinical instrument: the scores say nothing of any single person.",
        "Compare a score with a published one only where both runs showed the model the same and asked the same on "
        "the same scale. Runs made by this library show and ask the same as the published ones in words of their own, "
        "at temperature 0 unless a setting says otherwise.",
    ),
    scores_format=ScoresFormat(
        keys=frozenset(("conversations", "aggregates")),
        read=f"{_ROOM}.scores_json_reader:read_scores_json",
        write=f"{_ROOM}.scores_json:write_scores_json",
        check=f"{_ROOM}.scores_json_reader:check_detail",
        default="scores.json",
    ),
)
