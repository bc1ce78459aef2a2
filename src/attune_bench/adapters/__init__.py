"""Bridges to other libraries, each imported where it is used."""

__all__: list[str] = []
