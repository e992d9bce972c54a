"""Provide paths, settings, the state folder and everything else that even the hooks need."""
