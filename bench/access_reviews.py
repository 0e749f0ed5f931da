"""Counts the access reviews that the API server has answered, from its own metrics."""

import re

import aiohttp

from localcluster.access.probes import trusting
from localcluster.cluster import LocalCluster

_LINE = re.compile(
    r'^apiserver_request_total\{[^}]*resource="subjectaccessreviews"[^}]*\} (\S+)$', re.MULTILINE
)


def counted(metrics: str) -> int:
    """Reads the number of reviews from the text of /metrics; 0 before the first review."""
    return round(sum(float(value) for value in _LINE.findall(metrics)))


async def answered(cluster: LocalCluster) -> int:
    """Returns how many SubjectAccessReviews this API server has answered since it started."""
    access = cluster.access
    context = trusting(str(access.authority), access.admin)
    async with (
        aiohttp.ClientSession(trust_env=False) as session,
        session.get(f"{access.server}/metrics", ssl=context) as response,
    ):
        response.raise_for_status()
        return counted(await response.text())
