"""Who attaches to somebody else's cluster learns what the folder alone does not say."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from cryptography import x509

from localcluster.access import kubeconfig
from localcluster.access.certificates import Authority
from localcluster.access.kubeconfig import ClusterAccess
from localcluster.access.options import ClusterOptions
from localcluster.access.running import RunningCluster
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.folder import ClusterFolder
from localcluster.machine.processes import Processes
from tests.support.cluster.attached import AttachedCluster, write_attachment
from tests.support.moments import NOW


@pytest.fixture
def ready(tmp_path: Path) -> Any:
    """A cluster as its owner has it, short of its programs."""
    folder = ClusterFolder.claim(tmp_path / "cluster")
    authority = Authority(folder.path / "certificates", NOW)
    admin = authority.client("admin", "localcluster-admin", ("system:masters",))
    server = "https://127.0.0.1:1"
    file = kubeconfig.write(
        folder.path / "kubeconfig",
        server=server,
        authority=authority.certificate,
        user=kubeconfig.with_certificate(admin),
    )
    yield SimpleNamespace(
        options=ClusterOptions(components=frozenset({"jobset"}), nodes=3),
        directory=folder.path,
        kubeconfig=file,
        access=ClusterAccess(server, authority.certificate, admin, file),
        kubectl=Path("/somewhere/kubectl"),
        authority=authority,
        modules={"kueue": Path("/modules/kueue")},
    )
    folder.remove()


async def test_it_knows_what_the_owner_knows_and_has_no_programs(
    ready: Any, tmp_path: Path
) -> None:
    write_attachment(cast(RunningCluster, ready))
    before = sorted(ready.directory.rglob("*"))
    async with AttachedCluster(ready.directory, tmp_path / "scratch") as attached:
        assert attached.options == ClusterOptions(
            components=frozenset({"jobset"}), nodes=3, directory=ready.directory
        )
        assert attached.access == ready.access
        assert (attached.kubeconfig, attached.kubectl) == (ready.kubeconfig, ready.kubectl)
        assert attached.modules == ready.modules
        assert attached.logs == ready.directory / "logs"
        signed = attached.authority.client("people/alice", "alice")
        assert not [each for each in vars(attached).values() if isinstance(each, Processes)]
    assert sorted(ready.directory.rglob("*")) == before
    assert signed.certificate == tmp_path / "scratch" / "certificates" / "people" / "alice.crt"
    owners = x509.load_pem_x509_certificate(ready.authority.certificate.read_bytes())
    x509.load_pem_x509_certificate(signed.certificate.read_bytes()).verify_directly_issued_by(
        owners
    )


async def test_a_starting_cluster_is_reported(ready: Any, tmp_path: Path) -> None:
    with pytest.raises(LocalClusterError) as failure:
        await AttachedCluster(ready.directory, tmp_path / "scratch").__aenter__()
    assert str(failure.value) == (
        f"The cluster in {ready.directory} is still starting. Wait until"
        f" `python -m localcluster status --dir {ready.directory}` shows its kubeconfig."
    )


async def test_without_a_running_cluster_attaching_fails(tmp_path: Path) -> None:
    with pytest.raises(LocalClusterError) as failure:
        await AttachedCluster(tmp_path, tmp_path / "scratch").__aenter__()
    assert str(failure.value) == f"No cluster runs in {tmp_path}."
