package shell

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
)

func TestOnlySleeps(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want time.Duration
		ok   bool
	}{
		{[]string{"sleep", "infinity"}, -1, true},
		{[]string{"/bin/sleep", "1.5m"}, 90 * time.Second, true},
		{[]string{"sleep", "1", "2"}, 3 * time.Second, true},
		{[]string{"sh", "-c", "sleep 3600"}, time.Hour, true},
		{[]string{"sh", "-ec", " exec sleep infinity "}, -1, true},
		{[]string{"tail", "-f", "/dev/null"}, -1, true},
		{[]string{"sh", "-c", "tail -f /dev/null"}, -1, true},
		{[]string{"sleep", "1e400"}, 0, false},
		{[]string{"sleep", "9999999999999999"}, -1, true},
		{[]string{"sleep"}, 0, false},
		{[]string{"sleep", "x"}, 0, false},
		{[]string{"sh", "-c", "sleep 1; echo"}, 0, false},
		{[]string{"sh", "-c", "sleep $X"}, 0, false},
		{[]string{"sh", "-c", "sleep 1", "name"}, time.Second, true},
		{[]string{"/opt/sleep", "1"}, 0, false},
		{[]string{"sh"}, 0, false},
		{nil, 0, false},
	} {
		if got, ok := OnlySleeps(tt.args); got != tt.want || ok != tt.ok {
			t.Errorf("%q: got %v, %v; want %v, %v", tt.args, got, ok, tt.want, tt.ok)
		}
	}
}

func TestCanRun(t *testing.T) {
	f := NewFS(0)
	must(t, f.WriteFile("/run.sh", []byte("#!/bin/sh\n"), 0o755))
	must(t, f.WriteFile("/run.py", []byte("#!/usr/bin/python\n"), 0o755))
	must(t, f.WriteFile("/data", nil, 0o644))
	for _, tt := range []struct {
		args []string
		want bool
	}{
		{[]string{"sh", "-c", "x"}, true}, {[]string{"/bin/bash"}, true}, {[]string{"echo"}, true}, {[]string{"/usr/bin/env"}, true},
		{[]string{"nginx"}, false}, {[]string{"/opt/sh"}, false}, {[]string{"./sh"}, false}, {[]string{""}, false}, {nil, false},
		{[]string{"/run.sh"}, true}, {[]string{"/run.py"}, false}, {[]string{"/data"}, false}, {[]string{"/etc"}, false},
	} {
		if got := CanRunIn(f, tt.args); got != tt.want {
			t.Errorf("%q: got %v, want %v", tt.args, got, tt.want)
		}
	}
}

func TestUnknownPrograms(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"nginx"}, "[nginx]"},
		{[]string{"sh", "-c", "echo a; exec nginx -g x; f() { :; }; f; $x; python | python; /opt/app; . ./x; ls; command -v curl"}, "[nginx python /opt/app]"},
		{[]string{"sh", "-c", "if"}, "[]"},
		{[]string{"sleep", "1"}, "[]"},
		{[]string{"bash", "-euo", "pipefail", "-c", "nginx"}, "[nginx]"},
		{[]string{"bash", "--login", "-o", "errexit", "-c", "-u", "--", "nginx", "redis"}, "[nginx]"},
		{[]string{"sh", "-o", "errexit", "/scripts/c", "nginx"}, "[]"},
		{[]string{"sh", "-co", "errexit"}, "[]"},
		{[]string{"sh", "-c", `exec "/opt/app" "$@"; 'nginx' -g x; command "redis"-server; "$x"; "ls"`}, "[/opt/app nginx redis-server]"},
	} {
		if got := "[" + join(UnknownPrograms(tt.args)) + "]"; got != tt.want {
			t.Errorf("%q: got %v, want %v", tt.args, got, tt.want)
		}
	}
	f := NewFS(0)
	must(t, f.WriteFile("/opt/app", []byte("#!/bin/sh\n"), 0o755))
	if got := UnknownProgramsIn(f, []string{"sh", "-c", "/opt/app; /opt/other"}); join(got) != "/opt/other" {
		t.Errorf("got %q", got)
	}
}

func TestImageFiles(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"/bin/cp", "-n", "/usr/local/bin/argocd", "/var/run/argocd/argocd-cmp-server"}, "[/usr/local/bin/argocd]"},
		{[]string{"cp", "/app/a", "/app/b", "/shared"}, "[/app/a /app/b]"},
		{[]string{"sh", "-c", "cp -r /etc/datadog-agent /opt; ls /opt"}, "[/etc/datadog-agent]"},
		{[]string{"sh", "-c", "/bin/cp /usr/local/bin/argocd /var/run/argocd/argocd && /bin/ln -s /var/run/argocd/argocd /var/run/argocd/x"}, "[/usr/local/bin/argocd]"},
		{[]string{"sh", "-c", "export A=/app; dd if=/in of=/out; for f in /x; do cp /opt/x /shared; done"}, "[/opt/x]"},
		{[]string{"bash", "-ec", `cp -v "/opt/x y" '/opt/z' /shared && cp /opt/*.jar /plugins/. /shared/`}, "[/opt/x y /opt/z /opt/*.jar /plugins/.]"},
		// It exists, or may: nothing is known of these.
		{[]string{"cp", "/bin/sh", "/etc/resolv.conf", "/tmp/x", "/var/run/secrets/x", "rel/x", "/shared"}, "[]"},
		{[]string{"sh", "-c", "cp $FILE /shared; cp `x` /shared; cp -t /shared /opt/x; cp /bin/* /shared"}, "[]"},
		// The script makes it, or looks whether it exists.
		{[]string{"sh", "-c", "mkdir -p /scratch && echo 1 >/scratch/a && cp /scratch/a /shared"}, "[]"},
		{[]string{"sh", "-c", "if [ -f /opt/x ]; then cp /opt/x /shared; fi"}, "[]"},
		{[]string{"sh", "-c", "cp /opt/x /shared || echo none"}, "[]"},
		{[]string{"sh", "-c", "cp /bin/sh /opt/x && cp /opt/x /shared"}, "[]"},
		{[]string{"bash", "-c", "if [[ -f /opt/x ]]; then cp /opt/x /shared; fi; exec sleep 1d"}, "[]"},
		{[]string{"sh", "-c", "export W=/scratch; mkdir -p $W; echo 1 >$W/a; cp /scratch/a /shared"}, "[]"},
		{[]string{"sh", "-c", "for f in /opt/x; do test -e $f && cp /opt/x /shared; done"}, "[]"},
		{[]string{"sh", "-c", "dd if=/dev/zero of=/blob count=1; cp /blob /data"}, "[]"},
		{[]string{"sh", "-c", "D=/opt/x cp /opt/x $(mkdir /opt/y; echo /shared) && cp /opt/y/a /shared"}, "[]"},
		{[]string{"sh", "-c", "cp"}, "[]"},
		{[]string{"cp"}, "[]"},
		{[]string{"nginx", "cp", "/opt/x", "/y"}, "[]"},
		{nil, "[]"},
	} {
		if got := "[" + join(ImageFiles(tt.args)) + "]"; got != tt.want {
			t.Errorf("%q: got %v, want %v", tt.args, got, tt.want)
		}
	}
}

func join(list []string) (s string) {
	for i, e := range list {
		if i > 0 {
			s += " "
		}
		s += e
	}
	return s
}

// TestSleepCost bounds the memory of commands that wait.
func TestSleepCost(t *testing.T) {
	const n = 500
	measure := func() int64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	before := measure()
	for range n {
		p := NewProcesses()
		wg.Go(func() {
			if _, err := Run(ctx, Config{Args: []string{"sleep", "infinity"}, FS: NewFS(1 << 20), Processes: p}); err != nil {
				t.Error(err)
			}
		})
		for p.find(1) == nil {
			runtime.Gosched()
		}
	}
	each := (measure() - before) / n
	cancel()
	wg.Wait()
	// The container's file system and process table are part of it. The stack
	// of the goroutine is not: the garbage collector shrinks it step by step. A
	// caller that has many of these keeps a timer instead, see OnlySleeps.
	if each > 5<<10 {
		t.Errorf("a command that sleeps costs %d bytes", each)
	}
}

// TestTailOfALongLine bounds what tail allocates until it holds all that it may.
func TestTailOfALongLine(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, got := run(t, Config{Args: []string{"tail", "/dev/zero"}, Limits: Limits{CPUShare: 1}})
	runtime.ReadMemStats(&after)
	if want := (Result{137, OOMKilled}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
		t.Errorf("it has allocated %d MiB", used>>20)
	}
}

func BenchmarkEcho(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Run(b.Context(), Config{Args: []string{"echo", "x"}, FS: NewFS(1 << 20), Limits: Limits{CPUShare: 1000}}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScript(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Run(b.Context(), Config{Args: []string{"sh", "-c", "for i in 1 2 3; do echo $i; done"}, FS: NewFS(1 << 20), Limits: Limits{CPUShare: 1000}}); err != nil {
			b.Fatal(err)
		}
	}
}
