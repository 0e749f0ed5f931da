from pathlib import Path

from localcluster.realnode.kubelet import configuration


def test_nothing_is_configured_for_the_whole_machine() -> None:
    settings = configuration("198.18.0.2", Path("/c/kubelet"), "awnode0-1-2")
    # It checks the kernel's settings and never writes them.
    assert settings["protectKernelDefaults"] is True
    assert settings["cgroupRoot"] == "/awnode0-1-2"
    assert settings["cgroupDriver"] == "cgroupfs"
    assert settings["enforceNodeAllocatable"] == []
    assert settings["resolvConf"] == "/c/kubelet/resolv.conf"
    assert settings["volumePluginDir"] == "/c/kubelet/volume-plugins"


def test_only_the_cluster_reaches_it() -> None:
    settings = configuration("198.18.0.2", Path("/c/kubelet"), "awnode0-1-2")
    assert (settings["address"], settings["healthzBindAddress"]) == ("198.18.0.2", "198.18.0.2")
    assert settings["readOnlyPort"] == 0
    assert settings["authorization"] == {"mode": "Webhook"}


def test_no_pod_is_evicted_and_no_image_thrown_away_because_the_disk_is_full() -> None:
    settings = configuration("198.18.0.2", Path("/c/kubelet"), "awnode0-1-2")
    assert set(settings["evictionHard"].values()) == {"0%"}
    assert settings["imageGCHighThresholdPercent"] == 100
