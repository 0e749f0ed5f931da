"""Says what the webhook tells those whom it refuses."""


def refused(kind: str, advice: str, name: str = "mine") -> str:
    return (
        'admission webhook "vdirectkinds.workload.codeflare.dev" denied the request: '
        f'{kind} "{name}" is forbidden: in a team\'s namespace it {advice}'
    )


WRAP_IT = (
    "has to be wrapped, so that it is queued and its quota is counted: "
    "appwrapper pack FILE | kubectl apply -f -"
)
REFUSED = {
    "samples/demo/rejected-daemonset.yaml": (
        'The AppWrapper "rejected-daemonset" is invalid: spec.components[0].template: Forbidden: '
        "apps/DaemonSet may not be wrapped; allowed are kubeflow.org/PyTorchJob, ray.io/RayJob, "
        "ray.io/RayCluster, apps/Deployment, apps/StatefulSet, Pod, batch/Job, ServiceAccount, "
        "Service, Secret, ConfigMap, PersistentVolumeClaim, scheduling.x-k8s.io/PodGroup, "
        "jobset.x-k8s.io/JobSet, leaderworkerset.x-k8s.io/LeaderWorkerSet, kubeflow.org/MPIJob\n"
    ),
    "samples/demo/rejected-nested-appwrapper.yaml": (
        'The AppWrapper "rejected-nested-appwrapper" is invalid: spec.components[0].template: '
        "Forbidden: an AppWrapper cannot contain another AppWrapper\n"
    ),
}
