"""Installers into a running control plane, one module per component.

Each module has `async def install(cluster: OwnedCluster) -> None`. It applies the component's
manifests from its Go module's folder, starts its program, and returns when that is ready.
"""

# Components of every cluster, and components on request: name → module.
ALWAYS = {"kwok": "kwok", "kueue": "kueue"}
ON_REQUEST = {
    "cert-manager": "cert_manager",
    "coscheduler": "coscheduler",
    "jobset": "jobset",
    "kuberay": "kuberay",
    "leaderworkerset": "leaderworkerset",
    "mpi-operator": "mpi_operator",
    "training-operator": "training_operator",
}
