import pytest

from shared.config.loading import ConfigError, parse_config

WRONG = [
    ("source: Secret", 'certManagement.source: Invalid value: "Secret": must be '
     "'SelfManaged' or 'Files'"),
    ("namespace: a.b", 'certManagement.namespace: Invalid value: "a.b": '
     "must be a name of up to 63 lower case letters, digits and '-'"),
    ("webhookServiceName: A", 'certManagement.webhookServiceName: Invalid value: "A": '
     "must be a name of up to 63 lower case letters, digits and '-'"),
    ("webhookSecretName: a_b", 'certManagement.webhookSecretName: Invalid value: "a_b": '
     "must be the name of an object: lower case letters, digits, '-' and '.'"),
    ("mutatingWebhookConfigName: ''", 'certManagement.mutatingWebhookConfigName: Invalid value: '
     "\"\": must be the name of an object: lower case letters, digits, '-' and '.'"),
    ("validatingWebhookConfigName: a/b", "certManagement.validatingWebhookConfigName: "
     "Invalid value: \"a/b\": must be the name of an object: lower case letters, digits, '-' and "
     "'.'"),
    ("certificateName: ''", 'certManagement.certificateName: Invalid value: "": '
     "must have 1 to 64 characters, as a certificate's name"),
    (f"certificateOrg: {'a' * 65}", f'certManagement.certificateOrg: Invalid value: "{"a" * 65}": '
     "must have 1 to 64 characters, as a certificate's name"),
    ("{source: Files, certificateDir: ''}", "certManagement.certificateDir: Required value: "
     "source Files needs the folder with tls.crt and tls.key"),
    ("leafLifetime: 59m59s", 'certManagement.leafLifetime: Invalid value: "59m59s": '
     "must be at least 1h"),
    ("{leafLifetime: 1h, caLifetime: 2h59m59s}", "certManagement.caLifetime: Invalid value: "
     '"2h59m59s": must be at least three times leafLifetime (1h)'),
    ("settlePeriod: -1s", 'certManagement.settlePeriod: Invalid value: "-1s": '
     "must be from 0s to 1h"),
    ("{settlePeriod: 60m1s, revocationPeriod: 2h}", "certManagement.settlePeriod: Invalid value: "
     '"60m1s": must be from 0s to 1h'),
    ("revocationPeriod: 29s", 'certManagement.revocationPeriod: Invalid value: "29s": '
     "must be from settlePeriod (30s) to leafLifetime (2160h)"),
    ("{leafLifetime: 1h, revocationPeriod: 61m}", "certManagement.revocationPeriod: "
     'Invalid value: "1h1m": must be from settlePeriod (30s) to leafLifetime (1h)'),
]  # fmt: skip
RIGHT = [
    "{source: Files, certificateDir: certs}",
    "{source: SelfManaged, certificateDir: ''}",
    f"certificateOrg: {'a' * 64}",
    "{leafLifetime: 1h, caLifetime: 3h, revocationPeriod: 1h, settlePeriod: 1h}",
    "{settlePeriod: 0s, revocationPeriod: 0s}",
]


@pytest.mark.parametrize(("section", "problem"), WRONG)
def test_a_wrong_value_is_named(section: str, problem: str) -> None:
    text = section if section.startswith("{") else f"{{{section}}}"
    with pytest.raises(ConfigError) as error:
        parse_config(f"certManagement: {text}", "c")
    assert error.value.problems == [f"c:1: {problem}"]


@pytest.mark.parametrize("section", RIGHT)
def test_the_largest_allowed_values_are_accepted(section: str) -> None:
    text = section if section.startswith("{") else f"{{{section}}}"
    parse_config(f"certManagement: {text}", "c")
