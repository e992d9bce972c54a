from __future__ import annotations

import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpreters import every
from memoria.base import quickjson
from places import ROOT

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@pytest.mark.slow
@given(VALUES)
def test_it_reads_what_json_writes_and_json_what_it_writes_in_one_ascii_line(value: object) -> None:
    assert quickjson.loads(json.dumps(value)) == value
    assert quickjson.dumps(value) == json.dumps(value)


@given(st.text() | st.sampled_from(["{", "[" * 100_000, '{"a":1} {', "\ufeff", "1" * 5000, '"\\u12"', "nul"]))
def test_it_refuses_what_json_refuses_and_only_with_a_value_error(text: str) -> None:
    try:
        mine: object = quickjson.loads(text)
    except ValueError:
        mine = ValueError
    try:
        theirs: object = json.JSONDecoder(strict=False).decode(text.strip(" \t\r\n\ufeff"))
    except (ValueError, RecursionError):
        theirs = ValueError
    assert repr(mine) == repr(theirs)  # NaN is not equal to itself


REFUSED = (
    "", "{", '{"a"', '["\t",', "nul", '{"a":1,}', '"\\u12', "[1 2]", "{1:2}", "-", '"a', "1 2", '"\\x"', "[" * 100_000,
)  # fmt: skip
PROGRAM = f"""
import sys
sys.path.insert(0, {str(ROOT / "scripts")!r})
from memoria.base import quickjson
for text in sys.stdin.read().split(chr(0)):
    try:
        quickjson.loads(text)
    except ValueError as error:
        print(error)
"""


@every(9)
def test_a_fresh_interpreter_refuses_with_a_value_error_and_says_why(python: str) -> None:
    """Fresh: Python 3.10 and 3.11 do otherwise until somebody has imported json."""
    done = subprocess.run(
        [python, "-S", "-I", "-c", PROGRAM], input="\0".join(REFUSED), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == len(REFUSED)
    assert done.stdout.splitlines()[3] == "Expecting value: line 1 column 6 (char 5)", "a tab in a text is no fault"


@pytest.mark.parametrize(("text", "value"), [
    (r'"\ud800"', "?"), (r'"a\uDFFF"', "a?"),
    (r'{"\udc80": ["\ud800", {"x": "\ud800"}]}', {"?": ["?", {"x": "?"}]}),
    (r'"\ud83d\ude00"', "\U0001f600"), (r'["\\ud800", 7, null]', ["\\ud800", 7, None]),
])  # fmt: skip
def test_what_no_file_and_no_database_can_hold_is_replaced(text: str, value: object) -> None:
    assert quickjson.loads(text) == value
