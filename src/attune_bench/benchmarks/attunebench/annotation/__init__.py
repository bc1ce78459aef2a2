"""Annotation by people: what AttuneBench asks them, and the files that come of their answers."""
