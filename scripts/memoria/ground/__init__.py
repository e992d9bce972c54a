"""Provide the clock, files, locks, errors and markdown for every folder above."""
