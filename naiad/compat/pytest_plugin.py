"""`pytest --naiad-as-triton`: the tests, their conftest files and what they import get naiad as `triton`.

Loaded by pytest where naiad is installed, else with `-p naiad.compat.pytest_plugin`. The workers of pytest-xdist and
processes that tests start have the drop-in too.
"""

import pytest

from naiad import compat


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "let naiad answer to `import triton`, in this process and those that it starts"
    parser.getgroup("naiad").addoption("--naiad-as-triton", action="store_true", default=False, help=text)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before the first conftest is imported."""
    if early_config.known_args_namespace.naiad_as_triton:
        _install()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Where the plugin came too late for the first hook."""
    if config.getoption("--naiad-as-triton"):
        _install()


def pytest_report_header(config: pytest.Config) -> str | None:
    """Says who answers, so that a log tells."""
    if not config.getoption("--naiad-as-triton"):
        return None
    from naiad import __version__, knobs

    return f"triton: naiad {__version__} as {knobs.naiad.triton_version}"


def _install() -> None:
    try:
        compat.install(children=True)
    except RuntimeError as error:
        raise pytest.UsageError(f"--naiad-as-triton: {error}; a plugin that pytest loads early imports it") from error
