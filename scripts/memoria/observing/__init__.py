"""Observing: after every answer, note where each session stands and start the worker for turns that are due."""
