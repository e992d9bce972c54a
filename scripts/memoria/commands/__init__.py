"""Commands: one module a verb of the command line; no verb knows another."""
