"""Declare the webhook's rights. A test compares them with the code's requests to the API server."""

from typing import Final

from shared.api.rbac import Role, Rule
from shared.config.configuration import CertManagement

_NAMES: Final = CertManagement()

SELF_MANAGED: Final = (
    Role(
        "appwrapper-webhook-certificates",
        "The rights of the webhook to its own certificates: this role and the next. With "
        "certManagement.source: Files it needs none of it.",
        (
            Rule(
                "This one Secret: its replicas share it. A name in a rule allows list and watch of "
                "that name only.",
                "",
                ("secrets",),
                ("get", "list", "watch", "update"),
                (_NAMES.webhook_secret_name,),
            ),
        ),
    ),
    Role(
        "appwrapper-webhook-ca-bundle",
        "",
        (
            Rule(
                "To write the caBundle of both webhook configurations. Not create and not delete: "
                "a configuration that an admin deleted stays deleted.",
                "admissionregistration.k8s.io",
                ("mutatingwebhookconfigurations",),
                ("get", "list", "watch", "patch"),
                (_NAMES.mutating_webhook_config_name,),
            ),
            Rule(
                "The same for the other configuration.",
                "admissionregistration.k8s.io",
                ("validatingwebhookconfigurations",),
                ("get", "list", "watch", "patch"),
                (_NAMES.validating_webhook_config_name,),
            ),
        ),
        everywhere=True,
    ),
)
"""The rights for `certManagement.source: SelfManaged` only: deploy/certs/self-managed."""

ALWAYS: Final = (
    Role(
        "appwrapper-webhook",
        "The webhook validates requests and reads little else. It reads the resources of Kinds and "
        "the schema of pods from discovery and OpenAPI, which every authenticated identity may "
        "read.",
        (
            Rule(
                "To ask whether the submitting user may create what an AppWrapper wraps "
                "(userRBACAdmissionCheck).",
                "authorization.k8s.io",
                ("subjectaccessreviews",),
                ("create",),
            ),
            Rule(
                "To find the teams' namespaces by their labels (teamNamespaceSelector).",
                "",
                ("namespaces",),
                ("get", "list", "watch"),
            ),
            Rule(
                "To reject a priorityClassName that no PriorityClass has.",
                "scheduling.k8s.io",
                ("priorityclasses",),
                ("list", "watch"),
            ),
        ),
        everywhere=True,
    ),
)
"""The rights that the webhook needs with every source of its certificates."""

ROLES: Final = (*ALWAYS, *SELF_MANAGED)
