"""`kernel[grid]`: what is called with the arguments. After a launch, a native launcher for calls like it stands in.

The native launchers of one grid form a chain: what one of them does not know goes to the one that was made before it,
in the end to Python. Anything that they do not look at, a hook or a changed source, drops them: those that somebody
holds go to Python from then on.
"""

import sys
import weakref
from collections.abc import Callable
from typing import Any

from naiad import environment, knobs

MAX_CHAIN = 8
"""How many forms of calls a grid has launchers for; one that does not match costs 0.05 us."""
RENEWAL = 16
"""A grid that has them all starts anew after so many calls that none of them knew: the forms in use have changed."""

MAX_SORTS = 64
"""Sorts of calls of which is remembered that native launchers for them are in vain."""


def launch(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """`function.run(*args, **keywords)` for what wraps a kernel; a launch goes the fast way of `function[grid]`."""
    if keywords.get("warmup", True) or not hasattr(function, "_launchers"):
        return function.run(*args, **keywords)
    del keywords["warmup"]
    return function[keywords.pop("grid")](*args, **keywords)


class NativeLaunchers(weakref.WeakKeyDictionary[Callable[..., Any], Callable[..., Any]]):
    """A kernel's native launchers, those that somebody holds too, and what their calls go to once they are ended."""

    def end(self) -> None:
        """Sends the calls of all of them to Python from now on."""
        if not self:
            return
        from naiad.backends.launch.record import redirect, retire

        for launcher, after in list(self.items()):
            retire(launcher)
            redirect(launcher, after)
        self.clear()


class Attempts:
    """When making a native launcher is worth its time: not at each call of a sort for which it was in vain before.

    It is in vain where native code has no check for an argument (a descriptor, a number of numpy), and where it has to
    be the very object that another call does not bring again (a tuple). A sort of calls is known by the arguments'
    types; each time in vain doubles the number of calls until the next attempt.
    """

    __slots__ = ("again", "missed")

    def __init__(self) -> None:
        self.missed = 0
        self.again: dict[Any, tuple[int, int]] = {}

    def sort(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return (*map(type, args), *keywords, *map(type, keywords.values()))

    def is_worth_it(self, sort: Any) -> bool:
        return sort not in self.again or self.missed >= self.again[sort][0]

    def note(self, sort: Any, launcher: Callable[..., Any] | None) -> None:
        """What came of an attempt."""
        if launcher is not None and tuple not in sort:
            return
        wait = self.again.get(sort, (0, 8))[1]
        if len(self.again) >= MAX_SORTS:
            self.again.clear()
        self.again[sort] = self.missed + wait, min(2 * wait, 8192)


class GridLauncher:
    """Launches a kernel over one grid through Python, about 10 us, and makes a native launcher at the second call."""

    __slots__ = ("attempts", "chain", "function", "grid")

    def __init__(self, function: Any, grid: int | tuple[int, ...]) -> None:
        self.function = function
        self.grid = grid
        self.chain = 0
        self.attempts = Attempts()

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """What somebody who holds this calls: by now there may be native launchers."""
        launcher = self.function._launchers.get(self.grid)
        if launcher is None or launcher is self:
            return self.through_python(*args, **keywords)
        return launcher(*args, **keywords)

    def through_python(self, *args: Any, **keywords: Any) -> Any:
        """Launches; what native launchers do when none of them knows the form of the call."""
        function = self.function
        if self.grid not in function._launchers:
            function._launchers[self.grid], self.chain = self, 0
        kernel = function.run(*args, grid=self.grid, warmup=False, **keywords)
        if kernel is not None:
            missed = self.attempts.missed = self.attempts.missed + 1
            if self.chain == MAX_CHAIN and missed % RENEWAL == 0:
                self.function._launchers[self.grid], self.chain = self, 0
            if self.chain < MAX_CHAIN and missed > 1 and is_plain(self.function):  # there may be no second call
                self.prepare(kernel, args, keywords)
        return kernel

    def prepare(self, kernel: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Puts a native launcher for such a call before what `kernel[grid]` gives now."""
        sort = self.attempts.sort(args, keywords)
        if not hasattr(kernel, "asm") or not self.attempts.is_worth_it(sort):
            return
        function = self.function
        from naiad.runtime.native import Call, native_launcher

        before = function._launchers.get(self.grid, self)
        before = self.through_python if before is self else before
        launcher = native_launcher(function, kernel, self.grid, Call(args, keywords, function.arg_names), before)
        self.attempts.note(sort, launcher)
        if launcher is not None:
            self.chain += 1
            function._native[launcher] = self
            function._launchers[self.grid] = launcher


class ComputedGrid:
    """Launches over a grid that a function of the arguments gives: finds the launcher of that size."""

    __slots__ = ("function", "grid")

    def __init__(self, function: Any, grid: Callable[[dict[str, Any]], Any]) -> None:
        self.function = function
        self.grid = grid

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        function = self.function
        try:
            size = self.grid(function._named(*args, **keywords))
            launch = function._launchers.get(size)
        except Exception:  # an argument is missing, or the size is a list: the long way finds out
            return function.run(*args, grid=self.grid, warmup=False, **keywords)
        return (launch or function[size])(*args, **keywords)


def is_plain(function: Any) -> bool:
    """Whether a launch of `function` is nothing but a launch: no hooks, no checks, nothing overridden."""
    settings = knobs.runtime
    return not (
        settings.launch_enter_hook
        or settings.launch_exit_hook
        or function.pre_run_hooks
        or settings.debug
        or "run" in vars(function)
        or not knobs.naiad.native_launch
    )


class _Forget:
    """Drops all native launchers, since something that they do not look at has changed."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[], None]] = []

    def __call__(self) -> None:
        for listener in self.listeners:
            listener()


forget_launchers = _Forget()


def _settings_changed() -> None:
    """Drops the launchers; those that somebody still holds go through Python as long as launches are observed."""
    forget_launchers()
    if (module := sys.modules.get("naiad.runtime.native")) is not None:
        settings = knobs.runtime
        module.enable(not (settings.launch_enter_hook or settings.launch_exit_hook or settings.debug))


environment.on_change.append(_settings_changed)
