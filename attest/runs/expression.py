"""The expressions in the files of tables: columns of evidence, numbers, arithmetic, comparisons, ``and``, ``or``, ``not``.

The file may come from a stranger, so calls, attributes and texts are refused, and pandas computes the rest. Start at
``evaluated``.
"""

import ast
from typing import TYPE_CHECKING

from attest.core.errors import AttestError

if TYPE_CHECKING:
    import pandas as pd  # takes a second to import, for which a plan of runs does not wait

TRUTHS, NUMBERS = "b", "biuf"
"""The values of ``dtype.kind`` in NumPy that columns may have: of booleans; and of all columns with which expressions can
compute (booleans, integers, floats)."""

LONGEST = 400
"""The largest number of characters of an expression: more than a table needs, and too few for a nesting that is too deep for
Python."""

OPERATORS = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub, ast.UAdd),
    *(ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.And, ast.Or, ast.Not),
)


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
    expression = parsed(text)
    for node in ast.walk(expression):
        match node:
            case ast.Name(id=name):
                _require_numbers(name, rows)
            case ast.BoolOp(values=joined):
                _require_truths(text, joined, rows)
            case ast.UnaryOp(op=ast.Not(), operand=one):
                _require_truths(text, [one], rows)
    try:
        values = rows.eval(ast.unparse(expression))  # not the text: pandas divides it into lines where Python sees a comment
    except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
        raise _no_expression(text, f"computing it failed ({error})") from error
    if not any(isinstance(node, ast.Name) for node in ast.walk(expression)):
        raise _no_expression(text, "it contains no name of a column")
    return values


def rows_where(text: str, rows: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of a table for which an expression is true."""
    held = evaluated(text, rows)
    if held.dtype.kind != TRUTHS:
        raise _no_expression(text, "it is a number, not a comparison")
    return rows[held]


def _allowed(node: ast.expr) -> bool:
    match node:
        case ast.Name():
            return True
        case ast.Constant():
            return type(node.value) in (int, float)
        case ast.UnaryOp() | ast.BinOp() | ast.BoolOp():
            return isinstance(node.op, OPERATORS)
        case ast.Compare():
            return all(isinstance(each, OPERATORS) for each in node.ops)
    return False


def _require_numbers(name: str, rows: "pd.DataFrame") -> None:
    if name not in rows.columns:
        known = ", ".join(str(column) for column, kind in rows.dtypes.items() if kind.kind in NUMBERS)
        raise AttestError(
            f"the expression contains {name!r}, which is not a column of the evidence; expected one of: {known}."
        )
    if rows[name].dtype.kind not in NUMBERS:
        raise AttestError(f"the expression contains the column {name!r}, which has no numbers; expected a column of numbers.")


def _require_truths(text: str, joined: list[ast.expr], rows: "pd.DataFrame") -> None:
    for each in joined:
        match each:
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                continue
            case ast.Name(id=name) if name in rows and rows[name].dtype.kind == TRUTHS:
                continue
        raise _no_expression(text, "'and', 'or' and 'not' can join only comparisons of columns")


def _no_expression(text: str, why: str) -> AttestError:
    return AttestError(
        f"{text!r} is not a valid expression: {why}; expected names of columns, numbers, comparisons, the operators + - * / "
        "and the words 'and', 'or', 'not'. Type for example: tau > 0.5 and predicted == 1"
    )
