"""Pack finished runs into an archive: ``python -m docs.archive runs/20news docs/results/runs-20news.tar.xz``.

Of each run it keeps what tables read: configuration, base, timing, and of the summary means, standard deviations and scores,
without the experiments that no table asks for. A file keeps the day on which its run was made, because tables say which runs
are older than their rules; owner and hour are left out. The same runs give the same bytes.
"""

import argparse
import io
import json
import lzma
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

KEPT = ("base.json", "config.yaml", "summary.json", "timing.json")
NO_TABLE_READS = ("E13/", "E14/", "E15/")
NOR = ("/ci_high", "/ci_low", "/median", "/nan")
NOT_BY_CLASS = ("E8/", "E9/")
DAY = 24 * 60 * 60


def pack(runs: Path, archive: Path) -> int:
    """Write the archive and return how many runs are in it.

    Args:
        runs: the folder of a corpus. Names in the archive begin with the name of its parent: ``runs/20news/…``.
        archive: the file to write, ``.tar.xz``; replaced.
    """
    finished = sorted(summary.parent for summary in runs.rglob("summary.json"))
    with lzma.open(archive, "wb", preset=9 | lzma.PRESET_EXTREME) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for run in finished:
            for name, content, modified in _files(run):
                member = tarfile.TarInfo((run.relative_to(runs.parents[1]) / name).as_posix())
                member.size, member.mtime = len(content), int(modified // DAY * DAY)
                tar.addfile(member, io.BytesIO(content))
    return len(finished)


def _files(run: Path) -> Iterator[tuple[str, bytes, float]]:
    """Yield name, content and time of each file that is kept of a run."""
    for name in KEPT:
        file = run / name
        if file.is_file():
            yield name, _shortened(file) if name == "summary.json" else file.read_bytes(), file.stat().st_mtime


def _shortened(summary: Path) -> bytes:
    measures = json.loads(summary.read_text(encoding="utf-8"))
    kept = {name: value for name, value in measures.items() if _read(name)}
    return json.dumps(kept, indent=2, sort_keys=True, ensure_ascii=False).encode()


def _read(name: str) -> bool:
    by_class = name.startswith(NOT_BY_CLASS) and "/predicted_" in name
    return not (by_class or name.startswith(NO_TABLE_READS) or name.endswith(NOR))


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, write the archive and print how many runs it holds."""
    parser = argparse.ArgumentParser(prog="python -m docs.archive", description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, help="the folder of a corpus, such as runs/20news")
    parser.add_argument("archive", type=Path, help="what to write, such as docs/results/runs-20news.tar.xz")
    chosen = parser.parse_args(arguments)
    print(f"{pack(chosen.runs.resolve(), chosen.archive)} runs: {chosen.archive}")


if __name__ == "__main__":
    main()
