"""Overlap of texts: how many words two texts share.

A text is compared as its set of tokens: lower case, split on white space; punctuation stays.

References
----------
.. [1] Jaccard (1912), The distribution of the flora in the alpine zone, New Phytol. 11, 37-50.
"""

from attune_metrics.checks import check_text

__all__ = ["jaccard", "token_jaccard", "tokenize"]


def tokenize(text: str | None) -> frozenset[str]:
    """Return the set of tokens of a text: lower case, split on white space."""
    return frozenset(text.lower().split()) if text else frozenset()


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the intersection over the union; 1 if both sets are empty."""
    shared = len(first & second)
    union = len(first) + len(second) - shared
    return shared / union if union else 1.0


def token_jaccard(reference: str | None, predicted: str | None) -> float:
    """Overlap of the words of two texts: ``|A & B| / |A | B|`` over their sets of tokens.

    Parameters
    ----------
    reference, predicted : str or None
        Texts; tokens are in lower case and split on white space, punctuation stays. None is an empty text.

    Returns
    -------
    float
        0 to 1, higher is more alike. Both empty: 1; one empty: 0.

    Raises
    ------
    MetricInputError
        If either is not a text.

    Examples
    --------
    >>> token_jaccard("That sounds hard", "that sounds difficult")
    0.5
    """
    return jaccard(tokenize(check_text(reference, "reference")), tokenize(check_text(predicted, "predicted")))
