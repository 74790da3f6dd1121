#!/usr/bin/env bash
# Runs all lessons once with --auto, and one more time so that timeout(1) ends them in the
# middle, and fails if anything is left behind: a process, a folder, a control plane.
#
#   tools/learnround.sh [CTRLPLANE]
#
# CTRLPLANE is bin/ctrlplane by default, LOAD the number of processes that keep the machine
# busy meanwhile, and LIMIT how many seconds all lessons may take (1200). Several rounds:
# "tools/repeat.sh 10 bin/lessons tools/learnround.sh". Linux only.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-bin/ctrlplane}")
home=$(mktemp -d)
load=()
# The home folder may have Go's module cache, whose files are not writable.
trap 'for pid in "${load[@]}"; do kill "$pid" 2>/dev/null || true; done; chmod -R u+w "$home"; rm -rf "$home"' EXIT
for ((i = 0; i < ${LOAD:-0}; i++)); do
  (while :; do :; done) &
  load+=($!)
done
GOCACHE=$(go env GOCACHE)
GOMODCACHE=$(go env GOMODCACHE)
export GOCACHE GOMODCACHE
mkdir "$home/tmp"

learn() {
  env HOME="$home" XDG_STATE_HOME="$home/state" TMPDIR="$home/tmp" KUBECONFIG="$home/kubeconfig" timeout "$1" "$program" learn --auto
}

require_nothing_left() {
  local left=
  for environ in /proc/[0-9]*/environ; do
    if { tr "\0" "\n" <"$environ"; } 2>/dev/null | grep -qx "TMPDIR=$home/tmp"; then
      left+=" process ${environ//[^0-9]/}"
    fi
  done
  left+=$(find "$home/tmp" -mindepth 1 -maxdepth 1 ! -name 'go-build*')
  left+=$(env HOME="$home" XDG_STATE_HOME="$home/state" "$program" list -o name)
  [ -z "$left" ] || { echo "left behind after $1: $left" >&2; return 1; }
}

learn "${LIMIT:-1200}"
require_nothing_left "all lessons"
end=$((RANDOM % 40 + 5))
code=0
learn "$end" >/dev/null 2>&1 || code=$?
[ "$code" -eq 124 ] || { echo "timeout $end: exit code $code instead of 124" >&2; exit 1; }
require_nothing_left "timeout $end"
