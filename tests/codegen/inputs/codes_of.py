"""Says which instructions the code of each symbol's phases has: `codes_of.py ASSEMBLY SYMBOL …`."""
import re
import sys

path, symbols = sys.argv[1], sys.argv[2:]
with open(path) as stream:
    functions = re.split(r"(?m)^([^.\s]\S*):$", stream.read())
for symbol in symbols:
    # Functions of a code that nobody else sees are named after it, with a dot: "half_amx.attend".
    own = [body for name, body in zip(functions[1::2], functions[2::2])
           if name.strip('"') == symbol or name.strip('"').startswith(symbol + ".")]
    assert own, symbol
    text = "".join(own)
    tiles, vectors = "tdpbf16ps" in text, "zmm" in text
    print(f"{symbol}: {'tiles' if tiles else 'no tiles, zmm' if vectors else 'no tiles, no zmm'}")
