"""Federated averaging (McMahan et al. 2017, algorithm 1) as a whole algorithm, with softmax
regression.
"""

from __future__ import annotations

from typing import Any, Dict

import numpy as np

import folkmoot as fm
from folkmoot.examples import softmax
from folkmoot.examples.softmax import evaluate

__all__ = ["FedAvg", "evaluate"]


class FedAvg(fm.Strategy):
    messages = {"model": fm.Down("rounds", absent="tell"), "update": fm.Up("rounds")}

    def on_server(self, event: fm.Event, cx: fm.Participant) -> None:
        if event.kind == "start":
            cx.state["model"] = softmax.initial(cx.facts, cx.rng)
            return self.ask(cx)
        if event.is_message("update") and cx.event_round == cx.round:
            n = int(event.arrays.pop("n_samples"))
            cx.state["n"] += n
            for name, array in event.arrays.items():
                cx.state["sum"][name] = cx.state["sum"][name] + n * array.astype(np.float64)
            cx.state["came"] += 1
        if event.kind == "undelivered":
            cx.state["lost"] += 1
        if event.kind == "quiet" or cx.state["came"] + cx.state["lost"] == cx.state["asked"]:
            self.close(cx)

    def ask(self, cx: fm.Participant) -> None:
        cohort = cx.cohort()
        cx.send(cohort, "model", cx.state["model"])
        zeros = {name: np.zeros(array.shape) for name, array in cx.state["model"].items()}
        cx.state.update(asked=len(cohort), came=0, lost=0, n=0, sum=zeros)

    def close(self, cx: fm.Participant) -> None:
        if cx.state["n"]:
            cx.state["model"] = {
                name: (array / cx.state["n"]).astype(np.float32)
                for name, array in cx.state["sum"].items()
            }
        cx.show(self.shown(cx))
        cx.round_done(cx.state["asked"], cx.state["came"], cx.state["asked"] - cx.state["came"])
        if cx.round == cx.n_rounds:
            return cx.finish()
        self.ask(cx)

    def shown(self, cx: fm.Participant) -> Dict[str, Any]:
        return dict(cx.state["model"])

    def on_client(self, event: fm.Event, cx: fm.Participant) -> None:
        if event.is_message("model"):
            cx.compute(
                softmax.cost(cx.shard, cx.config),
                "train",
                {"params": event.arrays, "velocity": cx.state.get("velocity")},
            )
        elif event.kind == "done":
            cx.state["velocity"] = event.result["velocity"]
            n_samples = np.uint32(cx.shard.train_mask.sum())
            cx.send(fm.SERVER, "update", {**event.result["params"], "n_samples": n_samples})

    def train(self, shard: fm.Shard, args: Dict[str, Any], ctx: fm.Context) -> Dict[str, Any]:
        update = softmax.train(args["params"], shard, ctx, args["velocity"])
        arrays = {
            name: np.asarray(array, np.float32) for name, array in dict(update.arrays).items()
        }
        return {"params": arrays, "velocity": update.state}
