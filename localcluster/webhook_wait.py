"""Waits until the API server calls our webhook, which starts a moment after the configurations."""

import contextlib
from collections.abc import Awaitable, Callable

from localcluster.machine.errors import ProcessFailed
from localcluster.machine.slowness import stretched
from localcluster.machine.waiting import still_missing
from shared.api import names
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import Forbidden, Invalid, KubeClient, KubeError

_SECONDS = stretched(180.0)
_POD: JsonObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "probe"},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "probe"}]},
}


async def wait_for_webhook(client: KubeClient, last_words: Callable[[], Awaitable[str]]) -> None:
    """Returns when the API server calls the webhook for AppWrappers.

    Kueue must serve, since its webhook is called too. Raises ProcessFailed after three
    minutes, with the webhook's last messages.
    """
    missing = await still_missing(lambda: _missing_call(client), _SECONDS, pause=0.05)
    if missing is not None:
        raise ProcessFailed(
            f"The API server does not ask the AppWrapper webhook even after"
            f" {_SECONDS:.0f} s: {missing}.{await last_words()}"
        )


async def _missing_call(client: KubeClient) -> str | None:
    """Dry runs: /mutate labels a good AppWrapper, /validate rejects a nested one."""
    try:
        labelled = await _dry_run(client, _POD)
        if names.LABEL_USER not in labelled["metadata"].get("labels", {}):
            return "it admits an AppWrapper without calling /mutate"
        with contextlib.suppress(Forbidden, Invalid):
            await _dry_run(client, _appwrapper(_POD))
            return "it admits a nested AppWrapper without calling /validate"
    except KubeError as failure:
        return f"a dry-run create of an AppWrapper fails: {failure}"
    return None


async def _dry_run(client: KubeClient, component: JsonObject) -> JsonObject:
    return await client.create(APPWRAPPERS, "default", _appwrapper(component), dry_run=True)


def _appwrapper(component: JsonObject) -> JsonObject:
    return {
        "apiVersion": APPWRAPPERS.gvk.api_version,
        "kind": APPWRAPPERS.kind,
        "metadata": {"name": "probe"},
        "spec": {"components": [{"template": component}]},
    }
