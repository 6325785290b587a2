"""Turns tokens into trees by the grammar at the end of LANGUAGE.md, with a method for each rule."""
from . import syntax as s
from .errors import AttnError
from .lexer import RESERVED, tokens_of

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
MOST_LEVELS, MOST_OPERATIONS = 200, 400   # LANGUAGE.md, Limits


class Parser:
    def __init__(self, text, line=1):
        self.tokens, self.at, self.levels = tokens_of(text, line), 0, 0

    # Looking ahead.
    @property
    def next(self):
        return self.tokens[self.at]

    def take(self):
        token = self.next
        self.at += 1
        return token

    def sees(self, *texts):
        return self.next.kind == "op" and self.next.text in texts

    def sees_word(self, word):
        return self.next.kind == "name" and self.next.text == word

    def accept(self, text):
        return self.take() if self.sees(text) or self.sees_word(text) else None

    def expect(self, text):
        token = self.accept(text)
        if not token:
            raise AttnError(f"expected '{text}', found '{self.next.text}'", self.next.line)
        return token

    def name(self):
        if self.next.kind != "name":
            raise AttnError(f"expected a name, found '{self.next.text}'", self.next.line)
        return self.take().text

    def new_name(self):
        """Reads a name that the text gives to something."""
        if self.next.text in RESERVED:
            raise AttnError(f"'{self.next.text}' is a word of the language", self.next.line)
        return self.name()

    # Declarations.
    def file(self):
        out = s.File()
        while self.next.kind != "end":
            if self.accept(";"):
                continue
            word, line = self.name(), self.next.line
            if word == "param":
                out.params += self.separated(lambda: s.Param(self.next.line, self.new_name(),
                                                             self.expression() if self.accept("=") else None))
            elif word == "size":
                out.sizes += self.separated(self.size)
            elif word == "kernel":
                kernel = self.kernel(line)
                if kernel.name in out.kernels:
                    raise AttnError(f"there is a kernel '{kernel.name}' already", line)
                out.kernels[kernel.name] = kernel
            elif word == "scheme":
                scheme = self.scheme(line)
                if scheme.name in out.schemes:
                    raise AttnError(f"there is a scheme '{scheme.name}' already", line)
                out.schemes[scheme.name] = scheme
            else:
                raise AttnError(f"expected a declaration, found '{word}'", line)
        return out

    def size(self):
        """Reads a size. Returns (name, whether it is a length)."""
        name = self.new_name()
        if not self.accept("<="):
            return name, False
        self.sum()  # only the compiler uses the bound
        return name, True

    def separated(self, item):
        items = [item()]
        while self.accept(","):
            items.append(item())
        return items

    def kernel(self, line):
        name, operands = self.new_name(), []
        self.expect("(")
        while not self.accept(")"):
            group = []
            while True:
                self.accept("const")
                group.append(self.new_name())
                if not self.accept(","):
                    break
            self.expect(":")
            kind = self.type()
            operands += [(each, kind) for each in group]
            if not self.sees(")"):
                self.expect(",")
        self.expect("->")
        if self.accept("("):
            results = self.separated(lambda: (self.name(), self.expect(":") and self.type()))
            self.expect(")")
        else:
            results = [(None, self.type())]
        return s.Kernel(line, name, operands, results, self.block())

    def type(self):
        line, element = self.next.line, self.name()
        if element not in ("f32", "f16", "bf16", "i8", "f8e4m3", "i32"):
            raise AttnError(f"unknown type '{element}'", line)
        self.expect("[")
        sizes = [] if self.sees("]") else self.separated(self.expression)
        self.expect("]")
        out = s.Type(line, element, sizes)
        if self.accept("in"):
            out.low = self.expression()
            self.expect("..")
            out.high = self.expression()
        if self.accept("~"):
            out.deviation = self.product()
            if self.accept("+"):
                out.mean, out.deviation = out.deviation, self.product()
            elif self.accept(".."):
                out.between, out.deviation = (out.deviation, self.product()), None
        return out

    def dimensions(self):
        self.expect("[")
        names = [] if self.sees("]") else self.separated(self.new_name)
        self.expect("]")
        return names

    def scheme(self, line):
        name = self.new_name()
        self.expect("(")
        formals = [] if self.sees(")") else self.separated(self.formal)
        self.expect(")")
        named = [each for formal in formals for each in [formal.name] + (formal.parts or [])]
        for each in named:
            if named.count(each) > 1:
                raise AttnError(f"'{each}' is a parameter already", line)
        result = self.dimensions() if self.accept("->") else None
        if self.accept("="):
            return s.Scheme(line, name, formals, [s.Return(line, [self.expression()])], result)
        return s.Scheme(line, name, formals, self.block(), result)

    def formal(self):
        out = s.Formal(self.next.line, self.new_name())
        if self.accept(":"):
            out.dimensions = self.dimensions()
        elif self.accept("="):
            value = self.expression()
            if isinstance(value, s.Items) and all(isinstance(item, s.Name) for item in value.items):
                out.parts = [item.name for item in value.items]
            else:
                out.default = value
        return out

    # Statements.
    def block(self):
        self.expect("{")
        out = []
        while not self.accept("}"):
            out.append(self.statement())
            if not self.accept(";") and not self.sees("}") and not self.next.first:
                raise AttnError(f"expected the end of the statement, found '{self.next.text}'", self.next.line)
        return out

    def statement(self):
        line = self.next.line
        if self.sees("("):
            self.take()
            names = self.separated(self.new_name)
            self.expect(")")
            self.expect("=")
            return s.Assign(line, names, True, self.expression())
        word = self.name()
        if self.sees(","):
            names = [word]
            while self.accept(","):
                names.append(self.new_name())
            self.expect("=")
            return s.Assign(line, names, True, self.expression())
        if self.sees("=") and word in RESERVED:
            raise AttnError(f"'{word}' is a word of the language", line)
        if self.accept("="):
            return s.Assign(line, [word], False, self.expression())
        if word == "return":
            return s.Return(line, self.separated(self.expression))
        if word == "require":
            condition = self.expression()
            self.expect(",")
            if self.next.kind != "string":
                raise AttnError("a require says in a text what is wrong", self.next.line)
            return s.Require(line, condition, self.take().text)
        if word == "part":
            axis = self.name()
            length = self.expression() if self.accept("=") else None
            self.expect("of")
            whole = self.expression()
            self.expect("from")
            return s.Part(line, axis, length, whole, self.name())
        raise AttnError(f"expected a statement, found '{word}'", line)

    def deeper(self, rule):
        """Applies a rule inside another expression."""
        self.levels += 1
        if self.levels > MOST_LEVELS:
            raise AttnError(f"nested deeper than {MOST_LEVELS} levels", self.next.line)
        value = rule()
        self.levels -= 1
        return value

    # Expressions, from the weakest binding.
    def expression(self):
        return self.deeper(self.any_expression)

    def any_expression(self):
        value = self.conditional()
        while self.sees("where"):
            line = self.take().line
            value = s.Where(line, value, self.disjunction())
        return value

    def conditional(self):
        value = self.disjunction()
        if self.sees("if"):
            line = self.take().line
            condition = self.disjunction()
            self.expect("else")
            return s.Conditional(line, value, condition, self.deeper(self.conditional))
        return value

    def chain(self, below, *ops):
        value, operations = below(), 0
        while self.sees(*ops):
            op, operations = self.take(), operations + 1
            if operations >= MOST_OPERATIONS:
                raise AttnError(f"more than {MOST_OPERATIONS} operations in one chain", op.line)
            value = s.Binary(op.line, op.text, value, below())
        return value

    def disjunction(self):
        return self.chain(self.conjunction, "or")

    def conjunction(self):
        return self.chain(self.negation, "and")

    def negation(self):
        if self.sees("not"):
            return s.Unary(self.take().line, "not", self.deeper(self.negation))
        return self.comparison()

    def comparison(self):
        value = self.bits()
        if self.sees(*COMPARISONS):
            op = self.take()
            value = s.Binary(op.line, op.text, value, self.bits())
        return value

    def bits(self):
        return self.chain(self.shift, "&")

    def shift(self):
        return self.chain(self.sum, "<<", ">>")

    def sum(self):
        return self.chain(self.product, "+", "-")

    def product(self):
        return self.chain(self.factor, "*", "/", "//", "%")

    def factor(self):
        while self.accept("+"):
            pass
        if self.sees("-"):
            return s.Unary(self.take().line, "-", self.deeper(self.factor))
        return self.power()

    def power(self):
        value = self.postfix()
        if self.sees("^"):
            op = self.take()
            value = s.Binary(op.line, "^", value, self.deeper(self.factor))
        return value

    def postfix(self):
        value = self.primary()
        while self.sees("[") and not self.next.first:
            line = self.take().line
            subscripts = self.separated(self.subscript)
            self.expect("]")
            value = s.Subscript(line, value, subscripts)
        return value

    def subscript(self):
        line = self.next.line
        if self.accept("..."):
            return s.Dots(line)
        if self.accept("None"):
            return s.New(line)
        low = None if self.sees(":") else self.expression()
        if not self.accept(":"):
            return low
        high = None if self.sees(":", ",", "]") else self.expression()
        step = None
        if self.accept(":") and not self.sees(",", "]"):
            step = self.expression()
        return s.Slice(line, low, high, step)

    def primary(self):
        token = self.take()
        if token.kind == "number":
            value = int(token.text) if token.text.isdigit() else float(token.text)
            if value >= 2**63 and isinstance(value, int):
                raise AttnError(f"'{token.text}' does not fit 64 bits", token.line)
            return s.Number(token.line, value)
        if token.kind == "string":
            return s.Text(token.line, token.text)
        if token.kind == "name":
            if self.sees("(") and not self.next.first:
                return self.call(token)
            return s.Name(token.line, token.text)
        if token.text in ("(", "["):
            return self.group(token)
        raise AttnError(f"expected an expression, found '{token.text}'", token.line)

    def group(self, token):
        close = ")" if token.text == "(" else "]"
        items, comma = [], token.text == "["
        while not self.sees(close):
            items.append(self.expression())
            if not self.accept(","):
                break
            comma = True
        self.expect(close)
        if not items:
            raise AttnError("an empty list", token.line)
        return s.Items(token.line, items) if comma else items[0]

    def call(self, token):
        self.expect("(")
        positional, named = [], {}
        while not self.accept(")"):
            ahead = self.tokens[self.at + 1]
            if self.next.kind == "name" and ahead.kind == "op" and ahead.text == "=":
                name = self.take().text
                self.take()
                named[name] = self.expression()
            elif (self.sees("where") and ahead.kind == "op" and ahead.text == "="):   # softmax(x, where = P)
                self.take()
                self.take()
                named["where"] = self.expression()
            else:
                positional.append(self.expression())
            if not self.sees(")"):
                self.expect(",")
        return s.Call(token.line, token.text, positional, named)


def parse_file(text):
    return Parser(text).file()


def parse_expression(text, line=1):
    parser = Parser(text, line)
    out = parser.expression()
    if parser.next.kind != "end":
        raise AttnError(f"unexpected '{parser.next.text}'", line)
    return out
