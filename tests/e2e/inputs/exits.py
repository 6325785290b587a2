"""exits.py CODE COMMAND…: runs the command and fails unless it ends with exactly this exit code."""
import subprocess
import sys

wanted, command = int(sys.argv[1]), sys.argv[2:]
try:
    found = subprocess.run(command, timeout=120).returncode
except subprocess.TimeoutExpired:
    sys.exit("%s took more than two minutes" % " ".join(command))
if found != wanted:
    sys.exit("%s: expected exit code %d, found %d" % (" ".join(command), wanted, found))
