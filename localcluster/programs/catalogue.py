"""Lists the components: the Go module that pins each, and the programs built from it.

Each module's go.mod and go.sum pin the versions; no version is repeated here.
"""

import re
from dataclasses import dataclass
from pathlib import Path

MODULES_FOLDER = Path(__file__).resolve().parent.parent / "components"
OWN_PACKAGES = "localcluster/components/"
"""The prefix of the Go packages that this repository contains."""


@dataclass(frozen=True, slots=True)
class GoComponent:
    """A unit of building. `programs` is program name → Go package.

    `module` is the module whose folder holds the component's manifests; empty if it has none. A
    program whose package is `folder` itself is part of this repository. `minutes` is the time of a
    first build on two cores after the components before it, `megabytes` the programs' disk space:
    measured once, for planning.
    `variables` sets variables of the programs (package.name → value): paths that no option changes.
    `tags` are Go's build tags, which exclude parts of a program. `inlining` of functions costs a
    quarter of the compiler's time: not for programs whose speed the benchmark does not measure and
    no user notices.
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
    inlining: bool = True

    @property
    def version(self) -> str:
        """Returns go.mod's version: `v1.36.3`. Empty for a program of this repository."""
        if not self.module:
            return ""
        return required_version(self.folder / "go.mod", self.module)

    @property
    def build_flags(self) -> tuple[str, ...]:
        """Returns flags for `go build`. Debug information would take time and a fifth more disk.

        `go build` compiles packages side by side. More threads for each would cost CPU time.
        """
        compiler = "-dwarf=false -c=1" + ("" if self.inlining else " -l")
        return (*self.list_flags, f"-gcflags=all={compiler}", f"-ldflags={self.linker_flags}")

    @property
    def list_flags(self) -> tuple[str, ...]:
        """Returns flags for `go list`, which then finds exactly the packages of a build."""
        tags = (f"-tags={','.join(self.tags)}",) if self.tags else ()
        return ("-mod=readonly", *tags)

    @property
    def linker_flags(self) -> str:
        """Strips symbol tables; adds the version to Kubernetes, or Kueue refuses to start."""
        flags = ["-s", "-w"]
        if self.stamp_version:
            major, minor, _ = self.version.removeprefix("v").split(".", 2)
            package = "k8s.io/component-base/version"
            stamps = {"gitVersion": self.version, "gitMajor": major, "gitMinor": minor}
            flags += [f"-X {package}.{name}={value}" for name, value in stamps.items()]
        flags += [f"-X {name}={value}" for name, value in self.variables]
        return " ".join(flags)


def required_version(go_mod: Path, module: str) -> str:
    """Returns the version that `go_mod` requires of `module`. Raises ValueError with the file."""
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
    inlining: bool = True,
) -> GoComponent:
    packages = {
        program: package if package.startswith(OWN_PACKAGES) else module + package
        for program, package in programs.items()
    }
    where = MODULES_FOLDER / (folder or name)
    return GoComponent(
        name, where, module, packages, minutes, megabytes, stamp_version, variables, tags, inlining
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
        _component("etcd", "go.etcd.io/etcd/server/v3", {"etcd": ""}, 0.6, 30),
        _component("kubernetes", _KUBERNETES, _CONTROL_PLANE, 4.5, 280, stamp_version=True),
        _component(
            "kubectl", _KUBERNETES, {"kubectl": "/cmd/kubectl"}, 0.3, 60,
            folder="kubernetes", stamp_version=True,
        ),
        _component(
            "node", _KUBERNETES, _NODE, 0.7, 160, folder="kubernetes", stamp_version=True
        ),
        _component("pause", "", {"pause": f"{OWN_PACKAGES}pause"}, 0.1, 2),
        _component("kwok", "sigs.k8s.io/kwok", {"kwok": "/cmd/kwok"}, 0.8, 65),
        _component(
            "kueue", _KUEUE, {"kueue": "/cmd/kueue"}, 1.7, 95,
            # The folder of its visibility server's certificate: below its working folder, not below
            # /.
            variables=((f"{_KUEUE}/pkg/visibility.certDir", "visibility"),),
        ),
        _component(
            "kueue-0.16.1", _KUEUE, {"kueue": "/cmd/kueue"}, 1.8, 90, inlining=False
        ),
        _component(
            "coscheduler", "sigs.k8s.io/scheduler-plugins",
            {"coscheduler": "/cmd/scheduler", "pod-group-controller": "/cmd/controller"}, 1.6, 120,
            inlining=False,
        ),
        _component(
            "training-operator", "github.com/kubeflow/training-operator",
            {"training-operator": "/cmd/training-operator.v1"}, 0.8, 60, inlining=False,
        ),
        # With inlining: then the packages of these two are already compiled for Kueue.
        _component("jobset", "sigs.k8s.io/jobset", {"jobset": ""}, 0.1, 60),
        _component(
            "trainer", "github.com/kubeflow/trainer/v2",
            {"trainer": "/cmd/trainer-controller-manager"}, 0.2, 70,
        ),
        _component(
            "kuberay", "github.com/ray-project/kuberay/ray-operator", {"kuberay": ""}, 0.8, 60,
            inlining=False,
        ),
        _component(
            "appwrapper", "github.com/project-codeflare/appwrapper",
            {"appwrapper": "/cmd"}, 1.3, 70,
        ),
        _component(
            "leaderworkerset", "sigs.k8s.io/lws", {"leaderworkerset": "/cmd"}, 0.1, 60,
            inlining=False,
        ),
        _component(
            "mpi-operator", "github.com/kubeflow/mpi-operator",
            {"mpi-operator": f"{OWN_PACKAGES}mpi-operator"}, 0.1, 50, inlining=False,
        ),
        _component(
            "cert-manager", "github.com/cert-manager/cert-manager",
            {"cert-manager": f"{OWN_PACKAGES}cert-manager"}, 0.2, 70, inlining=False,
        ),
        # For one test of `make test-long`, without service discovery in clouds.
        _component(
            "prometheus", "github.com/prometheus/prometheus",
            {"prometheus": "/cmd/prometheus"}, 0.9, 100, tags=("remove_all_sd",),
            inlining=False,
        ),
        # For the chart's tests. With inlining: then its packages are already compiled for kubectl.
        _component("helm", "helm.sh/helm/v3", {"helm": "/cmd/helm"}, 0.3, 60),
    )
}  # fmt: skip

# Kueue's possible versions, the default first: version → component.
KUEUE_VERSIONS = {
    CATALOGUE[name].version.removeprefix("v"): name for name in ("kueue", "kueue-0.16.1")
}

# Tests and the benchmark start these beside a cluster; no cluster installs them.
BESIDE = ("appwrapper", "prometheus", "helm")


def component(name: str, kueue: str | None = None) -> GoComponent:
    """Returns the component `name`, for a cluster with this Kueue (None: the default version)."""
    return CATALOGUE[KUEUE_VERSIONS[kueue] if name == "kueue" and kueue else name]
