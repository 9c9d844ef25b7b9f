"""The expressions in the files of tables: columns of evidence, numbers, arithmetic, comparisons, ``and``, ``or``, ``not``.

The file may come from a stranger, so calls, attributes and texts are refused. Start at ``evaluated``.
"""

import ast
import operator
from collections.abc import Callable
from functools import lru_cache, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from attest.core.errors import AttestError

if TYPE_CHECKING:
    import pandas as pd  # takes a second to import, for which a plan of runs does not wait

TRUTHS, NUMBERS = "b", "biuf"
"""Letters of numpy for kinds of columns: truth values; and all kinds that can be computed with."""

LONGEST = 400
"""The most characters of an expression: more than a table needs, and too few to nest deeper than Python can read."""
OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.And: operator.and_,
    ast.Or: operator.or_,
    ast.Not: operator.invert,
}


@lru_cache(maxsize=256)
def parsed(text: str) -> ast.expr:
    """Return the syntax tree of an expression; nothing is computed yet."""
    if len(text) > LONGEST:
        raise _no_expression(f"{text[:40]} …", f"it contains {len(text)} characters, more than {LONGEST}")
    try:
        expression = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _no_expression(text, "it cannot be parsed") from None
    for node in ast.walk(expression):
        if isinstance(node, ast.expr) and not _allowed(node):
            raise _no_expression(text, f"it contains {ast.get_source_segment(text, node)}")
    return expression


def evaluated(text: str, rows: "pd.DataFrame") -> "pd.Series":
    """Compute an expression for every row of a table; comparisons with NaN are false."""
    try:
        values = _value(parsed(text), rows)
    except (ArithmeticError, TypeError, RecursionError) as error:
        raise _no_expression(text, f"computing it failed ({error})") from error
    if not _dtype_letter(values):
        raise _no_expression(text, "it contains no name of a column")
    return values


def rows_where(text: str, rows: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of a table for which an expression is true."""
    held = evaluated(text, rows)
    if _dtype_letter(held) != TRUTHS:
        raise _no_expression(text, "it is a number, not a comparison")
    return rows[held]


def _allowed(node: ast.expr) -> bool:
    match node:
        case ast.Name():
            return True
        case ast.Constant():
            return type(node.value) in (int, float)
        case ast.UnaryOp() | ast.BinOp() | ast.BoolOp():
            return type(node.op) in OPERATORS
        case ast.Compare():
            return all(type(each) in OPERATORS for each in node.ops)
    return False


def _value(node: ast.expr, rows: "pd.DataFrame") -> Any:
    match node:
        case ast.Name():
            return _column(node.id, rows)
        case ast.Constant(value=int() | float() as number):
            return float(number)  # powers of whole numbers grow without end
        case ast.UnaryOp():
            value = _truth if isinstance(node.op, ast.Not) else _value
            return OPERATORS[type(node.op)](value(node.operand, rows))
        case ast.BinOp():
            return OPERATORS[type(node.op)](_value(node.left, rows), _value(node.right, rows))
        case ast.BoolOp():
            return reduce(OPERATORS[type(node.op)], [_truth(each, rows) for each in node.values])
        case ast.Compare():
            sides = pairwise(_value(each, rows) for each in (node.left, *node.comparators))
            held = [OPERATORS[type(op)](left, right) for op, (left, right) in zip(node.ops, sides, strict=True)]
            return reduce(operator.and_, held)
    raise TypeError(type(node).__name__)  # which was refused when it was read


def _column(name: str, rows: "pd.DataFrame") -> "pd.Series":
    if name not in rows.columns:
        known = ", ".join(str(column) for column, kind in rows.dtypes.items() if kind.kind in NUMBERS)
        raise AttestError(
            f"the expression contains {name!r}, which is not a column of the evidence; expected one of: {known}."
        )
    if _dtype_letter(rows[name]) not in NUMBERS:
        raise AttestError(f"the expression contains the column {name!r}, which has no numbers; expected a column of numbers.")
    return rows[name]


def _truth(node: ast.expr, rows: "pd.DataFrame") -> Any:
    value = _value(node, rows)
    if _dtype_letter(value) != TRUTHS:
        raise TypeError("'and', 'or' and 'not' can join only comparisons of columns")
    return value


def _dtype_letter(value: Any) -> str:
    return getattr(getattr(value, "dtype", None), "kind", "")


def _no_expression(text: str, why: str) -> AttestError:
    return AttestError(
        f"{text!r} is not a valid expression: {why}; expected names of columns, numbers, comparisons, the operators + - * / "
        "// % ** and the words 'and', 'or', 'not'. Type for example: tau > 0.5 and predicted == 1"
    )
