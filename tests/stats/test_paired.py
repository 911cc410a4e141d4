"""Discordant pairs against published values and scipy."""

import pytest
from scipy.stats import binomtest  # scipy 1.17

from analysis.stats import mcnemar_exact


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    [
        (45, 58, 0.24),  # study-3 section C: physics of the public greedy files
        (57, 29, 0.003),  # economics
        (45, 11, 5.378e-06),  # data/real/README.md, validity_mmlu_16models: mini -> GPT-5.4
        (60, 30, 0.002060),
        (39, 14, 0.0008023),
        (19, 9, 0.08716),
    ],
)
def test_published(gained, lost, p):
    digits = {0.24: 5e-3, 0.003: 5e-4}.get(p, p * 5e-4)
    assert mcnemar_exact(gained, lost) == pytest.approx(p, abs=digits)
    assert mcnemar_exact(lost, gained) == mcnemar_exact(gained, lost)


@pytest.mark.parametrize("gained", [0, 1, 7, 20, 500])
@pytest.mark.parametrize("lost", [1, 6, 20, 480])
def test_scipy(gained, lost):
    expected = binomtest(gained, gained + lost).pvalue
    assert mcnemar_exact(gained, lost) == pytest.approx(expected, rel=1e-10)


def test_no_discordant_pair():
    assert mcnemar_exact(0, 0) == 1.0


@pytest.mark.parametrize("counts", [(-1, 2), (1.5, 2)])
def test_refusals(counts):
    with pytest.raises(ValueError, match="gained"):
        mcnemar_exact(*counts)
