"""Checks tokens."""
from __future__ import annotations

import os, sys as system
import core.token
from core.auth import AuthValidator as Validator, Claims
from . import errors
from ..shared.types import (
    Token,
    Reason as Why,
)
from .legacy import *

LIFETIME_MS: int = 60_000
_cache = {}
__all__ = ["AuthService"]
type Pair[T] = tuple[T, T]

# A helper.
def helper(a, *args: int, key: str = "x", **kwargs) -> dict[str, int]:
    """Helps.

    A lot.
    """
    def inner():
        pass
    return {}

@dataclass(frozen=True)
class Options(Base, metaclass=Meta):
    """What can be set."""
    issuer: str
    audience: list[str] = field(default_factory=list)
    MAX = 3

    @property
    def size(self) -> int:
        '''How many.'''
        return 0

    @staticmethod
    async def load(
        path: str,  # where
        *,
        strict: bool = True,
    ) -> "Options":
        pass

    def _hidden(self): ...

class Service:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.count: int = 0

    class Inner:
        def deep(self, x): return x

class Reason(str, Enum):
    EXPIRED = "expired"
    FORGED = "forged"

if TYPE_CHECKING:
    from .types import Lazy
try:
    import fast
except ImportError:
    fast = None

def _private(): pass

FIRST, second, _ = 1, 2, 3
# Both.
left = right = None
