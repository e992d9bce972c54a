"""Consolidating: at most once a day, let a model say which of the most similar facts and claims still hold."""
