"""The parts of the records of AttuneBench: turns, annotations, questionnaires, people; predictions of a model.

Names are snake_case here and the file's own in JSON; a null or absent list, object or text reads as an empty one.
Values are in current spelling and in range: `attune_data.load` translates older spellings and
reports every change.

What an evaluated model (EM) predicted of one conversation: the records of a run file.

Names are snake_case here and the file's own in JSON. Numbers are in range: `attune_data.load_runs`
clamps any other number and reports it.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from attune_data.display import Message, Part, fields_parts, parts_html
from attune_data.issues import page
from attune_data.record import (
    Answer,
    ByKey,
    Integer,
    Items,
    Label,
    Mode,
    Nested,
    Number,
    Rating,
    Record,
    Repeat,
    SnakeCaseRecord,
    Strategy,
    Text,
    Total,
    Winner,
    repeat_suffix,
    says_generated,
)


class Metadata(Record):
    """The original model and the topic of a conversation."""

    column_names: ClassVar[Mapping[str, str]] = {"model": "om_model", "text": "topic"}

    model: str | None = Field(None, description="The original model (OM) the person talked to, e.g. gpt-4o-mini.")
    category: str | None = Field(None, description="Topic, e.g. Family.")
    subtopic: str | None = Field(None, description="Subtopic within the category.")
    text: str | None = Field(None, description="`category: subtopic` as one text.")


class Demographics(SnakeCaseRecord):
    """What the participant said about themself."""

    country: str | None = Field(None, description="Country of residence.")
    education: str | None = Field(None, description="Highest level of education.")
    work_edu_background: Items[str] = Field((), description="Fields of work or study.")
    gender: str | None = Field(None, description="Gender, in the participant's choice of option.")
    age_range: str | None = Field(None, description="Age band in years, e.g. 25-34.")
    english_proficiency: str | None = Field(None, description="Proficiency in English.")
    diagnoses: Items[str] = Field((), description="Self-reported diagnoses; `None of the above` means none.")


class ComputedScores(SnakeCaseRecord):
    """Screening instruments of the participant; any may be absent. Screening is not diagnosis."""

    who_5: Integer | None = Field(None, description="WHO-5 well-being, raw 0-25.")
    asrs_6: Integer | None = Field(None, description="ASRS v1.1 six-item screener, count 0-6.")
    aq_10: Integer | None = Field(None, description="AQ-10, 0-10.")
    promis_anxiety: Integer | None = Field(None, description="PROMIS anxiety, raw sum 4-20.")
    promis_anxiety_t: Number | None = Field(None, description="PROMIS anxiety, T-score.")
    promis_depression: Integer | None = Field(None, description="PROMIS depression, raw sum 4-20.")
    promis_depression_t: Number | None = Field(None, description="PROMIS depression, T-score.")
    promis_sleep: Integer | None = Field(None, description="PROMIS sleep disturbance, raw sum 4-20.")
    promis_sleep_t: Number | None = Field(None, description="PROMIS sleep disturbance, T-score.")
    tipi_extraversion: Integer | None = Field(None, description="TIPI extraversion, sum 2-14.")
    tipi_agreeableness: Integer | None = Field(None, description="TIPI agreeableness, sum 2-14.")
    tipi_conscientiousness: Integer | None = Field(None, description="TIPI conscientiousness, sum 2-14.")
    tipi_stability: Integer | None = Field(None, description="TIPI emotional stability, sum 2-14.")
    tipi_openness: Integer | None = Field(None, description="TIPI openness, sum 2-14.")


class ParticipantProfile(SnakeCaseRecord):
    """The human participant (HP): identity within the data set, demographics, instruments, attitude to the topic."""

    column_names: ClassVar[Mapping[str, str]] = {"conversation_topic_attitude": "attitude"}

    schema_version: str | None = Field(None, description="Version of the profile, e.g. 2.0.")
    participant_id: str | None = Field(
        None, description="The participant, e.g. A00002; the same in all of their conversations."
    )
    profile_type: str | None = Field(
        None, description="Kind of profile as the file states it, e.g. shortened; nothing here depends on it."
    )
    demographics: Nested[Demographics] = Field(Demographics(), description="What the participant said about themself.")
    computed_scores: Nested[ComputedScores] = Field(
        ComputedScores(), description="Scores of the screening instruments."
    )
    conversation_topic_attitude: str | None = Field(None, description="Attitude to the topic, e.g. Excited/Optimistic.")


class Panas(Record):
    """PANAS ratings before or after the conversation: 20 items of 1-7, two totals of 10-70."""

    total_positive_affect: Total | None = Field(None, description="Recorded total of the ten positive items, 10-70.")
    total_negative_affect: Total | None = Field(None, description="Recorded total of the ten negative items, 10-70.")
    responses: ByKey[Rating | None] = Field(
        default_factory=dict, description="Rating of each PANAS word in lower case, 1-7."
    )


class FourBranchScores(Record):
    """How well the model did on the four branches of emotional intelligence, each 1-7."""

    perceiving: Rating | None = Field(
        None, description="How well the original model perceived emotions, as the participant rated it, 1-7."
    )
    facilitating: Rating | None = Field(
        None, description="How well the original model used emotions to think, as the participant rated it, 1-7."
    )
    understanding: Rating | None = Field(
        None, description="How well the original model understood emotions, as the participant rated it, 1-7."
    )
    managing: Rating | None = Field(
        None, description="How well the original model managed emotions, as the participant rated it, 1-7."
    )


class ConversationWideQuestions(Record):
    """What the participant said about the conversation as a whole."""

    four_branch_scores: Nested[FourBranchScores] = Field(
        FourBranchScores(), description="Ratings of the four branches."
    )
    q1_looking_for: Items[str] = Field(
        (), alias="q1_lookingFor", description="Q1: what the participant was looking for, any of the options."
    )
    q2_emotion_clarity: str | None = Field(
        None, alias="q2_emotionClarity", description="Q2: how clear the feelings were, one of the options."
    )
    q3_model_fit: str | None = Field(
        None, alias="q3_modelFit", description="Q3: how well the model fitted, one of the options, best to worst."
    )
    q3_follow_up_what_felt_off: Items[str] = Field(
        (), alias="q3_followUp_whatFeltOff", description="What felt off; asked after a negative Q3 only."
    )


class MoodShiftTag(Record):
    """One emotion the participant felt in a turn."""

    emotion: str = Field(
        description="One of the 20 PANAS words, in title case; loading reports any other word and keeps it."
    )
    intensity: Rating | None = Field(None, description="Intensity, 1-7, or null where it was not given.")


class BinaryJudgement(Record):
    """One yes/no question about the model's response: did it happen, and should it have."""

    question_id: str = Field(description="Id of the yes/no question, e.g. B7.")
    observed_behavior: Answer | None = Field(
        None, description="Whether the response did it, as the participant said; `na`: not applicable."
    )
    preferred_behavior: Answer | None = Field(
        None, description="Whether the participant would have wanted it; `na`: not applicable."
    )
    llm_value: Answer | None = Field(
        None, description="Older files: a model's answer to whether the response did it, used where no person answered."
    )


class AlternateResponses(Record):
    """The two alternatives to the original response."""

    llm_improved: Text = Field("", description="The response as a model improved it (label `alternate`).")
    human_edited: Text = Field("", description="The response as the participant edited it (label `human`).")


class PairwiseComparison(Record):
    """One choice between two of the three responses to a turn."""

    question_id: str | None = Field(
        None,
        description="Id of the comparing question, e.g. PW7; `general`: the question in general; or `custom:<text>`.",
    )
    response_a: Label | None = Field(None, alias="responseA", description="The response shown as A.")
    response_b: Label | None = Field(None, alias="responseB", description="The response shown as B.")
    winner: Winner | None = Field(None, description="The participant's choice; null where none was made.")


class Annotations(Record):
    """What the participant annotated on one turn."""

    binary_judgements: Items[BinaryJudgement] = Field((), description="Yes/no questions about the response.")
    alternate_responses: Nested[AlternateResponses] = Field(
        AlternateResponses(), description="The two other responses to the message."
    )
    pairwise_comparisons: Items[PairwiseComparison] = Field(
        (), description="Choices between two responses, usually 12."
    )
    selected_pairwise_questions: Items[str] = Field((), description="The PW questions chosen for this turn.")


class Turn(Record):
    """One message of the participant and the model's response, with the participant's annotations."""

    turn_number: Integer = Field(description="Number of the turn, from 1.")
    user_message: Text = Field("", description="What the participant wrote.")
    llm_response: Text = Field("", description="What the original model answered (label `original`).")
    mood_shift_tags: Items[MoodShiftTag] = Field((), description="Emotions felt; empty for a neutral or stable turn.")
    annotations: Nested[Annotations] = Field(Annotations(), description="Judgements and preferences on this turn.")

    @property
    def responses(self) -> dict[str, str]:
        """The three responses by their labels, ``original``, ``alternate`` and ``human``; empty where there is none.

        Examples
        --------
        >>> turn = Turn(turn_number=1, llm_response="I see.")
        >>> turn.responses
        {'original': 'I see.', 'alternate': '', 'human': ''}
        """
        others = self.annotations.alternate_responses
        return {"original": self.llm_response, "alternate": others.llm_improved, "human": others.human_edited}

    def _repr_html_(self) -> str:
        said = Message(speaker="participant", text=self.user_message, is_person=True)
        answered = Message(speaker="model", text=self.llm_response)
        shown = ("turn_number", "user_message", "llm_response")
        [noted] = fields_parts(self.model_copy(update=dict.fromkeys(shown)), extra=False)
        parts = [Part(messages=[said, answered], facts=noted.facts)]
        return page(f"Turn {self.turn_number}", *parts_html(parts))


class ConversationData(Record):
    """The content of a conversation file; `attune_data.Conversation` also shows itself."""

    column_prefixes: ClassVar[Mapping[str, str]] = {"pre_panas": "pre_", "post_panas": "post_"}

    conversation_id: str = Field(min_length=1, description="UUID of the conversation.")
    metadata: Nested[Metadata] = Field(Metadata(), description="Original model and topic.")
    participant_profile: Nested[ParticipantProfile] = Field(
        ParticipantProfile(), alias="participant_profile", description="The human participant."
    )
    pre_panas: Nested[Panas] = Field(Panas(), description="PANAS before the conversation.")
    post_panas: Nested[Panas] = Field(Panas(), description="PANAS after the conversation.")
    conversation_wide_questions: Nested[ConversationWideQuestions] = Field(
        ConversationWideQuestions(), description="Questions about the conversation as a whole."
    )
    turns: Items[Turn] = Field((), description="The turns in order.")

    @property
    def id(self) -> str:
        """The conversation's UUID, by which a collection finds it."""
        return self.conversation_id

    @property
    def participant_id(self) -> str | None:
        """The participant, the cluster of every interval; None where the file does not say."""
        return self.participant_profile.participant_id

    @property
    def synthetic(self) -> bool:
        """Whether the record says of itself that it was generated (``metadata.synthetic``)."""
        return says_generated((self.metadata.model_extra or {}).get("synthetic"))


ANSWER_FIELDS = (
    "em_binary_om_assessment",
    "em_binary_human_prediction",
    "em_binary_om_assessment_hp",
    "em_binary_human_prediction_hp",
    "em_draft_binary_assessment",
)
"""The fields of a turn with answers to the binary questions."""

Answers = ByKey[Answer | None]


class JudgeScores(SnakeCaseRecord):
    """A judge model's rating of the drafted response, four dimensions of 1-7."""

    overall_score: Number | None = Field(None, description="Overall quality, 1-7.")
    emotional_appropriateness: Number | None = Field(None, description="Fit to the person's feelings, 1-7.")
    helpfulness: Number | None = Field(None, description="Helpfulness, 1-7.")
    tone_match: Number | None = Field(None, description="Fit of tone, 1-7.")


class RunTurn(SnakeCaseRecord):
    """What the evaluated model drafted and predicted for one turn."""

    column_prefixes: ClassVar[Mapping[str, str]] = {"em_draft_judge_scores": "draft_"}

    turn_number: Integer = Field(alias="turnNumber", description="Number of the turn, from 1.")
    em_emotion_tags: Items[MoodShiftTag] = Field((), description="The emotions that the person felt, as predicted.")
    em_drafted_response: Text = Field(
        "", description="The model's own reply, written before it saw the original response."
    )
    response_reasoning: Text = Field("", description="Why the model replied so; verbose modes only.")
    emotion_reasoning: Text = Field("", description="Why it predicted these emotions; verbose modes only.")
    em_binary_om_assessment: Answers = Field(
        default_factory=dict, description="By question: did the response do it? Asked as of an observer."
    )
    em_binary_human_prediction: Answers = Field(
        default_factory=dict, description="By question: would the person have wanted it? Asked as of an observer."
    )
    em_binary_om_assessment_hp: Answers = Field(
        default_factory=dict, description="By question: did the response do it? Asked as of the person."
    )
    em_binary_human_prediction_hp: Answers = Field(
        default_factory=dict, description="By question: would the person have wanted it? Asked as of the person."
    )
    em_pairwise_selections: ByKey[Winner | None] = Field(
        default_factory=dict, description="Position of the comparison, from 0, to the predicted choice."
    )
    pairwise_assignment: ByKey[ByKey[Label | None]] = Field(
        default_factory=dict, description="By position of the comparison, the response shown as A and as B; not scored."
    )
    em_draft_judge_scores: Nested[JudgeScores] = Field(
        JudgeScores(), description="The judges' mean ratings of the draft."
    )
    em_draft_judge_scores_by_model: ByKey[Any] = Field(
        default_factory=dict, description="Each judge's ratings by its name; not scored."
    )
    em_four_branch_scores: ByKey[Any] = Field(default_factory=dict, description="Not used.")
    em_draft_binary_assessment: Answers = Field(
        default_factory=dict, description="By question: did the draft do it? Answered by the judges."
    )
    em_draft_binary_assessment_by_model: ByKey[Any] = Field(
        default_factory=dict, description="Each judge's answers by its name; not scored."
    )
    em_continuation: Text = Field(
        "", description="How the model continued the first half of the person's message; of runs with probes."
    )
    em_paraphrase_continuation: Text = Field(
        "", description="How it continued the first half of a paraphrase of the message; of runs with paraphrases."
    )
    paraphrase_end: Text = Field("", description="The second half of this paraphrase.")

    def _repr_html_(self) -> str:
        return page(f"Turn {self.turn_number}, predicted", *parts_html(fields_parts(self, extra=False)))


class PredictedPanas(Record):
    """The predicted PANAS after the conversation."""

    total_positive_affect: Total | None = Field(None, description="Predicted positive total, 10-70.")
    total_negative_affect: Total | None = Field(None, description="Predicted negative total, 10-70.")
    items: ByKey[Rating | None] = Field(
        default_factory=dict, description="Predicted rating of each PANAS word in title case, 1-7."
    )


class PredictedConversationWide(SnakeCaseRecord):
    """The predicted answers about the conversation as a whole."""

    q1_looking_for: Items[str] = Field((), alias="q1_lookingFor", description="Q1: any of the options.")
    q2_emotion_clarity: str | None = Field(None, alias="q2_emotionClarity", description="Q2: one of the options.")
    q3_model_fit: str | None = Field(None, alias="q3_modelFit", description="Q3: one of the options.")
    q3_follow_up_what_felt_off: Items[str] = Field(
        (), alias="q3_followUp_whatFeltOff", description="What felt off to the person; after a negative Q3 only."
    )
    four_branch_scores: Nested[FourBranchScores] = Field(
        FourBranchScores(), alias="fourBranchScores", description="Predicted ratings of the four branches."
    )


class PostConversation(SnakeCaseRecord):
    """What the evaluated model predicted after the last turn."""

    panas_strategy: Strategy | None = Field(None, description="How the PANAS after the conversation was asked for.")
    pre_panas_shown: Any = Field(
        None, description="What the model was shown of the PANAS before the conversation; any value."
    )
    predicted_post_panas: Nested[PredictedPanas] = Field(
        PredictedPanas(), description="The predicted PANAS after the conversation."
    )
    predicted_panas_delta: ByKey[Any] = Field(
        default_factory=dict, description="Predicted change of each item; delta strategies only; not scored."
    )
    predicted_conversation_wide: Nested[PredictedConversationWide] = Field(
        PredictedConversationWide(), description="Predicted answers to Q1-Q3 and ratings of the four branches."
    )


class RunData(SnakeCaseRecord):
    """The content of a run file; `attune_data.Run` also shows itself."""

    conversation_id: str = Field(
        min_length=1, alias="conversationId", description="The conversation that was predicted."
    )
    source_file: str | None = Field(None, description="The conversation file the run was made from.")
    em_model: str = Field(min_length=1, description="The evaluated model, e.g. vendor/model.")
    run_timestamp: str | None = Field(None, description="When the run ended, ISO 8601.")
    mode: Mode = Field("default", description="How much the model was shown and asked for.")
    repeat: Repeat = Field(
        1, description="Which time the model was asked this, where it was asked several times; from 1."
    )
    api_cost: Number | None = Field(None, description="Cost of all calls, USD.")
    duration_seconds: Number | None = Field(None, description="Sum of the seconds of its calls.")
    turns: Items[RunTurn] = Field((), description="Predictions per turn.")
    post_conversation: PostConversation | None = Field(
        None, description="Predictions after the last turn; null in an incomplete run."
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
