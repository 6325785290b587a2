"""The parts of ladder.py, which find the layers of the other tests here."""
import os
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
for part in ("gpu", os.path.join("e2e", "inputs"), os.path.join("e2e", "layers")):
    sys.path.insert(0, os.path.join(ROOT, "tests", part))
