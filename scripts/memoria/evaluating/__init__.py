"""Evaluate the memory on the person's own history: what it would have shown, and what came of it."""
