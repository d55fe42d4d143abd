"""What is replaced in Flower itself: threads of the older API, and evaluations that are noted.

Flower starts a thread for each client of a round and takes the results as they come, and another
thread that lists the nodes. Here the messages of a round are sent at once, and results are in the
order in which replies arrive in virtual time.
"""

from __future__ import annotations

import functools
import inspect
import time
from types import SimpleNamespace
from typing import Any, Dict, List, Tuple

import flwr.server.compat.app
import flwr.server.server
from flwr.common import Code
from flwr.server.client_manager import SimpleClientManager
from flwr.server.compat.grid_client_proxy import GridClientProxy
from flwr.server.history import History
from flwr.serverapp.strategy import Strategy

from .grid import RunGrid


class _Caught(Exception):
    """Carries the message that a proxy would have sent."""


def _batched(kind: str) -> Any:
    def ask(
        client_instructions: Any, max_workers: Any, timeout: Any, group_id: Any
    ) -> Tuple[List[Any], List[Any]]:
        results: List[Any] = []
        failures: List[Any] = []
        proxies: Dict[int, Tuple[GridClientProxy, Any]] = {}
        sent = []
        for proxy, instruction in client_instructions:
            call = _Call(proxy.grid)
            caller = GridClientProxy(proxy.node_id, call, proxy.run_id)
            try:
                getattr(caller, kind)(instruction, timeout=timeout, group_id=group_id)
            except _Caught as caught:
                sent.append(caught.args[0])
                proxies[proxy.node_id] = (proxy, instruction)
        replies = client_instructions[0][0].grid.send_and_receive(sent) if sent else []
        for reply in replies:
            proxy, instruction = proxies.pop(reply.metadata.src_node_id)
            caller = GridClientProxy(proxy.node_id, _Call(proxy.grid, reply), proxy.run_id)
            try:
                result = getattr(caller, kind)(instruction, timeout=timeout, group_id=group_id)
            except Exception as error:
                failures.append(error)
                continue
            fits = result.status.code == Code.OK
            (results if fits else failures).append((proxy, result))
        return results, failures

    return ask


class _Call:
    """The grid of one call of a proxy: raises the message, or has its reply."""

    def __init__(self, grid: RunGrid, reply: Any = None) -> None:
        self.run, self._reply = grid.run, reply

    def send_and_receive(self, messages: Any, *, timeout: Any = None) -> List[Any]:
        if self._reply is None:
            raise _Caught(next(iter(messages)))
        return [self._reply]


def _listing(grid: RunGrid, manager: Any) -> Tuple[Any, Any, Any]:
    """Lists the nodes whenever the manager is asked for clients, in ascending order."""
    nodes: Dict[int, GridClientProxy] = {}

    def update() -> None:
        online = grid.get_node_ids()
        for gone in set(nodes).difference(online):
            manager.unregister(nodes.pop(gone))
        for node in online:
            if node not in nodes:
                nodes[node] = GridClientProxy(node_id=node, grid=grid, run_id=grid.run.run_id)
                manager.register(nodes[node])

    def updating(method: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            update()
            return method(*args, **kwargs)

        return call

    for name in ("num_available", "all", "sample"):
        setattr(manager, name, updating(getattr(manager, name)))
    nothing = SimpleNamespace(set=lambda: None, wait=lambda: None, join=lambda: None)
    return nothing, nothing, nothing


def _wait_for(self: Any, num_clients: int, timeout: float = 86400) -> bool:
    end = time.time() + timeout
    while self.num_available() < num_clients:
        if time.time() >= end:
            return False
        time.sleep(1)
    return True


def install(grid: RunGrid) -> None:
    """Replaces what the older API does in threads, and notes the server's own scores."""
    flwr.server.server.fit_clients = _batched("fit")
    flwr.server.server.evaluate_clients = _batched("evaluate")
    flwr.server.compat.app.start_update_client_manager_thread = _listing
    SimpleClientManager.wait_for = _wait_for
    loss, metrics = History.add_loss_centralized, History.add_metrics_centralized

    def add_loss(self: Any, server_round: int, loss_: float) -> None:
        grid.score(server_round, {"loss": loss_})
        loss(self, server_round, loss_)

    def add_metrics(self: Any, server_round: int, found: Dict[str, Any]) -> None:
        grid.score(server_round, found)
        metrics(self, server_round, found)

    # Flower names their arguments.
    History.add_loss_centralized = lambda self, server_round, loss: add_loss(
        self, server_round, loss
    )
    History.add_metrics_centralized = lambda self, server_round, metrics: add_metrics(
        self, server_round, metrics
    )
    start = Strategy.start

    def noting(evaluate: Any) -> Any:
        def evaluate_and_note(server_round: int, arrays: Any) -> Any:
            found = evaluate(server_round, arrays)
            grid.score(server_round, found or {})
            return found

        return evaluate_and_note

    @functools.wraps(start)
    def start_and_note(*args: Any, **kwargs: Any) -> Any:
        call = inspect.signature(start).bind(*args, **kwargs)
        evaluate = call.arguments.get("evaluate_fn")
        if evaluate is not None:
            call.arguments["evaluate_fn"] = noting(evaluate)
        return start(*call.args, **call.kwargs)

    Strategy.start = start_and_note
