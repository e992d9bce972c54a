"""Memory: the facts learned from turns, one line each in a daily log and one row each in a store made from those lines.

- ``event``: what a fact is, and the check that everything a model claims must pass
- ``local_judge``: what can be told of an exchange without asking a model
- ``lines``: a fact's form in a daily log; finding, adding and changing such lines (the truth)
- ``store``: ``learned.db``, made from the lines: search, duplicates, successors, what has been judged
- ``outbox``: work that must not be forgotten, as files: facts on their way to the log, changes on their way to a server
- ``keep``: the way of a fact from the outbox into log and store, and of a person's edits
- ``saved``: what the assistant saved itself in the client's own memory, and reading that memory
- ``sync``: exchanging facts with a memory server that the user named

Knows no model, no hook and no prompt.
"""
