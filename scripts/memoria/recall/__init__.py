"""Give a session its page when it starts, and notes beside a prompt."""
