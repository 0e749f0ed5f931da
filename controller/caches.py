"""The caches that a standby keeps full, so that it can lead within milliseconds of taking over."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from controller.facts.appwrapper_outline import Outline, project_appwrapper
from controller.facts.evacuation import PODS_BY_NODE, by_node
from controller.facts.nodes import Node
from controller.facts.pods import Pod, project_pod
from controller.fleet.fleet import node_projection
from controller.gather.component_caches import ComponentCaches
from controller.gather.device_caches import DeviceCaches
from controller.gather.kueue_caches import KueueCaches
from controller.gather.queue_watch import WAITING, by_queue
from controller.gather.snapshot_gatherer import PODS_BY_APPWRAPPER, by_appwrapper
from controller.gauges import Watched
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import APPWRAPPERS, NODES, PODS, GroupVersionKind
from shared.config.configuration import Configuration
from shared.kube.client import KubeClient
from shared.kube.discovery import Discovery
from shared.kube.informer import Informer
from shared.process.sources import Sources


@dataclass(frozen=True, slots=True)
class Caches:
    """The AppWrappers, their pods and components, the nodes with their devices, Kueue's objects.

    `monitors_nodes`: nodes and devices are read. `discovery` finds the resources of the Kinds.
    """

    appwrappers: Informer[Outline]
    pods: Informer[Pod]
    nodes: Informer[Node]
    devices: DeviceCaches
    monitors_nodes: bool
    discovery: Discovery
    components: ComponentCaches
    kueue: KueueCaches

    @classmethod
    def of(cls, client: KubeClient, config: Configuration, sources: Sources) -> "Caches":
        """Return empty caches."""
        section = config.appwrapper
        measured = tuple(section.autopilot.resource_taints)
        discovery = Discovery(client, sources.clock)
        appwrappers = Informer(
            client,
            APPWRAPPERS,
            transform=partial(project_appwrapper, resources=measured),
            sources=sources,
            indexes={WAITING: by_queue},
            page_size=50,  # objects of up to 1 MiB, which the API server also holds in memory
        )
        return cls(
            appwrappers,
            Informer(
                client,
                PODS,
                transform=project_pod,
                sources=sources,
                label_selector=LABEL_APPWRAPPER,
                indexes={PODS_BY_APPWRAPPER: by_appwrapper, PODS_BY_NODE: by_node},
            ),
            Informer(client, NODES, transform=node_projection(section).project, sources=sources),
            DeviceCaches(client, sources),
            section.autopilot.monitor_nodes,
            discovery,
            ComponentCaches(client, sources, discovery, partial(_is_alive, appwrappers)),
            KueueCaches(client, sources),
        )

    @property
    def used(self) -> Sequence[Informer[Outline] | Informer[Pod] | Informer[Node]]:
        """Return the informers that run, in the order in which decisions need them."""
        nodes = (self.nodes,) if self.monitors_nodes else ()
        return (self.pods, *nodes, self.appwrappers)

    @property
    def all(self) -> Sequence[Watched]:
        """Return the informers that run now."""
        return (*self.used, *self.devices.all, *self.components.all, *self.kueue.all)

    def kinds(self) -> Sequence[GroupVersionKind]:
        """Return the Kinds of all existing components, each once."""
        found = (kind for _, each in self.appwrappers.items() for kind in each.kinds)
        return list(dict.fromkeys(found))

    def drop_handlers(self) -> None:
        """Forget who follows the caches."""
        cached = (self.appwrappers, self.pods, self.nodes)
        for each in (*cached, self.devices, self.components, self.kueue):
            each.drop_handlers()

    def problems(self) -> str:
        """Return one line for each cache that is not complete; empty if all are."""
        problems = (each.problem() for each in (self.appwrappers, self.pods))
        return "".join(f"{problem}\n" for problem in problems if problem is not None)


def _is_alive(appwrappers: Informer[Outline], key: tuple[str, str], uid: str) -> bool:
    """True if the AppWrapper exists, and always before the first list is complete."""
    known = appwrappers.get(*key)
    return not appwrappers.synced or (known is not None and known.uid == uid)
