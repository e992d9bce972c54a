"""Read the sessions of each coding agent: where they are, and what their lines are in the form of Claude Code."""
