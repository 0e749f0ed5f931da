import shutil
from pathlib import Path
from typing import Any

import pytest

from localcluster.realnode import cgroups, requirements


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Programs that are not installed; every other one is, network plugins included."""
    absent: set[str] = set()

    def which(name: str, **_: Any) -> str | None:
        return None if name in absent else f"/usr/bin/{name}"

    monkeypatch.setattr(shutil, "which", which)
    monkeypatch.setattr(requirements, "_has_plugins", lambda: "plugins" not in absent)
    monkeypatch.setattr(requirements, "_refused", list)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return absent


def test_nothing_is_missing(without: set[str]) -> None:
    assert (requirements.missing(), requirements.packages()) == ([], [])


def test_missing_programs_are_named_with_the_line_that_installs_them(without: set[str]) -> None:
    without.update(("containerd", "ctr", "conntrack"))
    assert requirements.missing() == [
        "Programs are missing: containerd, ctr, conntrack. On Debian:"
        " apt-get install --no-install-recommends containerd conntrack"
    ]
    assert requirements.packages() == ["containerd", "conntrack"]


def test_missing_network_plugins_are_named_with_where_they_are_looked_for(
    without: set[str],
) -> None:
    without.add("plugins")
    assert requirements.missing() == [
        "Programs are missing: the network plugins ptp, host-local, loopback"
        " (/usr/lib/cni or /opt/cni/bin or /usr/libexec/cni). On Debian:"
        " apt-get install --no-install-recommends containernetworking-plugins"
    ]


def test_tools_that_build_images_are_required(without: set[str]) -> None:
    without.update(("buildah", "debootstrap"))
    assert requirements.packages() == ["buildah", "debootstrap"]


def test_a_user_who_is_not_root_sees_that_and_all_missing_parts(
    without: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    without.add("runc")
    assert requirements.missing() == [
        "A real node needs root: run this as root, or with sudo.",
        "Programs are missing: runc. On Debian: apt-get install --no-install-recommends runc",
    ]


def test_a_refusal_of_the_kernel_is_reported_only_if_nothing_is_missing(
    without: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requirements, "_refused", lambda: ["The kernel refuses it."])
    assert requirements.missing() == ["The kernel refuses it."]
    without.add("ip")
    assert "The kernel refuses it." not in requirements.missing()


@pytest.mark.parametrize(
    ("failure", "lines"),
    [
        (None, []),
        (
            OSError(16, "Device or resource busy", "/sys/fs/cgroup/cgroup.subtree_control"),
            [
                "Cgroups cannot be made: [Errno 16] Device or resource busy:"
                " '/sys/fs/cgroup/cgroup.subtree_control'. A container must have the machine's"
                " cgroup namespace (`--cgroupns=host`).",
                "Use a virtual machine, or a privileged container.",
            ],
        ),
    ],
)
def test_cgroups_are_tried_and_leave_nothing(
    monkeypatch: pytest.MonkeyPatch, failure: OSError | None, lines: list[str]
) -> None:
    """A container's own cgroup namespace can be written, and hands nothing on."""
    made: list[str] = []

    def create(name: str) -> None:
        made.append(name)
        if failure is not None:
            raise failure

    monkeypatch.setattr(cgroups, "hierarchies", lambda: [cgroups.Hierarchy(Path("/"), 2)])
    monkeypatch.setattr(cgroups, "create", create)
    monkeypatch.setattr(cgroups, "remove", lambda name: made.remove(name))
    monkeypatch.setattr(requirements, "is_machines_root", lambda uid_map: True)
    monkeypatch.setattr(requirements, "_tried", list)
    assert (requirements._refused(), made) == (lines, [])


def test_missing_cgroups_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "hierarchies", list)
    monkeypatch.setattr(requirements, "is_machines_root", lambda uid_map: True)
    monkeypatch.setattr(requirements, "_tried", list)
    assert requirements._refused() == [
        "There are no cgroups: nothing of the kind is mounted.",
        "Use a virtual machine, or a privileged container.",
    ]


@pytest.mark.parametrize(
    ("uid_map", "machines"),
    [
        ("         0          0 4294967295\n", True),
        ("         0       1000          1\n         1     100000      65536\n", False),
        ("         0          0          1\n", False),
    ],
)
def test_root_of_a_user_namespace_is_not_enough(uid_map: str, machines: bool) -> None:
    assert requirements.is_machines_root(uid_map) is machines
