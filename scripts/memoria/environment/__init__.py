"""Environment: memoria's own Python packages, installed in the background, and an MCP server that need not wait."""
