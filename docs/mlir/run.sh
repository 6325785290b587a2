#!/bin/sh
# run.sh kernels|linalg: block.mlir with the numbers of main.mlir, by this compiler's kernels or by linalg alone.
set -e
case $1 in
kernels) passes="-attn-outline -attn-embed-kernels" ;;
linalg) passes="-attn-to-linalg" ;;
*) echo "usage: run.sh kernels|linalg" >&2; exit 2 ;;
esac
libraries=$(dirname "$(command -v mlir-runner || command -v mlir-runner-22)")/../lib
[ -e "$libraries/libmlir_runner_utils.so" ] || libraries=/usr/lib/llvm-22/lib
runner=$(command -v mlir-runner || command -v mlir-runner-22)
{ grep -v 'private @block' main.mlir; cat block.mlir; } |
  skewer-opt $passes -one-shot-bufferize=bufferize-function-boundaries=1 -attn-to-llvm |
  "$runner" -e main -entry-point-result=void \
    -shared-libs="$libraries/libmlir_runner_utils.so,$libraries/libmlir_c_runner_utils.so" |
  tr -d '[],' | awk 'NR > 1 { for (n = 1; n <= NF; ++n) printf "%6.2f", $n; print "" }'
