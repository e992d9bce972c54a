"""Read and write the daily logs, keep the ledger of their entries, and decide when a compile is due."""
