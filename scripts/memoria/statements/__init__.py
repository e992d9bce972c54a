"""Keep the facts learned from turns: one line each in a daily log, and one row each in a store built from those lines.

- ``fact``: what a fact is, and which of two holds; ``claim_check``: the check that everything a model claims must pass
- ``lines``: a fact's form in a daily log; finding, adding and changing such lines (the truth)
- ``store``: ``learned.db``, built from the lines: search, duplicates, successors
- ``keeper``: a fact's way from the outbox, which must not be forgotten, into log and store; the edits of a person
- ``shared``: what the teams of repositories share, beside what was learned

Imports no model, no prompt and no hook's handler.
"""
