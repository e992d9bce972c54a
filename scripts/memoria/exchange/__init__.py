"""Exchange: one memory on several machines; today, statements through a memory server."""
