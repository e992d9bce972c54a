"""MCP servers that are forked from a process in which the imports are done, because these take a second each time.

The process is started once. What a client of these tests starts instead of ``memoria mcp`` hands its stdin, stdout,
stderr, environment and folder over to it, and ends with the server's exit status. That ``memoria mcp`` starts by itself
is tested where signals end it, and wherever the real client starts it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache

FORKING = """
import json, os, select, shutil, signal, socket, sys
from memoria import cli
from memoria.mcp import server

folder = sys.argv[1]
listener = socket.socket(socket.AF_UNIX)
listener.bind(folder + "/s")
listener.listen(16)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
while 0 not in select.select([listener, 0], [], [])[0]:
    connection, _ = listener.accept()
    raw, descriptors, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    if os.fork() == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        listener.close()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        given = json.loads(raw)
        os.environ.clear()
        os.environ.update(given["environment"])
        os.chdir(given["folder"])
        try:
            status = cli.main(["mcp"])
            sys.stdout.flush()
            connection.sendall(bytes([status]))
        finally:
            os._exit(1)
    for descriptor in descriptors:
        os.close(descriptor)
    connection.close()
shutil.rmtree(folder)
"""
HANDING_OVER = """
import json, os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
given = {"environment": dict(os.environ), "folder": os.getcwd()}
socket.send_fds(connection, [json.dumps(given).encode()], [0, 1, 2])
os.close(0)
os.close(1)
status = connection.recv(1)
os._exit(status[0] if status else 1)
"""


@cache
def _forking() -> tuple[str, subprocess.Popen[bytes]]:
    """Start the process that servers are forked from; it ends with its stdin, and so with this process."""
    folder = tempfile.mkdtemp(prefix="mcp-")  # a socket's path is short
    process = subprocess.Popen(
        [sys.executable, "-c", FORKING, folder], env={"PATH": os.environ["PATH"], "HOME": folder}, cwd=folder,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return f"{folder}/s", process


def command() -> list[str]:
    """The command that becomes a server."""
    return [sys.executable, "-S", "-I", "-c", HANDING_OVER, _forking()[0]]
