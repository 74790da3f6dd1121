#!/bin/sh
# Runs upstream's unchanged conformance tests that passes.txt lists:
# bin/ctrlplane run --nodes 2 -- test/conformance/run.sh
# The other conformance tests need images, programs that the simulated shell lacks, or a network.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$here/../../bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" # the tests write files

# Some tests run kubectl. It must use the control plane of this run, and takes no flag
# that names one.
cat >kubectl <<EOF
#!/bin/sh
for arg; do
	shift
	case \$arg in
	--kubeconfig=* | --server=*) ;;
	*) set -- "\$@" "\$arg" ;;
	esac
done
exec "$bin/ctrlplane" --data-dir "${KUBECONFIG%/*}" kubectl "\$@"
EOF
chmod +x kubectl

# suite runs the tests whose names it reads, $1 at a time, and checks that all of
# them exist.
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
