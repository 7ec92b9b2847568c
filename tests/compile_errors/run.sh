#!/usr/bin/env bash
# Compiles snippets.cc, whose mistakes are each said once, shortly, and at their line.
# usage: run.sh COMPILER [FLAGS...]
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if messages=$("$@" -std=c++20 -fsyntax-only -I"$here/../.." "$here/snippets.cc" 2>&1); then
  echo "snippets.cc compiles" >&2
  exit 1
fi
failed=0
wanted=0
while IFS=: read -r line text; do
  wanted=$((wanted + 1))
  grep -qF -- "${text#*// error: }" <<<"$messages" || { echo "line $line: no message has '$text'" >&2; failed=1; }
  grep -q "snippets.cc:$line:" <<<"$messages" || { echo "no message names line $line" >&2; failed=1; }
done < <(grep -n '// error: ' "$here/snippets.cc" | tail -n +2)
errors=$(grep -c ' error: ' <<<"$messages")
lines=$(wc -l <<<"$messages")
if [ "$errors" -ne "$wanted" ] || [ "$lines" -gt $((25 * wanted)) ]; then
  echo "expected $wanted errors of up to 25 lines, got $errors in $lines lines" >&2
  failed=1
fi
[ $failed -eq 0 ] || { echo "$messages" >&2; exit 1; }
echo "$wanted mistakes in $lines lines"
