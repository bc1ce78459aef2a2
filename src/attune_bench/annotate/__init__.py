"""Annotation by people: a web application that asks a job's screens one by one and keeps the answers in one file."""
