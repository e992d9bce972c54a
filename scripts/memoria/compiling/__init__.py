"""Compiling: turn the daily log's new entries into articles, one batch and one transaction at a time."""
