#!/usr/bin/env bash
# Compiles snippets.cc, whose mistakes are each said once, shortly, and at their line; and checks
# that docs/debugging.md has the messages for the mistakes of newcomers.
# usage: run.sh COMPILER [FLAGS...]
set -uo pipefail
export LC_ALL=C  # plain quotes in messages
here=$(cd "$(dirname "$0")" && pwd)
page=$here/../../docs/debugging.md
mark=g++
case $("$1" --version | head -n 1) in *clang*) mark=clang ;; esac
[ $mark = g++ ] || set -- "$@" -ferror-limit=0
if messages=$("$@" -std=c++20 -fsyntax-only -I"$here/../.." "$here/snippets.cc" 2>&1); then
  echo "snippets.cc compiles" >&2
  exit 1
fi
errors=$(grep -E '^[^ ]+:[0-9]+:[0-9]+: error: ' <<<"$messages")
failed=0
wanted=0
newcomers=$(grep -n '// Mistakes that newcomers make' "$here/snippets.cc" | cut -d: -f1)
[ -n "$newcomers" ] || { echo "snippets.cc lacks the comment '// Mistakes that newcomers make'" >&2; exit 1; }
while IFS=: read -r line text; do
  wanted=$((wanted + 1))
  # A comment that stands alone is that of the next line.
  if grep -q "^ *// $mark: " <<<"$text"; then line=$((line + 1)); fi
  text=$(sed -E 's,^.*// (error|g\+\+|clang): ,,' <<<"$text")
  grep -qF -- "$text" <<<"$errors" || { echo "line $line: no error has '$text'" >&2; failed=1; }
  grep -q "snippets.cc:$line:" <<<"$messages" || { echo "no message names line $line" >&2; failed=1; }
  [ "$line" -lt "$newcomers" ] || grep -qF -- "$text" "$page" || { echo "line $line: docs/debugging.md lacks '$text'" >&2; failed=1; }
done < <(grep -n -E "// (error|${mark//+/\\+}): " "$here/snippets.cc" | grep -v '`// ')
lines=$(wc -l <<<"$messages")
# clang goes on with a class whose static_assert failed.
count=$(wc -l <<<"$errors")
if [ $mark = g++ ] && { [ "$count" -ne "$wanted" ] || [ "$lines" -gt $((25 * wanted)) ]; }; then
  echo "expected $wanted errors of up to 25 lines, got $count in $lines lines" >&2
  failed=1
fi
[ $failed -eq 0 ] || { echo "$messages" >&2; exit 1; }
echo "$wanted mistakes in $lines lines"
