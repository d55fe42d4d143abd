"""Calls of the program."""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import numbers
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

AnyPath = Union[str, "os.PathLike[str]"]
#: Called with each event of a run: a dict with "event" and its fields.
OnEvent = Callable[[Dict[str, Any]], Any]


class FolkmootError(Exception):
    """What the program said when it failed, or what a directory lacks."""


def warned(text: str) -> None:
    """A warning at the first caller that is not of this package."""
    here, frame, level = os.path.dirname(__file__), sys._getframe(1), 2
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == here:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)


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
        raise failure(done)
    return done.stdout


#: Options of the program as arguments of this package, where these have no value, or another name.
_FLAGS = {
    "allow-changed-code": "allow_changed_code=True",
    "dry-run": "dry_run=True",
    "only-missing": "only_missing=True",
    "reuse": 'exists="reuse"',
    "trace": "trace=True",
}
_VALUES = (
    "checkpoint-every check-determinism clients data delta epsilon job-timeout max-memory mechanism noise only out python rate rounds "
    "sampling seed threads"
).split()
#: Commands by the number of words before their options.
_COMMANDS = {"run": 1, "sweep": 1, "resume": 1, "verify": 1, "report": 1, "plot": 1, "compare": 2, "budget": 0}
_WORD = re.compile(r" +((?:'[^']*'|\\'|[^\s'`;])+)")


def in_python(text: str) -> str:
    """A message of the program with its commands and options as calls and arguments of this package."""
    name = re.escape(Path(program()).name)
    commands = re.compile(rf"(`?)(?<![\w/.-]){name} ({'|'.join(_COMMANDS)})(?= |`|$)", re.MULTILINE)
    found, at = "", 0
    while command := commands.search(text, at):
        verb, end = command[2], command.end()
        positional: List[str] = []
        named: List[str] = []
        settings: Dict[str, str] = {}
        while word := _WORD.match(text, end):
            plain = shlex.split(word[1])[0]
            option = plain[2:] if plain.startswith("--") else None
            value = _WORD.match(text, word.end())
            if option is None and len(positional) < _COMMANDS[verb]:
                positional.append(_literal(plain))
            elif option in _FLAGS:
                named.append(_FLAGS[option])
            elif value and option == "set":
                path, _, setting = shlex.split(value[1])[0].partition("=")
                settings[path] = setting
            elif value and option in _VALUES:
                named.append(f"{option.replace('-', '_')}={_literal(shlex.split(value[1])[0])}")
            elif option != "quiet":
                break
            end = value.end() if value and (option == "set" or option in _VALUES) else word.end()
        found += _options(text[at : command.start()]) + command[1]
        found += f"folkmoot.{verb}({', '.join([*positional, *([f'set={settings!r}'] if settings else []), *named])})"
        at = end
    return found + _options(text[at:])


def _options(text: str) -> str:
    """Options within a sentence: a word behind one is its value if it is not a word of the sentence."""
    text = re.sub(r"--set '?([\w.]+)=([^\s',;]+)'?", lambda found: f"set={ {found[1]: found[2]}!r}", text)
    text = re.sub(rf"--({'|'.join(_FLAGS)})(?![\w-])", lambda found: _FLAGS[found[1]], text)
    one = re.compile(rf"--({'|'.join(_VALUES)})(?![\w-])(?:[ =](?=[^\s]*[^a-z\s,;:.)])([^\s,;:)']+))?")
    return one.sub(lambda found: f"{found[1].replace('-', '_')}={_literal(found[2]) if found[2] else ''}", text)


def _literal(word: str) -> str:
    """A word as Python writes it: a number, a name such as DIR that stands for something, or text."""
    word = word.strip("<>")
    is_plain = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?|[A-Z]+", word)
    return word if is_plain else repr(word)


def failure(done: "subprocess.CompletedProcess[str]") -> FolkmootError:
    """What the program said when it failed, with ways out in Python."""
    said = done.stderr.replace("\n\nFor more information, try '--help'.", "").strip()
    return FolkmootError(in_python(said) or f"folkmoot ended with {done.returncode}")


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
                raise KeyboardInterrupt(in_python(printed.result()[1].strip())) from None
            raise
    return subprocess.CompletedProcess(args, process.returncode, out, err)


def flags(**values: Any) -> List[str]:
    """Options of the program: those that are given."""
    given = {f"--{name.replace('_', '-')}": value for name, value in values.items() if value is not None and value is not False}
    return [text for name, value in given.items() for text in ([name] if value is True else [name, str(value)])]


def made(
    command: str, card: AnyPath, settings: Mapping[str, Any], options: Mapping[str, Any], on_event: Optional[OnEvent] = None
) -> str:
    """The directory that a command makes of a card. The text of a card is stored in `runs/cards`, so that what names its file
    can be repeated."""
    if isinstance(card, str) and ("\n" in card or card.lstrip().startswith("(")):
        path = Path("runs", "cards", hashlib.sha256(card.encode()).hexdigest()[:16], "card.ron").absolute()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(card, encoding="utf-8")
        card = path
    args = [command, os.fspath(card), "--format", "json"]
    for path_of_field, value in settings.items():
        args += ["--set", f"{path_of_field}={ron(value)}"]
    return str(json.loads(call(*args, *flags(**options), on_event=on_event))["dir"])
