"""Gatebook: statistics, studies and reports for release decisions about language models.

The package is usable as a library without Jupyter:

>>> from analysis.stats import clopper_pearson_upper
>>> round(clopper_pearson_upper(0, 59, delta=0.10), 5)
0.03828
"""

__version__ = "0.1.0"

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Environment of every process of ours: linear algebra on one thread sums in the same order, so bytes can be equal."""
