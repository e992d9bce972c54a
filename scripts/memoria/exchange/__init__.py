"""Exchange statements with a memory server that the user named.

- ``sync``: one round; ``pull`` takes in, ``push`` sends
- ``server_links``: which row of the server is which fact, and whether a row is still the one that was known
- ``wire``: a fact's form as a row of the server
- ``memory_server``: the HTTP requests of that exchange
"""
