"""Briefing: prepare the page that the next session starts with, and the notices for the user."""
