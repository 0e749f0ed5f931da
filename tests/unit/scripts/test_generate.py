"""What is generated from code is as fresh as the code."""

from scripts.configuration_page import configuration_page
from scripts.generate import (
    CONFIGURATION_PAGE,
    OVERLAYS,
    PHASES_PAGE,
    RULES_PAGE,
    VALUES_PAGE,
    registrations,
    rules_page,
)
from scripts.phases_page import phases_page
from scripts.rbac import role_files
from scripts.shipped import shipped_files
from scripts.values_page import values_page


def test_the_page_of_phases_is_fresh() -> None:
    assert PHASES_PAGE.read_text() == phases_page(), "run `make generate`"


def test_the_configuration_reference_is_fresh() -> None:
    text = CONFIGURATION_PAGE.read_text()
    assert configuration_page(text) == text, "run `make generate`"


def test_the_page_of_rules_is_fresh() -> None:
    assert RULES_PAGE.read_text() == rules_page(), "run `make generate`"


def test_the_page_of_values_is_fresh() -> None:
    text = VALUES_PAGE.read_text()
    assert values_page(text) == text, "run `make generate`"


def test_the_webhook_configurations_and_policies_of_every_overlay_are_fresh() -> None:
    made = registrations()
    assert sorted(f"{file.parent.name}/{file.name}" for file in made) == [
        f"{overlay}/{name}.yaml"
        for overlay in ("default", "mlbatch")
        for name in ("admission-policies", "webhook-configurations")
    ]
    for file, content in made.items():
        assert file.read_text() == content, "run `make generate`"


def test_the_roles_of_both_programs_are_fresh() -> None:
    made = role_files()
    folders = ["controller", "self-managed", "slack-queue", "webhook"]
    assert sorted(file.parent.name for file in made) == folders
    for file, content in made.items():
        assert file.read_text() == content, "run `make generate`"


def test_files_shipped_with_the_command_are_fresh() -> None:
    made = shipped_files(OVERLAYS)
    assert sorted(file.name for file in made) == ["default.yaml", "mlbatch.yaml"]
    for file, content in made.items():
        assert file.read_text() == content, "run `make generate`"
