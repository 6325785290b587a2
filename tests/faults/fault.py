"""One fault: `find`, which stands exactly once in `file`, becomes `replace`."""
from collections import namedtuple

Fault = namedtuple("Fault", "name file says find replace")
