"""Limits are read where they decide, and tests lower them in one way."""

import ast
from pathlib import Path

import pytest

import hjastats
from hjastats import limits

NAMES = [name for name in vars(limits) if name.isupper()]


def test_limits_are_set_until_they_are_reset(set_limits):
    before = limits.DENSE_SHARED, limits.LARGEST_MATRIX
    set_limits(DENSE_SHARED=3, LARGEST_MATRIX=4)
    assert (limits.DENSE_SHARED, limits.LARGEST_MATRIX) == (3, 4)
    set_limits(DENSE_SHARED=5)
    assert limits.DENSE_SHARED == 5
    set_limits.reset()
    assert before == (limits.DENSE_SHARED, limits.LARGEST_MATRIX)


def test_limits_that_do_not_exist_cannot_be_set(set_limits):
    with pytest.raises(AttributeError, match="DENSE_SHAERD"):
        set_limits(DENSE_SHAERD=3)
    assert not hasattr(limits, "DENSE_SHAERD")


def test_every_limit_is_read_as_an_attribute_of_its_module():
    """Otherwise lowering it would change nothing."""
    read, copied = set(), set()
    for path in Path(hjastats.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "limits":
                read.add(node.attr)
            if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("limits"):
                copied |= {alias.name for alias in node.names}
    assert len(NAMES) > 30
    assert set(NAMES) <= read
    assert not copied
