package shell

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// hostile are scripts that try to leave their container, to fill memory or not
// to end.
var hostile = []string{
	`while :; do :; done`,
	`while :; do x=$x$x.; done`,
	`x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done`,
	`x=a; while :; do x="${x//a/aaaaaaaaaaaaaaaa}"; done`,
	`i=0; while :; do i=$((i+1)); eval "v$i=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"; done`,
	`i=0; while :; do i=$((i+1)); eval "f$i() { echo a; echo b; echo c; }"; done`,
	`while :; do set -- "$@" "$@" x; done`,
	`f() { f; }; f`,
	`f() { f "$1$1" ; }; f aaaaaaaaaaaaaaaaaaaa`,
	`f() { (f); }; f`,
	`f() { x=$(f); }; f`,
	`f() { eval f; }; f`,
	`f() { f | f; }; f`,
	`f() { f & f; }; f`,
	`f() { f | f & }; f; while :; do f; done`,
	`while :; do :; done & while :; do :; done & while :; do :; done & wait`,
	`while :; do sleep 1000 & done`,
	`while :; do while :; do :; done & done`,
	`sh -c 'exec sh -c "$0" "$0"' 'sh -c "$0" "$0"'`,
	`echo 'sh ./s; sh ./s' >s; sh ./s`,
	`echo '. ./s' >s; . ./s`,
	`alias a='a b' b='a a'; a; eval a; eval b`,
	`x='eval "$x"'; eval "$x"`,
	`trap 'kill -TERM $$' TERM; kill $$; while :; do :; done`,
	`trap 'eval "$(cat)"' EXIT; exit 0`,
	`trap '' TERM INT HUP; while :; do :; done`,
	`cat /dev/zero`,
	`cat /dev/zero | cat | cat >/dev/null`,
	`cat /dev/zero >/tmp/fill; cat /tmp/fill >/tmp/fill2`,
	`x=$(cat /dev/zero)`,
	`x=$(yes)`,
	`read x </dev/zero`,
	`sort </dev/zero`,
	`sort /dev/urandom`,
	`grep -v x /dev/zero`,
	`sed s/a/b/ /dev/zero`,
	`tail /dev/urandom`,
	`tac /dev/zero`,
	`wc /dev/zero`,
	`base64 /dev/zero >/dev/null`,
	`md5sum /dev/zero`,
	`gzip </dev/zero | gunzip >/dev/null`,
	`xargs </dev/zero`,
	`yes | xargs echo >/dev/null`,
	`yes >/dev/null`,
	`yes`,
	`yes "$(seq 10000)" >f; tail -f f`,
	`seq 99999999999 >/dev/null`,
	`while :; do echo x; done`,
	`echo {1..999999999}`,
	`bash -c 'echo {1..999999999}'`,
	`bash -c 'echo {1..1000}{1..1000}{1..1000}'`,
	`bash -c 'echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}'`,
	`echo $((1<<64)) $((1<<-1)) $((9223372036854775807+1)) $((-9223372036854775808/-1)) $((2**9999)) $((0x7fffffffffffffff*2))`,
	`a=b; b=a; echo $((a))`,
	`a[9999999999]=1`,
	`a[65535]=1; while :; do b=("${a[@]}" "${b[@]}"); done`,
	`printf '%999999999d' 1; printf '%*d' 999999999 1; printf '%.999999999f' 1`,
	`printf "$(seq -s '' -f x 1 100000)%s" a b c`,
	`x=$(seq 50000); echo ${x//1/$x} | wc -c`,
	`x=$(seq 20000); echo ${x%%*1*2*3*4*5*6*7*8*9*} | wc -c`,
	`x=$(seq 20000); case $x in *1*2*3*4*5*6*7*8*9*a) :;; esac`,
	`x=$(seq 20000); [[ $x =~ ((a*)*)*b ]]; [[ $x =~ (x{1000}){1000} ]]`,
	`x=$(head -c 100000 /dev/zero | tr '\0' a); [[ $x =~ ^(a|a|a|a)*(a|b)*(a|c)*$ ]]; echo $x | grep -E '^(a?){500}a{500}$'`,
	`head -c 300000 /dev/zero | tr '\0' '(' >s; sh s`,
	`x=$(head -c 100000 /dev/zero | tr '\0' '('); eval "$x"; eval "echo \$(($x"`,
	`x=$(head -c 100000 /dev/zero | tr '\0' '{'); eval "$x"; bash -c "echo $x"`,
	`x=$(head -c 100000 /dev/zero | tr '\0' '-'); echo $(($x 1))`,
	`x=$(yes 'if' | head -20000); eval "$x"`,
	`x=$(yes '$(' | head -20000 | tr -d '\n'); eval "echo $x"`,
	`x=$(yes '${a:-' | head -20000 | tr -d '\n'); eval "echo $x"`,
	`x=$(yes 'a=' | head -20000 | tr -d '\n'); echo $((${x}1))`,
	`x=$(yes '!' | head -50000); [ $x ]; eval "$x true"`,
	`x=$(yes '(' | head -50000); [ $x ]; expr $x; find . $x`,
	`set -- $(yes env | head -5000); "$@"`,
	`set -- $(yes command | head -5000); "$@" true`,
	`while :; do mkdir -p $(yes a/ | head -2040 | tr -d '\n'); rm -r a; done`,
	`cd /; for i in $(seq 20000); do mkdir d; cd d; done`,
	`cd /; i=0; while mkdir d$i; do i=$((i+1)); done`,
	`cd /tmp; i=0; while :; do echo x >f$i; i=$((i+1)); done`,
	`ln -s a b; ln -s b a; cat a; cd a; ln -s . self; cat self/self/self/self/self/self/self/self/self/self/self/self`,
	`cat ../../../../../../../../../../etc/passwd; cat /proc/1/environ /proc/self/mem /sys/kernel; ls /dev/../../..`,
	`exec 9>f; while :; do exec 3>f$RANDOM; done`,
	`for a in /*/*/*/*; do echo $a; done; echo /*/../*/../*/../*/../*/../*`,
	`mkdir -p a/b/c/d/e; touch a/x a/b/x; echo */*/../../*/*/../../*/*/../../*/*`,
	`cat <(yes); echo >(cat); coproc yes; select x in a b; do :; done`,
	`kill -9 1; kill -9 -1; kill -9 0; kill -STOP $$`,
	`kill -9 $PPID; exec 0<&- 1>&- 2>&-; echo x; nosuch; read y`,
	`wget http://example.com; curl file:///etc/passwd; nslookup example.com; nc example.com 80`,
	`exec sleep infinity`,
	`sleep infinity | sleep infinity | sleep infinity`,
	`read x; cat; sh`,
	`find / -exec find / -exec find / {} \; \; `,
	`tar cf - / | tar xf - -C /tmp; tar cf /tmp/t /; dd if=/dev/zero of=big bs=1G count=1000; truncate -s 1T big; dd if=/dev/zero of=big bs=1 seek=9223372036854775807 count=1`,
	`cp -r / /tmp/copy; mv / /x; rm -rf / --no-preserve-root; rm -rf /*; echo still here`,
	`mkdir d; cp -r d d/x; cp -r . d; cp -rL d d/d; mv d d/e; ln -s . d/l; cp -rL d e; while :; do cp -r d d/d; done`,
	`i=0; ln -s /etc l0; while ln -s l$i l$((i+1)); do i=$((i+1)); cat l$i/passwd >/dev/null || break; done; cp -rL l$i c; rm -rf l*`,
	`ln -s /proc/self/fd f; ln -s f g; cd g; cat g/0; for i in $(seq 1000); do ln -s /tmp/../tmp/./x$i x$((i+1)); done; cat x1; ln -s x1001 x1; cat x1`,
	`head -c 100000000 /dev/zero | tar cf t -C / etc; yes | gzip | gunzip | tar xf -; tar czf - /dev/zero | tar xzf -`,
	`ln -s / x; tar cf t x; rm x; mkdir x; echo y >x/y; tar rf t x; rm -r x; tar xf t; cat x/etc/passwd; tar xf t -C /; tar tf /dev/zero`,
	`f() { cat <<E
$(f)$(f)
E
}; f`,
	`cat <<A <<B; sh <<A
$(yes)
A
B
while :; do sh <<B; done
B
A`,
	`f() { g "$@" "$@"; }; g() { f "$@"; }; f a; h() { (h & h); }; h; while :; do h; done`,
	`while getopts $(head -c 50000 /dev/zero | tr '\0' a) o -aaaaaaaaaa; do :; done`,
	`sed -n ':a;ba' /etc/passwd`,
	`echo x | sed ':a;s/x/xx/;ta'`,
	`yes | sed -n 'H;G;h'`,
	`awk 'BEGIN { while (1) s = s "x" s }'`,
	`awk 'BEGIN { while (1) a[i++] = i }'`,
	`awk 'BEGIN { while (1) ; }'`,
	`awk '{ $9999 = $0; NF = 99999999; print }' /etc/passwd; awk 'BEGIN { printf "%999999999d", 1; printf "%*d", 999999999, 1 }'`,
	`awk "BEGIN { print $(yes '(' | head -20000 | tr -d '\n') 1 }"; awk "BEGIN { $(yes '{' | head -20000 | tr -d '\n') }"; awk "BEGIN { x = $(yes -- '-' | head -20000 | tr -d '\n') 1 }"`,
	`trap 'trap "f" EXIT; f' EXIT; f() { f; }; exit`,
	`timeout 1000 sh -c 'while :; do :; done' & wait`,
	`: ${x:=$(while :; do :; done)}`,
	`cat <<E
$(while :; do :; done)
E`,
	"\x00\xff\xfe ' \" ` $( ${ $(( ",
}

// longest is how long a hostile script runs before it is killed.
const longest = 100 * time.Millisecond

// checkEnds runs a script, kills it, and checks that it ends soon. That is
// measured in CPU time: other programs may use the machine as well. It is at most
// 20 ms on a fast machine, and has no end if a script does not notice that it was killed.
func checkEnds(t *testing.T, c Config) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	killed := make(chan time.Duration, 1)
	timer := time.AfterFunc(longest, func() {
		killed <- cpuTime(t)
		cancel()
	})
	defer timer.Stop()
	defer cancel()
	if _, err := Run(ctx, c); err != nil {
		t.Errorf("%q: %v", c.Args, err)
	}
	select {
	case at := <-killed:
		if took := cpuTime(t) - at; took > slowdown*time.Second {
			t.Errorf("%q used the CPU for %v after it was killed", c.Args, took)
		}
	default:
	}
}

// TestHostileScripts checks that scripts cannot fill the memory, that they end
// when they are killed, and that they do not end the process.
func TestHostileScripts(t *testing.T) {
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	goroutines := runtime.NumGoroutine()
	for i, src := range hostile {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			const limit = 8 << 20
			stderr := &failureFinder{}
			in, w := io.Pipe() // never ends
			defer w.Close()
			// The share lets a script do in its time what it would do in a
			// minute.
			c := Config{
				Args: []string{"sh", "-c", src}, FS: NewFS(limit), Stdin: in, Stdout: io.Discard, Stderr: stderr,
				Limits: Limits{CPUShare: 1},
			}
			if i%2 == 1 {
				c.Args, c.Stdin = []string{"sh", "-s"}, io.MultiReader(strings.NewReader(src+"\nexit\n"), in)
			}
			checkEnds(t, c)
			in.Close()
			stderr.check(t, src)
			if used := c.FS.Root().Used(); used < 0 || used > limit+64<<10 {
				t.Errorf("%q: %d bytes are stored", src, used)
			}
			UnknownPrograms([]string{"sh", "-c", src})
			ImageFiles([]string{"sh", "-c", src})
			OnlySleeps([]string{"sh", "-c", src})
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			if grown := int64(now.HeapInuse+now.StackInuse) - int64(before.HeapInuse+before.StackInuse); grown > 256<<20 {
				t.Errorf("%q: memory grew by %d MiB", src, grown>>20)
			}
		})
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines are left", n-goroutines)
	}
	if n := held.Load(); n != 0 {
		t.Errorf("%d bytes are still accounted", n)
	}
}

// TestKilledWhileReading kills scripts that wait for input that does not come.
func TestKilledWhileReading(t *testing.T) {
	for _, src := range []string{`read x`, `cat`, `sh`, `x=$(cat)`, `sh | cat`, `bash -c 'read -t 1000 x'`} {
		in, w := io.Pipe()
		ctx, cancel := context.WithTimeout(t.Context(), longest)
		got, err := Run(ctx, Config{Args: []string{"sh", "-c", src + "; exit 3"}, Stdin: in})
		if want := (Result{137, Error}); err != nil || got != want || ctx.Err() == nil {
			t.Errorf("%q: got %+v, %v, want %+v after %v", src, got, err, want, longest)
		}
		cancel()
		w.Close()
	}
}

// failureFinder is a stderr that keeps what says that the simulation failed.
type failureFinder struct {
	mu    sync.Mutex
	found string
}

func (f *failureFinder) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("simulation failed")) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.found = string(b)
	}
	return len(b), nil
}

func (f *failureFinder) check(t *testing.T, src string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.found != "" {
		t.Errorf("%q: %s", src, f.found)
	}
}

// TestResults checks how commands end that exceed a limit.
func TestResults(t *testing.T) {
	for _, tt := range []struct {
		script string
		want   Result
	}{
		{`exit 0`, Result{0, Completed}},
		{`exit 3`, Result{3, Error}},
		{`x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done`, Result{137, OOMKilled}},
		{`sort /dev/zero`, Result{137, OOMKilled}},
		{`x=$(printf '%%999n%.0s' $(seq 20000)); date "+$x"`, Result{137, OOMKilled}},
		{`f() { f; }; f`, Result{139, Error}},
		{`kill -9 $$`, Result{137, Error}},
		{`kill $$`, Result{143, Error}},
		{`sh -c 'kill -9 -1; exit 3'; exit $?`, Result{3, Error}},
		{`while sleep 1000 & do :; done 2>/dev/null`, Result{2, Error}},
	} {
		if _, _, got := run(t, Config{Args: []string{"sh", "-c", tt.script}}); got != tt.want {
			t.Errorf("%q: got %+v, want %+v", tt.script, got, tt.want)
		}
	}
	if _, _, got := run(t, Config{Args: []string{"sh", "-c", "while :; do :; done"}, Limits: Limits{Steps: 10_000}}); got.ExitCode != 137 {
		t.Errorf("steps: got %+v", got)
	}
}

// TestPace checks that a busy loop gets its share of the CPU and no more.
func TestPace(t *testing.T) {
	const seconds = 1.5
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(seconds*float64(time.Second)))
	defer cancel()
	var out bytes.Buffer
	start := cpuTime(t)
	if _, err := Run(ctx, Config{Args: []string{"sh", "-c", `while :; do :; done`}, Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	used := cpuTime(t) - start
	// 200 ms at once, and 5 % of the rest; some more for what runs beside it.
	if most := 200*time.Millisecond + 150*time.Millisecond + 100*time.Millisecond; used > most {
		t.Errorf("the loop used %v of the CPU in %vs, want at most %v", used, seconds, most)
	}
}

// TestPaceOfAll checks that many busy loops get no more than a quarter of the
// cores together.
func TestPaceOfAll(t *testing.T) {
	const d = time.Second
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var wg sync.WaitGroup
	start := cpuTime(t)
	for range 50 {
		wg.Go(func() {
			if _, err := Run(ctx, Config{Args: []string{"sh", "-c", `while :; do :; done`}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	quarter := d * time.Duration(runtime.GOMAXPROCS(0)) / 4
	if used := cpuTime(t) - start; used > 500*time.Millisecond+quarter+300*time.Millisecond {
		t.Errorf("the loops used %v of the CPU in %v", used, d)
	}
}

func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		signals      []syscall.Signal
		want         Result
		stdout       string
	}{
		{"a trap", `trap 'echo bye; exit 5' TERM; echo ready; sleep 100 & wait`, []syscall.Signal{syscall.SIGTERM}, Result{5, Error}, "ready\nbye\n"},
		{"no trap", `echo ready; sleep 100`, []syscall.Signal{syscall.SIGTERM}, Result{143, Error}, "ready\n"},
		{"a trap between commands", `trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done`, []syscall.Signal{syscall.SIGTERM}, Result{0, Completed}, "ready\nbye\n"},
		{"ignored", `trap '' TERM; echo ready; sleep 100`, []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}, Result{137, Error}, "ready\n"},
		{"replaced shell", `trap 'echo no' TERM; exec sh -c 'echo ready; exec sleep 100'`, []syscall.Signal{syscall.SIGTERM}, Result{143, Error}, "ready\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ready, out := newSignalWriter()
			signals := make(chan syscall.Signal)
			go func() {
				<-ready
				for _, sig := range tt.signals {
					signals <- sig
				}
			}()
			got, err := Run(t.Context(), Config{Args: []string{"sh", "-c", tt.script}, Stdout: out, Signals: signals})
			if err != nil || got != tt.want || out.text.String() != tt.stdout {
				t.Errorf("got %+v, %v, %q; want %+v, %q", got, err, out.text.String(), tt.want, tt.stdout)
			}
		})
	}
}

// signalWriter tells when "ready" was written.
type signalWriter struct {
	text  strings.Builder
	ready chan struct{}
}

func newSignalWriter() (<-chan struct{}, *signalWriter) {
	w := &signalWriter{ready: make(chan struct{})}
	return w.ready, w
}

func (w *signalWriter) Write(b []byte) (int, error) {
	if w.text.Len() == 0 {
		defer close(w.ready)
	}
	return w.text.Write(b)
}
