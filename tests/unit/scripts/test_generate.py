"""What is generated from code is as fresh as the code."""

from scripts.generate import generated
from tests.support.manifests import ROOT


def test_every_generated_file_is_fresh() -> None:
    made = {str(file.relative_to(ROOT)): text for file, text in generated().items()}
    assert sorted(made) == [
        "Dockerfile.controller",
        "Dockerfile.webhook",
        "README.md",
        "cli/shipped/default.yaml",
        "cli/shipped/mlbatch.yaml",
        "deploy/certs/self-managed/roles.yaml",
        "deploy/chart/Chart.yaml",
        "deploy/chart/registration-keys.txt",
        "deploy/chart/values.schema.json",
        "deploy/manifests/base/controller/deployment.yaml",
        "deploy/manifests/base/controller/roles.yaml",
        "deploy/manifests/base/webhook/deployment.yaml",
        "deploy/manifests/base/webhook/roles.yaml",
        "deploy/manifests/overlays/default/admission-policies.yaml",
        "deploy/manifests/overlays/default/webhook-configurations.yaml",
        "deploy/manifests/overlays/mlbatch/admission-policies.yaml",
        "deploy/manifests/overlays/mlbatch/webhook-configurations.yaml",
        "deploy/manifests/slack-queue/roles.yaml",
        "docs/admins/configuration.md",
        "docs/admins/error-stores.md",
        "docs/admins/install.md",
        "docs/admins/local-cluster.md",
        "docs/admins/rules.md",
        "docs/maintainers/benchmark-figures.md",
        "docs/maintainers/benchmarks.svg",
        "docs/maintainers/profile.md",
        "docs/maintainers/profile.svg",
        "docs/users/generate.md",
        "docs/users/phases.md",
    ]
    stale = [name for name, text in made.items() if (ROOT / name).read_text() != text]
    assert stale == [], "run `make generate`"
