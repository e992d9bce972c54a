"""MCP: what a model may ask of its memory while it works, as tools over stdin and stdout."""
