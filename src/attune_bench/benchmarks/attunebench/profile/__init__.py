"""Predicting a participant's profile from the conversation alone; an experiment."""

__all__: list[str] = []
