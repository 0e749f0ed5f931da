"""The components: which Go module pins them, and which programs are built from it.

A module's go.mod and go.sum say the versions; nothing here repeats one.
"""

import re
from dataclasses import dataclass
from pathlib import Path

MODULES_FOLDER = Path(__file__).resolve().parent.parent / "components"
OWN_PACKAGES = "localcluster/components/"
"""How the Go packages begin that are written here."""


@dataclass(frozen=True, slots=True)
class Component:
    """What is built together. `programs` is program name → Go package.

    `module` is the module whose folder holds the component's manifests; empty for a component that
    has none. A program whose package is `folder` itself is written here. `minutes` and `megabytes`
    are what a first build takes on two cores and what the programs need on disk: for people to plan
    with, measured once. `variables` sets variables of the programs (package.name → value): paths
    that no option changes. `tags` are Go's build tags, which leave out parts of a program.
    """

    name: str
    folder: Path
    module: str
    programs: dict[str, str]
    minutes: float
    megabytes: int
    stamp_version: bool = False
    variables: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """As go.mod requires it: `v1.36.3`. Empty for a program that is written here."""
        if not self.module:
            return ""
        return required_version(self.folder / "go.mod", self.module)

    @property
    def build_flags(self) -> tuple[str, ...]:
        """For `go build`. No debug information: it would take time and a fifth more disk."""
        flags = ("-gcflags=all=-dwarf=false", f"-ldflags={self.linker_flags}")
        return (*self.list_flags, *flags)

    @property
    def list_flags(self) -> tuple[str, ...]:
        """For `go list`, which then finds the packages that a build needs and no others."""
        tags = (f"-tags={','.join(self.tags)}",) if self.tags else ()
        return ("-mod=readonly", *tags)

    @property
    def linker_flags(self) -> str:
        """Without symbol tables; Kubernetes also with its version, or Kueue refuses to start."""
        flags = ["-s", "-w"]
        if self.stamp_version:
            major, minor, _ = self.version.removeprefix("v").split(".", 2)
            package = "k8s.io/component-base/version"
            stamps = {"gitVersion": self.version, "gitMajor": major, "gitMinor": minor}
            flags += [f"-X {package}.{name}={value}" for name, value in stamps.items()]
        flags += [f"-X {name}={value}" for name, value in self.variables]
        return " ".join(flags)


def required_version(go_mod: Path, module: str) -> str:
    """The version that `go_mod` requires of `module`. Raises ValueError naming the file."""
    pattern = rf"^(?:require)?\s*{re.escape(module)}\s+(v\S+)"
    match = re.search(pattern, go_mod.read_text(), re.MULTILINE)
    if match is None:
        raise ValueError(f"{go_mod} requires no version of {module}")
    return match[1]


def _component(
    name: str,
    module: str,
    programs: dict[str, str],
    minutes: float,
    megabytes: int,
    *,
    folder: str = "",
    stamp_version: bool = False,
    variables: tuple[tuple[str, str], ...] = (),
    tags: tuple[str, ...] = (),
) -> Component:
    packages = {
        program: package if package.startswith(OWN_PACKAGES) else module + package
        for program, package in programs.items()
    }
    where = MODULES_FOLDER / (folder or name)
    return Component(
        name, where, module, packages, minutes, megabytes, stamp_version, variables, tags
    )


_KUBERNETES = "k8s.io/kubernetes"
_KUEUE = "sigs.k8s.io/kueue"
_NODE = {name: f"/cmd/{name}" for name in ("kubelet", "kube-proxy")}
_CONTROL_PLANE = {
    name: f"/cmd/{name}" for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
}

CATALOGUE = {
    component.name: component
    for component in (
        _component("etcd", "go.etcd.io/etcd/server/v3", {"etcd": ""}, 1, 30),
        _component("kubernetes", _KUBERNETES, _CONTROL_PLANE, 5.5, 280, stamp_version=True),
        _component(
            "kubectl", _KUBERNETES, {"kubectl": "/cmd/kubectl"}, 0.5, 60,
            folder="kubernetes", stamp_version=True,
        ),
        _component(
            "node", _KUBERNETES, _NODE, 0.7, 160, folder="kubernetes", stamp_version=True
        ),
        _component("pause", "", {"pause": f"{OWN_PACKAGES}pause"}, 0.1, 2),
        _component("kwok", "sigs.k8s.io/kwok", {"kwok": "/cmd/kwok"}, 1, 65),
        _component(
            "kueue", _KUEUE, {"kueue": "/cmd/kueue"}, 3.2, 95,
            # Its visibility server's certificate: below the folder that it runs in, not below /.
            variables=((f"{_KUEUE}/pkg/visibility.certDir", "visibility"),),
        ),
        _component("kueue-0.16.1", _KUEUE, {"kueue": "/cmd/kueue"}, 2.3, 90),
        _component(
            "coscheduler", "sigs.k8s.io/scheduler-plugins",
            {"coscheduler": "/cmd/scheduler", "pod-group-controller": "/cmd/controller"}, 2.7, 120,
        ),
        _component(
            "training-operator", "github.com/kubeflow/training-operator",
            {"training-operator": "/cmd/training-operator.v1"}, 1.3, 60,
        ),
        _component("jobset", "sigs.k8s.io/jobset", {"jobset": ""}, 1.3, 60),
        _component(
            "kuberay", "github.com/ray-project/kuberay/ray-operator", {"kuberay": ""}, 1.2, 60,
        ),
        _component(
            "appwrapper", "github.com/project-codeflare/appwrapper",
            {"appwrapper": "/cmd"}, 1.3, 70,
        ),
        _component(
            "leaderworkerset", "sigs.k8s.io/lws", {"leaderworkerset": "/cmd"}, 1, 60,
        ),
        _component(
            "mpi-operator", "github.com/kubeflow/mpi-operator",
            {"mpi-operator": f"{OWN_PACKAGES}mpi-operator"}, 0.7, 50,
        ),
        _component(
            "cert-manager", "github.com/cert-manager/cert-manager",
            {"cert-manager": f"{OWN_PACKAGES}cert-manager"}, 1.5, 70,
        ),
        # For one test of `make test-long`. Without the clouds that it can discover targets in.
        _component(
            "prometheus", "github.com/prometheus/prometheus",
            {"prometheus": "/cmd/prometheus"}, 2.5, 100, tags=("remove_all_sd",),
        ),
    )
}  # fmt: skip

# Kueue's versions that a cluster can have, the default first: version → component.
KUEUE_VERSIONS = {
    CATALOGUE[name].version.removeprefix("v"): name for name in ("kueue", "kueue-0.16.1")
}

# Tests and the benchmark start these beside a cluster; no cluster installs them.
BESIDE = ("appwrapper", "prometheus")


def component(name: str, kueue: str | None = None) -> Component:
    """The component called `name`, for a cluster with this version of Kueue (None: the default)."""
    return CATALOGUE[KUEUE_VERSIONS[kueue] if name == "kueue" and kueue else name]
