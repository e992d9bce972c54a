"""Daily: the daily logs, the ledger of what they hold, and the gate that says when a compile is due."""
