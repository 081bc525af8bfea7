import pathlib

import polars as pl
import pytest


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    """A folder with links to all installed packages but pyarrow."""
    folder = tmp_path_factory.mktemp("libraries")
    for package in pathlib.Path(pl.__file__).parents[1].iterdir():
        if not package.name.startswith(("pyarrow", "siltstone")):
            (folder / package.name).symlink_to(package)
    return folder
