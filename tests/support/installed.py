"""memoria as a person installs it: the committed files as a clone, a repository or a plugin's folder."""

from __future__ import annotations

import binascii
import hashlib
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from places import ROOT

TREE = (
    ".claude-plugin", "bin", "plugin", "hooks", "scripts",
    "pyproject.toml", "requirements.lock", "README.md", "LICENSE",
)  # fmt: skip
IDENTITY = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]


def clone(root: Path) -> Path:
    """What a clone of this repository holds, as far as memoria needs it to run, at ``root``."""
    for name in TREE:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            root.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, root / name)
    return root


def repository(clone: Path, bare: Path) -> Path:
    """The clone's files committed, in a bare repository."""
    for words in (["init", "-q"], ["add", "-A"], [*IDENTITY, "commit", "-q", "-m", "all"]):
        subprocess.run(["git", *words], cwd=clone, check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(clone), str(bare)], check=True, capture_output=True)
    return bare


def packages(folder: Path) -> Path:
    """An environment with the packages of the one that runs the tests, and no memoria; returns its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([python, "-c", where], capture_output=True, text=True, check=True).stdout.strip()
    Path(site, "those.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def environment_of(home: Path, clone: Path) -> Path:
    """Where the memoria of ``clone`` looks for its environment when ``home`` is the user's folder."""
    lock = (clone / "requirements.lock").read_bytes()
    return home / ".local" / "share" / "memoria" / f"venv-{binascii.crc32(lock):08x}-{len(lock):x}"


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
