"""The settings file as a person writes it: change single values and keep everything else that stands in it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from memoria.base.atomic import PRIVATE
from memoria.base.settings import config_path
from memoria.ground import files
from memoria.ground.errors import FileBusyError, SavedMeanwhileError
from memoria.ground.exchange import Exchange

_SAVES = 20  # of a person, that a change gives way to


def create() -> None:
    """Create config.json, without a setting in it, for its owner only."""
    path = Path(config_path(os.environ))
    files.make_folder(path.parent)
    files.replace(path, "{}\n", mode=PRIVATE)


def change(exchange: Exchange, values: Mapping[str, Any]) -> Path:
    """Set values in config.json, or remove those that are None; return its path.

    What a person saves at the same moment is kept. Raise FileBusyError when the file keeps being saved, ValueError when
    it holds no JSON object.
    """
    path = Path(config_path(os.environ))
    for _ in range(_SAVES):
        before = exchange.read(path)
        stored = json.loads((before or b"{}").decode("utf-8-sig"))
        if not isinstance(stored, dict):
            raise ValueError(f"{path} must hold one JSON object")
        removed = {name for name, value in values.items() if value is None}
        after = {name: value for name, value in {**stored, **values}.items() if name not in removed}
        if after == stored:
            return path
        data = json.dumps(after, indent=2, ensure_ascii=False) + "\n"
        with suppress(SavedMeanwhileError):
            exchange.replace(path, data.encode(), before, mode=PRIVATE)
            path.chmod(PRIVATE)  # it may hold keys, also when it was there before
            return path
    raise FileBusyError(path)
