#!/usr/bin/env bash
# Runs a command with a control plane, for action.yml.
#
# COMMAND   a script for bash
# FLAGS     flags of "ctrlplane run", one per line
# REPORT    folder of the report; empty = none
set -euo pipefail

flags=()
while IFS= read -r flag; do
  flag=${flag%$'\r'}
  [ -z "${flag//[[:space:]]/}" ] || flags+=("$flag")
done <<<"${FLAGS:-}"
[ -z "${REPORT:-}" ] || flags+=("--report=$REPORT")
[ -n "${COMMAND:-}" ] || { echo "run.sh: COMMAND is empty: set the input run of the action" >&2; exit 2; }
exec ctrlplane run ${flags[@]+"${flags[@]}"} -- bash -euo pipefail -c "$COMMAND"
