from pathlib import Path

import pytest

from localcluster.programs.catalogue import (
    CATALOGUE,
    KUEUE_VERSIONS,
    OWN_PACKAGES,
    component,
    required_version,
)

GO_MOD = """module example

go 1.26.0

require example.com/one v1.2.3

require (
\texample.com/two/v2 v2.0.0-rc.1 // indirect
\texample.com/on v9.9.9
)
"""


@pytest.fixture
def go_mod(tmp_path: Path) -> Path:
    path = tmp_path / "go.mod"
    path.write_text(GO_MOD)
    return path


@pytest.mark.parametrize(
    ("module", "version"),
    [
        pytest.param("example.com/one", "v1.2.3", id="on a line of its own"),
        pytest.param("example.com/two/v2", "v2.0.0-rc.1", id="in a block, with a comment"),
        pytest.param("example.com/on", "v9.9.9", id="not another one that it is a prefix of"),
    ],
)
def test_version_is_read_from_go_mod(go_mod: Path, module: str, version: str) -> None:
    assert required_version(go_mod, module) == version


def test_module_that_is_not_required_is_an_error_naming_the_file(go_mod: Path) -> None:
    with pytest.raises(ValueError) as caught:
        required_version(go_mod, "example.com/three")
    assert str(caught.value) == f"{go_mod} requires no version of example.com/three"


OWN = {
    name
    for name, each in CATALOGUE.items()
    if any(package.startswith(OWN_PACKAGES) for package in each.programs.values())
}


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name not in OWN])
def test_every_program_is_pinned_by_its_module(name: str) -> None:
    component = CATALOGUE[name]
    assert component.version.startswith("v")
    tools = (component.folder / "tools.go").read_text()
    for package in component.programs.values():
        assert f'_ "{package}"' in tools


def test_versions_that_this_file_pins() -> None:
    assert {"cert-manager", "mpi-operator", "pause"} == OWN


@pytest.mark.parametrize(
    ("name", "version", "imported"),
    [
        ("cert-manager", "v1.19.1", "/pkg/controller"),
        ("mpi-operator", "v0.7.0", "/cmd/mpi-operator/app"),
    ],
)
def test_a_program_that_is_written_here_runs_what_its_pinned_module_has(
    name: str, version: str, imported: str
) -> None:
    found = CATALOGUE[name]
    assert found.programs == {name: f"localcluster/components/{name}"}
    assert found.version == version
    assert f'"{found.module}{imported}"' in (found.folder / "main.go").read_text()


def test_a_program_that_is_written_here_has_its_module_to_itself() -> None:
    pause = CATALOGUE["pause"]
    assert (pause.version, pause.programs) == ("", {"pause": "localcluster/components/pause"})
    assert (pause.folder / "go.mod").read_text() == (
        "module localcluster/components/pause\n\ngo 1.26.0\n"
    )


def test_the_node_is_of_the_control_planes_version() -> None:
    node, control_plane = CATALOGUE["node"], CATALOGUE["kubernetes"]
    assert node.folder == control_plane.folder
    assert node.linker_flags == control_plane.linker_flags


def test_program_names_are_distinct() -> None:
    others = {*KUEUE_VERSIONS.values()} - {"kueue"}
    programs = [
        program
        for name, each in CATALOGUE.items()
        if name not in others
        for program in each.programs
    ]
    assert len(programs) == len(set(programs))


def test_kubernetes_is_stamped_with_its_version() -> None:
    version = CATALOGUE["kubernetes"].version
    assert version == "v1.37.0"
    assert CATALOGUE["kubernetes"].linker_flags == (
        "-s -w -X k8s.io/component-base/version.gitVersion=v1.37.0"
        " -X k8s.io/component-base/version.gitMajor=1"
        " -X k8s.io/component-base/version.gitMinor=37"
    )
    assert CATALOGUE["etcd"].linker_flags == "-s -w"


def test_kueue_writes_the_certificate_of_its_visibility_server_where_it_runs() -> None:
    """It has no option for that, and /visibility is root's, and all clusters'."""
    assert CATALOGUE["kueue"].linker_flags == (
        "-s -w -X sigs.k8s.io/kueue/pkg/visibility.certDir=visibility"
    )
    assert CATALOGUE["kueue-0.16.1"].linker_flags == "-s -w"


def test_prometheus_is_built_without_the_clouds_that_it_can_look_for_targets_in() -> None:
    """With them, the build takes three times as long and downloads the clouds' own packages."""
    prometheus = CATALOGUE["prometheus"]
    assert prometheus.list_flags == ("-mod=readonly", "-tags=remove_all_sd")
    assert prometheus.build_flags[:2] == prometheus.list_flags
    assert CATALOGUE["etcd"].list_flags == ("-mod=readonly",)


def test_operators_that_the_benchmark_does_not_run_are_built_without_inlining() -> None:
    measured = {"etcd", "kubernetes", "kubectl", "node", "pause", "kwok", "kueue", "appwrapper"}
    as_others = {"jobset", "helm", "trainer"}  # whose packages are compiled with it already
    assert {name for name, each in CATALOGUE.items() if each.inlining} == measured | as_others
    assert "-gcflags=all=-dwarf=false -c=1" in CATALOGUE["etcd"].build_flags
    assert "-gcflags=all=-dwarf=false -c=1 -l" in CATALOGUE["kuberay"].build_flags


def test_a_cluster_has_the_kueue_that_was_asked_for() -> None:
    assert [*KUEUE_VERSIONS] == ["0.19.2", "0.16.1"]
    assert component("kueue") is component("kueue", "0.19.2") is CATALOGUE["kueue"]
    old = component("kueue", "0.16.1")
    assert (old.version, old.programs) == ("v0.16.1", CATALOGUE["kueue"].programs)
    assert component("kwok", "0.16.1") is CATALOGUE["kwok"]
