"""What can be planted in synthetic conversations."""

from dataclasses import dataclass, fields

__all__ = ["Effects"]


@dataclass(frozen=True, slots=True)
class Effects:
    """What is planted in synthetic conversations.

    Parameters
    ----------
    clarity : float
        Mean over participants of the probability, 0-1, that a turn is clear: the message names its feelings, and the
        tags are those the story means. In an unclear turn the message veils them, and tags are missing, replaced by
        a neighbouring emotion, or without intensity.
    clarity_loss_diagnosed : float
        How much lower the clarity of a participant with a diagnosis is, -1 to 1.
    diagnosis_rate : float
        Probability, 0-1, that a participant has a diagnosis.
    label_noise : float
        Share, 0-1, of binary answers (yes and no) and of winners that are flipped.
    label_noise_diagnosed : float
        What is added to `label_noise` for a participant with a diagnosis, -1 to 1.
    null_rate : float
        Share, 0-1, of binary answers and intensities left null.
    null_winner_rate : float
        Share, 0-1, of pairwise winners left null. Loading notes each such turn as an issue.
    na_rate : float
        Probability, 0-1, that a question which cannot apply in a turn is asked all the same and answered na.
    preference_strength : float
        Log-odds, 0 or more, of preferring the edited response over one that is worse by 1 in latent quality; the
        human's has 1, the improved one 0.5, the original -0.5 to 0.9 by how well it did.
    panas_shift : float
        How far, 0 or more, PANAS items follow the story from its first to its last turn; 1 is all the way.

    Examples
    --------
    >>> Effects(clarity_loss_diagnosed=0.5).clarity
    0.75
    """

    clarity: float = 0.75
    clarity_loss_diagnosed: float = 0.3
    diagnosis_rate: float = 0.4
    label_noise: float = 0.03
    label_noise_diagnosed: float = 0.0
    null_rate: float = 0.01
    null_winner_rate: float = 0.0
    na_rate: float = 0.4
    preference_strength: float = 3.0
    panas_shift: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            low = -1.0 if field.name.endswith("_diagnosed") else 0.0
            high = 1e6 if field.name in {"preference_strength", "panas_shift"} else 1.0
            if not low <= value <= high:
                raise ValueError(f"{field.name} is {value!r}; expected {low:g} to {high:g}")
