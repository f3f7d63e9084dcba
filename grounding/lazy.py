"""A property that is worked out once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class LazyProperty(Generic[T]):
    """As ``functools.cached_property``, without the lock that Python 3.11 holds for all objects of the class.

    Rules over a long text work in a thread: meanwhile the event loop would wait for that lock.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> T:
        value = instance.__dict__[self._name] = self._make(instance)
        return value
