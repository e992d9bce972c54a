"""Working memory: what an agent keeps during a session, through compaction, crashes and a change of machine.

- ``memory``: ``WorkingMemory``: values, task state, scratchpad and checkpoints of a scope, as records of a store
- ``store``: what a store holds, the changes that build on a value, and the embedded store, one file for many processes
- ``shared_store``: the embedded store, exchanged with Redis; opens the store that the settings name
- ``task_reading``: what a transcript says about the task, and the block "where you were"

This folder imports no model, no hook handler and no wiki.
"""

from memoria.working.memory import (
    Checkpoint,
    Limits,
    Note,
    Scope,
    TaskState,
    WorkingMemory,
    session_of,
    session_scope,
)  # fmt: skip

__all__ = ["Checkpoint", "Limits", "Note", "Scope", "TaskState", "WorkingMemory", "session_of", "session_scope"]
