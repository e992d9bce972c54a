"""Account for every turn, estimate the cost of an ingest, and check the installation."""
