"""Go compiles a package once for all programs that need it in the same version.

That includes the versions of the package's own imports. So components of one Kubernetes minor
release require the same versions of every module that they share, or a first build takes half as
long again.
"""

import re
from collections import defaultdict

import pytest

from localcluster.programs.catalogue import CATALOGUE, GoComponent

# The benchmark runs the Go operator with the versions that its maintainers chose, and these are
# older than what the other components of Kubernetes 0.35 need. Prometheus needs newer versions than
# Kubernetes 1.37, which the benchmark runs as released.
ALONE = {"appwrapper", "prometheus"}
# KWOK needs a newer version than Kueue, which the benchmark runs as released.
AHEAD = {"kwok": {"go.opentelemetry.io/otel/sdk"}}
# The components' own versions, which they also require of each other.
OWN = {component.module for component in CATALOGUE.values()}


def required(component: GoComponent) -> dict[str, str]:
    """Return the versions of the modules in go.mod: module → version."""
    text = (component.folder / "go.mod").read_text()
    versions = dict(re.findall(r"^(?:require)?\s*(\S+) (v\S+)(?: // indirect)?$", text, re.M))
    return versions | dict(re.findall(r"^\s*(\S+) => \1 (v\S+)$", text, re.M))


def by_minor_release() -> dict[str, dict[str, dict[str, str]]]:
    """Return the required versions by client-go's minor release and component."""
    groups: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for name in sorted(CATALOGUE.keys() - ALONE):
        versions = required(CATALOGUE[name])
        if client := versions.get("k8s.io/client-go"):
            groups[client.rpartition(".")[0]][name] = versions
    return groups


GROUPS = by_minor_release()


def test_components_are_grouped_by_the_minor_release_of_their_kubernetes_libraries() -> None:
    assert {minor: [*group] for minor, group in GROUPS.items()} == {
        "v0.31": ["training-operator"],
        "v0.34": ["cert-manager", "coscheduler", "leaderworkerset", "mpi-operator"],
        "v0.35": ["kuberay", "kueue-0.16.1"],
        "v0.36": ["jobset", "kueue", "kwok", "trainer"],
        "v0.37": ["helm", "kubectl", "kubernetes", "node"],
    }


@pytest.mark.parametrize("minor", GROUPS)
def test_components_of_one_minor_release_share_their_compiled_packages(minor: str) -> None:
    versions: dict[str, dict[str, str]] = defaultdict(dict)
    for name, modules in GROUPS[minor].items():
        for module in modules.keys() - OWN - AHEAD.get(name, set()):
            versions[module][name] = modules[module]
    different = {module: by for module, by in versions.items() if len({*by.values()}) > 1}
    assert different == {}, "raise the older ones with `go get MODULE@VERSION`, `go mod tidy`"
    inlining = {CATALOGUE[name].inlining for name in GROUPS[minor]}
    assert len(inlining) == 1, "the compiler's options are part of a compiled package"
