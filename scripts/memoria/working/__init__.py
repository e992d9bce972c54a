"""Working memory: what an agent keeps during a session, through compaction, crashes and a change of machine.

- ``memory``: ``WorkingMemory``: values, task state, scratchpad and checkpoints, as records of a store
- ``scope``: the owner of a memory: an agent, a project or a session
- ``store``: the protocol of a store, and the types that it uses
- ``changes``: writes that depend on the stored value, as pure functions
- ``sqlite_store``: the embedded store, one file shared by many processes (the default)
- ``redis_store``: a store shared by many machines
- ``redis_scripts``: the steps that its server must take whole
- ``failover_store``: Redis, with the embedded store as a fallback while Redis is unavailable
- ``factory``: opens the store that the settings name
- ``task_reading``: what a transcript says about the task, and the block "where you were"

This folder imports no model, no hook handler and no wiki.
"""

from memoria.working.memory import Checkpoint, Limits, Note, TaskState, WorkingMemory
from memoria.working.scope import Scope, session_scope

__all__ = ["Checkpoint", "Limits", "Note", "Scope", "TaskState", "WorkingMemory", "session_scope"]
