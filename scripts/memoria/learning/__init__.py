"""Learning: judge the turns of a session for facts worth keeping, and keep account of what waits to be judged."""
