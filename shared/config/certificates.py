"""`certManagement`: where the webhook's certificate comes from, and how long certificates live."""

from datetime import timedelta
from typing import Literal

from shared.config.values import GoDuration, Section


class CertManagement(Section):
    """`certManagement`. The names are the Go operator's; what this project adds stands below."""

    namespace: str = "appwrapper-system"
    # Read with source Files only. The Go operator's default, where its manifests mount the Secret.
    certificate_dir: str = "/tmp/k8s-webhook-server/serving-certs"
    certificate_name: str = "appwrapper-ca"
    certificate_org: str = "appwrapper"
    mutating_webhook_config_name: str = "appwrapper-mutating-webhook-configuration"
    validating_webhook_config_name: str = "appwrapper-validating-webhook-configuration"
    webhook_service_name: str = "appwrapper-webhook-service"
    webhook_secret_name: str = "appwrapper-webhook-server-cert"
    # Added by this project from here on.
    # SelfManaged: the webhook makes its certificates, keeps them in the Secret, and keeps the
    # caBundle of both configurations. Files: it serves tls.crt and tls.key of certificateDir, and
    # whoever writes those (cert-manager) keeps the caBundle.
    source: Literal["SelfManaged", "Files"] = "SelfManaged"
    # Both are replaced after two thirds of their life.
    ca_lifetime: GoDuration = timedelta(days=3650)
    leaf_lifetime: GoDuration = timedelta(days=90)
    # How long both configurations must have carried a CA before a certificate of it is served: the
    # API servers learn of a change by their watches.
    settle_period: GoDuration = timedelta(seconds=30)
    # How long a CA stays trusted that an admin had replaced (its key may be in foreign hands).
    revocation_period: GoDuration = timedelta(minutes=10)
