"""The records of SAGE: dialogues with a simulated person whose emotion is a number."""

__all__: list[str] = []
