"""What an evaluated model (EM) predicted of one conversation: the records of a run file.

Names are snake_case here and the file's own in JSON. Numbers are in range: `attune_data.load_runs` clamps what is
not and reports it.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from attune_data.attunebench.parts import FourBranchScores, MoodShiftTag
from attune_data.record import (
    Answer,
    ByKey,
    Integer,
    Items,
    Label,
    Mode,
    NullAs,
    Number,
    Rating,
    Record,
    Repeat,
    Strategy,
    Text,
    Total,
    Winner,
    repeat_suffix,
)

__all__ = [
    "ANSWER_FIELDS",
    "JudgeScores",
    "PostConversation",
    "PredictedConversationWide",
    "PredictedPanas",
    "RunData",
    "RunTurn",
]

ANSWER_FIELDS = (
    "em_binary_om_assessment",
    "em_binary_human_prediction",
    "em_binary_om_assessment_hp",
    "em_binary_human_prediction_hp",
    "em_draft_binary_assessment",
)
"""The fields of a turn with answers to the binary questions."""

Answers = ByKey[Answer | None]


class JudgeScores(Record):
    """A judge model's rating of the drafted response, four dimensions of 1-7."""

    overall_score: Number | None = Field(None, alias="overall_score", description="Overall quality, 1-7.")
    emotional_appropriateness: Number | None = Field(
        None, alias="emotional_appropriateness", description="Fit to the person's feelings, 1-7."
    )
    helpfulness: Number | None = Field(None, alias="helpfulness", description="Helpfulness, 1-7.")
    tone_match: Number | None = Field(None, alias="tone_match", description="Fit of tone, 1-7.")


class RunTurn(Record):
    """What the evaluated model drafted and predicted for one turn."""

    column_prefixes: ClassVar[Mapping[str, str]] = {"em_draft_judge_scores": "draft_"}

    turn_number: Integer = Field(description="Number of the turn, from 1.")
    em_emotion_tags: Items[MoodShiftTag] = Field(
        (), alias="em_emotion_tags", description="The emotions that the person felt, as predicted."
    )
    em_drafted_response: Text = Field(
        "",
        alias="em_drafted_response",
        description="The model's own reply, written before it saw the original response.",
    )
    response_reasoning: Text = Field(
        "", alias="response_reasoning", description="Why the model replied so; verbose modes only."
    )
    emotion_reasoning: Text = Field(
        "", alias="emotion_reasoning", description="Why it predicted these emotions; verbose modes only."
    )
    em_binary_om_assessment: Answers = Field(
        default_factory=dict,
        alias="em_binary_om_assessment",
        description="By question: did the response do it? Asked as of an observer.",
    )
    em_binary_human_prediction: Answers = Field(
        default_factory=dict,
        alias="em_binary_human_prediction",
        description="By question: would the person have wanted it? Asked as of an observer.",
    )
    em_binary_om_assessment_hp: Answers = Field(
        default_factory=dict,
        alias="em_binary_om_assessment_hp",
        description="By question: did the response do it? Asked as of the person.",
    )
    em_binary_human_prediction_hp: Answers = Field(
        default_factory=dict,
        alias="em_binary_human_prediction_hp",
        description="By question: would the person have wanted it? Asked as of the person.",
    )
    em_pairwise_selections: ByKey[Winner | None] = Field(
        default_factory=dict,
        alias="em_pairwise_selections",
        description="Position of the comparison, from 0, to the predicted choice.",
    )
    pairwise_assignment: ByKey[ByKey[Label | None]] = Field(
        default_factory=dict,
        alias="pairwise_assignment",
        description="By position of the comparison, the response shown as A and as B; not scored.",
    )
    em_draft_judge_scores: Annotated[JudgeScores, NullAs(JudgeScores.null())] = Field(
        JudgeScores(), alias="em_draft_judge_scores", description="The judges' mean ratings of the draft."
    )
    em_draft_judge_scores_by_model: ByKey[Any] = Field(
        default_factory=dict,
        alias="em_draft_judge_scores_by_model",
        description="Each judge's ratings by its name; not scored.",
    )
    em_four_branch_scores: ByKey[Any] = Field(
        default_factory=dict, alias="em_four_branch_scores", description="Not used."
    )
    em_draft_binary_assessment: Answers = Field(
        default_factory=dict,
        alias="em_draft_binary_assessment",
        description="By question: did the draft do it? Answered by the judges.",
    )
    em_draft_binary_assessment_by_model: ByKey[Any] = Field(
        default_factory=dict,
        alias="em_draft_binary_assessment_by_model",
        description="Each judge's answers by its name; not scored.",
    )


class PredictedPanas(Record):
    """The predicted PANAS after the conversation."""

    total_positive_affect: Total | None = Field(None, description="Predicted positive total, 10-70.")
    total_negative_affect: Total | None = Field(None, description="Predicted negative total, 10-70.")
    items: ByKey[Rating | None] = Field(
        default_factory=dict, description="Predicted rating of each PANAS word in title case, 1-7."
    )


class PredictedConversationWide(Record):
    """The predicted answers about the conversation as a whole."""

    q1_looking_for: Items[str] = Field((), alias="q1_lookingFor", description="Q1: any of the options.")
    q2_emotion_clarity: str | None = Field(None, alias="q2_emotionClarity", description="Q2: one of the options.")
    q3_model_fit: str | None = Field(None, alias="q3_modelFit", description="Q3: one of the options.")
    q3_follow_up_what_felt_off: Items[str] = Field(
        (), alias="q3_followUp_whatFeltOff", description="What felt off to the person; after a negative Q3 only."
    )
    four_branch_scores: Annotated[FourBranchScores, NullAs(FourBranchScores.null())] = Field(
        FourBranchScores(), description="Predicted ratings of the four branches."
    )


class PostConversation(Record):
    """What the evaluated model predicted after the last turn."""

    panas_strategy: Strategy | None = Field(
        None, alias="panas_strategy", description="How the PANAS after the conversation was asked for."
    )
    pre_panas_shown: Any = Field(
        None,
        alias="pre_panas_shown",
        description="What the model was shown of the PANAS before the conversation; any value.",
    )
    predicted_post_panas: Annotated[PredictedPanas, NullAs(PredictedPanas.null())] = Field(
        PredictedPanas(), alias="predicted_post_panas", description="The predicted PANAS after the conversation."
    )
    predicted_panas_delta: ByKey[Any] = Field(
        default_factory=dict,
        alias="predicted_panas_delta",
        description="Predicted change of each item; delta strategies only; not scored.",
    )
    predicted_conversation_wide: Annotated[PredictedConversationWide, NullAs(PredictedConversationWide.null())] = Field(
        PredictedConversationWide(),
        alias="predicted_conversation_wide",
        description="Predicted answers to Q1-Q3 and ratings of the four branches.",
    )


class RunData(Record):
    """The content of a run file; `attune_data.Run` also shows itself."""

    conversation_id: str = Field(min_length=1, description="The conversation that was predicted.")
    source_file: str | None = Field(
        None, alias="source_file", description="The conversation file the run was made from."
    )
    em_model: str = Field(min_length=1, alias="em_model", description="The evaluated model, e.g. vendor/model.")
    run_timestamp: str | None = Field(None, alias="run_timestamp", description="When the run ended, ISO 8601.")
    mode: Mode = Field("default", description="How much the model was shown and asked for.")
    repeat: Repeat = Field(
        1, alias="repeat", description="Which time the model was asked this, where it was asked several times; from 1."
    )
    api_cost: Number | None = Field(None, alias="api_cost", description="Cost of all calls, USD.")
    duration_seconds: Number | None = Field(
        None, alias="duration_seconds", description="Seconds; those of its calls added up."
    )
    turns: Items[RunTurn] = Field((), description="Predictions per turn.")
    post_conversation: PostConversation | None = Field(
        None,
        alias="post_conversation",
        description="Predictions after the last turn; null in an incomplete run.",
    )

    @property
    def id(self) -> str:
        """``conversation/model/mode``, then the repeat from the second on, by which a collection finds the run."""
        return f"{self.conversation_id}/{self.em_model}/{self.mode}{repeat_suffix(self.repeat)}"

    @property
    def key(self) -> tuple[str, str, str, int]:
        """Conversation, model, mode and repeat, which no two runs share."""
        return self.conversation_id, self.em_model, self.mode, self.repeat

    @property
    def complete(self) -> bool:
        """Whether the predictions after the last turn are there (neither null, absent nor empty)."""
        post = self.post_conversation
        return post is not None and bool(post.model_fields_set or post.model_extra)
