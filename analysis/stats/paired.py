"""Two versions on the same items, one answer each: what the discordant pairs say."""

from __future__ import annotations

from scipy.special import bdtr

from analysis.stats.checks import checked_whole


def mcnemar_exact(gained: int, lost: int) -> float:
    """Two-sided exact McNemar p-value: gained of gained + lost discordant pairs against one half.

    Parameters
    ----------
    gained, lost
        Items that only the candidate, and only the baseline, answered, 0 or more.

    Returns
    -------
    float
        Probability in (0, 1]; 1 without discordant pairs.

    Raises
    ------
    ValueError
        Counts under 0 or not whole.

    Notes
    -----
    McNemar (1947, Psychometrika 12:153), twice the smaller tail of the binomial law.

    Examples
    --------
    >>> round(mcnemar_exact(45, 58), 2), round(mcnemar_exact(57, 29), 3)
    (0.24, 0.003)
    """
    first, second = (int(checked_whole(name, n, least=0)) for name, n in (("gained", gained), ("lost", lost)))
    return min(1.0, 2 * float(bdtr(min(first, second), first + second, 0.5)))
