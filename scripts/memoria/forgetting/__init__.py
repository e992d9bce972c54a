"""Forgetting: find everything memoria holds about something, and remove it."""
