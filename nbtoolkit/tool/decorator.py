"""The decorator ``tool``: it registers a function and gives it back as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from nbtoolkit import hooks
from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.tool.content import MAX_RESULT_CHARS
from nbtoolkit.tool.function import FunctionTool

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from pydantic import BaseModel

    from nbtoolkit.permission.rule import PermissionDecision
    from nbtoolkit.tool.base import ToolMiddlewareBase
    from nbtoolkit.tool.elsewhere import Cluster
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["tool"]

F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(func: F, /) -> F: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: dict[str, Any] | type[BaseModel] | None = None,
    is_concurrency_safe: bool = True,
    is_read_only: bool = False,
    is_state_injected: bool = False,
    middlewares: list[ToolMiddlewareBase] | None = None,
    permission: PermissionDecision | None = None,
    thread: bool = False,
    executor: Executor | Cluster | Callable[[], Executor | Cluster] | None = None,
    max_result_chars: int = MAX_RESULT_CHARS,
    is_idempotent: bool = False,
    group: str = "basic",
    toolkit: Toolkit | None = None,
) -> Callable[[F], F]: ...
def tool(
    func: F | None = None, /, *, group: str = "basic", toolkit: Toolkit | None = None, **options: Any
) -> F | Callable[[F], F]:
    """Register a function with the notebook's toolkit, or ``toolkit``, and give it back unchanged.

    Takes FunctionTool's options, and ``group``, which is made where it isn't there. Registering the same function
    again replaces it in place.
    """

    def register(target: F) -> F:
        owner = hooks.get_toolkit() if toolkit is None else toolkit
        if not hasattr(owner, "register"):
            raise DeveloperOrientedException(f"toolkit must be a Toolkit, but is {owner!r}.")
        owner.register(FunctionTool(target, **options), group)
        return target

    return register if func is None else register(func)
