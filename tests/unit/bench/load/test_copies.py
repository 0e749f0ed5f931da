"""Copies of stored AppWrappers: other names and UIDs, the same number of bytes."""

from bench.etcd import Etcd
from bench.load.copies import Copies, copied, name_of, node_of

UID = "0cada572-39b4-41e9-9987-5fd0a1b2c3d4"
FOLDER = "/registry/workload.codeflare.dev/appwrappers/bench/"
PODS = "/registry/pods/bench/"
# A byte string of Protobuf begins with its length; field 11 (`X`) follows a pod's node.
POD = f"\x12\x10{name_of(0)}-x7f2k\x2a\x24{UID}\x52\x0agpu-node-3X".encode()


def test_a_copy_has_other_names_and_uids_of_the_same_length() -> None:
    text = copied(POD, {name_of(0): name_of(12), "gpu-node-3": node_of(7)}, 12)
    assert text == (
        b"\x12\x10copy-00012-x7f2k\x2a\x240cada572-39b4-41e9-9987-00000000000c\x52\x0anode-00007X"
    )
    assert len(text) == len(POD)


class Stored(Etcd):
    """Keys and values, without a server."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    async def put(self, key: str, value: bytes) -> None:
        self.values[key] = value

    async def delete(self, prefix: str) -> None:
        self.values = {key: v for key, v in self.values.items() if not key.startswith(prefix)}


RUNS = {f"{FOLDER}{name_of(0)}": name_of(0).encode(), f"{PODS}{name_of(0)}-x7f2k": POD}
ENDED = {f"{FOLDER}{name_of(1)}": name_of(1).encode()}


async def test_even_numbers_run_on_the_nodes_in_turn_and_odd_ones_have_ended() -> None:
    etcd = Stored()
    await Copies(etcd, [RUNS, ENDED], nodes=5).store([2, 3])
    assert sorted(etcd.values) == [
        f"{PODS}copy-00002-x7f2k", f"{FOLDER}copy-00002", f"{FOLDER}copy-00003",
    ]  # fmt: skip
    assert b"node-00001X" in etcd.values[f"{PODS}copy-00002-x7f2k"]
    assert etcd.values[f"{FOLDER}copy-00003"] == b"copy-00003"


async def test_lost_ones_have_no_objects_and_all_can_be_removed() -> None:
    etcd = Stored()
    copies = Copies(etcd, [RUNS, ENDED], nodes=5)
    await copies.store([4], whole=False)
    assert list(etcd.values) == [f"{FOLDER}copy-00004"]
    await copies.store([2])
    etcd.values |= RUNS | {"another": b""}
    await copies.clear()
    assert etcd.values == {"another": b""}


def test_no_number_is_used_twice_and_every_second_one_runs() -> None:
    copies = Copies(Stored(), [RUNS, ENDED], nodes=5)
    assert list(copies.unused(3)) == [2, 3, 4]
    assert list(copies.unused(2, step=2)) == [6, 8]
