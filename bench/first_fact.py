"""From an empty home to the first recalled fact: commands, seconds and bytes, for each way to install memoria.

``nice uv run python -m bench.first_fact [plugin tool clone] [--path FOLDERS]`` installs memoria for a new user
with empty caches, as README says, and holds a session in which the user states a rule. It waits until the rule is in
the daily log, and starts a second session, whose request to the model must hold the rule. The client is the real one;
the model behind it is scripted, and memoria's own is ``offline``, so a real one adds the seconds that it needs.

Packages come from the index that uv and pip use on this machine. ``fetched`` counts what passed a proxy on loopback,
``on disk`` is everything below the home (a file with several links once), ``environment`` the folder that worker and
MCP server run in. ``install`` is the time of the commands, ``built`` the time from the first session's start until the
environment stands, ``recalled`` the time from the first command until the model was given the rule.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

from client_session import Session, wait_until
from messages_api import MessagesApi
from plugin_person import ADDRESS
from real_client import bundled_claude, clean_env

ROOT = Path(__file__).resolve().parents[1]

RULE = "Never use tabs in YAML files of this project."
OF_THE_MACHINE = ("SSL_CERT_FILE", "SSL_CERT_DIR", "PIP_CERT", "UV_PYTHON_DOWNLOADS")
PATIENCE_S = 600.0


class Counting(ThreadingTCPServer):
    """A proxy for HTTPS on loopback that counts the bytes that it hands to its clients."""

    daemon_threads = True

    def __init__(self) -> None:
        """Listen on a free port."""
        super().__init__(("127.0.0.1", 0), _Tunnel)
        self.fetched = 0

    @property
    def url(self) -> str:
        """Address of the proxy."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Tunnel(StreamRequestHandler):
    server: Counting

    def handle(self) -> None:
        method, _, rest = self.rfile.readline().decode("latin-1").partition(" ")
        host, _, port = rest.split(" ")[0].rpartition(":")
        while self.rfile.readline().strip():
            pass
        if method != "CONNECT":
            return
        with socket.create_connection((host, int(port))) as far:
            self.connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            threading.Thread(target=_pass_on, args=(self.connection, far), daemon=True).start()
            with contextlib.suppress(OSError):  # the client has closed
                for block in _blocks(far):
                    self.server.fetched += len(block)
                    self.connection.sendall(block)


def _blocks(source: socket.socket) -> Iterator[bytes]:
    while block := source.recv(1 << 18):
        yield block


def _pass_on(near: socket.socket, far: socket.socket) -> None:
    with contextlib.suppress(OSError):  # one side has closed
        for block in _blocks(near):
            far.sendall(block)
        far.shutdown(socket.SHUT_WR)


class User:
    """A new user on a machine with the client, git, uv and Python, and with empty caches."""

    def __init__(self, base: Path, api: MessagesApi, proxy: str, path: str) -> None:
        """``path`` holds the folders of the programs that the user has."""
        self.api, self.base = api, base
        self.home = base / "user"
        self.project = base / "shop"
        self.project.mkdir()
        self.commands = 0
        programs = base / "programs"
        programs.mkdir()
        (programs / "claude").symlink_to(bundled_claude())
        self.env = clean_env(self.home, api.url, MEMORIA_MODEL="offline", HTTPS_PROXY=proxy, NO_PROXY="127.0.0.1")
        self.env["PATH"] = os.pathsep.join((str(self.home / ".local" / "bin"), str(programs), path))
        (self.home / ".gitconfig").write_text(f'[url "file://{base.parent / "published"}"]\n\tinsteadOf = {ADDRESS}\n')
        self.env |= {name: os.environ[name] for name in OF_THE_MACHINE if name in os.environ}

    def run(self, *words: str | Path, cwd: Path | None = None) -> None:
        """Run a command that the user types; a failure ends the measurement."""
        self.commands += 1
        program = shutil.which(words[0], path=self.env["PATH"])
        assert program, f"{words[0]} is not on the PATH; see --path"
        done = subprocess.run(
            [program, *words[1:]], env=self.env, cwd=cwd or self.project, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"

    def session(self, prompt: str) -> None:
        """Hold a session of one prompt with the real client."""
        with Session(self.env, self.project) as session:
            session.ask(prompt)
            session.settle()
            assert session.end() == 0, session.stderr
        assert session.failed_hooks == []


def published(base: Path) -> Path:
    """Return a repository that holds the latest commit of this one, for the user to install from."""
    source = base / "published"
    subprocess.run(["git", "clone", "-q", "--depth", "1", ROOT.as_uri(), source], check=True)
    return source


def plugin(user: User, _: Path) -> tuple[Path, Path]:
    """Install the plugin from the repository; return the home and where its environment will be."""
    user.run("claude", "plugin", "marketplace", "add", ADDRESS)
    user.run("claude", "plugin", "install", "memoria@memoria")
    return user.home / "memoria", user.home / ".local" / "share" / "memoria"


def tool(user: User, source: Path) -> tuple[Path, Path]:
    """Install a wheel as a tool; building it is the publisher's work and not counted."""
    dist = source.parent / "dist"
    (wheel,) = dist.glob("*.whl")
    user.run("uv", "tool", "install", "-q", "--no-binary-package", "claude-agent-sdk", wheel)
    user.run("memoria", "install")
    return user.home / "memoria", user.home / ".local" / "share" / "uv" / "tools" / "claude-memoria"


def clone(user: User, _: Path) -> tuple[Path, Path]:
    """Run memoria from a clone, with the tools of its developers."""
    place = user.home / "memoria-clone"
    user.run("git", "clone", "-q", ADDRESS, place)
    user.run("uv", "sync", "-q", cwd=place)
    user.run("uv", "run", "-q", "memoria", "install", cwd=place)
    return place, place / ".venv"


WAYS: dict[str, Callable[[User, Path], tuple[Path, Path]]] = {"plugin": plugin, "tool": tool, "clone": clone}


@dataclass(frozen=True)
class Result:
    """What a way to install cost: seconds and bytes."""

    commands: int
    install_s: float
    built_s: float
    recalled_s: float
    fetched: int
    on_disk: int
    environment: int

    def row(self, name: str) -> str:
        """Return a line of the table."""
        sizes = " | ".join(f"{size / 1e6:.0f} MB" for size in (self.fetched, self.on_disk, self.environment))
        times = " | ".join(f"{seconds:.1f} s" for seconds in (self.install_s, self.built_s, self.recalled_s))
        return f"| {name} | {self.commands} | {times} | {sizes} |"


def measure(way: str, base: Path, source: Path, path: str) -> Result:
    """Install memoria in one way for a new user and go on until a fact is recalled."""
    base.mkdir()
    proxy = Counting()
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    with MessagesApi(lambda _: "Understood.") as api:
        user = User(base, api, proxy.url, path)
        began = time.monotonic()
        memory, environment = WAYS[way](user, source)
        installed = time.monotonic()
        user.session(RULE)
        wait_until(lambda: stands(environment), "the environment stands", PATIENCE_S)
        built = time.monotonic()
        kept = lambda: any(RULE in file.read_text("utf-8") for file in memory.glob("daily/*.md"))  # noqa: E731
        wait_until(kept, "the rule is in the daily log", PATIENCE_S)
        asked = len(api.messages)
        user.session("hello again")
        assert any(RULE in request.conversation for request in api.messages[asked:]), "the rule was not recalled"
        recalled = time.monotonic()
    proxy.shutdown()
    proxy.server_close()
    times = installed - began, max(0.0, built - installed), recalled - began
    return Result(user.commands, *times, proxy.fetched, disk(user.home), disk(environment))


def stands(folder: Path) -> bool:
    """Return whether ``folder`` is an environment, or holds one whose build is done."""
    found = [*folder.glob("bin/python"), *folder.glob("*/bin/python")]
    return any(path.parents[1].suffix != ".tmp" for path in found)


def disk(folder: Path) -> int:
    """Return the bytes of the files below ``folder``, each once."""
    seen = {}
    for path in folder.rglob("*"):
        facts = path.lstat()
        seen[facts.st_dev, facts.st_ino] = facts.st_blocks * 512
    return sum(seen.values())


def main() -> None:
    """Print a row for each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", nargs="*", default=list(WAYS), metavar="WAY", help=", ".join(WAYS))
    parser.add_argument("--path", default=os.environ["PATH"], help="where uv, git and python3 are")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoria-first-", ignore_cleanup_errors=True) as folder:
        base = Path(folder)
        source = published(base)
        subprocess.run(["uv", "build", "-q", "--wheel", "-o", base / "dist", source], check=True)
        print("| way | commands | install | built | recalled | fetched | on disk | environment |")
        print("|---|---|---|---|---|---|---|---|")
        for way in args.ways:
            print(measure(way, base / way, source, args.path).row(way), flush=True)
            shutil.rmtree(base / way, ignore_errors=True)


if __name__ == "__main__":
    main()
