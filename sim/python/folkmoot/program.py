"""Calls of the program."""

from __future__ import annotations

import concurrent.futures
import json
import numbers
import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Optional, Union

AnyPath = Union[str, "os.PathLike[str]"]
#: Called with each event of a run: a dict with "event" and its fields.
OnEvent = Callable[[Dict[str, Any]], Any]


class FolkmootError(Exception):
    """What the program said when it failed, or what a directory lacks."""


def quoted(text: str) -> str:
    """`text` as a card writes text, in quotes; bare text is a name or any other RON."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def part(name: str = "", /, **fields: Any) -> str:
    """`Name(field: value)` as a card writes it; without a name, a group of fields."""
    return f"{name}({', '.join(f'{field}: {ron(value)}' for field, value in fields.items())})"


def ron(value: Any) -> str:
    """A value as a card writes it. Text is taken as RON, since most of it is names: `Gin`, `Planetoid(name: Cora)`; for text in quotes
    there is `quoted`. A dict is a map, as in `sweep.axes`; for a group of fields there is `part`."""
    if value is None or isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        text = repr(float(value))
        return "NaN" if text == "nan" else text
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{quoted(str(key))}: {ron(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        items = ", ".join(map(ron, value))
        return f"[{items}]" if isinstance(value, list) else f"({items})"
    raise TypeError(f"a card has no value of the kind {type(value).__name__}: {value!r}")


def program() -> str:
    beside = os.pathsep.join([sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")])
    found = os.environ.get("FOLKMOOT_BIN") or shutil.which("folkmoot", path=beside) or shutil.which("folkmoot")
    if not found:
        raise FolkmootError("there is no program folkmoot beside this package or on the PATH; FOLKMOOT_BIN can name it")
    return found


def call(*args: str, on_event: Optional[OnEvent] = None) -> str:
    """What the program prints. `on_event` is called in this thread with each event while it runs."""
    done = started(*args, on_event=on_event)
    if done.returncode:
        raise FolkmootError(done.stderr.strip() or f"folkmoot ended with {done.returncode}")
    return done.stdout


def started(*args: str, on_event: Optional[OnEvent] = None) -> "subprocess.CompletedProcess[str]":
    """The program's end and what it printed, whether it failed or not."""
    pipe = subprocess.PIPE
    read, written = os.pipe() if on_event else (-1, -1)
    told = ["--events", f"/dev/fd/{written}"] if on_event else []
    try:
        # In a session of its own, so that an interrupt reaches the program once, which then keeps what is finished.
        process = subprocess.Popen(
            [program(), *args, *told], stdout=pipe, stderr=pipe, encoding="utf-8", start_new_session=True, pass_fds=[written] if on_event else []
        )
    except BaseException:
        if on_event:
            os.close(read)
        raise
    finally:
        if on_event:
            os.close(written)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        printed = pool.submit(process.communicate)
        try:
            if on_event:
                with open(read, encoding="utf-8") as events:
                    for line in events:
                        on_event(json.loads(line))
            out, err = printed.result()
        except BaseException as error:
            process.send_signal(signal.SIGINT)
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(printed.result()[1].strip()) from None
            raise
    return subprocess.CompletedProcess(args, process.returncode, out, err)


def made(
    command: str, card: AnyPath, settings: Mapping[str, Any], options: Mapping[str, Any], on_event: Optional[OnEvent] = None
) -> str:
    """The directory that a command makes of a card."""
    with tempfile.TemporaryDirectory() as temp:
        if isinstance(card, str) and ("\n" in card or card.lstrip().startswith("(")):
            (Path(temp) / "card.ron").write_text(card, encoding="utf-8")
            card = Path(temp) / "card.ron"
        args = [command, os.fspath(card), "--format", "json"]
        for path, value in settings.items():
            args += ["--set", f"{path}={ron(value)}"]
        for name, value in options.items():
            if value is not None and value is not False:
                args += [f"--{name}"] if value is True else [f"--{name}", str(value)]
        return str(json.loads(call(*args, on_event=on_event))["dir"])
