"""What is known a moment after a page's command, and must be before its next one is typed.

A person would simply type that one again.
"""

from tests.support.cluster.kubectl import Kubectl
from tests.support.manifests import ROOT
from tests.support.patience import comes_to

TEAM = "team1"
SAMPLE = ROOT / "samples" / "wrapped-pod.yaml"
_DRY_RUN = "kubectl create --dry-run=server"
_JOB_WITHOUT_QUEUE = "kubectl create job probe"
_MAY_SHE = "kubectl auth can-i create pods --namespace team1 --as=alice --as-group=team1-edit-group"
_HER_FIRST = (
    "kubectl create --namespace team1 --filename samples/wrapped-pod.yaml --as=alice"
    " --as-group=team1-edit-group"
)
# Within a block: command -> what is typed instead. The right that the block gives counts a moment
# later.
WAITS = {
    "appwrapper check": ".venv/bin/python -m cli check",  # she has installed the command
    _HER_FIRST: f"for _ in $(seq 300); do {_MAY_SHE} > /dev/null && break; sleep 1; done\n"
    f"{_HER_FIRST}",
}


async def until_it_can_be_typed(commands: str, admin: Kubectl) -> None:
    """Waits for what these commands of docs/admins/install.md depend on."""
    if commands.startswith(_DRY_RUN):
        await until_the_webhook_is_reached(admin)
    if commands.startswith(_JOB_WITHOUT_QUEUE):
        await _until_kueue_knows_the_team(admin)


async def until_the_webhook_is_reached(admin: Kubectl, namespace: str = "default") -> None:
    """The way from the API server to a webhook is there a moment after the webhook is ready.

    Kueue's webhook must know the namespace, too.
    """
    # The page may have created the sample itself.
    probe = SAMPLE.read_text().replace("name: wrapped-pod", "name: probe")

    async def refusal() -> str:
        asked = ("create", "--dry-run=server", "-f", "-", "-n", namespace)
        done = await admin.run(*asked, stdin=probe)
        return "" if done.code == 0 else done.err or "it failed"

    await comes_to(refusal, "")


async def _until_kueue_knows_the_team(admin: Kubectl) -> None:
    """Kueue's webhook reads the namespace's labels from its own cache."""
    asked = ("create", "job", "probe", "--image=none", "-n", TEAM, "--dry-run=server")

    async def suspended() -> str:
        done = await admin.run(*asked, "-o", "jsonpath={.spec.suspend}")
        return done.out or done.err

    await comes_to(suspended, "true")
