"""A property that is computed once."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class LazyProperty(Generic[T]):
    """``functools.cached_property`` without the lock that Python 3.11 holds for all instances of the class.

    Rules over a long text run in a thread, and the event loop would wait for that lock meanwhile.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> T:
        value = instance.__dict__[self._name] = self._make(instance)
        return value
