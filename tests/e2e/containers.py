"""What people wrap: pods with real containers, from an image that has a shell and Python."""

from shared.api.objects import JsonObject
from tests.support.builders.jobs import job_of
from tests.support.builders.pods import pod_of

IMAGE = "localhost/appwrapper-e2e-workload:1"
# A failed pod may be replaced for a long time; that the Job gives up is an end at once.
JOB_DECIDES = {"failureGracePeriodDuration": "1h", "retryPausePeriodDuration": "0s"}
ATTEMPT = "workload.codeflare.dev/attempt"


def pod_template(script: str, *, grace: int = 1, image: str = IMAGE, **limits: str) -> JsonObject:
    """One container, `main`, whose first process is a shell with `script`.

    It knows its attempt as $ATTEMPT. `grace` is what it gets, in seconds, to end by itself.
    """
    attempt = {"fieldRef": {"fieldPath": f"metadata.labels['{ATTEMPT}']"}}
    return {
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": grace,
            "containers": [
                {
                    "name": "main",
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["sh", "-c", script],
                    "env": [{"name": "ATTEMPT", "valueFrom": attempt}],
                    "resources": {"requests": {"cpu": "50m"}, "limits": limits},
                }
            ],
        },
    }


def job(name: str, script: str, *, pods: int = 1, **options: str | int) -> JsonObject:
    """A Job that gives up at the first failure; `options` are those of `pod_template`."""
    return job_of(name, pod_template(script, **options), pods)  # type: ignore[arg-type]


def pod(name: str, script: str, **options: str | int) -> JsonObject:
    """A Pod; `options` are those of `pod_template`."""
    return pod_of(pod_template(script, **options), name=name)  # type: ignore[arg-type]
