"""What is generated from code is as fresh as the code."""

from scripts.generate import PHASES_PAGE, RULES_PAGE, registrations, rules_page
from scripts.phases_page import phases_page
from scripts.rbac import role_files


def test_the_page_of_phases_is_fresh() -> None:
    assert PHASES_PAGE.read_text() == phases_page(), "run `make generate`"


def test_the_page_of_rules_is_fresh() -> None:
    assert RULES_PAGE.read_text() == rules_page(), "run `make generate`"


def test_the_webhook_configurations_of_every_overlay_are_fresh() -> None:
    made = registrations()
    assert sorted(file.parent.name for file in made) == ["default", "mlbatch"]
    for file, content in made.items():
        assert file.read_text() == content, "run `make generate`"


def test_the_roles_of_both_programs_are_fresh() -> None:
    made = role_files()
    assert sorted(file.parent.name for file in made) == ["controller", "self-managed", "webhook"]
    for file, content in made.items():
        assert file.read_text() == content, "run `make generate`"
