"""Recall: what the hooks give a session: a page at its start and notes beside a prompt."""
