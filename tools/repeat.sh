#!/usr/bin/env bash
# Runs "make test" several times in a row with another build beside it, and keeps the
# logs of failures: a test that fails here and not alone depends on how busy the machine is.
#
#   tools/repeat.sh [ROUNDS] [FOLDER] [COMMAND…]
#
# ROUNDS is 20, FOLDER for the logs of failures bin/repeat, and COMMAND "make test" by
# default. Exits with 1 if a round has failed. MAX_LOAD is the load average above which a
# round waits to begin, so that other work on the machine is not counted; unset, none does.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-20}
folder=${2:-bin/repeat}
if [ $# -gt 2 ]; then shift 2; else set -- make test; fi
mkdir -p "$folder"
export GOFLAGS="${GOFLAGS:-} -count=1" # a cached result repeats nothing

# The other build: this module's packages, again and again, from an empty cache.
build_beside() {
  cache=$(mktemp -d)
  trap 'rm -rf "$cache"; exit' TERM
  while :; do
    GOCACHE=$cache nice go build ./etcd ./ui/... ./control/rest >"$folder/beside.log" 2>&1 &
    wait $! || echo "the other build failed: see $folder/beside.log" >&2
    rm -rf "${cache:?}"/*
  done
}

await_quiet() {
  [ -n "${MAX_LOAD:-}" ] || return 0
  while awk -v max="$MAX_LOAD" '{ exit !($1 >= max) }' /proc/loadavg; do sleep 10; done
}

# The round and the other build are process groups of their own, which end with the script.
set -m
beside= round_pid=
end_both() {
  for group in $round_pid $beside; do kill -TERM -- "-$group" 2>/dev/null || true; done
}
trap end_both EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
failed=0
for round in $(seq "$rounds"); do
  await_quiet
  log=$folder/round-$round.log
  build_beside &
  beside=$!
  began=$SECONDS
  "$@" >"$log" 2>&1 &
  round_pid=$!
  if wait "$round_pid"; then
    echo "round $round: ok, $((SECONDS - began)) s"
    rm "$log"
  else
    failed=$((failed + 1))
    echo "round $round: FAILED, $((SECONDS - began)) s: $log"
    grep -E '^(\s*--- FAIL|FAIL|panic:|WARNING: DATA RACE)' "$log" | head -20 || true
  fi
  end_both
  wait "$beside" 2>/dev/null || true
done
echo "$rounds rounds, $failed failed"
[ "$failed" -eq 0 ]
