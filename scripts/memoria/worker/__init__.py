"""Flushing: the worker that runs while jobs wait, and the flush of one session into the daily log."""
