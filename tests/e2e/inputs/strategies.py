"""strategies.py FOLDER TARGET: prints the strategies for the terms of the scores of some cases under FOLDER on a processor."""
import json
import os
import subprocess
import sys

CASES = ["w2vbert-n40", "deberta-v2-n40", "deberta-v3-n48", "mvitv2-6x8", "mvitv2-q8-k4", "mvitv2-q7-k3-cls",
         "vits-n50", "xlnet-n40"]

for case in CASES:
    spec = os.path.join(sys.argv[1], case, "spec.attn")
    result = subprocess.run(["skewer", "explain", spec, "--json", "--target=" + sys.argv[2]], capture_output=True,
                            text=True, timeout=60)
    if result.returncode:
        sys.exit(result.stderr)
    terms = [t for k in json.loads(result.stdout)["kernels"] for a in k["attentions"] for t in a["terms"]]
    strategies = [t["strategy"] for t in terms if t.get("strategy")]
    if "element" in strategies:
        sys.exit("%s: a term is evaluated element by element: %s" % (case, strategies))
    print(case + ": " + " ".join(strategies))
