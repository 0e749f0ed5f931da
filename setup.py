"""Place the packages of the wheel below `appwrapper_operator`. pyproject.toml has all the rest.

Names like `shared` and `cli` are common. At the top level of an environment, distributions with the
same names overwrite each other's files.
"""

from setuptools import find_namespace_packages, setup

_FOLDERS = ("cli*", "controller*", "shared*", "webhook*", "worker*")

setup(
    packages=[f"appwrapper_operator.{name}" for name in find_namespace_packages(include=_FOLDERS)],
    package_dir={"appwrapper_operator": "."},
)
