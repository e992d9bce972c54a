"""Prepare what the next session will be shown, and the notices for the user."""
