"""Writes rdp.csv and pld.csv: epsilons by dp-accounting 0.6.0 (PyPI), with NumPy and SciPy.

    python references.py rdp pld

Noise is in sensitivities of one client that is there or not. Where a sample of fixed size is
drawn, one client replaces another, which moves the sum twice as far: dp-accounting is given half
the noise. `epsilon_low` is a lower bound of the truth, by optimistic rounding of the losses; for
samples of fixed size, of the pair of inputs whose sum moves from -1 to 1.
"""

import csv
import itertools
import sys

import numpy as np
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import RdpAccountant
from scipy.stats import norm

DELTAS = [1e-5, 1e-6, 1e-8]
# Of as many clients a sample of fixed size is drawn.
CLIENTS = 1000


def settings():
    poisson = itertools.product(
        ["poisson"], [0.3, 0.5, 1.0, 2.0, 10.0, 200.0], [0.001, 0.01, 0.1, 0.5, 1.0], [1, 50, 1000, 5000]
    )
    fixed = itertools.product(["fixed"], [1.0, 2.0, 8.0, 40.0, 200.0], [0.01, 0.1, 0.5, 1.0], [1, 50, 1000, 5000])
    for place, setting in enumerate(itertools.chain(poisson, fixed)):
        yield *setting, DELTAS[(place + place // 4) % 3]


def by_rdp(sampling, noise, rate, rounds, delta):
    if sampling == "poisson":
        accountant = RdpAccountant(neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
        event = dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(noise))
    else:
        accountant = RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
        taken = round(rate * CLIENTS)
        event = dp_event.SampledWithoutReplacementDpEvent(CLIENTS, taken, dp_event.GaussianDpEvent(0.5 * noise))
    return accountant.compose(event, rounds).get_epsilon(delta)


def loss(sampling, noise, rate, interval, pessimistic):
    if sampling == "poisson":
        return pld.from_gaussian_mechanism(
            noise, sampling_prob=rate, value_discretization_interval=interval, pessimistic_estimate=pessimistic
        )
    at, step = np.linspace(-1.0 - 9.0 * noise, 1.0 + 9.0 * noise, 4001, retstep=True)
    density = lambda mean: norm.logpdf(at, mean, noise) + np.log(step)
    with np.errstate(divide="ignore"):
        left, taken = np.log(1.0 - rate), np.log(rate)
    table = lambda mean: dict(enumerate(np.logaddexp(left + density(0.0), taken + density(mean))))
    return pld.from_two_probability_mass_functions(
        table(-1.0), table(1.0), value_discretization_interval=interval, pessimistic_estimate=False
    )


def low(sampling, noise, rate, rounds, delta, near):
    # Of the order of what is composed: finer ones take hours.
    interval = near / 5000
    try:
        return loss(sampling, noise, rate, interval, False).self_compose(rounds).get_epsilon_for_delta(delta)
    except OverflowError:
        # Of losses above 700 the library takes the exponential.
        return 0.0


def rdp():
    with open("rdp.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["sampling", "noise", "rate", "rounds", "delta", "epsilon", "epsilon_low"])
        for setting in settings():
            epsilon = by_rdp(*setting)
            table.writerow([*setting, f"{epsilon:.9g}", f"{low(*setting, epsilon):.9g}"])
            file.flush()


for name in sys.argv[1:]:
    globals()[name]()
