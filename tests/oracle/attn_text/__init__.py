"""A second evaluator of `.attn` text, slow and in float64, written from dialect/LANGUAGE.md alone."""
from .program import Program, evaluate
from .errors import AttnError

__all__ = ["AttnError", "Program", "evaluate"]
