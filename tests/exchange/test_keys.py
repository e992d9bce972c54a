from __future__ import annotations

import random
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from exchange_lives import MEMORY
from memoria.base.paths import Paths
from memoria.exchange import keys
from memoria.exchange.carriers import CarrierError, Folder
from memoria.exchange.keys import Key, KeyAwayError
from memoria.exchange.meeting import TEST, Meeting, WrongKeyError
from memoria.exchange.record import ENDING, seal, unseal
from memoria.exchange.records import Records
from memoria.ground.errors import ExpectedError


def test_twelve_words_are_the_key_in_every_way_that_a_person_writes_them() -> None:
    key = Key.new()
    assert len(key.words.split()) == 12
    assert Key.of_words(f"  {key.words.upper()}\n").secret == key.secret
    assert Key.of_words(" ".join(word[:4] for word in key.words.split())).secret == key.secret


def test_the_words_are_those_of_the_standard() -> None:
    assert Key(bytes(16)).words == "abandon " * 11 + "about"


@pytest.mark.parametrize(("words", "said"), [
    ("abandon " * 12, "do not belong together"),
    ("abandon " * 11, "you gave 11"),
    ("abandon " * 10 + "mnemosyne nemesis", "'mnemosyne' is none of them"),
])  # fmt: skip
def test_words_that_are_no_key_are_refused_with_the_reason(words: str, said: str) -> None:
    with pytest.raises(ExpectedError, match=said):
        Key.of_words(words)


def test_a_key_is_kept_for_its_owner_alone(paths: Paths) -> None:
    key = Key.new()
    assert keys.read_key(paths) is None
    keys.keep(paths, key)
    assert Path(paths.exchange_key).stat().st_mode & 0o777 == 0o600
    assert (keys.read_key(paths) or Key.new()).secret == key.secret
    keys.drop(paths)
    assert keys.read_key(paths) is None


class Ring(KeyringBackend):
    """A keyring in memory, which may be locked."""

    priority = 1
    is_locked = False

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        if self.is_locked:
            raise KeyringLocked
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.is_locked:
            raise KeyringLocked
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.held[service, username]


def test_the_keyring_keeps_it_where_there_is_one(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    ring, key = Ring(), Key.new()
    monkeypatch.setattr(keyring.core, "_keyring_backend", ring)
    assert keys.keep(paths, key) == "the system's keyring"
    assert key.secret.hex() not in Path(paths.exchange_key).read_text()
    assert (keys.read_key(paths) or Key.new()).secret == key.secret
    ring.is_locked = True
    assert keys.is_kept(paths)
    with pytest.raises(KeyAwayError):
        keys.read_key(paths)
    assert keys.keep(paths, key) == paths.exchange_key, "the words were given again"
    assert keys.read_key(paths)
    ring.is_locked = False
    keys.keep(paths, key)
    keys.drop(paths)
    assert not ring.held
    assert keys.read_key(paths) is None


def test_a_sealed_segment_tells_nothing_and_another_key_opens_nothing() -> None:
    key = Key.new()
    _, data = seal(['{"i":"l-1","k":"x","d":"1","t":"a secret"}'], key)
    assert b"secret" not in data
    assert [record.text for record in unseal(data, key)] == ["a secret"]
    assert unseal(data, Key.new()) == []
    assert unseal(data, None) == []
    assert unseal(data[:-1], key) == []
    assert unseal(seal(["{}"], None)[1], key) == [], "nobody slips in what is not sealed"


def records(*texts: str) -> Records:
    rng = random.Random(1)
    made = Records(MEMORY, lambda: f"{rng.getrandbits(64):016x}")
    for text in texts:
        made.put(f"l-{text}", "x", text, ())
    return made


def test_another_key_changes_nothing_and_says_so(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    Meeting(records("one"), folder, Key.new(), "a").hold()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for key, said in ((Key.new(), "another key"), (None, "no key")):
        mine = records("two")
        with pytest.raises(WrongKeyError, match=said):
            Meeting(mine, folder, key, "b").hold()
        assert mine.current("l-one") == []
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_test_record_that_is_half_copied_is_waited_for(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    key = Key.new()
    Meeting(records("one"), folder, key, "a").hold()
    test = tmp_path.joinpath(*TEST)
    test.write_bytes(test.read_bytes()[:20])
    for mine in (key, None):
        with pytest.raises(CarrierError, match="on their way"):
            Meeting(records("two"), folder, mine, "b").hold()


def test_a_new_key_seals_everything_anew_and_the_old_one_opens_nothing(tmp_path: Path) -> None:
    folder, old, new = Folder(tmp_path), Key.new(), Key.new()
    Meeting(records("one"), folder, old, "a").hold()
    mine = records("two")
    Meeting(mine, folder, old, "b").rekey(new)
    with pytest.raises(WrongKeyError):
        Meeting(records(), folder, old, "a").hold()
    late = records()
    Meeting(late, folder, new, "c").hold()
    assert late.standing("l-one")
    assert late.standing("l-two")
    assert all(unseal(data, new) for place, data in folder.read(folder.list_files()) if place[1].endswith(ENDING))
