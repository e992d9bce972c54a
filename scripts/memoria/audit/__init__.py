"""Audit: account for every turn, estimate work before it starts, and check the installation."""
