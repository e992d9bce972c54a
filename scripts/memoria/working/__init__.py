"""Keep what an agent holds in mind during a session, through compaction, crash and change of machine.

- ``memory``: ``WorkingMemory``: values, task state, scratchpad and checkpoints, as records of a store
- ``scope``: whose memory it is: agent, project, session
- ``store``: the protocol of a store, and the shapes that pass through it
- ``changes``: writes that depend on the stored value, as pure functions
- ``sqlite_store``: a store in one file for many processes (the default)
- ``redis_store``: a store for many machines
- ``failover_store``: Redis, and the embedded store while Redis is away
- ``factory``: the store that the settings name
- ``task_reading``: what a transcript says of the task, and the block "where you were"

Imports no model, no hook's handler and no wiki.
"""

from memoria.working.memory import Checkpoint, Limits, Note, TaskState, WorkingMemory
from memoria.working.scope import Scope, session_scope

__all__ = ["Checkpoint", "Limits", "Note", "Scope", "TaskState", "WorkingMemory", "session_scope"]
