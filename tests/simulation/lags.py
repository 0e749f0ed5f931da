"""How late each program acts, in seconds: the options of its delays, the usual one first.

The second option is slower than all that was measured. The last one is a program that stalls, for
example while its leader election moves to another replica.

"Measured" is `python -m tests.support.record_lives` of 2026-11-26: Kubernetes 1.37.0 and simulated
kubelets, 16 lives on two cores with a load of 12; median, slowest tenth, longest.
"""

from typing import Final

Lag = tuple[float, ...]
ODDS: Final = (0.85, 0.12, 0.03)
"""The weights of a lag's options in random runs."""
RARE: Final = (0.95, 0.05)
"""The weights of something usual, and of the other thing that may happen."""

# Watches and requests

EVENT: Final[Lag] = (0.003, 0.05, 6.0)
"""From a write to the program that watches the object.

Measured from a Job's creation to its first pod's, with one request: 0.006, 0.015, 0.062 (17 Jobs).
"""
REQUEST: Final[Lag] = (0.005, 0.05, 2.0)
"""Between two requests of one program: one request on an idle and on a busy API server.

The controller under test waits three seconds (SETTLING) for pods whose creation was on its way when
their owner was deleted. So no program stalls longer between its reading and its creating.
"""

UNHEARD: Final[Lag] = (0.0, 0.4)
"""How long a program still takes an object for existing of whose pods' end it has heard.

Measured (docs/decisions/deletion.md, 2026-11-23): an operator that was stopped for up to 0.4
seconds created the pods of a gone MPIJob again.
"""

# Controllers of Kubernetes

JOB_BATCH: Final = 1.0
"""From a pod's event to the sync of its Job: SyncJobBatchPeriod of Kubernetes 1.37.

Measured from a pod's end to the Job's status: 0.990, 1.007, 1.017; to the Job's end: 1.018, 1.273,
1.804.
"""
JOB_BACK_OFF: Final = 10.0
"""After the first failed pod; it doubles (DefaultJobPodFailureBackOff)."""
LONGEST_JOB_BACK_OFF: Final = 600.0
GARBAGE: Final[Lag] = (0.03, 0.3, 6.0)
"""From an owner's end to the deletion of its pods. Measured: 0.030, 0.057, 0.070."""
SCHEDULER: Final[Lag] = (0.013, 0.2, 6.0)
"""From a pod's creation to its binding. Measured: 0.013, 0.022, 0.107 (35 pods)."""

POD_GC: Final[Lag] = (10.0, 20.0, 40.0)
"""PodGC looks every 20 seconds (gcCheckPeriod of Kubernetes 1.37)."""
NODE_QUARANTINE: Final = 40.0
"""How long PodGC waits for a missing node to return (quarantineTime)."""

# Node lifecycle: node-monitor-grace-period and node-monitor-period of Kubernetes 1.37, and the
# tolerationSeconds that the API server gives each pod by default.

NODE_SILENCE: Final[Lag] = (50.0, 55.0)
DEFAULT_TOLERATION: Final = 300.0

CLOUD: Final = 60.0
"""From a machine's end to the removal of its Node: a cloud's controller looks every 5 seconds for
nodes that are not Ready, and removes those that have no machine any more.
"""

# Kubelets

POD_START: Final[Lag] = (0.5, 3.0, 45.0)
"""From the binding to the first container: with the image, without it, and with a slow registry.

Not measured: a simulated kubelet needs 0.018, 0.037, 0.349.
"""
POD_STATUS: Final[Lag] = (0.05, 1.0, 10.0)
"""From a container's change to the pod's status: the kubelet relists its containers each second."""
CRASH_BACK_OFF: Final = 10.0
"""After the first restart; it doubles (CrashLoopBackOff)."""
LONGEST_CRASH_BACK_OFF: Final = 300.0
SLOW_IMAGE: Final = 90.0
"""How long a pod waits in ImagePullBackOff for a registry that is away."""
