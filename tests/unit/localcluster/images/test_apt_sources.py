from pathlib import Path

import pytest

from localcluster.images.apt_sources import Archive, archive_of, parse_deb822, parse_one_line
from localcluster.machine.errors import ToolMissing

DEB822 = """\
# Debian itself
Types: deb deb-src
URIs: http://archive.example/debian
 http://mirror.example/debian
Suites: trixie trixie-updates
Components: main contrib
Signed-By: /keyrings/debian.gpg

Types: deb
URIs: http://archive.example/security
Suites: trixie-security
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mDMEY865UxYJKwYBBAHaRw8BAQdAd7Z0srwuhlB6JKFkcf4HU4SSS
 -----END PGP PUBLIC KEY BLOCK-----

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: trixie
Components: main
"""
ONE_LINE = """\
# deb http://off.example/debian trixie main
deb http://archive.example/debian trixie main contrib # the release
deb-src http://archive.example/debian trixie main
deb [arch=amd64 signed-by=/keyrings/debian.gpg] http://signed.example/debian trixie main
"""


def test_paragraphs() -> None:
    keyring = Path("/keyrings/debian.gpg")
    suites = ("trixie", "trixie-updates")
    assert list(parse_deb822(DEB822)) == [
        Archive("http://archive.example/debian", suites, ("main", "contrib"), keyring),
        Archive("http://mirror.example/debian", suites, ("main", "contrib"), keyring),
        Archive("http://archive.example/security", ("trixie-security",), ("main",), None),
    ]


def test_one_line_each() -> None:
    assert list(parse_one_line(ONE_LINE)) == [
        Archive("http://archive.example/debian", ("trixie",), ("main", "contrib"), None),
        Archive(
            "http://signed.example/debian", ("trixie",), ("main",), Path("/keyrings/debian.gpg")
        ),
    ]


def test_the_archive_of_the_release_is_found_in_either_format(tmp_path: Path) -> None:
    keyrings = tmp_path / "keyrings"
    keyrings.mkdir()
    keyring = keyrings / "debian-archive-keyring.gpg"
    keyring.write_bytes(b"")
    folder = tmp_path / "apt"
    (folder / "sources.list.d").mkdir(parents=True)
    (folder / "sources.list.d" / "notes.txt").write_text("deb http://no.example trixie main")
    (folder / "sources.list.d" / "debian.sources").write_text(DEB822)
    found = archive_of("trixie", folder, keyrings)
    assert (found.uri, found.keyring) == (
        "http://archive.example/debian",
        Path("/keyrings/debian.gpg"),
    )
    (folder / "sources.list").write_text(ONE_LINE)
    found = archive_of("trixie", folder, keyrings)
    assert (found.uri, found.keyring) == ("http://archive.example/debian", keyring)


def test_the_first_of_a_list_of_mirrors_is_used(tmp_path: Path) -> None:
    mirrors, keyring = tmp_path / "mirrors.list", tmp_path / "debian.gpg"
    uri = f"mirror+file://{mirrors}"
    (tmp_path / "sources.list").write_text(f"deb [signed-by={keyring}] {uri} trixie main\n")
    with pytest.raises(ToolMissing) as missing:
        archive_of("trixie", tmp_path, tmp_path)
    told = f"apt's source {uri} names no mirror: {mirrors} is not there, or is empty."
    assert str(missing.value) == told
    mirrors.write_text(
        "# near\nhttps://near.example/debian\tpriority:1\nhttp://far.example/debian\n"
    )
    found = archive_of("trixie", tmp_path, tmp_path)
    assert found == Archive("https://near.example/debian", ("trixie",), ("main",), keyring)


def test_without_the_release_the_next_step_is_reported(tmp_path: Path) -> None:
    (tmp_path / "sources.list").write_text("deb http://archive.example/debian trixie contrib\n")
    with pytest.raises(ToolMissing) as missing:
        archive_of("trixie", tmp_path, tmp_path)
    assert str(missing.value) == (
        f"No source of apt in {tmp_path} has the release trixie with its component main. A base"
        " image's stand-in is made from it; name an image instead (--base-image)."
    )


def test_without_a_keyring_the_next_step_is_reported(tmp_path: Path) -> None:
    (tmp_path / "sources.list").write_text("deb http://archive.example/debian trixie main\n")
    with pytest.raises(ToolMissing) as missing:
        archive_of("trixie", tmp_path, tmp_path)
    assert str(missing.value) == (
        "apt's source http://archive.example/debian names no keyring file (signed-by), and"
        f" {tmp_path} has none of the distribution. On Debian: apt-get install"
        " debian-archive-keyring"
    )
