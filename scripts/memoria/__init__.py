"""memoria: a memory for Claude Code that compiles itself.

ARCHITECTURE.md has the folders from roof to ground, of which each imports only from those below it, the flow of data
and a glossary. ``cli`` and ``__main__`` stand above all folders. This file is part of the hook floor (standard library
only, Python 3.9, nothing slow at import, because the client starts it after every answer) and contains no code.
"""

__version__ = "0.2.0"
