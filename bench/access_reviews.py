"""Counts the access reviews that the API server has answered, from its own metrics."""

from bench.metrics import api_server_metrics, series
from localcluster.cluster import LocalCluster


def counted(metrics: str) -> int:
    """Reads the number of reviews from the text of /metrics; 0 before the first review."""
    requests = series(metrics, "apiserver_request_total")
    return round(sum(n for labels, n in requests if labels["resource"] == "subjectaccessreviews"))


async def answered(cluster: LocalCluster) -> int:
    """Returns how many SubjectAccessReviews this API server has answered since it started."""
    return counted(await api_server_metrics(cluster))
