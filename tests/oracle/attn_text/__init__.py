"""A second evaluator of `.attn` text, slow and in float64, written from dialect/LANGUAGE.md alone."""
import sys

from .program import Program, evaluate
from .errors import AttnError

__all__ = ["AttnError", "Program", "evaluate"]

# Python must allow 200 levels of parentheses, with ten rules of the grammar a level, and a chain of 400 operations.
sys.setrecursionlimit(20000)
