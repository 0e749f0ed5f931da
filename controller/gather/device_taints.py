"""Read the taints because of which pods are to leave: the watches may lag behind."""

from collections.abc import Iterable

from controller.facts.devices import (
    NO_EXECUTE,
    RULES,
    SLICES,
    HeldTaint,
    HeldTaints,
    Slice,
    TaintRule,
    nothing_held,
    project_rule,
    project_slice,
)
from shared.kube.client import KubeClient, NotFound


async def still_tainted(client: KubeClient, held: HeldTaints, uids: Iterable[str]) -> HeldTaints:
    """Return the taints of these pods' devices that are there now. Raises KubeError."""
    known = {uid: found for uid in uids if (found := held(uid))}
    if not known:
        return nothing_held
    evicting = {
        (each.rule, each.slice)
        for found in known.values()
        for each in found
        if each.taint.effect == NO_EXECUTE
    }
    rules = {rule: await _rule(client, rule) for rule, _ in sorted(evicting) if rule}
    slices = {name: await _slice(client, name) for rule, name in sorted(evicting) if not rule}
    there = {
        uid: tuple(each for each in found if _is_there(each, rules, slices))
        for uid, found in known.items()
    }
    return lambda uid: there.get(uid, ())


async def _rule(client: KubeClient, name: str) -> TaintRule | None:
    try:
        return project_rule(await client.get(RULES, None, name))
    except NotFound:
        return None


async def _slice(client: KubeClient, name: str) -> Slice | None:
    try:
        return project_slice(await client.get(SLICES, None, name))
    except NotFound:
        return None


def _is_there(
    held: HeldTaint, rules: dict[str, TaintRule | None], slices: dict[str, Slice | None]
) -> bool:
    """True if the source still taints the device. Other effects than NoExecute are not read."""
    if held.taint.effect != NO_EXECUTE:
        return True
    if held.rule:
        rule = rules[held.rule]
        return rule is not None and rule.taint == held.taint and rule.taints(held.device)
    found = slices[held.slice]
    return found is not None and (held.device.name, held.taint) in found.taints
