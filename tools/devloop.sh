#!/bin/sh
# Measures how long a change of a source file takes until the first reconcile of the example
# operator: with "ctrlplane dev", and manually (stop, reset, go run), beside the build alone.
# The three take turns, so that other load on the machine concerns all of them, and each round
# gives two ratios, which depend on the load less than the times.
#
#   tools/devloop.sh [ROUNDS]        (default 5; needs bin/ctrlplane)
set -eu
rounds=${1:-5}
root=$(cd "$(dirname "$0")/.." && pwd)
ctrlplane=$root/bin/ctrlplane
work=$(mktemp -d)
dev= plane= operator=
cleanup() {
	if [ -n "$operator" ]; then pkill -INT -P "$operator" || true; fi
	for pid in $dev $plane; do kill -INT "$pid" 2>/dev/null && wait "$pid" || true; done
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
export XDG_STATE_HOME="$work/state" TMPDIR="$work/tmp"
mkdir "$work/tmp"
for copy in dev hand build; do
	cp -R "$root/examples/operator" "$work/$copy"
	cd "$work/$copy"
	go mod edit -replace "github.com/ctrlplane/ctrlplane=$root" -replace "github.com/ctrlplane/ctrlplane/instrument=$root/instrument"
	sed -i.bak 's/localhost:8080/localhost:0/' main.go # two operators run at once
	# It says when it reconciles for the first time.
	sed -i.bak 's/^	var site Site$/	first.Do(func() { println("First reconcile 0") })\
&/' controller.go
	printf 'package main\n\nimport "sync"\n\nvar first sync.Once\n' >first.go
done
manifests="-f config/registry.yaml -f config/site.yaml"

now() { date +%s%N; }
since() { echo $((($(now) - $1) / 1000000)); }
stamp=0
change() { # COPY: from now on its operator says another number
	stamp=$(now)
	sed -i.bak "s/First reconcile [0-9]*/First reconcile $stamp/" "$work/$1/controller.go"
}
reconciled() { # FILE: waits until the operator with the last change has reconciled
	for _ in $(seq 12000); do
		if grep -q "First reconcile $stamp" "$1"; then return; fi
		sleep 0.01
	done
	echo "the operator has not reconciled:" >&2
	tail -5 "$1" >&2
	exit 1
}
median() { # LABEL
	sort -n | awk -v label="$1" '{ v[NR] = $1 } END { printf "%-44s median %6.2f s, lowest %6.2f s, highest %6.2f s\n", label, v[int((NR + 1) / 2)] / 1000, v[1] / 1000, v[NR] / 1000 }'
}
ratio() { # LABEL FILE: of the times in FILE to those of the builds of the same rounds
	paste "$2" "$work/build.ms" | awk '{ print 1000 * $1 / $2 }' | sort -n |
		awk -v label="$1" '{ v[NR] = $1 } END { printf "%-44s median %6.2f,   lowest %6.2f,   highest %6.2f\n", label, v[int((NR + 1) / 2)] / 1000, v[1] / 1000, v[NR] / 1000 }'
}
build() { go build -o "$work/built" .; }
run() {
	: >"$work/hand.log"
	go run . >"$work/hand.log" 2>&1 &
	operator=$!
	reconciled "$work/hand.log"
}

cd "$work/build"
build # fills the caches
cd "$work/dev"
: >"$work/dev.log"
"$ctrlplane" dev --ui plain --crds config/crd.yaml $manifests -- go run . >"$work/dev.log" 2>&1 &
dev=$!
reconciled "$work/dev.log"
cd "$work/hand"
"$ctrlplane" up --name manual --ui none -f config/crd.yaml $manifests >/dev/null &
plane=$!
until "$ctrlplane" --name manual wait settled >/dev/null 2>&1; do sleep 0.2; done
export KUBECONFIG="$("$ctrlplane" --name manual kubeconfig)"
run
for _ in $(seq "$rounds"); do
	sleep 3
	cd "$work/build"
	change build
	begin=$(now)
	build
	since "$begin" >>"$work/build.ms"

	begin=$(now)
	change dev
	reconciled "$work/dev.log"
	since "$begin" >>"$work/dev.ms"

	cd "$work/hand"
	begin=$(now)
	change hand
	pkill -INT -P "$operator" # what Ctrl-C does
	wait "$operator" || true
	"$ctrlplane" --name manual reset >/dev/null
	run
	since "$begin" >>"$work/hand.ms"
done
median "go build alone" <"$work/build.ms"
median "ctrlplane dev: change to first reconcile" <"$work/dev.ms"
median "manually: Ctrl-C, ctrlplane reset, go run ." <"$work/hand.ms"
ratio "ctrlplane dev / build" "$work/dev.ms"
ratio "manually / build" "$work/hand.ms"
