"""Index of nodes: which are NoExecute for which resource, latched, or under test.

The informer of nodes and a timer update the index. Other modules decide on the consequences.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import TypeAlias

from controller.facts.latched_nodes import (
    RecordedTags,
    counts_still,
    encode_latches,
    merged,
    tags_now,
)
from controller.facts.nodes import (
    UNREACHABLE,
    Node,
    Offer,
    ResourceTaints,
    Tag,
    Tags,
    WithheldBy,
    flagged,
    matching,
    no_execute,
    under_test,
    unschedulable,
    unschedulable_by_reason,
)
from controller.facts.unschedulable import MEMORY, RecentNodes, covers, has_worsened, lost_labels
from shared.config.fault_tolerance import NodeHealth, Taint
from shared.injection.avoided_hosts import LABEL_HOSTNAME
from shared.kube.object_cache import Change

_Interval: TypeAlias = tuple[datetime, datetime]

# Resources that became NoExecute, or are no longer, by node.
ChangedResources = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class NodeTest:
    """A test of a node: `label` (`key=value`) has the value TESTING and was first seen at `since`.

    `overdue`: the test has lasted longer than `nodeHealth.testingTimeout`.
    """

    label: str
    since: datetime
    overdue: bool = False


class NodeIndex:
    """Holds the nodes and their tags; `resource_taints` and `health` are configured."""

    def __init__(self, resource_taints: ResourceTaints, health: NodeHealth | None = None) -> None:
        self._resource_taints = resource_taints
        self._health = health or NodeHealth()
        self._nodes: dict[str, Node] = {}
        self._tags: dict[str, dict[str, Tag]] = {}
        self._tests: dict[str, dict[str, NodeTest]] = {}
        # NoExecute resources by node, without nodes that have none. A live view.
        self.tags: Mapping[str, Tags] = MappingProxyType(self._tags)
        self._flagged: dict[str, frozenset[str]] = {}
        # Resources that a label marks as bad, in the same form.
        self.flagged: Mapping[str, frozenset[str]] = MappingProxyType(self._flagged)
        self._silent: dict[str, datetime] = {}
        # Since when nodes do not answer, without the others.
        self.silent: Mapping[str, datetime] = MappingProxyType(self._silent)
        # When this process first saw that they do not answer: for the breakers, which count nodes
        # that were found so at the start, as those with a label.
        self._noticed: dict[str, datetime] = {}
        self._tagged: dict[str, dict[str, datetime]] = {name: {} for name in resource_taints}
        # Labels that came in these intervals are doubtful, by resource: a first moment is excluded.
        self._doubts: dict[str, tuple[_Interval, ...]] = {}
        self._populations: Counter[str] = Counter()
        self._largest: Mapping[str, Decimal] | None = None
        # The offers of nodes before they got worse, with the time: few, as most nodes are alike.
        self._lost: dict[Offer, datetime] = {}
        # Keys of labels that a node lost or that changed their value, with the last time of that.
        self._relabelled: dict[str, datetime] = {}
        self.known_since: datetime | None = None  # when all nodes were first listed
        self.revision = 0  # increases with every change of a tag

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources that have taints, in the order of the configuration."""
        return tuple(self._resource_taints)

    def largest(self) -> Mapping[str, Decimal]:
        """Return the greatest capacity of one node, by resource; empty if no node is known."""
        if self._largest is None:
            found = dict.fromkeys(self.resources if self._nodes else (), Decimal(0))
            for node in self._nodes.values():
                for resource, amount in node.capacity:
                    found[resource] = max(found.get(resource, amount), amount)
            self._largest = MappingProxyType(found)
        return self._largest

    def recent(self) -> RecentNodes:
        """Return the nodes, and what the nodes of the last 24 hours offered."""
        health = {taint.key for taints in self._resource_taints.values() for taint in taints}
        return RecentNodes(
            self._nodes.values(), self._lost, self.known_since, health, self._relabelled
        )

    def update(self, change: Change[Node], now: datetime) -> frozenset[str]:
        """Apply a change of a node. Return the resources whose NoExecute state changed.

        A resource whose label was replaced by a latch is included, and UNREACHABLE if the node fell
        silent, answers again or is gone. A known tag keeps its time when other fields change.
        """
        _, name = change.key
        was_silent = self._silent.pop(name, None)
        old, before = self._nodes.get(name), self._tags.get(name, {})
        tests = self._tests.get(name, {})
        self._forget(name)
        if old is not None and has_worsened(old, change.new):
            self._lose(old.offers, now)
        if old is not None and change.new is not None:
            self._relabelled |= dict.fromkeys(lost_labels(old, change.new), now)
        if change.new is not None:
            same = old is not None and old.uid == change.new.uid
            self._remember(change.new, before if same else {}, now)
            self._take_tests(change.new, tests if same else {}, now)
            if change.new.silent_since is not None:  # by another clock
                self._silent[name] = min(change.new.silent_since, now)
                self._noticed.setdefault(name, now)
        if name not in self._silent:
            self._noticed.pop(name, None)
        turned = self._turned(name, before)
        same_silence = was_silent == self._silent.get(name)
        return turned if same_silence and change.new else turned | {UNREACHABLE}

    def adopt(self, recorded: RecordedTags, now: datetime) -> ChangedResources:
        """Load the recorded tags of the previous process.

        Call after all nodes are listed: a recorded label that is absent was removed meanwhile.
        """
        by_node: dict[str, dict[str, Tag]] = {}
        for resource, nodes in recorded.items():
            for name, one in nodes.items():
                node = self._nodes.get(name)
                same = node is not None and node.uid == one.uid and resource in self._tagged
                if node and same and counts_still(one.tag, node, self._health.latch, now):
                    by_node.setdefault(name, {})[resource] = one.tag
        return self._again(by_node, now)

    def known_before(self, confirmed: datetime) -> None:
        """Count silences of before this time as noticed then: an admin confirmed nodes at it, so
        the process of that time knew these silences.
        """
        for name, since in self._silent.items():
            if since <= confirmed:
                self._noticed[name] = min(since, self._noticed[name])

    def pass_time(self, now: datetime) -> ChangedResources:
        """End the latches whose time is over. Return the changed resources by node."""
        latched: dict[str, Tags] = {name: {} for name, tags in self._tags.items() if _latched(tags)}
        return self._again(latched, now)

    def limit_times(self, now: datetime) -> None:
        """If the clock was set back, change later times to now. Doubtful labels stay doubtful."""
        self._noticed = {name: min(since, now) for name, since in self._noticed.items()}
        for name, tags in self._tags.items():
            for resource, tag in tags.items():
                if tag.since > now:
                    tags[resource] = replace(tag, since=now)
                    if name in self._tagged[resource]:
                        self._tagged[resource][name] = now
                    self.revision += 1
        for resource, doubts in self._doubts.items():
            self._doubts[resource] = tuple(
                (min(after, now - datetime.resolution), now) if until > now else (after, until)
                for after, until in doubts
            )

    def overdue_tests(self, now: datetime) -> list[tuple[Node, str, NodeTest]]:
        """Return the tests that became overdue, each once, with its node and resource."""
        found = []
        for name, tests in self._tests.items():
            for resource, test in tests.items():
                if not test.overdue and now >= test.since + self._health.testing_timeout:
                    tests[resource] = replace(test, overdue=True)
                    found.append((self._nodes[name], resource, tests[resource]))
        return found

    def doubt(self, resource: str, after: datetime, until: datetime) -> None:
        """Mark the labels that came in this time as doubtful: they cause no latch.

        Labels that are doubtful already stay so.
        """
        earlier = [each for each in self._doubts.get(resource, ()) if self._any_in(each, resource)]
        self._doubts[resource] = (*earlier, (after, until))

    def trust(self, resource: str, until: datetime) -> None:
        """Mark the labels that came until this time as certain."""
        self._doubts[resource] = tuple(
            (max(after, until), last) for after, last in self._doubts.get(resource, ())
        )

    def tagged(self, resource: str) -> Mapping[str, datetime]:
        """Return the nodes that have the resource and are NoExecute for it, and since when."""
        return MappingProxyType(self._tagged.get(resource, {}))

    def turned_bad(self, resource: str) -> Mapping[str, datetime]:
        """Return the same nodes, and the silent ones that have the resource, and since when.

        A silence counts since this process noticed it. UNREACHABLE: all silent nodes.
        """
        if resource == UNREACHABLE:
            return MappingProxyType(self._noticed)
        silent = {
            name: since
            for name, since in self._noticed.items()
            if resource in self._nodes[name].resources
        }
        tagged = self._tagged.get(resource, {})
        return MappingProxyType({**silent, **tagged}) if silent else self.tagged(resource)

    def latched(self, resource: str) -> list[str]:
        """Return the NoExecute nodes of the resource that have a latch and no label any more."""
        return [name for name in self.tagged(resource) if resource in _latched(self._tags[name])]

    def overdue(self, resource: str) -> list[str]:
        """Return the nodes with an overdue test of the resource."""
        return [name for name, tests in self._tests.items() if resource in _overdue(tests)]

    def population(self, resource: str) -> int:
        """Return the number of nodes that have the resource; UNREACHABLE: of all nodes."""
        return len(self._nodes) if resource == UNREACHABLE else self._populations[resource]

    def __len__(self) -> int:
        return len(self._nodes)

    def node(self, name: str) -> Node | None:
        """Return a node; None if it does not exist or nodes are not watched."""
        return self._nodes.get(name)

    def all(self) -> Collection[Node]:
        """Return all nodes in no order."""
        return self._nodes.values()

    def hostname(self, name: str) -> str:
        """Return the node's label `kubernetes.io/hostname`, which affinities compare.

        For an unknown node return its name, which is the kubelet's default for the label.
        """
        node = self._nodes.get(name)
        return name if node is None else dict(node.labels).get(LABEL_HOSTNAME, name)

    def matches(self) -> Iterator[tuple[str, Taint, int]]:
        """Yield each resource, each of its taints, and the number of nodes with that label."""
        for resource, taints in self._resource_taints.items():
            for taint in taints:
                found = sum(any(matching(node, (taint,))) for node in self._nodes.values())
                yield resource, taint, found

    def withheld(self, name: str) -> frozenset[str]:
        """Return the resources that are unschedulable on the node although no label shows it."""
        return self._latched(name) | self._overdue(name)

    def shares(self) -> Iterator[tuple[Node, Mapping[str, Decimal]]]:
        """Yield each node, and how much of its resources no new pod can get."""
        for name, node in self._nodes.items():
            yield node, unschedulable(node, self._resource_taints, self.withheld(name))

    def unschedulable_by_reason(self) -> Mapping[tuple[str, WithheldBy], Decimal]:
        """Return how much no new pod can get, by resource and reason, without zeros."""
        total: dict[tuple[str, WithheldBy], Decimal] = {}
        for name, node in self._nodes.items():
            latched, overdue = self._latched(name), self._overdue(name)
            for resource, reason, amount in unschedulable_by_reason(
                node, self._resource_taints, latched, overdue
            ):
                total[resource, reason] = total.get((resource, reason), Decimal(0)) + amount
        return total

    def avoided_hosts(self) -> dict[str, tuple[str, ...]]:
        """Return the hosts that new pods must avoid, by resource; empty without `nodeHealth.latch`.

        Nodes that still have the label are included: a pod created now may be scheduled after the
        label is gone. Doubtful labels are not included, because they cause no latch.
        """
        found: dict[str, list[str]] = {}
        if not self._health.latch:
            return {}
        for name, tags in self._tags.items():
            for resource, tag in tags.items():
                if not self._doubtful(resource, tag) and (host := self.hostname(name)):
                    found.setdefault(resource, []).append(host)
        return {resource: tuple(sorted(hosts)) for resource, hosts in found.items()}

    def record(self) -> str:
        """Return the tags as text for the record; empty if no latch is configured."""
        if not self._health.latch:
            return ""
        return encode_latches((self._nodes[name], tags) for name, tags in self._tags.items())

    def _again(self, additional: Mapping[str, Tags], now: datetime) -> ChangedResources:
        """Compute the tags of these nodes again, with additional earlier tags."""
        turned = {}
        for name, tags in additional.items():
            node, before = self._nodes[name], self._tags.get(name, {})
            known = {resource: merged(tag, before.get(resource)) for resource, tag in tags.items()}
            self._forget(name, tests=False)
            self._remember(node, {**before, **known}, now)
            if changed := self._turned(name, before):
                turned[name] = changed
        return turned

    def _any_in(self, doubt: _Interval, resource: str) -> bool:
        return any(
            _came_in(doubt, tags[resource]) for tags in self._tags.values() if resource in tags
        )

    def _doubtful(self, resource: str, tag: Tag) -> bool:
        return any(_came_in(each, tag) for each in self._doubts.get(resource, ()))

    def _latched(self, name: str) -> frozenset[str]:
        return _latched(self._tags.get(name, {}))

    def _overdue(self, name: str) -> frozenset[str]:
        return _overdue(self._tests.get(name, {}))

    def _lose(self, offer: Offer, now: datetime) -> None:
        """Remember the offer; forget those that are too old or no larger."""
        self._lost = {
            each: last
            for each, last in self._lost.items()
            if now < last + MEMORY and not covers(offer, each)
        }
        self._lost[offer] = now

    def _forget(self, name: str, *, tests: bool = True) -> None:
        node = self._nodes.pop(name, None)
        if node is None:
            return
        self._largest = None
        self._populations.subtract(node.resources)
        self._flagged.pop(name, None)
        for resource in self._tags.pop(name, ()):
            self._tagged[resource].pop(name, None)
        if tests:
            self._tests.pop(name, None)

    def _remember(self, node: Node, before: Tags, now: datetime) -> None:
        self._nodes[node.name] = node
        self._largest = None
        self._populations.update(node.resources)
        if bad := flagged(node, self._resource_taints):
            self._flagged[node.name] = bad
        labels = no_execute(node, self._resource_taints)
        certain = {
            resource: tag
            for resource, tag in before.items()
            if resource in labels or not self._doubtful(resource, tag)
        }
        tags = tags_now(node, labels, certain, self._health.latch, now)
        if not tags:
            return
        self._tags[node.name] = tags
        for resource in tags.keys() & node.resources:
            self._tagged[resource][node.name] = tags[resource].since

    def _turned(self, name: str, before: Tags) -> frozenset[str]:
        """Return the resources whose tag was added or removed, or whose latch began or ended."""
        after = self._tags.get(name, {})
        if before != after:
            self.revision += 1
        return frozenset(before.keys() ^ after.keys()) | (_latched(before) ^ _latched(after))

    def _take_tests(self, node: Node, before: Mapping[str, NodeTest], now: datetime) -> None:
        tests = {
            resource: known
            if (known := before.get(resource)) is not None and known.label == label
            else NodeTest(label, now)
            for resource, label in under_test(node, self._resource_taints).items()
        }
        if tests:
            self._tests[node.name] = tests


def _came_in(doubt: _Interval, tag: Tag) -> bool:
    after, until = doubt
    return tag.gone is None and after < tag.since <= until


def _latched(tags: Tags) -> frozenset[str]:
    return frozenset(resource for resource, tag in tags.items() if tag.gone is not None)


def _overdue(tests: Mapping[str, NodeTest]) -> frozenset[str]:
    return frozenset(resource for resource, test in tests.items() if test.overdue)
