"""A second evaluator of `.attn` text, slow and in float64, written from dialect/LANGUAGE.md alone."""
import sys

from .program import Program, evaluate
from .errors import AttnError

__all__ = ["AttnError", "Program", "evaluate"]

# 200 levels of parentheses, ten rules of the grammar a level; a chain of 400 operations.
sys.setrecursionlimit(20000)
