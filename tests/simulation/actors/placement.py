"""Whether a pod fits on a node, by the rules of the scheduler. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from shared.api.objects import JsonObject
from shared.api.pod_requests import all_requested
from shared.api.quantities import parse_quantity

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_KEEPS_OFF: Final = ("NoSchedule", "NoExecute")
_CORDON: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def refusal(pod: JsonObject, node: JsonObject, used: Mapping[str, Decimal]) -> str:
    """Return the scheduler's reason why the pod does not fit; empty if it fits.

    `used` is what the node's pods request.
    """
    spec: JsonObject = pod["spec"]
    if (node.get("spec") or {}).get("unschedulable") and not tolerations_of(pod, _CORDON):
        return "node(s) were unschedulable"
    for taint in (node.get("spec") or {}).get("taints") or ():
        if taint["effect"] in _KEEPS_OFF and not tolerations_of(pod, taint):
            return "node(s) had untolerated taint(s)"
    if not _is_wanted(spec, node):
        return "node(s) didn't match Pod's node affinity/selector"
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    for name, amount in {**all_requested(spec), "pods": Decimal(1)}.items():
        if used.get(name, Decimal(0)) + amount > parse_quantity(allocatable.get(name, "0")):
            return "Too many pods" if name == "pods" else f"Insufficient {name}"
    return ""


def requests_of(pods: Iterable[JsonObject]) -> dict[str, Decimal]:
    """Return what the pods request together."""
    total: Counter[str] = Counter()
    amounts: dict[str, Decimal] = {}
    for pod in pods:
        total["pods"] += 1
        for name, amount in all_requested(pod["spec"]).items():
            amounts[name] = amounts.get(name, Decimal(0)) + amount
    return {**amounts, "pods": Decimal(total["pods"])}


def message(refusals: Sequence[str]) -> str:
    """Return the message of the pod's condition; `refusals` has one reason for each node."""
    counts = sorted(f"{count} {reason}" for reason, count in Counter(refusals).items())
    return f"0/{len(refusals)} nodes are available: {', '.join(counts)}."


def tolerations_of(pod: JsonObject, taint: Mapping[str, str]) -> list[JsonObject]:
    """Return the pod's tolerations that match the taint."""
    found: list[JsonObject] = []
    for each in pod["spec"].get("tolerations") or ():
        same_effect = each.get("effect") in (None, "", taint["effect"])
        if each.get("operator") == "Exists":
            same = each.get("key") in (None, "", taint["key"])
        else:
            value = (each.get("key"), each.get("value") or "")
            same = value == (taint["key"], taint.get("value") or "")
        if same_effect and same:
            found.append(each)
    return found


def _is_wanted(spec: JsonObject, node: JsonObject) -> bool:
    labels: dict[str, str] = node["metadata"].get("labels") or {}
    selector: dict[str, str] = spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms")
    return terms is None or any(_matches(term, labels, node) for term in terms)


def _matches(term: JsonObject, labels: Mapping[str, str], node: JsonObject) -> bool:
    fields = {"metadata.name": node["metadata"]["name"]}
    wanted = [(each, labels) for each in term.get("matchExpressions") or ()]
    wanted += [(each, fields) for each in term.get("matchFields") or ()]
    return bool(wanted) and all(_holds(each, known) for each, known in wanted)


def _holds(wanted: JsonObject, known: Mapping[str, str]) -> bool:
    key, values = wanted["key"], wanted.get("values") or []
    match wanted["operator"]:
        case "In":
            return known.get(key) in values
        case "NotIn":
            return known.get(key) not in values
        case "Exists":
            return key in known
        case "DoesNotExist":
            return key not in known
    raise ValueError(f"operator {wanted['operator']}: no pod of ours has it")
