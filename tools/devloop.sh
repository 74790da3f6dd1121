#!/bin/sh
# Measures how long a change of a source file takes until the example operator has started
# its workers: with "ctrlplane dev", by hand (stop, reset, go run), and the build alone.
#
#   tools/devloop.sh [ROUNDS]        (default 5; needs bin/ctrlplane and port 8080)
set -eu
rounds=${1:-5}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
running=
cleanup() {
	for pid in $running; do kill -INT "$pid" 2>/dev/null && wait "$pid" || true; done
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
export XDG_STATE_HOME="$work/state" TMPDIR="$work/tmp"
mkdir "$work/tmp"
cp -R "$root/examples/operator" "$work/operator"
cd "$work/operator"
go mod edit -replace "github.com/ctrlplane/ctrlplane=$root"
ctrlplane=$root/bin/ctrlplane
manifests="-f config/registry.yaml -f config/site.yaml"

now() { date +%s%N; }
since() { echo $((($(now) - $1) / 1000000)); }
change() { echo "// $(now)" >>controller.go; }
started() { # FILE COUNT: waits until the workers have started as often
	for _ in $(seq 6000); do
		if [ "$(grep -c '"Starting workers"' "$1")" -ge "$2" ]; then return; fi
		sleep 0.02
	done
	echo "the operator has not started:" >&2
	tail -5 "$1" >&2
	exit 1
}
settle() { sleep 3; }
median() { # LABEL
	sort -n | awk -v label="$1" '{ v[NR] = $1 } END { printf "%-44s %6.2f s  (%.2f to %.2f)\n", label, v[int((NR + 1) / 2)] / 1000, v[1] / 1000, v[NR] / 1000 }'
}

go build -o "$work/built" . # fills the caches
log=$work/dev.log
touch "$log"
"$ctrlplane" dev --ui plain --crds config/crd.yaml $manifests -- go run . >"$log" 2>&1 &
running=$!
started "$log" 1
for n in $(seq 2 $((rounds + 1))); do
	settle
	begin=$(now)
	change
	started "$log" "$n"
	since "$begin" >>"$work/dev"
done
kill -INT "$running"
wait "$running" || true

"$ctrlplane" up --name byhand --ui none -f config/crd.yaml $manifests >/dev/null &
running=$!
until "$ctrlplane" --name byhand wait settled >/dev/null 2>&1; do sleep 0.2; done
export KUBECONFIG="$("$ctrlplane" --name byhand kubeconfig)"
log=$work/byhand.log
run() {
	: >"$log"
	go run . >"$log" 2>&1 &
	operator=$!
	running="$operator $plane"
	started "$log" 1
}
plane=$running
run
for n in $(seq "$rounds"); do
	settle
	begin=$(now)
	change
	pkill -INT -P "$operator" # what Ctrl-C does
	wait "$operator" || true
	"$ctrlplane" --name byhand reset >/dev/null
	run
	since "$begin" >>"$work/byhand"
done
pkill -INT -P "$operator"
wait "$operator" || true
running=$plane
for n in $(seq "$rounds"); do
	change
	begin=$(now)
	go build -o "$work/built" .
	since "$begin" >>"$work/build"
done
median "go build alone" <"$work/build"
median "ctrlplane dev: change to started workers" <"$work/dev"
median "by hand: Ctrl-C, ctrlplane reset, go run ." <"$work/byhand"
