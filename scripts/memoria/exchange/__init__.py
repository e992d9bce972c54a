"""Let one memory live on several machines and in a team.

- ``rounds``: one exchange, from the files to the files; ``sources``: the two kinds of files
- ``record`` and ``records``: what is exchanged, and how it becomes one state
- ``forms``: as which records
- ``meeting`` and ``carriers``: the other machines, by a folder or git; ``keys``: how it is sealed there
- ``rows`` and ``memory_server``: a memory server, for statements
- ``team``: statements in a repository
"""
