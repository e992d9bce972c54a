"""Account for every turn, and check the installation."""
