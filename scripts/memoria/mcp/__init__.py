"""MCP: the tools that a model can call over the Model Context Protocol while it works."""
