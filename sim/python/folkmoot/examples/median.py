"""Softmax regression with an aggregator of its own: the coordinate-wise median (Yin et al. 2018).
"""

from typing import Any, List

import numpy as np

import folkmoot as fm
from folkmoot.examples.softmax import Arrays, evaluate, initial, train

__all__ = ["aggregate", "evaluate", "initial", "train"]


@fm.aggregate
def aggregate(params: Arrays, updates: List[fm.ClientUpdate], ctx: Any) -> Arrays:
    return {name: np.median([update.arrays[name] for update in updates], axis=0) for name in params}
