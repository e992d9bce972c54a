"""Weighing: a model chooses, of the notes that may fit a prompt, those that it needs, while the client goes on."""
