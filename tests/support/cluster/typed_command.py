"""The command `appwrapper` on a PATH, run from this checkout, and kubectl beside it."""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from localcluster.access.running import RunningCluster
from tests.support.manifests import ROOT


def environment_with_command(
    cluster: RunningCluster, folder: Path, *, of_team_create: Sequence[str] = ()
) -> Mapping[str, str]:
    """Returns the environment of a user who installed the command and reaches the cluster.

    `of_team_create` are options of each `team create`: they replace defaults that a page relies on
    but this test cannot share.
    """
    program = f"PYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m cli"
    script = folder / "bin" / "appwrapper"
    script.parent.mkdir()
    script.write_text(
        "#!/bin/sh\n"
        'if [ "$1 $2" = "team create" ]; then\n'
        "  shift 2\n"
        f'  {program} team create {shlex.join(of_team_create)} "$@"\n'
        "fi\n"
        f'{program} "$@"\n'
    )
    script.chmod(0o755)
    return {
        "PATH": f"{script.parent}:{cluster.kubectl.parent}:{os.environ['PATH']}",
        "KUBECONFIG": str(cluster.kubeconfig),
    }
