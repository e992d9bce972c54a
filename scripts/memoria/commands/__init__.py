"""Implement the command line, one module for each command; no command imports another."""
