"""Find everything that memoria holds about something, and remove it."""
