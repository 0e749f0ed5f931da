"""Read the order of pending workloads from Kueue's visibility server. I/O only."""

from typing import Final

from cli.cluster.reader import Reader
from cli.cluster.unread import Many
from shared.kube.client import ApiError, Forbidden, Unauthorized

_GROUP: Final = "visibility.kueue.x-k8s.io"


async def pending_workloads(reader: Reader, namespace: str, queue: str) -> Many | None:
    """Return a LocalQueue's pending workloads in order; None without visibility server."""
    try:
        # The API server checks the user's rights before it knows whether the group exists.
        group = await reader.client.get_path(f"/apis/{_GROUP}")
        version = group["preferredVersion"]["version"]
        found = await reader.client.get_path(
            f"/apis/{_GROUP}/{version}/namespaces/{namespace}/localqueues/{queue}/pendingworkloads"
        )
    except Forbidden as error:
        what = f"localqueues/pendingworkloads of {_GROUP}: the position in the queue"
        return reader.note(what, error, "no right to get them")
    except Unauthorized:
        raise
    except ApiError:
        return None  # no such server, or it does not answer: report without the position
    return tuple(found.get("items") or ())
