import tomllib
from ipaddress import IPv4Network
from pathlib import Path

from localcluster.realnode.containerd import Containerd, configuration, plugin_folder, pod_network
from localcluster.realnode.namespaces import NodeNamespaces

CRI = "io.containerd.grpc.v1.cri"


def test_configuration_has_the_expected_settings() -> None:
    read = tomllib.loads(configuration(Path("/c/root"), Path("/c/networks"), Path("/c/registries")))
    plugins = read.pop("plugins")
    disabled = read.pop("disabled_plugins")
    assert read == {
        "version": 2,
        "root": "/c/root",
        "state": "/run/containerd",
        "grpc": {"address": "/run/containerd/containerd.sock"},
    }
    assert "io.containerd.snapshotter.v1.overlayfs" not in disabled
    assert plugins == {
        "io.containerd.internal.v1.opt": {"path": "/c/root/opt"},
        CRI: {
            "sandbox_image": "localhost/appwrapper-pause:1",
            "restrict_oom_score_adj": True,
            "disable_tcp_service": True,
            "disable_hugetlb_controller": True,
            "tolerate_missing_hugetlb_controller": True,
            "containerd": {
                "snapshotter": "overlayfs",
                "default_runtime_name": "runc",
                "runtimes": {
                    "runc": {
                        "runtime_type": "io.containerd.runc.v2",
                        "options": {"SystemdCgroup": False},
                    }
                },
            },
            "cni": {"bin_dir": plugin_folder(), "conf_dir": "/c/networks"},
            "registry": {"config_path": "/c/registries"},
        },
    }


def test_pods_get_addresses_of_their_range_and_a_route_to_everything() -> None:
    network = pod_network(IPv4Network("198.18.5.0/24"))
    [plugin] = network["plugins"]
    assert (plugin["type"], plugin["ipMasq"]) == ("ptp", False)
    assert plugin["ipam"]["ranges"] == [[{"subnet": "198.18.5.0/24"}]]
    assert plugin["ipam"]["routes"] == [{"dst": "0.0.0.0/0"}]


def test_a_trusted_registry_is_asked_over_plain_http(tmp_path: Path) -> None:
    (tmp_path / "registries").mkdir()
    inside = object.__new__(NodeNamespaces)  # nothing is run
    node = Containerd(tmp_path, inside, IPv4Network("198.18.1.0/24"))
    for _ in range(2):  # a second time changes nothing
        node.trust_registry("198.18.0.1:5000")
    [hosts] = (tmp_path / "registries").rglob("hosts.toml")
    assert hosts.relative_to(tmp_path) == Path("registries/198.18.0.1:5000/hosts.toml")
    url = "http://198.18.0.1:5000"
    assert tomllib.loads(hosts.read_text()) == {
        "server": url,
        "host": {url: {"capabilities": ["pull", "resolve"]}},
    }
