"""The border between the types of a run's file and JSON: strict in both directions."""

from __future__ import annotations

import functools
from enum import StrEnum
from typing import Any, TypeVar

import cattrs
from cattrs import transform_error
from cattrs.errors import BaseValidationError
from cattrs.v import format_exception

__all__ = ["FormatError", "structure", "unstructure"]

T = TypeVar("T")


class FormatError(Exception):
    """JSON that is not of the type it should be; says where."""


def structure(value: Any, kind: type[T]) -> T:
    """A value of a type from JSON; nothing is converted, nothing may be missing or unknown.

    Raises:
        FormatError: Names every fault with its place.
    """
    try:
        return _converter().structure(value, kind)
    except (BaseValidationError, TypeError, ValueError, KeyError) as error:
        raise FormatError("; ".join(transform_error(error, format_exception=_told))) from error


def unstructure(value: Any) -> Any:
    """JSON of a value."""
    return _converter().unstructure(value)


@functools.cache
def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    # Without these hooks "3" and true would pass for numbers.
    for kind in (bool, int, str):
        converter.register_structure_hook(kind, functools.partial(_exactly, kind))
    converter.register_structure_hook(float, _number)
    # An enum of strings is a string too, and would get the hook of one.
    converter.register_structure_hook(StrEnum, lambda value, kind: kind(value))
    return converter


def _told(error: BaseException, kind: type | None) -> str:
    # The hooks below and enums say what they got; cattrs would leave that out.
    return str(error) if type(error) in (TypeError, ValueError) else format_exception(error, kind)


def _exactly(kind: type[T], value: object, _: object) -> T:
    if type(value) is not kind:
        message = f"expected {kind.__name__}, got {value!r:.60}"
        raise TypeError(message)
    return value


def _number(value: object, _: object) -> float:
    # JSON has one kind of number: 2.0 may come back as 2 from another writer.
    if type(value) not in (int, float):
        message = f"expected a number, got {value!r:.60}"
        raise TypeError(message)
    return float(value)  # type: ignore[arg-type]
