"""The place of the shipped configuration files."""

from pathlib import Path


def configs_folder() -> Path:
    """Return the folder of the shipped configuration files.

    It is inside the package; in a checkout without symbolic links it is at the top.
    """
    package = Path(__file__).parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / inside.name
