"""Random lives of three machines that meet at a memory server, in a folder, or at both."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from facts import a_fact
from home_lives import Machine
from memoria.exchange.memory_server import Server
from memoria.exchange.records import Records
from memoria.worker import together
from memory_server import KEY, MemoryServer

pytestmark = pytest.mark.slow


def meet(machine: Machine, server: MemoryServer, *, folder: bool = True, at_server: bool = True) -> str:
    with machine.at_work(), Records.of(machine.home.paths) as records:
        carrier = together.carrier_of(machine.home) if folder else None
        one = Server(server.url, KEY) if at_server else None
        return together.exchange(machine.home, records, carrier, one).line


FAULTS: tuple[int | str, ...] = (500, 503, "cut", "proxy 404", 409)


@pytest.mark.parametrize(
    ("seed", "faults"), [*((seed, False) for seed in (0, 1, 4, 46)), *((seed, True) for seed in (25, 67))]
)
def test_no_wording_is_lost_doubled_or_back_and_all_come_to_rest(
    tmp_path: Path, server: MemoryServer, seed: int, faults: bool
) -> None:
    """With faults, the server is away, restored or replaced in between."""
    (tmp_path / "carrier").mkdir()
    rng, address = random.Random(seed), str(tmp_path / "carrier")
    machines = [Machine(name, tmp_path / name, address, rng) for name in ("desk", "laptop", "attic")]
    for machine in machines:
        with machine.at_work(), machine.keeper() as keeper:
            keeper.take([a_fact(f"Use {machine.name}.")], "shop")
    said, gone, backup = {f"Use {machine.name}." for machine in machines}, set[str](), server.backup()
    has_folder = not faults or rng.random() < 0.5
    for step in range(20):
        machine, act = rng.choice(machines), rng.random()
        if act < 0.5:
            server.fault_for = {rng.choice(("GET", "POST", "PUT", "DELETE")): rng.choice(FAULTS)} if faults else {}
            meet(machine, server, folder=has_folder and rng.random() < 0.7, at_server=rng.random() < 0.7)
        elif act < 0.56 and faults:
            backup = server.backup()
        elif act < 0.62 and faults:
            server.restore(rng.choice((backup, ({}, 0))))
        else:
            with machine.at_work(), machine.keeper() as keeper:
                facts = keeper.store.facts()
                if facts:
                    known = rng.choice(facts)
                    gone.add(known.content)
                    if rng.random() < 0.2:
                        keeper.delete(known.id)
                    else:
                        said.add(f"Use {step}.")
                        keeper.edit(known.id, f"Use {step}.")
    server.fault_for = {}
    for machine in machines * 4:
        meet(machine, server, folder=has_folder)
    for machine in machines:
        assert sorted(fact.content for fact in machine.facts()) == server.live() == sorted(said - gone)
    server.requests.clear()
    assert {meet(machine, server, folder=has_folder) for machine in machines} == {"nothing new"}
    assert server.written() == []
