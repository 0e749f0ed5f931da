from pathlib import Path

from localcluster.images import pip_site

LISTING = """\
global.cert='/etc/ssl/certs/site.crt'
global.index-url='https://somebody:secret@packages.example/simple'
global.no-color='true'
:env:.default-timeout='180'
:env:.index-url='https://other.example/simple'
install.trusted-host='packages.example\\nother.example'
freeze.timeout='5'
"""


def test_the_environment_wins_and_other_commands_do_not_count() -> None:
    assert pip_site.parse(LISTING) == {
        "cert": "/etc/ssl/certs/site.crt",
        "index-url": "https://other.example/simple",
        "no-color": "true",
        "default-timeout": "180",
        "trusted-host": "packages.example\nother.example",
    }


def test_only_where_packages_come_from_goes_into_the_build() -> None:
    assert pip_site.configuration(pip_site.parse(LISTING)) == (
        "[global]\n"
        "index-url = https://other.example/simple\n"
        "trusted-host = packages.example\n"
        "    other.example\n"
        "timeout = 180\n"
    )


def test_folders_of_this_machine_do_not_go_in() -> None:
    """They would not be there."""
    listing = ":env:.find-links='/wheels'\nglobal.cache-dir='/cache'\n"
    assert pip_site.configuration(pip_site.parse(listing)) == "[global]\n"


def test_pips_own_configuration_takes_precedence(tmp_path: Path) -> None:
    ours, general = tmp_path / "pip.crt", tmp_path / "general.crt"
    general.write_text("")
    environment = {"SSL_CERT_FILE": str(general)}
    assert pip_site.authorities({"cert": str(ours)}, environment) == general
    ours.write_text("")
    assert pip_site.authorities({"cert": str(ours)}, environment) == ours


def test_the_files_are_readable_for_their_owner_alone(tmp_path: Path) -> None:
    secrets = pip_site.secrets(LISTING, tmp_path)
    assert secrets[0].name == "pip-config"
    assert secrets[0].file.stat().st_mode & 0o777 == 0o600
    assert secrets[0].file.read_text() == pip_site.configuration(pip_site.parse(LISTING))
    assert [secret.name for secret in secrets[1:]] in ([], ["ca-certificates"])
