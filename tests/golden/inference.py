"""Expected values of the attackers that infer a property from rows: writes inference.json beside this script.

    python3 inference.py        # scikit-learn 1.9.1, numpy 2.4.6

The penalty is beside the mean loss of a row, so scikit-learn's C is 1 / (n penalty). A forest draws its own numbers: expected is the
mean of the areas of 40 of scikit-learn's, within the tolerance.
"""

import json
import pathlib
import re

import numpy as np
import sklearn
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

N_CLASSES = 3
rng = np.random.default_rng(11)


def rows(n):
    """Three labels: two shift a column, and the third lies on a ring of two others."""
    labels = rng.integers(0, N_CLASSES, n)
    x = rng.normal(size=(n, 5))
    x[:, 0] += 1.2 * (labels == 0)
    angle = rng.uniform(0, 2 * np.pi, n)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 2.5
    x[:, 1:3] = np.where((labels == 2)[:, None], ring, x[:, 1:3])
    x[:, 4] *= 40
    return np.round(x, 3), labels


known, labels = rows(80)
asked, answers = rows(60)
scaler = StandardScaler().fit(known)
x, z = scaler.transform(known), scaler.transform(asked)


def area(scores):
    return roc_auc_score(answers, scores, multi_class="ovr", average="macro")


def case(name, op, params, expected, atol):
    tolerance = {"rtol": 0.0, "atol": atol}
    inputs = {"known": known.tolist(), "labels": labels.tolist(), "asked": asked.tolist(), "answers": answers.tolist()}
    return {
        "name": name,
        "op": op,
        "params": params,
        "inputs": inputs,
        "expected": expected,
        "tol": {"f64": tolerance, "f32": tolerance},
    }


def numbers(scores):
    return [[round(float(p), 6) for p in row] for row in scores]


cases = []
for penalty in [0.1, 0.01]:
    model = LogisticRegression(C=1 / (len(x) * penalty), tol=1e-12, max_iter=100_000).fit(x, labels)
    scores = model.predict_proba(z)
    expected = {"scores": numbers(scores), "auc": round(area(scores), 9)}
    cases.append(case(f"ridge_{penalty}", "ridge", {"setting": penalty}, expected, 2e-3))
for k in [1, 10]:
    scores = KNeighborsClassifier(k, weights="distance").fit(x, labels).predict_proba(z)
    expected = {"scores": numbers(scores), "auc": round(area(scores), 9)}
    cases.append(case(f"neighbours_{k}", "neighbours", {"setting": k}, expected, 1e-4))
forests = [RandomForestClassifier(100, random_state=seed).fit(known, labels) for seed in range(40)]
areas = [area(forest.predict_proba(asked)) for forest in forests]
print("forests:", np.mean(areas), np.std(areas))
cases.append(case("forest_100", "forest", {"setting": 100}, {"auc": round(float(np.mean(areas)), 6)}, 0.03))

about = (
    "What an attacker who knows the labels of some rows says of others. ridge: multinomial logistic regression on standardised rows, the "
    "mean log loss and penalty / 2 times the squares of the weights, the intercept not penalised. neighbours: votes of the nearest, "
    "weighted by one over the distance in standardised rows. forest: 100 trees, the Gini index, the root of the columns a split. auc: "
    "the mean over labels of the area of that label against the rest."
)
file = {
    "topic": "inference",
    "about": about,
    "library": {"scikit_learn": sklearn.__version__, "numpy": np.__version__},
    "cases": cases,
}
# A row of numbers on one line.
text = re.sub(r"\[\s+([^][{}]*?)\s+\]", lambda row: "[" + re.sub(r"\s+", " ", row[1]) + "]", json.dumps(file, indent=1))
pathlib.Path(__file__).with_name("inference.json").write_text(text + "\n")
