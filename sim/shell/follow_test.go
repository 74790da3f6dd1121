package shell

import "testing"

// TestFollow checks tail -F of a file that is replaced and truncated, and of one that appears.
func TestFollow(t *testing.T) {
	const src = `
await() { until grep -qx "$1" out; do sleep 0.01; done; }
echo 1 >a
tail -s 0.01 -F a b >out 2>/dev/null &
await 1; echo 2 >>a
await 2; echo 3 >b
await 3; mv a a.1; echo 4444 >a
await 4444; echo 5 >a
await 5; rm a; echo 6 >>b
await 6; echo 7 >a
await 7; cat out`
	const want = "==> a <==\n1\n2\n\n==> b <==\n3\n\n==> a <==\n4444\n5\n\n==> b <==\n6\n\n==> a <==\n7\n"
	if out, errOut, status := script(t, src); out != want || status != 0 {
		t.Errorf("status %d; output:\n%s\nwant:\n%s\nerrors: %s", status, out, want, errOut)
	}
}

// TestFollowTruncated checks tail -f, which follows a file and not its name.
func TestFollowTruncated(t *testing.T) {
	const src = `
await() { until grep -qx "$1" out; do sleep 0.01; done; }
echo 1111 >a
tail -s 0.01 -f a >out &
await 1111; echo 2 >a
await 2; mv a b; echo no >a; echo 3 >>b
await 3; cat out`
	if out, errOut, status := script(t, src); out != "1111\n2\n3\n" || status != 0 {
		t.Errorf("status %d; output:\n%s\nerrors: %s", status, out, errOut)
	}
}

// TestKilledProgramsReleaseFiles checks that what a killed program had open counts no longer.
func TestKilledProgramsReleaseFiles(t *testing.T) {
	for _, program := range []string{
		`tail -f f`, `tail -F f f`, `awk 'BEGIN { print >"g"; while (1); }'`,
		`awk 'BEGIN { s = "0123456789"; while (length(s) < 500000) s = s s; while (1); }'`,
		`tar xf big.tar`,
	} {
		t.Run(program, func(t *testing.T) {
			src := `touch f; head -c 8000000 /dev/zero >big; tar cf big.tar big
				for i in $(seq 16); do timeout -s KILL 0.02 ` + program + ` >/dev/null; done; cat f`
			_, errOut, result := run(t, Config{Args: []string{"sh", "-c", src}, FS: NewFS(64 << 20), Limits: Limits{OpenFiles: 14, Memory: 6 << 20}})
			if result.ExitCode != 0 || errOut != "" {
				t.Errorf("got %+v; errors: %s", result, errOut)
			}
		})
	}
}

// TestFollowedFileIsFreed checks that a deleted file counts against its volume only while it is followed.
func TestFollowedFileIsFreed(t *testing.T) {
	const src = `head -c 40000 /dev/zero >f; timeout 0.05 tail -c 1 -f f >/dev/null; rm f; head -c 40000 /dev/zero >g; wc -c <g`
	out, errOut, _ := run(t, Config{Args: []string{"sh", "-c", src}, FS: NewFS(60_000)})
	if out != "40000\n" {
		t.Errorf("output:\n%s\nerrors: %s", out, errOut)
	}
}
