"""Working memory: what an agent holds in mind during a session, kept through compaction, crash and machine.

The modules of this package::

    memory          WorkingMemory: values, task state, scratchpad, checkpoints, in terms of a store's records
    scope           whose memory it is: agent, project, session
    store           the protocol of a store, and the shapes that pass through it
    changes         writes that build on what stands there, as pure functions
    sqlite_store    one file, many processes (the default)
    redis_store     many machines
    failover_store  Redis, and the embedded store while it is away
    factory         which of them the settings name
    task_reading    what a transcript says of the task, and the block "where you were"

None of them knows a model, a hook or the wiki.
"""

from memoria.working.memory import Checkpoint, Limits, Note, TaskState, WorkingMemory
from memoria.working.scope import Scope, session_scope

__all__ = ["Checkpoint", "Limits", "Note", "Scope", "TaskState", "WorkingMemory", "session_scope"]
