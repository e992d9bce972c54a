"""memoria: a memory for Claude Code that compiles itself.

One way through, every arrow a file::

    hook.run -> capture -> spool -> flush -> daily -> compile -> knowledge -> recall

Floors, from the door down; a room imports only from floors below its own:

    doors    cli, the files in hooks/ and scripts/
    verbs    capture* recall* flush compile status install demo ...     (no verb imports a verb)
    models   claude, ollama, offline, scripted behind one protocol      (nouns know no model)
    nouns    hook* transcript* spool* cursor* turn daily article wiki index ledger gate project
    ground   paths* settings* quickjson* detach* errors clock files locks markdown

The rooms marked * are the hook floor: standard library only, Python 3.9, nothing slow at import, because the client
starts them after every answer. This file is part of it and stays empty of code.
"""

__version__ = "0.1.0"
