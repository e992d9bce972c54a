"""Briefing: prepare what the next session starts with, and tell the user what they must know."""
