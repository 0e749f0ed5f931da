"""Builds the webhook's messages for rejected requests."""


def refused(kind: str, advice: str, name: str = "mine") -> str:
    return (
        'admission webhook "vdirectkinds.workload.codeflare.dev" denied the request: '
        f'{kind} "{name}" is forbidden: in a team\'s namespace it {advice}'
    )


WRAP_IT = (
    "has to be wrapped, so that it is queued and its quota is counted: "
    "appwrapper pack FILE | kubectl apply -f -"
)
LISTED = "`kubectl explain appwrapper.spec.components.template` lists the Kinds that may be wrapped"
REFUSED = {
    "samples/demo/rejected-daemonset.yaml": (
        'The AppWrapper "rejected-daemonset" is invalid: spec.components[0].template: Forbidden: '
        f"apps/DaemonSet may not be wrapped: use apps/Deployment instead; {LISTED}\n"
    ),
    "samples/demo/rejected-nested-appwrapper.yaml": (
        'The AppWrapper "rejected-nested-appwrapper" is invalid: spec.components[0].template: '
        "Forbidden: an AppWrapper cannot contain another AppWrapper\n"
    ),
}
