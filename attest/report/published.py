"""Published numbers that belong beside one run; all of them stand in ``configs/tables``, one file a table."""

from collections.abc import Iterator
from dataclasses import dataclass

from attest.runs.naming import portable
from attest.tables.definition import Row, Source, every_published_number


@dataclass(frozen=True)
class Published:
    """One number of the literature.

    ``comparable`` is False where the paper's setting differs from the run's, and ``why`` then says how.
    """

    value: str
    """As published, with its spread over instances where there is one."""
    source: str
    comparable: bool = True
    why: str = ""


def published(data: str, name: str) -> dict[str, Published]:
    """The published numbers that belong beside a run, by summary key without its statistic; empty where there are none.

    Where there are several, one that compares comes first, then one of the same recipe.

    Args:
        data: corpus.
        name: readable name of the run, ``<recipe>-<model>-<scoring>-<projection>``.
    """
    found: dict[str, Published] = {}
    for key, number in sorted(_candidates(data, name), key=lambda each: not each[1].comparable):
        found.setdefault(key.removesuffix("/mean"), number)
    return found


def _candidates(data: str, name: str) -> Iterator[tuple[str, Published]]:
    """Numbers of the same recipe, then those of the same model, scoring and projection under another recipe."""
    recipe, _, model = name.partition("-")
    mine = [
        (row, column.key, source, quoted)
        for row, corpus, column, source, quoted in every_published_number()
        if corpus == data and column.key and model_name(row) == model
    ]
    for row, key, source, quoted in sorted(mine, key=lambda each: each[0].run["RECIPE"] != recipe):
        yield key, _beside(quoted.text, source, row, recipe)


def model_name(row: Row) -> str:
    """``<model>-<scoring>-<projection>`` of a row's base run; empty where that is no whole name of a single finished run."""
    if row.sweep is not None or row.then or row.run.keys() != {"MODEL", "SCORING", "PROJECTION", "RECIPE"}:
        return ""
    return portable(f"{row.run['MODEL']}-{row.run['SCORING']}-{row.run['PROJECTION']}")


def _beside(text: str, source: Source, row: Row, recipe: str) -> Published:
    setting, their_recipe = source.setting(row.run), row.run["RECIPE"]
    differs = [setting.why] if setting.why else []
    differs += ["not published"] if source.own else []
    differs += [f"RECIPE={their_recipe} there"] if their_recipe != recipe else []
    return Published(text, source.citation, not differs, "; ".join(differs))
