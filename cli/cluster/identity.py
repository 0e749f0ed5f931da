"""Ask the API server for the user's own name. I/O only."""

from typing import Final

from shared.kube.client import KubeClient

_REVIEWS: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


async def own_name(client: KubeClient) -> str:
    """Return the name by which the API server knows the user. Every user may ask for it."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await client.post(_REVIEWS, body)
    return str(answer["status"]["userInfo"]["username"])
