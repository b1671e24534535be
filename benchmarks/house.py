"""How the house is built, in numbers: ``python benchmarks/house.py [FOLDER]``, for this checkout or for another one beside it.

Lines of code without docstrings and comments; functions that take a model or a result as ``Any``; ``isinstance`` on score
structures outside their module; sizes that decide outside ``limits.py``; and what an editor offers after ``result.``.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HOLDERS = {"model", "result", "results", "fit", "small", "large", "larger", "smaller", "restricted", "unrestricted"}
STRUCTURES = {"Pooled", "LowRank", "Unrestricted"}
NOTHING = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
# Whole numbers below this are small counts; numbers with a point are shares, tolerances and log-odds of the statistics.
SIZE = 10
# Widths of text and figures decide how something looks, not how it is computed.
LOOKS = {"cli", "experiments", "plots", "show", "datasets"}

PUBLIC = """
import hjastats as hja
result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
print(len([name for name in dir(result) if not name.startswith("_")]))
"""


def code_lines(text: str, tree: ast.Module) -> int:
    """Lines that hold code."""
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node, clean=False):
            docstrings |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOTHING:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def takes_any(tree: ast.Module) -> int:
    """Functions with a model or a result among their arguments that could be anything."""

    def is_any(argument: ast.arg) -> bool:
        annotation = "Any" if argument.annotation is None else ast.unparse(argument.annotation)
        return argument.arg in HOLDERS and annotation == "Any"

    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return sum(any(map(is_any, [*node.args.args, *node.args.kwonlyargs])) for node in functions)


def asks_structures(tree: ast.Module) -> int:
    """Calls of isinstance that tell score structures apart."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"]
    return sum(any(name in ast.unparse(call.args[1]) for name in STRUCTURES) for call in calls)


def sizes(tree: ast.Module) -> Iterator[str]:
    """Constants of a module that something is compared with, or counted up to."""
    numbers = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name | ast.Tuple):
            targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else [node.targets[0]]
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for target, value in zip(targets, values, strict=False):
                if isinstance(value, ast.Constant) and type(value.value) is int and value.value >= SIZE:
                    numbers[ast.unparse(target)] = value.value
    deciding = (ast.Compare, ast.BinOp, ast.Slice, ast.IfExp)
    used = {
        leaf.id
        for node in ast.walk(tree)
        if isinstance(node, deciding)
        or (isinstance(node, ast.Call) and ast.unparse(node.func) in ("range", "min", "max"))
        for leaf in ast.walk(node)
        if isinstance(leaf, ast.Name)
    }
    yield from (name for name in numbers if name in used)


def measure(folder: Path) -> dict[str, object]:
    package = folder / "hjastats"
    counts: Counter[str] = Counter()
    found: list[str] = []
    for path in sorted(package.rglob("*.py")):
        text, parts = path.read_text(encoding="utf-8"), path.relative_to(package).parts
        tree = ast.parse(text)
        counts["files"] += 1
        counts["lines of code"] += code_lines(text, tree)
        counts["functions that take a model or result as Any"] += takes_any(tree)
        if path.name != "structures.py":
            counts["isinstance on structures outside their module"] += asks_structures(tree)
        if path.name != "limits.py" and not LOOKS & set(parts):
            found += [f"{'/'.join(parts)}: {name}" for name in sizes(tree)]
    counts["size constants outside limits.py"] = len(found)
    done = subprocess.run([sys.executable, "-c", PUBLIC], cwd=folder, capture_output=True, text=True, check=True)
    return {**counts, "public names of a result": int(done.stdout), "which sizes": found}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    for name, value in measure(folder.resolve()).items():
        if isinstance(value, list):
            print("\n".join(f"  {line}" for line in value))
        else:
            print(f"{name:52s} {value:>7,}")


if __name__ == "__main__":
    main()
