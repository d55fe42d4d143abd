"""Writes rdp.csv and pld.csv: epsilons by dp-accounting 0.6.0 (PyPI), with NumPy and SciPy.

    python references.py rdp pld

Noise is in sensitivities of one client that is there or not. Where a sample of fixed size is
drawn, one client replaces another, which moves the sum twice as far: dp-accounting is given half
the noise. `epsilon_low` is a lower bound of the truth, by optimistic rounding of the losses; for
samples of fixed size, of the pair of inputs whose sum moves from -1 to 1. In pld.csv `epsilon` is
by pessimistic rounding, so that the truth lies between the two.
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


def composed(parts, interval, pessimistic=True):
    grid = {"value_discretization_interval": interval, "pessimistic_estimate": pessimistic}
    whole = None
    for kind, first, second, times in parts:
        if kind == "poisson":
            one = pld.from_gaussian_mechanism(first, sampling_prob=second, **grid)
        elif kind == "laplace":
            one = pld.from_laplace_mechanism(1.0 / first, **grid)
        else:
            buckets = int(second)
            noise = buckets / (buckets - 1 + np.exp(first))
            one = pld.from_randomized_response(noise, buckets, **grid)
        one = one.self_compose(times)
        whole = one if whole is None else whole.compose(one)
    return whole


def pld_settings():
    for noise, rate in itertools.product([0.5, 1.0, 4.0], [0.001, 0.01, 0.1, 1.0]):
        for rounds in [1, 60, 1000]:
            if noise == 0.5 and rate == 1.0 and rounds == 1000:
                continue
            yield [("poisson", noise, rate, rounds)]
    for epsilon, rounds in [(0.01, 1000), (0.1, 100), (0.5, 20), (2.0, 10), (8.0, 2)]:
        yield [("laplace", epsilon, 0.0, rounds)]
        yield [("response", epsilon, 2.0, rounds)]
        yield [("response", epsilon, 10.0, rounds)]
    yield [("laplace", 0.1, 0.0, 50), ("response", 0.2, 2.0, 30)]
    yield [("poisson", 1.0, 0.1, 60), ("laplace", 0.1, 0.0, 20)]
    yield [("poisson", 2.0, 0.5, 30), ("poisson", 4.0, 1.0, 5), ("response", 0.3, 4.0, 10)]


def pld_():
    with open("pld.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["parts", "delta", "epsilon", "epsilon_low"])
        for place, parts in enumerate(pld_settings()):
            delta = DELTAS[place % 3]
            near = composed(parts, 1e-3).get_epsilon_for_delta(delta)
            interval = min(1e-3, max(2e-6, near / 5e3))
            # Losses of randomised response are rounded up, at each release.
            for kind, first, *_ in parts:
                if kind == "response":
                    interval = min(interval, 1e-4 * first)
            high, low = (composed(parts, interval, up).get_epsilon_for_delta(delta) for up in (True, False))
            text = " ".join(":".join(str(value) for value in part) for part in parts)
            table.writerow([text, delta, f"{high:.9g}", f"{low:.9g}"])
            file.flush()


for name in sys.argv[1:]:
    {"rdp": rdp, "pld": pld_}[name]()
