"""What this evaluator refuses: texts that LANGUAGE.md does not allow, or says nothing about."""


# What was read outside since the last call began: an error, if it is not hidden in the result.
outside = []


class AttnError(Exception):
    def __init__(self, message, line=None):
        super().__init__(message if line is None else f"line {line}: {message}")
        self.message, self.line = message, line


class UnknownSize(AttnError):
    """Nothing evaluated so far tells the size of an axis: another statement may."""

    def __init__(self, symbol, line=None):
        super().__init__(f"nothing tells the size of '{symbol.name}'", line)
        self.symbol = symbol
