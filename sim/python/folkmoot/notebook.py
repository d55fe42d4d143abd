"""Apps made of the functions of a notebook, for worker processes."""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from pathlib import Path
from typing import Any, Dict, Mapping, Union

from .app import MARK

#: The file of an app, or names with its functions, such as `globals()`.
App = Union[str, "os.PathLike[str]", Mapping[str, Any]]


def stored(app: App) -> str:
    """The absolute path of an app's file. Functions are stored in `runs/apps`, with their source beside them."""
    if not isinstance(app, Mapping):
        return os.path.abspath(os.fspath(app))
    functions: Dict[str, Any] = {name: value for name, value in app.items() if callable(value) and hasattr(value, MARK)}
    kinds = sorted(getattr(value, MARK)[0] for value in functions.values())
    if not {"train", "initial"} <= set(kinds) and "strategy" not in kinds:
        raise ValueError(f"app: needs functions with @fm.initial and @fm.train, or a class of fm.Strategy, got {', '.join(kinds) or 'none'}")
    try:
        import cloudpickle
    except ImportError:
        raise ImportError("functions reach workers by cloudpickle, which is not installed; help: python -m pip install cloudpickle") from None
    # Workers cannot import the modules of functions, except installed ones that these use.
    modules = {sys.modules[function.__module__] for function in functions.values()} - {sys.modules["__main__"]}
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        pickled = cloudpickle.dumps(functions)
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    folder = Path("runs", "apps", hashlib.sha256(pickled).hexdigest()[:16]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "app.pkl").write_bytes(pickled)
    (folder / "app.py").write_text("\n\n".join(_source(function) for function in functions.values()), encoding="utf-8")
    return str(folder / "app.pkl")


def _source(function: Any) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return f"# the source of {function.__name__} is not known"
