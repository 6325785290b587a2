"""The errors of this evaluator, for texts that LANGUAGE.md does not allow, or says nothing about."""


# Reads outside a table since the last call began. Each is an error, unless the result hides it.
outside = []


class AttnError(Exception):
    def __init__(self, message, line=None):
        super().__init__(message if line is None else f"line {line}: {message}")
        self.message, self.line = message, line


class UnknownSize(AttnError):
    """Nothing evaluated so far tells the size of an axis, but another statement may."""

    def __init__(self, symbol, line=None):
        super().__init__(f"nothing tells the size of '{symbol.name}'", line)
        self.symbol = symbol
