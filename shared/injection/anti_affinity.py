"""Keeping pods off nodes whose labels say that a resource there is unfit."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.api.objects import JsonObject, JsonValue
from shared.api.quantities import QuantityError, parse_quantity
from shared.injection.fields import array_at, element, object_at

if TYPE_CHECKING:
    from shared.config.fault_tolerance import Taint

# Which resources a pod asks for.

_CONTAINERS: Final = ("containers", "initContainers")
_AMOUNTS: Final = ("requests", "limits")


def requested_resources(pod_spec: JsonObject, names: Collection[str], path: str) -> list[str]:
    """Those of `names`, in their order, of which some container wants more or less than 0.

    Raises InjectionConflict for a field of another type than it must be. `path` is the spec's.
    """
    found: set[str] = set()
    for field in _CONTAINERS:
        for index, each in enumerate(array_at(pod_spec, field, path)):
            here = f"{path}.{field}[{index}]"
            resources = object_at(element(each, here), "resources", here)
            for kind in _AMOUNTS:
                amounts = object_at(resources, kind, f"{here}.resources")
                found.update(
                    name
                    for name in names
                    if name in amounts and name not in found and _is_some(amounts[name])
                )
    return [name for name in names if name in found]


def _is_some(amount: JsonValue) -> bool:
    """An amount that cannot be read counts: staying off bad nodes does no harm.

    The webhook refuses such an amount, and the API server does.
    """
    if amount is None:
        return False
    try:
        return parse_quantity(amount) != 0
    except QuantityError:
        return True


_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"

_LabelValues = tuple[tuple[str, tuple[str, ...]], ...]  # a node label's key and its bad values


@dataclass(frozen=True, slots=True)
class AntiAffinity:
    """Node labels that a pod must avoid, and those that it had better avoid, as configured."""

    required: _LabelValues = ()
    preferred: _LabelValues = ()
    weight: int = 1


def anti_affinities(
    resource_taints: Mapping[str, Sequence["Taint"]], weight: int
) -> dict[str, AntiAffinity]:
    """What asking for a resource entails, by the resource's name."""
    return {
        resource: AntiAffinity(
            _label_values(taint for taint in taints if taint.effect != "PreferNoSchedule"),
            _label_values(taint for taint in taints if taint.effect == "PreferNoSchedule"),
            weight,
        )
        for resource, taints in resource_taints.items()
        if taints
    }


def _label_values(taints: Iterable["Taint"]) -> _LabelValues:
    return _merged((taint.key, (taint.value,)) for taint in taints)


def both(one: AntiAffinity, other: AntiAffinity) -> AntiAffinity:
    """For a pod that asks for two resources. Their weight is one setting."""
    return AntiAffinity(
        _merged((*one.required, *other.required)),
        _merged((*one.preferred, *other.preferred)),
        one.weight,
    )


def _merged(label_values: Iterable[tuple[str, tuple[str, ...]]]) -> _LabelValues:
    """One entry a key, each value once, in order."""
    by_key: dict[str, dict[str, None]] = {}
    for key, values in label_values:
        by_key.setdefault(key, {}).update(dict.fromkeys(values))
    return tuple((key, tuple(values)) for key, values in by_key.items())


def with_anti_affinity(affinity: JsonObject, wanted: AntiAffinity, path: str) -> JsonObject:
    """A pod's `affinity` with what it lacks of `wanted`; `affinity` itself if it lacks nothing.

    What is there stays; the argument is not written to. Raises InjectionConflict for a field of
    another type than it must be. `path` is the affinity's.
    """
    here = f"{path}.nodeAffinity"
    node_affinity = object_at(affinity, "nodeAffinity", path)
    changed = {
        **_required(node_affinity, wanted.required, here),
        **_preferred(node_affinity, wanted, here),
    }
    return {**affinity, "nodeAffinity": {**node_affinity, **changed}} if changed else affinity


def _required(node_affinity: JsonObject, wanted: _LabelValues, path: str) -> JsonObject:
    """The field to change, if any. Terms are alternatives, so each of them must say it."""
    if not wanted:
        return {}
    if node_affinity.get(_REQUIRED) is None:
        expressions = [_not_in(key, values) for key, values in wanted]
        return {_REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
    selector = object_at(node_affinity, _REQUIRED, path)
    here = f"{path}.{_REQUIRED}"
    # None at all match no node, and the API server says so. One of ours would match almost all.
    terms = array_at(selector, "nodeSelectorTerms", here)
    extended = [
        _extended(term, wanted, f"{here}.nodeSelectorTerms[{index}]")
        for index, term in enumerate(terms)
    ]
    if all(new is old for new, old in zip(extended, terms, strict=True)):
        return {}
    return {_REQUIRED: {**selector, "nodeSelectorTerms": extended}}


def _extended(term: JsonValue, wanted: _LabelValues, path: str) -> JsonValue:
    """The term with what it lacks; an empty one matches no node, and stays so."""
    found = element(term, path)
    expressions = array_at(found, "matchExpressions", path)
    if not expressions and not array_at(found, "matchFields", path):
        return term
    missing = list(_missing(_avoided(expressions, f"{path}.matchExpressions"), wanted))
    return {**found, "matchExpressions": [*expressions, *missing]} if missing else term


def _preferred(node_affinity: JsonObject, wanted: AntiAffinity, path: str) -> JsonObject:
    """The field to change, if any. Every entry counts by itself, so each key gets its own."""
    if not wanted.preferred:
        return {}
    entries = array_at(node_affinity, _PREFERRED, path)
    avoided: list[tuple[JsonValue, JsonValue]] = []
    for index, entry in enumerate(entries):
        here = f"{path}.{_PREFERRED}[{index}]"
        preference = object_at(element(entry, here), "preference", here)
        expressions = array_at(preference, "matchExpressions", f"{here}.preference")
        # Beside another condition it counts only on nodes that meet that one too.
        if len(expressions) == 1 and not preference.get("matchFields"):
            avoided += _avoided(expressions, f"{here}.preference.matchExpressions")
    missing = [
        {"weight": wanted.weight, "preference": {"matchExpressions": [expression]}}
        for expression in _missing(avoided, wanted.preferred)
    ]
    return {_PREFERRED: [*entries, *missing]} if missing else {}


def _avoided(expressions: list[JsonValue], path: str) -> list[tuple[JsonValue, JsonValue]]:
    """Key and value of every label that the expressions exclude by NotIn."""
    return [
        (expression.get("key"), value)
        for index, each in enumerate(expressions)
        if (expression := element(each, f"{path}[{index}]")).get("operator") == "NotIn"
        for value in array_at(expression, "values", f"{path}[{index}]")
    ]


def _missing(
    avoided: list[tuple[JsonValue, JsonValue]], wanted: _LabelValues
) -> Iterator[JsonObject]:
    for key, values in wanted:
        left = tuple(value for value in values if (key, value) not in avoided)
        if left:
            yield _not_in(key, left)


def _not_in(key: str, values: tuple[str, ...]) -> JsonObject:
    return {"key": key, "operator": "NotIn", "values": list(values)}
