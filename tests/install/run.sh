#!/usr/bin/env bash
# Installs the build tree BUILD to a fresh prefix, moves it, and builds and runs a project that finds it there.
# usage: run.sh BUILD
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
mv "$work/prefix" "$work/moved"  # nothing may remember where it was installed, or lead back to the source tree
# A path begins after something that is no part of one: the sources may be in /tessera, and headers in include/tessera.
begin='(^|[^A-Za-z0-9_./}-])'
if grep -rlE --include='*.cmake' -e "$begin$(cd "$here/../.." && pwd)(/|[^A-Za-z0-9_.-]|$)" -e "$begin$work/prefix" "$work/moved"; then
  echo "the files above name a folder of this build" >&2
  exit 1
fi
# The headers that the pages tell users to include are there.
docs=$here/../../docs
for header in $({ cat "$docs/jax_names.md"; grep -rhE '#include <tessera/' "$docs"; } | grep -oE 'tessera/[a-z0-9_/]+\.h' | sort -u); do
  [ -f "$work/moved/include/$header" ] || { echo "a page names $header, which is not installed" >&2; exit 1; }
done
cmake -S "$here" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/moved" --log-level=WARNING
cmake --build "$work/build"
diff "$here/consumer.expected" <("$work/build/consumer") && echo "the consumer prints what is expected"
