"""The address ranges of a node: 64 slots of the range that RFC 2544 reserves for tests.

Slot k is a /22 of 198.18.0.0/15: a /30 between the host and the node, a /24 of pods, a /24 of
Services.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network

from shared.api.objects import JsonObject

SLOTS = range(64)
_ALL = IPv4Network("198.18.0.0/15")
_PREFIX = 22


@dataclass(frozen=True, slots=True)
class Subnets:
    """The ranges of one slot."""

    slot: int
    whole: IPv4Network
    link: IPv4Network
    pods: IPv4Network
    services: IPv4Network

    @classmethod
    def of(cls, slot: int) -> "Subnets":
        """Returns the ranges of one of SLOTS."""
        first = int(_ALL.network_address) + slot * 2 ** (32 - _PREFIX)
        whole = IPv4Network((first, _PREFIX))
        links, pods, services, _ = whole.subnets(new_prefix=24)
        return cls(slot, whole, IPv4Network((int(links.network_address), 30)), pods, services)

    @property
    def interface(self) -> str:
        """Returns the host's end of the veth pair."""
        return f"awnode{self.slot}"

    @property
    def host_address(self) -> str:
        """Returns the host's address on the link, at which the API server listens."""
        return str(self.link[1])

    @property
    def node_address(self) -> str:
        return str(self.link[2])


def conflicting(subnets: Subnets, routes: Iterable[JsonObject]) -> JsonObject | None:
    """Returns the first of the host's routes that leads a part of the slot's range elsewhere.

    `routes` come from `ip -json -4 route show table all`: `dst` is an address, a range or
    `default`. A `default` route covers everything and does not count.
    """
    for route in routes:
        destination = route.get("dst", "default")
        if destination == "default":
            continue
        network = IPv4Network(destination, strict=False)
        if network.prefixlen > 0 and network.overlaps(subnets.whole):
            return route
    return None
