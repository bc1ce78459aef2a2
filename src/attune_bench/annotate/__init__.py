"""Annotation by people: a web application that asks a job's screens one by one and keeps the answers in one file."""

import logging

LOG = logging.getLogger(__name__)
"""One line a request: method, route, status and time; never a secret, an address's answers or a text."""
