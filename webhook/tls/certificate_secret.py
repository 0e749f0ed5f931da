"""Read and write the stored certificates: the data of the Secret, and the caBundles. Pure.

The Secret is read strictly, item by item:

    ca.crt, ca.key            the CA in use
    tls.crt, tls.key          the certificate that is served
    next-ca.crt, next-ca.key  a CA on its way into the caBundle
    rotation.json             {"nextForced": bool,
                               "previous": [{"certificate": PEM, "trustedUntil": RFC 3339}]}

The Go operator writes the first four, so its certificates stay in use. `Contents.problems` names
unusable items, without any text of the Secret.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import orjson
from cryptography.x509 import Certificate

from shared.api.objects import JsonObject, JsonValue
from webhook.tls.issue import is_authority
from webhook.tls.key_pair import KeyPair, UnusablePem, certificate_from_pem, pem

AUTHORITY: Final = ("ca.crt", "ca.key")
LEAF: Final = ("tls.crt", "tls.key")
NEXT: Final = ("next-ca.crt", "next-ca.key")
ROTATION: Final = "rotation.json"
KEYS: Final = (*AUTHORITY, *LEAF, *NEXT, ROTATION)

_NEXT_FORCED: Final = "nextForced"
_PREVIOUS: Final = "previous"


@dataclass(frozen=True, slots=True)
class NextAuthority:
    """A CA on its way into every caBundle; it has issued nothing yet.

    `forced` is set if an admin requested it: clients must soon stop trusting the replaced CA.
    """

    pair: KeyPair
    forced: bool = False


@dataclass(frozen=True, slots=True)
class PreviousAuthority:
    """A CA that issues nothing any more; it is trusted while a replica may serve a leaf of it."""

    certificate: Certificate
    trusted_until: datetime


@dataclass(frozen=True, slots=True)
class Contents:
    """The usable part of a Secret. `problems` describes each unusable item in one line."""

    authority: KeyPair | None = None
    leaf: KeyPair | None = None
    next: NextAuthority | None = None
    previous: tuple[PreviousAuthority, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def trusted(self) -> tuple[Certificate, ...]:
        """Return the CAs that clients must trust, each once, the one in use first."""
        found: dict[Certificate, None] = {}
        if self.authority is not None:
            found[self.authority.certificate] = None
        if self.next is not None:
            found[self.next.pair.certificate] = None
        found.update((one.certificate, None) for one in self.previous)
        return tuple(found)

    @property
    def bundle(self) -> bytes:
        """Return `trusted` as PEM, for the caBundle."""
        return pem(self.trusted)


def parse(data: Mapping[str, JsonValue]) -> Contents:
    """Return the usable part of a Secret's `data`, without raising."""
    reader = _Reader(data)
    if not any(reader.has(key) for key in KEYS):
        return Contents()
    authority = reader.pair(AUTHORITY, authority=True)
    leaf = reader.pair(LEAF)
    announced = reader.pair(NEXT, authority=True, optional=True)
    forced, previous = reader.rotation()
    following = None if announced is None else NextAuthority(announced, forced)
    return Contents(authority, leaf, following, previous, tuple(reader.problems))


def encode(contents: Contents) -> dict[str, str]:
    """Return the `data` with these contents, without keys for absent ones."""
    found: dict[str, bytes] = {}
    following = None if contents.next is None else contents.next.pair
    for (certificate, key), pair in {
        AUTHORITY: contents.authority,
        LEAF: contents.leaf,
        NEXT: following,
    }.items():
        if pair is not None:
            found[certificate] = pair.certificate_pem
            found[key] = pair.key_pem
    if contents.next is not None or contents.previous:
        found[ROTATION] = orjson.dumps(_rotation(contents))
    return {key: base64.b64encode(value).decode() for key, value in found.items()}


def _rotation(contents: Contents) -> JsonObject:
    return {
        _NEXT_FORCED: contents.next is not None and contents.next.forced,
        _PREVIOUS: [
            {
                "certificate": pem([one.certificate]).decode(),
                "trustedUntil": one.trusted_until.isoformat(),
            }
            for one in contents.previous
        ],
    }


class _Reader:
    """Read items of `data`, and collect their problems."""

    def __init__(self, data: Mapping[str, JsonValue]) -> None:
        self._data = data
        self.problems: list[str] = []

    def has(self, key: str) -> bool:
        """True if the key has a value. An empty one counts as absent: some admins empty Secrets."""
        return bool(self._data.get(key))

    def pair(
        self, keys: tuple[str, str], *, authority: bool = False, optional: bool = False
    ) -> KeyPair | None:
        """Return the certificate and key of these names; None and a problem if unusable."""
        certificate, key = keys
        missing = [one for one in keys if not self.has(one)]
        if missing:
            if not optional or len(missing) == 1:
                self.problems.append(" and ".join(missing) + " missing")
            return None
        try:
            pair = KeyPair.from_pem(self._decoded(certificate), self._decoded(key))
        except UnusablePem as error:
            self.problems.append(f"{certificate} and {key}: {error}")
            return None
        if authority and not is_authority(pair.certificate):
            self.problems.append(f"{certificate} is no CA")
            return None
        return pair

    def rotation(self) -> tuple[bool, tuple[PreviousAuthority, ...]]:
        """Read `rotation.json`: whether an admin requested the next CA, and the previous CAs."""
        if not self.has(ROTATION):
            return False, ()
        try:
            return _rotation_of(self._decoded(ROTATION))
        except UnusablePem as error:
            self.problems.append(f"{ROTATION}: previous: {error}")
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            self.problems.append(f"{ROTATION} is damaged")
        return False, ()

    def _decoded(self, key: str) -> bytes:
        try:
            return base64.b64decode(str(self._data.get(key) or ""), validate=True)
        except binascii.Error as error:
            raise UnusablePem("it is not base64") from error


def _rotation_of(text: bytes) -> tuple[bool, tuple[PreviousAuthority, ...]]:
    decoded = orjson.loads(text)
    forced = decoded[_NEXT_FORCED]
    if not isinstance(forced, bool):
        raise TypeError("a flag that is no boolean")
    return forced, tuple(_previous(one) for one in decoded[_PREVIOUS])


def _previous(item: JsonObject) -> PreviousAuthority:
    until = datetime.fromisoformat(item["trustedUntil"])
    if until.tzinfo is None:
        raise ValueError("a time without a zone")
    certificate = certificate_from_pem(item["certificate"].encode())
    return PreviousAuthority(certificate, until.astimezone(UTC))


# The caBundles of a webhook configuration. Only entries count that lead to the given Service; other
# entries may share the object.


@dataclass(frozen=True, slots=True)
class ServiceName:
    """The Service that an entry must lead to."""

    namespace: str
    name: str


def ca_bundles(configuration: JsonObject, service: ServiceName) -> tuple[bytes, ...]:
    """Return the bundle of each entry for `service`, PEM; empty if absent or not base64."""
    return tuple(_bundle(entry) for _, entry in _ours(configuration, service))


def patch(configuration: JsonObject, service: ServiceName, bundle: bytes) -> list[JsonObject]:
    """Return a JSON patch that sets `bundle` in the entries for `service`; [] if all have it.

    The patch requires the resourceVersion of the read: after another write the API server answers
    with a Conflict. A replica that was frozen meanwhile could otherwise remove a CA in use.
    """
    encoded = base64.b64encode(bundle).decode()
    operations: list[JsonObject] = []
    for index, entry in _ours(configuration, service):
        if entry["clientConfig"].get("caBundle") == encoded:
            continue
        path = f"/webhooks/{index}/clientConfig/caBundle"
        operations.append({"op": "add", "path": path, "value": encoded})
    if operations:
        version = configuration["metadata"]["resourceVersion"]
        read = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
        operations.insert(0, read)
    return operations


def _ours(configuration: JsonObject, service: ServiceName) -> Iterator[tuple[int, JsonObject]]:
    for index, entry in enumerate(configuration.get("webhooks") or []):
        found = entry["clientConfig"].get("service") or {}
        if ServiceName(found.get("namespace", ""), found.get("name", "")) == service:
            yield index, entry


def _bundle(entry: JsonObject) -> bytes:
    try:
        return base64.b64decode(entry["clientConfig"].get("caBundle") or "", validate=True)
    except binascii.Error:
        return b""
