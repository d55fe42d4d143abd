"""Apps made of the functions of a notebook, for worker processes."""

from __future__ import annotations

import ast
import hashlib
import inspect
import linecache
import os
import sys
import textwrap
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Dict, Mapping, Optional, Set, Union

from .app import MARK

#: The file of an app, or names with its functions, such as `globals()`.
App = Union[str, "os.PathLike[str]", Mapping[str, Any]]


def stored(app: App) -> str:
    """The absolute path of an app's file. Functions are stored in `runs/apps`, with the source of all that they
    reach beside them."""
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
    (folder / "app.py").write_text(source(functions), encoding="utf-8")
    return str(folder / "app.pkl")


def source(functions: Mapping[str, Any]) -> str:
    """The source of functions and classes, and of all that they reach in their modules: functions, classes, imports and
    constants whose `repr` is Python. In the order of definition; a comment names what has no source."""
    modules = {function.__module__ for function in functions.values()}
    found: Dict[Any, str] = {}
    imports: Dict[str, None] = {}
    #: Where each piece of source stands: the position of its name in its module.
    places: Dict[Any, int] = {}
    left = [(name, function, vars(sys.modules[function.__module__])) for name, function in functions.items()]
    while left:
        name, value, names = left.pop()
        is_own = isinstance(value, (type, FunctionType)) and value.__module__ in modules
        key = value if is_own else name
        if key in found:
            continue
        if is_own:
            names = {**vars(sys.modules[value.__module__]), **_closure(value)}
            found[key] = text = _source(value)
            left += [(other, names[other], names) for other in sorted(_names(text, value)) if other in names]
        elif (line := _import(name, value)) is not None:
            imports[line] = None
            continue
        else:
            found[key] = _constant(name, value)
        places[key] = list(names).index(name) if name in names else len(names)
    pieces = sorted(found, key=lambda key: places[key])
    return "\n\n".join(["\n".join(sorted(imports)), *(found[key].rstrip() for key in pieces)]).lstrip() + "\n"


def _source(value: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(value))
    except (OSError, TypeError):
        # Of a class of a cell, Python does not know the file.
        text = _class_of_a_cell(value) if isinstance(value, type) else None
        return text or f"# the source of {value.__name__} is not known"


def _class_of_a_cell(kind: type) -> Optional[str]:
    """The last definition of a class in a cell; cells have lines, and no time at which a file was changed."""
    cells = ["".join(entry[2]) for entry in linecache.cache.values() if len(entry) == 4 and entry[1] is None]
    for text in reversed(cells):
        try:
            nodes = ast.parse(text).body
        except SyntaxError:
            continue
        for node in reversed(nodes):
            if isinstance(node, ast.ClassDef) and node.name == kind.__name__:
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                return "".join(text.splitlines(keepends=True)[first - 1 : node.end_lineno])
    return None


def _closure(value: Any) -> Mapping[str, Any]:
    return inspect.getclosurevars(value).nonlocals if isinstance(value, FunctionType) else {}


def _names(text: str, value: Any) -> Set[str]:
    """The names that source uses; of a lambda, whose source may be a part of a line, those of its code."""
    try:
        return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)} - {value.__name__}
    except SyntaxError:
        return set(value.__code__.co_names)


def _import(name: str, value: Any) -> Optional[str]:
    """The line that imports a value by this name."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__}" if value.__name__ == name else f"import {value.__name__} as {name}"
    module = getattr(value, "__module__", None)
    for own in (name, getattr(value, "__name__", name)):
        if module not in (None, "__main__") and getattr(sys.modules.get(module), own, None) is value:
            return f"from {module} import {own}" + (f" as {name}" if own != name else "")
    return None


def _constant(name: str, value: Any) -> str:
    text = repr(value)
    try:
        is_same = len(text) <= 200 and bool(ast.literal_eval(text) == value)
    except (SyntaxError, ValueError):
        is_same = False
    return f"{name} = {text}" if is_same else f"# {name}: a {type(value).__name__}, whose value is in app.pkl alone"
