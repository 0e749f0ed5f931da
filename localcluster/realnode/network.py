"""The node's network: a veth pair between the host and its namespaces, and routes on the host.

A process owns a slot while it holds its claim, which ends with it. So the interface of a free slot
is left over, and is removed.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence

import orjson

from localcluster.machine.claims import claim
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.tools import system_path
from localcluster.realnode import cgroups
from localcluster.realnode.namespaces import NodeNamespaces
from localcluster.realnode.subnets import SLOTS, Subnets, conflicting
from shared.api.objects import JsonObject

INSIDE = "eth0"  # the node's end of the pair


class NodeNetwork:
    """A claimed slot: the pair is up, and the node's namespaces hold its other end."""

    def __init__(
        self, subnets: Subnets, reservation: socket.socket, inside: NodeNamespaces
    ) -> None:
        self.subnets = subnets
        self._reservation = reservation
        self.namespaces = inside

    @classmethod
    def claim(cls) -> NodeNetwork:
        """Claims the first free slot, as root, in an event loop. Raises LocalClusterError.

        Also removes the cgroups that killed runs left. Blocks for about 0.2 s.
        """
        cgroups.sweep()
        refusals = []
        for slot in SLOTS:
            reservation = claim(f"node-{slot}")
            if reservation is None:
                continue
            subnets = Subnets.of(slot)
            try:
                _remove_interface(subnets.interface)
                route = conflicting(subnets, _routes())
                if route is None:
                    return cls._connected(subnets, reservation)
            except BaseException:
                reservation.close()
                raise
            reservation.close()
            refusals.append(f"{route['dst']} (dev {route.get('dev', '?')})")
        raise LocalClusterError(_no_slot(refusals))

    @classmethod
    def _connected(cls, subnets: Subnets, reservation: socket.socket) -> NodeNetwork:
        inside = NodeNamespaces.start()
        try:
            _connect(subnets, inside.process_1)
        except BaseException:
            inside.kill_now()
            raise
        return cls(subnets, reservation, inside)

    def release(self) -> None:
        """Ends all processes inside, and removes the pair. A second call does nothing."""
        if self._reservation.fileno() < 0:
            return
        self.namespaces.kill_now()
        _remove_interface(self.subnets.interface)
        self._reservation.close()


def _connect(subnets: Subnets, process_1: int) -> None:
    """Makes the pair with one end inside from the start, and sets both ends' routes."""
    host, node, outside = subnets.host_address, subnets.node_address, subnets.interface
    _ip(f"link add {outside} type veth peer name {INSIDE} netns {process_1}")
    _ip(
        f"addr add {host}/{subnets.link.prefixlen} dev {outside}",
        f"link set {outside} up",
    )
    _ip(
        "link set lo up",
        f"addr add {node}/{subnets.link.prefixlen} dev {INSIDE}",
        f"link set {INSIDE} up",
        f"route add default via {host}",
        process_1=process_1,
    )
    _ip(*(f"route add {each} via {node}" for each in (subnets.pods, subnets.services)))


def _ip(*commands: str, process_1: int | None = None) -> None:
    """Runs `ip` commands on the host, or inside. Raises LocalClusterError."""
    program: Sequence[str] = ("ip", "-batch", "-")
    if process_1 is not None:
        program = ("nsenter", f"--net=/proc/{process_1}/ns/net", *program)
    done = _run(program, "\n".join(commands))
    if done.returncode != 0:
        raise LocalClusterError(
            f"The real node's network cannot be made (`ip {'; ip '.join(commands)}`):"
            f" {done.stdout.strip()}"
        )


def _remove_interface(name: str) -> None:
    """Removes the interface with its routes; it may be gone with its peer."""
    _run(("ip", "link", "delete", name), "")


def _routes() -> list[JsonObject]:
    done = _run(("ip", "-json", "-4", "route", "show", "table", "all"), "")
    routes: list[JsonObject] = orjson.loads(done.stdout or "[]")
    return routes


def _run(command: Sequence[str], given: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(command),
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | system_path(),
        text=True,
        check=False,
    )


def _no_slot(refusals: Sequence[str]) -> str:
    if not refusals:
        return (
            f"All {len(SLOTS)} address ranges for real nodes are taken by other clusters on this"
            " machine. `python -m localcluster down --dir D` ends one."
        )
    return (
        "There is no free address range for a real node: this machine routes parts of"
        f" 198.18.0.0/16 elsewhere: {', '.join(sorted(set(refusals)))}. Remove that route (a VPN or"
        " a proxy may have set it) and start again."
    )
