"""A model that walks: each client trains the token and hands it to a random client (random-walk
SGD).

A client that is offline loses nothing: whoever sent the token waits, and sends it to another one.
"""

from __future__ import annotations

from typing import Any, Dict

import folkmoot as fm
from folkmoot.examples import softmax
from folkmoot.examples.softmax import evaluate

__all__ = ["RandomWalk", "evaluate"]


class RandomWalk(fm.Strategy):
    messages = {"start": fm.Down, "token": fm.Peer("walk", absent="tell"), "report": fm.Up}

    def on_server(self, event: fm.Event, cx: fm.Participant) -> None:
        if event.kind == "start":
            cx.send(0, "start", softmax.initial(cx.facts, cx.rng))
        elif event.is_message("report"):
            cx.show(event.arrays)
            cx.round_done(cohort=1, completed=1)
            if cx.round == cx.n_rounds:
                return cx.finish()
            cx.send(event.sender, "start", event.arrays)

    def on_client(self, event: fm.Event, cx: fm.Participant) -> None:
        if event.kind == "message":
            cx.state["hops"] = int(event.arrays.pop("hops", cx.config.get("hops", 4)))
            cx.compute(softmax.cost(cx.shard, cx.config), "train", event.arrays)
        elif event.kind == "done":
            cx.state["model"] = event.result
            self.pass_on(cx)
        elif event.kind == "undelivered":
            cx.timer(cx.config.get("wait_s", 1.0), "again")
        elif event.kind == "timer":
            self.pass_on(cx)

    def pass_on(self, cx: fm.Participant) -> None:
        if cx.state["hops"] == 1:
            return cx.send(fm.SERVER, "report", cx.state["model"])
        to = int(cx.rng.numpy.integers(cx.n_clients))
        cx.send(to, "token", {**cx.state["model"], "hops": cx.state["hops"] - 1})

    def train(self, shard: fm.Shard, args: Dict[str, Any], ctx: fm.Context) -> Dict[str, Any]:
        return args if not shard.train_mask.any() else dict(softmax.train(args, shard, ctx).arrays)
