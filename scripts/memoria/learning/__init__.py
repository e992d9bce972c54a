"""Learning: judge the turns of a session for facts worth keeping, and track which turns wait to be judged."""
