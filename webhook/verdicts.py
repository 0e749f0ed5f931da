"""What the webhook can answer. "Denied" is the user's fault, "errored" is ours."""

from dataclasses import dataclass

from shared.api.json import JsonObject


@dataclass(frozen=True, slots=True)
class Allowed:
    """Nothing against it."""

    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Patched:
    """Allowed with changes: the operations of a JSON patch (RFC 6902), at least one."""

    patch: list[JsonObject]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Denied:
    """Refused. `status` is a metav1.Status, which the API server hands on to the user.

    `rules` are the names of those that refused, for metrics.
    """

    status: JsonObject
    warnings: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Errored:
    """Could not be judged, so it does not get in. `code` is an HTTP status."""

    code: int
    message: str


Verdict = Allowed | Patched | Denied | Errored
