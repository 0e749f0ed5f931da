"""Components' reports of pods that ended well and may be gone."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from controller.facts.pods import Pod
from controller.phases.snapshot import Component


def reported_alone(
    components: Sequence[Component], succeeded: Mapping[int | None, Sequence[Pod]]
) -> dict[int | None, int]:
    """Return by component how many more succeeded pods it reports than the controller has seen.

    A component reports later than its pods. If it names its succeeded pods, a seen pod that it
    does not name yet counts in addition. `succeeded`: the seen ones, by component.
    """
    return {
        index: _alone(each, succeeded.get(index, ()))
        for index, each in enumerate(components)
        if each.succeeded_pods
    }


def _alone(component: Component, seen: Sequence[Pod]) -> int:
    if component.succeeded_by_owner:
        made = Counter(pod.owner_name for pod in seen)
        total = 0
        for prefix, owners, pods in component.succeeded_by_owner:
            # The component counts only owners whose pods all succeeded.
            whole = sum(each >= pods for name, each in made.items() if _is_of(name, prefix))
            total += pods * max(0, owners - whole)
        return total
    meant = len(seen)
    if component.succeeded_indices:
        indices = list(_ranges(component.succeeded_indices))
        meant = sum(any(_index(pod) in each for each in indices) for pod in seen)
    return max(0, component.succeeded_pods - meant)


def _is_of(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and name[len(prefix) :].isdecimal()


def _ranges(indices: str) -> Iterable[range]:
    for each in indices.split(","):
        first, _, last = each.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            yield range(int(first), int(last or first) + 1)


def _index(pod: Pod) -> int:
    """Return 3 for the index `/3` of a Job's pod; -1 for a pod without an index."""
    text = pod.index.rpartition("/")[2]
    return int(text) if text.isdecimal() else -1
