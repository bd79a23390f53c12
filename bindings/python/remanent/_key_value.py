"""A key/value database as a mapping of bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from _typeshed import SupportsKeysAndGetItem

    from . import _remanent

_ABSENT = object()


class KeyValue(MutableMapping[bytes, bytes]):
    """Pairs of bytes, ordered by key unless it was made without an order.

    Each call is a transaction of its own, `update` one for all its pairs. What goes through it sees
    one snapshot. With duplicates a key has several values: assigning adds one, `get_all` has all.

    >>> import remanent
    >>> words = remanent.connect().kv("words")
    >>> words[b"one"] = b"1"
    >>> words.update({b"two": b"2", b"three": b"3"})
    >>> list(words)
    [b'one', b'three', b'two']
    >>> list(words.range(b"p"))
    [(b'three', b'3'), (b'two', b'2')]
    """

    def __init__(self, native: _remanent.KeyValue, name: str) -> None:
        self._native = native
        self._name = name

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    def __getitem__(self, key: bytes) -> bytes:
        value = self._native.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def get(self, key: bytes, default: Any = None) -> Any:
        """The value of a key, the first one if there are several, or the default."""
        value = self._native.get(key)
        return default if value is None else value

    def get_all(self, key: bytes) -> list[bytes]:
        """All values of a key, in order."""
        return self._native.get_all(key)

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self._native.put(key, value)

    def __delitem__(self, key: bytes) -> None:
        if self._native.delete(key) == 0:
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, bytes) and self._native.contains(key)

    def __len__(self) -> int:
        """How many pairs there are, by going through all of them."""
        return self._native.count()

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def __iter__(self) -> Iterator[bytes]:
        return (key for key, _ in self._native.range())

    def range(
        self, first: bytes | None = None, end: bytes | None = None, *, backwards: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """The pairs from the key `first` on, up to before the key `end`."""
        return self._native.range(first, end, backwards)

    def __reversed__(self) -> Iterator[bytes]:
        return (key for key, _ in self._native.range(backwards=True))

    def pop(self, key: bytes, default: Any = _ABSENT) -> Any:
        """Removes a key; the value that it had, or the default."""
        value = self._native.pop(key)
        if value is None:
            if default is _ABSENT:
                raise KeyError(key)
            return default
        return value

    def popitem(self) -> tuple[bytes, bytes]:
        """Removes the first pair."""
        while True:
            pair = next(iter(self._native.range()), None)
            if pair is None:
                raise KeyError("there are no pairs")
            # Another one may have been quicker.
            value = self._native.pop(pair[0])
            if value is not None:
                return (pair[0], value)

    def setdefault(self, key: bytes, default: bytes = b"") -> bytes:
        """The value of a key, which gets the default unless it has one."""
        return self._native.put_default(key, default)

    def update(
        self,
        other: SupportsKeysAndGetItem[bytes, bytes] | Iterable[tuple[bytes, bytes]] = (),
        /,
    ) -> None:
        """Assigns many pairs in one transaction: all or none."""
        if hasattr(other, "keys"):
            of_mapping = cast("SupportsKeysAndGetItem[bytes, bytes]", other)
            pairs = [(key, of_mapping[key]) for key in of_mapping.keys()]
        else:
            pairs = list(other)
        self._native.put_all(pairs)

    def clear(self) -> None:
        """Removes all pairs."""
        self._native.clear()

    def close(self) -> None:
        """Lets go of it."""
        self._native.close()

    def __repr__(self) -> str:
        return f"<remanent.KeyValue {self._name!r}>"
