"""The examples are installed as naiad.examples, so that `naiad demo` finds them; all else is in pyproject.toml."""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["naiad*"]), "naiad.examples"], package_dir={"naiad.examples": "examples"})
