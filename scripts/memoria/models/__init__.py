"""Call models through one protocol, by a table of names and a chain that tries them in order.

- ``protocol``: the protocol, the table of names, and models tried one after the other
- ``claude``: the only module that imports the Agent SDK
- ``ollama``: a local server, over HTTP
- ``offline``: the words themselves, without a model
- ``scripted``: a fake model for tests, part of the package
- ``tasks``, ``prompts``: the questions to models, and the schemas of their answers
- ``answer``: validation of a model's answer
- ``metered``: retries, booked calls, and what they may cost

Nothing below this folder knows that models exist.
"""
