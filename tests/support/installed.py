"""memoria as a person installs it: the committed files as a clone, a repository or a plugin's folder."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shlex
import shutil
import struct
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from places import ROOT, TESTS

TREE = (
    ".claude-plugin", "bin", "plugin", "hooks", "scripts",
    "pyproject.toml", "requirements.lock", "README.md", "LICENSE",
)  # fmt: skip
# A kernel takes no blank in the path of an interpreter, so that a shell starts it.
FAKE_UV = (TESTS / "fixtures" / "programs" / "fake-uv.txt").read_text("utf-8")
IDENTITY = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]


def clone(root: Path) -> Path:
    """What a clone of this repository holds, as far as memoria needs it to run, at ``root``.

    The modules that this Python has compiled here are compiled there as well, as after a first run.
    """
    for name in TREE:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            root.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, root / name)
    compiled(root / "scripts")
    return root


def compiled(scripts: Path) -> None:
    """Give a copy of scripts/ the bytecode that this Python has for the original.

    It is checked against a hash of the source, not against its time: what is changed in the copy is compiled anew, and
    what the client or git copies on is not.
    """
    for source in scripts.rglob("*.py"):
        cached = Path(importlib.util.cache_from_source(str(ROOT / "scripts" / source.relative_to(scripts))))
        there = source.stat()
        wanted = importlib.util.MAGIC_NUMBER + struct.pack("<III", 0, int(there.st_mtime), there.st_size)
        code = cached.read_bytes() if cached.exists() else b""
        if code.startswith(wanted):
            target = Path(importlib.util.cache_from_source(str(source)))
            target.parent.mkdir(exist_ok=True)
            digest = importlib.util.source_hash(source.read_bytes())
            target.write_bytes(code[:4] + struct.pack("<I", 0b11) + digest + code[16:])


def repository(clone: Path, bare: Path) -> Path:
    """The clone's files committed, in a bare repository."""
    for words in (["init", "-q"], ["add", "-A"], [*IDENTITY, "commit", "-q", "-m", "all"]):
        subprocess.run(["git", *words], cwd=clone, check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(clone), str(bare)], check=True, capture_output=True)
    return bare


def packages(folder: Path) -> Path:
    """An environment with the packages of the one that runs the tests, and no memoria; returns its interpreter."""
    (_site(folder) / "those.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


def empty_packages(folder: Path) -> Path:
    """An environment with the names of memoria's packages and nothing in them, which costs nothing to import."""
    site = _site(folder)
    for name in ("anyio", "jinja2", "yaml"):
        (site / f"{name}.py").touch()
    return folder / "bin" / "python"


def _site(folder: Path) -> Path:
    """Make a virtual environment; returns where its packages go."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))


def fake_uv(folder: Path, made: Path) -> None:
    """Put a uv into ``folder`` that needs no network: it copies ``made``, and waits while there is a file ``wait``."""
    (folder / "uv").write_text(FAKE_UV.format(python=shlex.quote(sys.executable), folder=str(folder), made=str(made)))
    (folder / "uv").chmod(0o755)


def uv_calls(folder: Path, word: str = "") -> list[Any]:
    """What that uv was called with, if ``word`` is in it: arguments, folder and environment of each call."""
    log = folder / "calls"
    rows = [json.loads(row) for row in log.read_text().splitlines()] if log.exists() else []
    return [row for row in rows if word in row[0]]


def environment_of(home: Path, clone: Path) -> Path:
    """Where the memoria of ``clone`` looks for its environment when ``home`` is the user's folder."""
    lock = (clone / "requirements.lock").read_bytes()
    return (
        home / ".local" / "share" / "memoria" / f"venv-{int.from_bytes(lock, 'big') % (2**30 - 35):08x}-{len(lock):x}"
    )


def fingerprint(folder: Path) -> str:
    """A hash of every name, mode, link and byte below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        digest.update(f"{path.relative_to(folder)}\0{facts.st_mode}\0".encode())
        if path.is_symlink():
            digest.update(bytes(path.readlink()))
        elif path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()
