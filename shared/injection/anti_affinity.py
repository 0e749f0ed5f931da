"""Keep pods off nodes whose labels mark a resource as unfit."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.api.objects import JsonObject, JsonValue
from shared.api.quantities import QuantityError, parse_quantity
from shared.injection.fields import array_at, element, object_at

if TYPE_CHECKING:
    from shared.config.fault_tolerance import Taint

_CONTAINERS: Final = ("containers", "initContainers")
_AMOUNTS: Final = ("requests", "limits")


def requested_resources(pod_spec: JsonObject, names: Collection[str], path: str) -> list[str]:
    """Return those of `names`, in order, of which a container requests an amount other than 0.

    Raise InjectionConflict for a field of the wrong type. `path` is the spec's.
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
    """True for a nonzero amount, and for an unreadable one: avoiding bad nodes does no harm.

    The webhook and the API server refuse an unreadable amount.
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
    """Node labels that a pod must avoid, and labels that it should avoid, as configured."""

    required: _LabelValues = ()
    preferred: _LabelValues = ()
    weight: int = 1


def anti_affinities(
    resource_taints: Mapping[str, Sequence["Taint"]], weight: int
) -> dict[str, AntiAffinity]:
    """Return the anti-affinity of each resource, for pods that request it."""
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
    """Merge the anti-affinities of a pod that requests two resources. Both have the same weight."""
    return AntiAffinity(
        _merged((*one.required, *other.required)),
        _merged((*one.preferred, *other.preferred)),
        one.weight,
    )


def _merged(label_values: Iterable[tuple[str, tuple[str, ...]]]) -> _LabelValues:
    """Return one entry per key, each value once, in order."""
    by_key: dict[str, dict[str, None]] = {}
    for key, values in label_values:
        by_key.setdefault(key, {}).update(dict.fromkeys(values))
    return tuple((key, tuple(values)) for key, values in by_key.items())


def with_anti_affinity(affinity: JsonObject, wanted: AntiAffinity, path: str) -> JsonObject:
    """Return a pod's `affinity` extended by `wanted`; `affinity` itself if it lacks nothing.

    Existing terms stay, and the argument is not changed. Raise InjectionConflict for a field of the
    wrong type. `path` is the affinity's.
    """
    here = f"{path}.nodeAffinity"
    node_affinity = object_at(affinity, "nodeAffinity", path)
    changed = {
        **_required(node_affinity, wanted.required, here),
        **_preferred(node_affinity, wanted, here),
    }
    return {**affinity, "nodeAffinity": {**node_affinity, **changed}} if changed else affinity


def _required(node_affinity: JsonObject, wanted: _LabelValues, path: str) -> JsonObject:
    """Return the changed field, if any. Terms are alternatives, so each needs the condition."""
    if not wanted:
        return {}
    if node_affinity.get(_REQUIRED) is None:
        expressions = [_not_in(key, values) for key, values in wanted]
        return {_REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
    selector = object_at(node_affinity, _REQUIRED, path)
    here = f"{path}.{_REQUIRED}"
    # An empty list matches no node, and the API server reports that. An added term would match
    # almost all nodes.
    terms = array_at(selector, "nodeSelectorTerms", here)
    extended = [
        _extended(term, wanted, f"{here}.nodeSelectorTerms[{index}]")
        for index, term in enumerate(terms)
    ]
    if all(new is old for new, old in zip(extended, terms, strict=True)):
        return {}
    return {_REQUIRED: {**selector, "nodeSelectorTerms": extended}}


def _extended(term: JsonValue, wanted: _LabelValues, path: str) -> JsonValue:
    """Return the term with its missing conditions; an empty term matches no node and stays."""
    found = element(term, path)
    expressions = array_at(found, "matchExpressions", path)
    if not expressions and not array_at(found, "matchFields", path):
        return term
    missing = list(_missing(_avoided(expressions, f"{path}.matchExpressions"), wanted))
    return {**found, "matchExpressions": [*expressions, *missing]} if missing else term


def _preferred(node_affinity: JsonObject, wanted: AntiAffinity, path: str) -> JsonObject:
    """Return the changed field, if any. Entries count separately, so each key gets its own."""
    if not wanted.preferred:
        return {}
    entries = array_at(node_affinity, _PREFERRED, path)
    avoided: list[tuple[JsonValue, JsonValue]] = []
    for index, entry in enumerate(entries):
        here = f"{path}.{_PREFERRED}[{index}]"
        preference = object_at(element(entry, here), "preference", here)
        expressions = array_at(preference, "matchExpressions", f"{here}.preference")
        # Beside another condition an entry counts only on nodes that meet both.
        if len(expressions) == 1 and not preference.get("matchFields"):
            avoided += _avoided(expressions, f"{here}.preference.matchExpressions")
    missing = [
        {"weight": wanted.weight, "preference": {"matchExpressions": [expression]}}
        for expression in _missing(avoided, wanted.preferred)
    ]
    return {_PREFERRED: [*entries, *missing]} if missing else {}


def _avoided(expressions: list[JsonValue], path: str) -> list[tuple[JsonValue, JsonValue]]:
    """Return key and value of every label that the expressions exclude by NotIn."""
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
