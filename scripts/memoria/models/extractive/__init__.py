"""Extractive: the offline model, which answers by selecting sentences and never calls a service."""
