"""What the tests on defendants have found: worst rules, smallest sets of tests, and what each experiment sees and accuses."""

from itertools import combinations

import pandas as pd

from attest.judges.judging import CALIBRATIONS


def over_rules(judged: pd.DataFrame, truth: str) -> pd.DataFrame:
    """Return each test's and defendant's row of the worst rule: of wrong ones the least AUROC, of right ones the largest.

    Returns:
        One row a ``family``, ``test`` and ``defendant``: that row of ``judged``, with ``least`` and ``most`` over rules.
    """
    cells = judged[(judged.truth == truth) & judged.auroc.notna()]
    if cells.empty:
        return cells.assign(least=[], most=[])
    grouped = cells.groupby(["family", "test", "defendant"], sort=False).auroc
    worst = cells.loc[grouped.idxmin() if truth == "wrong" else grouped.idxmax()]
    spread = grouped.agg(least="min", most="max").reset_index()
    return worst.merge(spread, on=["family", "test", "defendant"])


def smallest_sets(judged: pd.DataFrame, sees: float, family: str, of: str) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return the smallest sets of tests that see every wrong defendant on every rule, and the defendants that no test sees.

    Returns:
        All sets of the smallest size; and ``defendant/rule`` that no test sees, which the sets leave out.
    """
    chosen = judged[(judged.family == family) & (judged.of == of) & (judged.truth == "wrong")]
    chosen = chosen[~chosen.test.isin(CALIBRATIONS)]
    cases = chosen.defendant + "/" + chosen.rule
    seen = {test: set(cases[rows.index[rows.auroc >= sees]]) for test, rows in chosen.groupby("test", sort=False)}
    everything = set().union(*seen.values())
    unseen = sorted(set(cases) - everything)
    for size in range(1, len(seen) + 1):
        found = [tests for tests in combinations(seen, size) if set().union(*(seen[test] for test in tests)) == everything]
        if found and everything:
            return found, unseen
    return [], unseen


def findings(judged: pd.DataFrame, experiments: dict[str, str], sees: float) -> dict[str, dict[str, list[str]]]:
    """Return which defendants the tests of each experiment see, miss and falsely accuse, for pooled attention.

    Returns:
        ``sees``, wrong defendants that one of its tests sees on every rule, ``misses``, those that none does; ``accuses``,
        right defendants that one of its tests takes for wrong on some rule.
    """
    pooled = judged[(judged.family == "pooled") & ~judged.test.isin(CALIBRATIONS)]
    worst_rules = (over_rules(pooled, truth) for truth in ("wrong", "right"))
    wrong, right = (cells.assign(experiment=cells.test.map(experiments)) for cells in worst_rules)
    best = wrong.groupby(["experiment", "defendant"], sort=False).least.max()
    worst = right.groupby(["experiment", "defendant"], sort=False).most.max()
    told = {"sees": best[best >= sees], "misses": best[best < sees], "accuses": worst[worst >= sees]}
    return {
        name: {what: [defendant for of, defendant in cells.index if of == name] for what, cells in told.items()}
        for name in dict.fromkeys(experiments[test] for test in pooled.test)
    }
