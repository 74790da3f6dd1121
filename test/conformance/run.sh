#!/bin/sh
# Runs the conformance tests of passes.txt: bin/ctrlplane run --nodes 2 -- test/conformance/run.sh
# They are upstream's, unchanged; the others need processes in containers.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$here/../../bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" # the tests leave files

# Some tests call kubectl. Its control plane is this one, whichever others run.
printf '#!/bin/sh\nexec "%s" --data-dir "%s" kubectl "$@"\n' "$bin/ctrlplane" "${KUBECONFIG%/*}" >kubectl
chmod +x kubectl

# suite runs the tests whose names it reads, so many at a time, and makes sure
# that there were all of them.
suite() {
	sort -u >names
	focus=$(sed 's/[][().*+?^${}|\\]/\\&/g; s/$/$/' names | paste -sd'|' -)
	"$bin/ginkgo" -procs="$1" --no-color --focus="$focus" "$bin/e2e.test" -- --provider=skeleton \
		--kubeconfig="$KUBECONFIG" --kubectl-path="$work/kubectl" >log 2>&1 || { cat log; exit 1; }
	grep -E '^Ran [0-9]+ of' log
	grep -q "^Ran $(wc -l <names | tr -d ' ') of" log || { echo "not all tests of passes.txt exist" >&2; exit 1; }
}

grep -v '\[Serial\]' "$here/passes.txt" | suite 4
grep '\[Serial\]' "$here/passes.txt" | suite 1
