"""The resources that tests read, beside the resources that the product defines itself."""

from shared.api.objects import Resource

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
CLUSTER_QUEUES = Resource(
    "kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False
)
CLUSTER_ROLE_BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
CLUSTER_ROLES = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False
)
CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
JOBS = Resource("batch", "v1", "jobs", "Job")
JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
LEADER_WORKER_SETS = Resource(
    "leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"
)
LOCAL_QUEUES = Resource("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue")
MPI_JOBS = Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob")
TRAIN_JOBS = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob")
TRAINING_RUNTIMES = Resource(
    "trainer.kubeflow.org", "v1alpha1", "trainingruntimes", "TrainingRuntime"
)
POD_GROUPS = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")
PYTORCH_JOBS = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")
RAY_CLUSTERS = Resource("ray.io", "v1", "rayclusters", "RayCluster")
RAY_JOBS = Resource("ray.io", "v1", "rayjobs", "RayJob")
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
RESOURCE_FLAVORS = Resource(
    "kueue.x-k8s.io", "v1beta2", "resourceflavors", "ResourceFlavor", namespaced=False
)
RESOURCE_QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
SERVICES = Resource("", "v1", "services", "Service")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
WORKLOADS = Resource("kueue.x-k8s.io", "v1beta2", "workloads", "Workload")
