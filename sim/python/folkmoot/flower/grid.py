"""The `Grid` of a ServerApp: each call is a request to the run, which keeps the virtual clock."""

from __future__ import annotations

import threading
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

import numpy as np

from ..wire import Channel
from . import clock
from . import messages as form
from .messages import Error, ErrorCode, Grid, Message, RecordDict

_NS = 1_000_000_000
#: By what messages of the kinds end in the tables.
_SPLITS = {"train": "train", "evaluate": "test"}
_EXPIRED = "Error: Message Unavailable - no reply came within the time to live of the message."


class Ended(BaseException):
    """The run has ended."""


class _Mean:
    """Means over the replies of a round, by metric, weighted by examples."""

    def __init__(self) -> None:
        self._sums: Dict[Tuple[int, str, str], Tuple[float, float]] = {}
        self._fresh: Dict[Tuple[int, str, str], None] = {}

    def add(self, key: Tuple[int, str, str], weight: float, value: float) -> None:
        total, weights = self._sums.get(key, (0.0, 0.0))
        self._sums[key] = (total + weight * value, weights + weight)
        self._fresh[key] = None

    def take(self) -> List[List[Any]]:
        """Those that have changed: round, split, name, value, examples."""
        keys, self._fresh = list(self._fresh), {}
        means = ((key, *self._sums[key]) for key in keys)
        return [
            [*key, total / weights, int(weights)] for key, total, weights in means if weights > 0
        ]


class RunGrid(Grid):  # type: ignore[misc]
    """Asks the run over a channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._run = form.new_run()
        self._thread = threading.get_ident()
        self._n_sent = 0
        #: What was sent and has no reply: the message without its content, and its round.
        self._open: Dict[int, Tuple[Message, int]] = {}
        self._means = _Mean()
        #: The time of the last pull, where it found nothing.
        self._found_nothing_at: Optional[int] = None

    def set_run(self, run: Any) -> None:
        self._run = run

    @property
    def run(self) -> Any:
        return self._run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: Optional[float] = None,
    ) -> Message:
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> List[int]:
        header, _ = self._ask({"kind": "nodes"})
        return [form.node_id(client) for client in header["clients"]]

    def push_messages(self, messages: Iterable[Message]) -> List[str]:
        return [form.message_id(number) for number in self._push(messages)]

    def pull_messages(self, message_ids: Optional[Iterable[str]] = None) -> List[Message]:
        numbers = (
            list(self._open) if message_ids is None else [int(named, 16) for named in message_ids]
        )
        # An app that asks again without waiting waits for what comes next.
        wait = "any" if self._found_nothing_at == clock.now() else "none"
        replies = self._pull(numbers, wait, None)
        self._found_nothing_at = None if replies else clock.now()
        return replies

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: Optional[float] = None
    ) -> List[Message]:
        until = None if timeout is None else clock.now() + round(timeout * _NS)
        return self._pull(self._push(messages), "all", until)

    def wait(self, until: int) -> int:
        """Sleeps until a virtual time; returns that time."""
        return int(self._ask({"kind": "sleep", "until": until})[0]["now"])

    def score(self, server_round: int, found: Mapping[str, Any]) -> None:
        """Notes metrics of the server's own evaluation after a round, from 1 on."""
        for name, value in found.items():
            if form.is_number(value) and server_round > 0:
                self._means.add((server_round - 1, "test", f"central_{name}"), 1.0, float(value))

    def metrics(self) -> List[List[Any]]:
        return self._means.take()

    def _ask(
        self, header: Dict[str, Any], arrays: Optional[Mapping[str, "np.ndarray[Any, Any]"]] = None
    ) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        if threading.get_ident() != self._thread:
            raise RuntimeError(
                f"{threading.current_thread().name} uses the grid: only the thread of the "
                f"ServerApp may, since the order "
                f"of threads differs between runs"
            )
        fresh = self._means.take()
        if fresh:
            header["metrics"] = fresh
        self._channel.send(header, arrays)
        answer = self._channel.receive()
        if answer is None:
            raise Ended
        return answer

    def _push(self, messages: Iterable[Message]) -> List[int]:
        contents: Dict[str, "np.ndarray[Any, Any]"] = {}
        # By identity: strategies send one content to many nodes. It is kept, so that no other gets
        # its identity.
        known: Dict[int, Tuple[RecordDict, str, int]] = {}
        # By value: the older API makes one content for each node.
        named: Dict[bytes, str] = {}
        listed: List[List[Any]] = []
        numbers: List[int] = []
        created_at = clock.wall()
        for message in messages:
            content = message.content
            if id(content) not in known:
                data, n_bytes = form.sized(content)
                name = named.setdefault(data.tobytes(), f"c{len(named)}")
                contents[name] = data
                known[id(content)] = (content, name, n_bytes)
            _, name, n_bytes = known[id(content)]
            self._n_sent += 1
            number = self._n_sent
            form.stamp(
                message,
                message_id=form.message_id(number),
                run_id=form.RUN_ID,
                src_node_id=form.SUPERLINK_NODE_ID,
                created_at=created_at,
            )
            meta = message.metadata
            server_round = form.round_of(message)
            self._open[number] = (form.shell(message), server_round or 0)
            size = form.message_bytes(message, n_bytes)
            ttl = round(meta.ttl * _NS)
            client = form.client_of(meta.dst_node_id)
            listed.append([client, meta.message_type, meta.group_id, ttl, server_round, name, size])
            numbers.append(number)
        if listed:
            self._found_nothing_at = None
            header, _ = self._ask({"kind": "push", "messages": listed}, contents)
            for number, server_round in zip(numbers, header["rounds"]):
                self._open[number] = (self._open[number][0], server_round)
        return numbers

    def _pull(self, numbers: List[int], wait: str, until: Optional[int]) -> List[Message]:
        wanted = [number for number in numbers if number in self._open]
        if not wanted:
            return []
        header, arrays = self._ask(
            {"kind": "pull", "numbers": wanted, "wait": wait, "until": until}
        )
        clock.set_now(header["now"])
        return [self._reply(listed, arrays) for listed in header["replies"]]

    def _reply(self, listed: List[Any], arrays: Mapping[str, Any]) -> Message:
        number, created_at, ttl, error, name = listed
        asked, server_round = self._open.pop(number)
        if name is None:
            code, reason = error or (ErrorCode.MESSAGE_UNAVAILABLE, _EXPIRED)
            reply = Message(Error(code, reason), reply_to=asked)
        else:
            content = form.decoded(arrays[name])
            weight, found = form.metrics_of(content)
            split = _SPLITS.get(asked.metadata.message_type.split(".")[0])
            for metric, value in found if split else ():
                self._means.add((server_round, split or "", metric), weight, value)
            reply = Message(content, reply_to=asked)
        form.stamp(reply, message_id=form.message_id(number | 1 << 64))
        if created_at is not None:
            form.stamp(reply, created_at=clock.EPOCH + created_at / _NS, ttl=ttl / _NS)
        return reply
