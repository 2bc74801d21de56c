"""The page of licences is current, every licence is allowed, and the bill of materials has what is shipped."""

import pytest
from packaging.utils import canonicalize_name

from dependencies.installed import read_pins, runtime_dependencies
from dependencies.licences import EXCEPTIONS, PAGE, refused, render, table
from dependencies.sbom import bill_of_materials


def test_every_runtime_dependency_is_pinned_and_installed_at_its_pin() -> None:
    pins = read_pins()
    installed = {name: package.version.partition("+")[0] for name, package in runtime_dependencies().items()}
    assert {name: str(pins.get(name)) for name in installed} == installed


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "make licences"


def test_only_allowed_licences_enter() -> None:
    assert {name: licence for name, (_, licence) in table().items() if refused(name, licence)} == {}
    assert EXCEPTIONS.keys() <= table().keys()


@pytest.mark.parametrize(
    ("licence", "expected"),
    [
        ("MIT", False),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", False),
        ("GPL-3.0 OR MIT", False),
        ("MIT AND GPL-3.0", True),
        ("AGPL-3.0", True),
        ("unknown", True),
        ("", True),
    ],
)
def test_a_licence_is_refused_where_one_part_of_it_is(licence: str, expected: bool) -> None:
    assert refused("some-package", licence) == expected


@pytest.mark.slow
def test_the_bill_of_materials_is_valid_and_has_the_runtime_dependencies_alone() -> None:
    document = bill_of_materials()
    parts = {canonicalize_name(part["name"]): part for part in document["components"]}
    assert parts.keys() == runtime_dependencies().keys()
    assert {part["version"] for part in parts.values() if "+" in part["version"]} == set()
    assert document["metadata"]["component"]["name"] == "jiyi"
