"""memoria: a memory for Claude Code that compiles itself.

The folders from roof to ground; each imports only from those below it. ``cli`` and ``__main__`` stand above them all::

    commands      one module for each command of the command line
    mcp           tools that a model can call while it works
    compiling     new entries become articles
    flushing      the worker's loop, and the flush of one session
    observing     where each session stands, and what is due to be judged
    learning      the judge that looks for facts in a session's turns
    briefing      the page that a session starts with, notices, housekeeping
    forgetting    what a forget removes
    models        one protocol, the backends, prompts, budget and prices
    working       an agent's memory during a session, and its stores
    wiki          articles, drafts, links, and the transaction that applies a compile
    indexing      the writing side of the search index, and its sources
    facts         learned facts in the daily log, in their store, and on a memory server
    audit         the receipt, estimates, the self-test, the client's settings
    daily         daily logs, the ledger, and the gate of a compile
    transcripts   the client's files read as turns, and their archive
    redaction     the removal of secrets
    recall*       what hooks give to a session
    capture*      what hooks keep of a session
    search*       the reading side of the search index
    ground        home, clock, files, locks, markdown and errors
    language*     words: stems, stop words, identifiers and similarity
    base*         paths, settings, state folder, exclusion and the fence

* The hook floor: standard library only, Python 3.9, nothing slow at import, because the client starts it after every
answer. This file is part of it and contains no code. ARCHITECTURE.md has the data flow and a glossary.
"""

__version__ = "0.2.0"
