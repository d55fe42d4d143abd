"""An attack on updates by a curious server: which class has a client most of?

A step on softmax regression moves the bias by the client's class shares minus the predicted ones.
The server adds up how each client moves the bias, and guesses the class that it raised most.
"""

from __future__ import annotations

from typing import Any, Dict

import numpy as np

import folkmoot as fm
from folkmoot.examples import fed_avg, softmax

__all__ = ["CuriousServer", "evaluate"]


class CuriousServer(fed_avg.FedAvg):
    def on_server(self, event: fm.Event, cx: fm.Participant) -> None:
        if event.kind == "start":
            cx.state["moves"] = np.zeros((cx.n_clients, cx.facts.n_classes), np.float32)
        if event.is_message("update") and cx.event_round == cx.round:
            moved = event.arrays["bias"] - cx.state["model"]["bias"]
            cx.state["moves"][event.sender] += moved
        super().on_server(event, cx)

    def shown(self, cx: fm.Participant) -> Dict[str, Any]:
        # The control guesses from the update of another client.
        by = np.roll(cx.state["moves"], 1, axis=0) if cx.config["is_control"] else cx.state["moves"]
        return {**cx.state["model"], "guesses": by.argmax(axis=1)}


@fm.evaluate
def evaluate(params: Dict[str, Any], data: fm.Shard) -> Dict[str, fm.Metric]:
    counts = np.bincount(data.y[data.train_mask], minlength=data.num_classes)
    hit = counts[params.pop("guesses")[data.client]] == counts.max()
    attack = fm.Metric(hit, better="lower", unit="fraction")
    return {"attack_accuracy": attack, **softmax.evaluate(params, data)}
