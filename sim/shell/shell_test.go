package shell

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// run runs a command with generous limits and returns its output.
func run(t *testing.T, c Config) (stdout, stderr string, result Result) {
	t.Helper()
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	if c.Limits.CPUShare == 0 {
		c.Limits.CPUShare = 100
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	result, err := Run(ctx, c)
	if err != nil {
		t.Fatalf("%q: %v", c.Args, err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%q did not end", c.Args)
	}
	return out.String(), errOut.String(), result
}

// script runs a script with sh -c.
func script(t *testing.T, src string) (stdout, stderr string, status int) {
	t.Helper()
	out, errOut, result := run(t, Config{Args: []string{"sh", "-c", src}})
	return out, errOut, result.ExitCode
}

func TestScripts(t *testing.T) {
	for _, tt := range []struct {
		script, want string
		status       int
	}{
		{`echo hello`, "hello\n", 0},
		{`echo -n a; echo b`, "ab\n", 0},
		{`echo -e 'a\tb\x41\n'`, "a\tbA\n\n", 0},
		{`exit 3`, "", 3},
		{`false`, "", 1},
		{`nosuch; echo $?`, "127\n", 0},
		{`x="a b"; echo $x "$x" '$x'`, "a b a b $x\n", 0},
		{`x="a  b"; echo $x; echo "$x"`, "a b\na  b\n", 0},
		{`for i in 1 2 3; do echo $i; done`, "1\n2\n3\n", 0},
		{`i=0; while [ $i -lt 3 ]; do i=$((i+1)); echo $i; done`, "1\n2\n3\n", 0},
		{`until false; do echo x; break; done`, "x\n", 0},
		{`for i in 1 2 3; do for j in a b; do [ $j = b ] && continue 2; echo $i$j; done; done`, "1a\n2a\n3a\n", 0},
		{`for i in 1 2 3; do for j in a b; do break 2; done; done; echo $i$j`, "1a\n", 0},
		{`case abc in a*) echo yes;; *) echo no;; esac`, "yes\n", 0},
		{`case "*" in "*") echo lit;; esac; case x in "*") echo bad;; *) echo ok;; esac`, "lit\nok\n", 0},
		{`f() { echo "$1-$#"; return 4; }; f a b; echo $?`, "a-2\n4\n", 0},
		{`f() { local x=1; x=2; g; }; g() { echo $x; }; x=0; f; echo $x`, "2\n0\n", 0},
		{`echo "${x:-d}" "${x-d}" "${x:=v}" "$x" "${x:+w}" "${#x}"`, "d d v v w 1\n", 0},
		{`x=; echo "${x:-d}" "${x-d}" "${x+w}" "${x:+w}"`, "d  w \n", 0},
		{`: ${x:?must be set}; echo no`, "", 2},
		{`x=path/to/file.tar.gz; echo ${x#*/} ${x##*/} ${x%.*} ${x%%.*}`, "to/file.tar.gz file.tar.gz path/to/file.tar path/to/file\n", 0},
		{`x=banana; echo ${x/a/o} ${x//a/o} ${x/#b/c} ${x/%a/y} ${x//[an]/}`, "bonana bonono canana banany b\n", 0},
		{`x=abcdef; echo ${x:2} ${x:1:3} ${x: -2} ${x:0:-1}`, "cdef bcd ef abcde\n", 0},
		{`x=abc; echo ${x^} ${x^^}; y=ABC; echo ${y,} ${y,,}`, "Abc ABC\naBC abc\n", 0},
		{`a=b; b=c; echo ${!a}`, "c\n", 0},
		{`echo $((1+2*3)) $((7/2)) $((7%3)) $((2**10)) $((0x1f)) $((1<2)) $((1?5:6))`, "7 3 1 1024 31 1 5\n", 0},
		{`x=5; echo $((x++)) $x $((++x)) $((x+=3)) $x`, "5 6 7 10 10\n", 0},
		{`echo $((1/0)); echo no`, "", 2},
		{`echo $(echo a; echo b) "$(printf 'x\n\n')"`, "a b x\n", 0},
		{"echo `echo a`", "a\n", 0},
		{`echo a | cat | tr a b`, "b\n", 0},
		{`echo x | read y; echo "[$y]"`, "[]\n", 0},
		{`printf '1 2\n3 4\n' | while read a b; do echo $b; done`, "2\n4\n", 0},
		{`(exit 3); echo $?; (cd /tmp; pwd); pwd`, "3\n/tmp\n/\n", 0},
		{`x=1; (x=2); echo $x; { x=3; }; echo $x`, "1\n3\n", 0},
		{`set -e; false; echo no`, "", 1},
		{`set -e; false || true; if false; then :; fi; ! true; echo yes`, "yes\n", 0},
		{`set -e; { false && true; }; echo yes`, "yes\n", 0},
		{`set -eu; echo $nope; echo no`, "", 2},
		{`set -o pipefail; false | true; echo $?`, "1\n", 0},
		{`true && echo a || echo b; false && echo a || echo b`, "a\nb\n", 0},
		{"cat <<EOF\na $((1+1)) $HOME\n  b\nEOF", "a 2 /root\n  b\n", 0},
		{"cat <<'EOF'\n$x \\a\nEOF", "$x \\a\n", 0},
		{"cat <<-EOF\n\ta\n\t\tb\n\tEOF\n", "a\nb\n", 0},
		{`cat <<<"x y"`, "x y\n", 0},
		{`echo a >f; echo b >>f; cat f; cat <f`, "a\nb\na\nb\n", 0},
		{`echo err >&2; echo out 2>/dev/null`, "out\n", 0},
		{`{ echo a; echo b >&2; } 2>&1 | sort -r`, "b\na\n", 0},
		{`exec 3>f; echo x >&3; exec 3>&-; cat f`, "x\n", 0},
		{`cat nosuch 2>/dev/null; echo $?`, "1\n", 0},
		{`trap 'echo bye' EXIT; echo hi; exit 2`, "hi\nbye\n", 2},
		{`trap 'echo term' TERM; kill -TERM $$; echo after`, "term\nafter\n", 0},
		{`sleep 0.01 & wait $!; echo $?`, "0\n", 0},
		{`(exit 7) & wait $!; echo $?`, "7\n", 0},
		// wait -n is for the job that ends first, and for each job once.
		{`sleep 100 & a=$!; (exit 3) & b=$!; wait -n; echo $?; (exit 4) & wait -n; echo $?; wait $b; echo $?; kill $a; wait -n; echo $?; wait -n; echo $?`,
			"3\n4\n3\n143\n127\n", 0},
		{`sleep 100 & a=$!; (exit 3) & b=$!; sleep 100 & wait $b; kill $a; wait -n; echo $?; wait -n $a nosuch; echo $?; (exit 5) & c=$!; wait -n $a $c; echo $?`,
			"143\n127\n5\n", 0},
		{`n=0; for i in 1 2 3; do (exit $i) & done; while wait -n; [ $? != 127 ]; do n=$((n+1)); done; echo $n; wait -n; echo $?; wait -p x 2>&1; echo $?`, "3\n127\nsh: wait: illegal option -p\n2\n", 0},
		{`trap 'echo t' USR1; sleep 100 & { sleep 0.05; kill -USR1 $$; } & wait -n $!; echo $?; wait -n; echo $?`, "t\n138\n0\n", 0},
		{`sleep 100 & kill $!; wait $!; echo $?`, "143\n", 0},
		{`sleep 100 & sleep 101 & kill $(jobs -p); wait $!; echo $?; wait; kill $(jobs -p) 2>&1; sleep 100 & jobs -p | xargs kill; wait $!; echo $?`,
			"143\nkill: you need to specify whom to kill\n143\n", 0},
		{`trap 'kill $(jobs -p); wait $!; echo $?' EXIT; sleep 100 & exit 3`, "143\n", 3},
		{`sleep 100 & (jobs | wc -l; wait; sleep 100 & jobs | wc -l; kill $!); jobs | sed 's/  .* / /'; jobs %1 | wc -l; jobs -l %2 2>&1; echo $?; kill $!; jobs -x 2>&1; echo $?`,
			"1\n1\n[1] Running\n1\nsh: jobs: %2: no such job\n1\nsh: jobs: illegal option -x\n1\n", 0},
		{`echo $$ $# $0 "$@"`, "1 0 sh\n", 0},
		{`set -- a "b c"; for i in "$@"; do echo "$i"; done; for i in $*; do echo $i; done; shift; echo $1`, "a\nb c\na\nb\nc\nb c\n", 0},
		{`set -- a b; echo "$*" "[$@]"; IFS=,; echo "$*"`, "a b [a b]\na,b\n", 0},
		{`IFS=:; x=a::b:; for i in $x; do echo "[$i]"; done`, "[a]\n[]\n[b]\n", 0},
		{`set --; for i in "$@"; do echo no; done; echo "x$@y"`, "xy\n", 0},
		{`eval 'x=1; echo $x'`, "1\n", 0},
		{`echo 'echo $1; return 3' >f; . ./f arg; echo $?`, "arg\n3\n", 0},
		{`printf '#!/bin/sh\necho "script $1 $0"\n' >s; chmod +x s; ./s a; sh s b`, "script a ./s\nscript b s\n", 0},
		{`touch f; ./f; echo $?`, "126\n", 0},
		{`env -i A=1 env`, "A=1\n", 0},
		{`A=1 sh -c 'echo $A'; echo "[$A]"`, "1\n[]\n", 0},
		{`export A=1 B="x y"; sh -c 'echo $A $B'`, "1 x y\n", 0},
		{`A=1; sh -c 'echo "[$A]"'; readonly R=1; R=2; echo no`, "[]\n", 2},
		{`mkdir d; touch d/a d/b d/.c; echo d/* d/[b] x*`, "d/a d/b d/b x*\n", 0},
		{`cd /tmp; mkdir -p a/b c/b; touch a/b/x c/b/y; echo */b/*; echo "*"; echo \*`, "a/b/x c/b/y\n*\n*\n", 0},
		{`echo ~ ~root ~nosuch a~`, "/root /root ~nosuch a~\n", 0},
		{`type echo; command -v ls; command -v nosuch; echo $?`, "echo is a shell builtin\n/bin/ls\n127\n", 0},
		{`[ -f /etc/passwd ] && [ -d /tmp ] && [ ! -e /nosuch ] && [ -n x ] && [ -z "" ] && [ a != b ] && echo ok`, "ok\n", 0},
		{`[[ abc == a* && abc =~ ^a(.)c$ ]] && echo ${BASH_REMATCH[1]}`, "b\n", 0},
		{`(( 3 > 2 )) && echo yes; for ((i=0;i<3;i++)); do echo $i; done`, "yes\n0\n1\n2\n", 0},
		{`a=(x y z); a[5]=w; echo ${a[1]} ${#a[@]} "${a[@]}"; a+=(q); echo ${a[-1]}`, "y 6 x y z   w\nq\n", 0},
		{`echo {1..3}`, "{1..3}\n", 0},
		{`bash -c 'echo {1..3} a{b,c}d {a..c} {01..03}'`, "1 2 3 abd acd a b c 01 02 03\n", 0},
		{`f() { echo 1 | while read l; do local v=$l; echo $v; done; ( local v=2; echo $v ); x=$(local v=3; echo $v); echo $x$v; }; f; (local y) 2>/dev/null; echo $?`, "1\n2\n3\n2\n", 0},
		{`(trap 'echo t; exit 3' TERM; touch f; sleep 100 & wait) & until [ -f f ]; do sleep 0.01; done; sleep 0.05; kill $!; wait $!; echo $?`, "t\n3\n", 0},
		// What only bash has.
		{`bash -c '(exit 3) | true | (exit 4); echo ${PIPESTATUS[0]} ${PIPESTATUS[@]}; true | false | true; s=("${PIPESTATUS[@]}"); echo ${s[@]} ${#s[@]} $PIPESTATUS; (exit 5); echo $PIPESTATUS; false | { true; }; (( PIPESTATUS[0] == 1 )) && echo y; false | true; exit ${PIPESTATUS[0]}'`,
			"3 3 0 4\n0 1 0 3 0\n5\ny\n", 1},
		{`mkdir d; echo 'echo $BASH_SOURCE ${BASH_SOURCE[0]} [${BASH_SOURCE[1]}]' >d/lib; echo 'echo $(dirname "${BASH_SOURCE[0]}"); . d/lib; f() { echo ${BASH_SOURCE[0]}; }; f' >d/s; bash d/s; bash -c 'echo "[${BASH_SOURCE[0]}]"'`,
			"d\nd/lib d/lib []\nd/s\n[]\n", 0},
		{`bash -c 'SECONDS=100; echo $SECONDS; true | { ((SECONDS >= 100)) && echo y; }; SECONDS=-1; echo $SECONDS; until [ $SECONDS -ge 0 ]; do sleep 0.05; done; echo counts'`,
			"100\ny\n-1\ncounts\n", 0},
		{`SECONDS=100 bash -c '((SECONDS >= 100)) && echo y; SECONDS=200; sh -c "test \$SECONDS -ge 200 && echo y"'; SECONDS=10s bash -c '((SECONDS < 100)) && echo y'`, "y\ny\ny\n", 0},
		{`bash -c 'SECONDS=100 sh -c "test \$SECONDS -ge 100 && echo y"; export SECONDS=200; sh -c "test \$SECONDS -ge 200 && echo y"'`, "y\ny\n", 0},
		// In sh, SECONDS is a variable like others.
		{`echo "[$SECONDS]"; SECONDS=3; while [ $SECONDS -gt 0 ]; do SECONDS=$((SECONDS-1)); done; echo $SECONDS; SECONDS=10s; echo $SECONDS`, "[]\n0\n10s\n", 0},
		{`SECONDS=30 sh -c 'echo $SECONDS'; export SECONDS=31; sh -c 'echo $SECONDS'`, "30\n31\n", 0},
		{`bash -c 'shopt -s nullglob extglob; for i in *.no; do echo $i; done; echo [ x* ] "*"; shopt -u nullglob; echo *.no; shopt -q extglob; echo $?; shopt -q nullglob || shopt -s dotglob; echo no' 2>&1`,
			"[ ] *\n*.no\n0\nbash: shopt: dotglob is not simulated\n", 1},
		{`bash -c 'x=12; [[ $x == +([0-9]) ]] && echo no; echo no' 2>&1; sh -c 'case a in @(a|b)) echo no;; esac' 2>&1; bash -c 'shopt' 2>&1; bash -c 'x=001; echo ${x#\+(0)} ${x##+(0)}; shopt -s extglob; echo ${x#\+(0)}; echo ${x##+(0)}' 2>&1`,
			"bash: the pattern +(…) is not simulated\nsh: the pattern @(…) is not simulated\nbash: shopt without -s, -u or -q is not simulated\n001 001\n001\nbash: the pattern +(…) is not simulated\n", 1},
		{`bash -c 'set -Eeuo pipefail; trap "echo ERR" ERR; f() { false; }; f; echo no'; bash -Ec 'set -Z 2>/dev/null; echo $?'; sh -c 'set -Eeu; echo no'`, "ERR\n2\n", 2},
		{`set -- -a -b x y; while getopts "ab:" o; do echo $o$OPTARG; done; shift $((OPTIND-1)); echo $1`, "a\nbx\ny\n", 0},
		{`printf '%s-%03d %x|%5s|%-5s|\n' a 7 255 r l`, "a-007 ff|    r|l    |\n", 0},
		{`printf '%s\n' a b c; printf 'x\n' ; printf %b 'a\n'`, "a\nb\nc\nx\na\n", 0},
		{`alias ll='echo list'; ll a`, "list a\n", 0},
		{`x=$(exit 3); echo $?; y=1; echo $?`, "3\n0\n", 0},
		{`if true; then echo a; elif true; then echo b; else echo c; fi; if false; then :; elif true; then echo b; fi`, "a\nb\n", 0},
		{`f() { echo in; } >f; f; cat f`, "in\n", 0},
		{`timeout 0.05 sleep 10; echo $?`, "143\n", 0},
		// The traps are set before the signal comes: one after a second, the others before timeout begins.
		{`timeout 1 sh -c 'trap "echo t; exit 4" TERM; sleep 100 & wait'; echo $?; trap "" TERM; timeout 0.05 sh -c 'sleep 0.2; echo done'; echo $?`, "t\n4\ndone\n0\n", 0},
		{`trap "" TERM; timeout -k 0.05 0.05 sh -c 'sleep 100'; echo $?; trap - TERM; timeout -k 100 0.05 sleep 100; echo $?; timeout -s INT 0.05 sleep 100; echo $?; timeout -s KILL 0.05 sleep 100; echo $?`,
			"137\n143\n130\n137\n", 0},
		{`(trap "" TERM; true); timeout -k 100 0.05 sleep 100; echo $?; x=$(trap "echo t" TERM; echo y); timeout -k 100 0.05 sleep 100; echo $x $?`, "143\ny 143\n", 0},
		{`trap "echo outer" USR1; (trap "echo inner" USR1; true); kill -USR1 $$; (trap - USR1; true); kill -USR1 $$; (kill -USR1 $$; echo in); trap`, "outer\nouter\nin\nouter\ntrap -- 'echo outer' USR1\n", 0},
		{`timeout -s NOPE 1 true 2>&1; timeout -k x 1 true 2>&1; timeout 100 sh -c 'exit 5'; echo $?`, "timeout: invalid signal 'NOPE'\ntimeout: invalid number 'x'\n5\n", 0},
		{`seq 3 | xargs echo; printf 'a b\n' | xargs -n1 echo; echo x | xargs -I{} echo '[{}]'`, "1 2 3\na\nb\n[x]\n", 0},
		{`yes | head -2`, "y\ny\n", 0},
		{"read x <<EOF\n  a b  \nEOF\necho \"[$x]\"", "[a b]\n", 0},
		{`exec echo replaced; echo no`, "replaced\n", 0},
		{`echo a; exec 2>&1; nosuch; echo $?`, "a\nsh: nosuch: not found\n127\n", 0},
		{`sh -c 'if'; echo $?`, "2\n", 0},
		{`f() { f; }; f`, "", 139},
		{`echo "a\"b\$c\\d"`, "a\"b$c\\d\n", 0},
		{`echo $'a\tb\n'`, "a\tb\n\n", 0},
		{`x='*'; echo "$x" $x | grep -c .`, "1\n", 0},
		{`unset x; echo "${x-a b}" ${x-a b}; set -- ${x-"a b"}; echo $#`, "a b a b\n1\n", 0},
		{`umask 077; touch f; mkdir d; ls -ld f d | cut -c1-10`, "-rw-------\ndrwx------\n", 0},
		{`echo $(( $(echo 1) + 010 ))`, "9\n", 0},
		{`n=0; for i in $(seq 100); do n=$((n+i)); done; echo $n`, "5050\n", 0},
		{`echo one >/dev/stdout; echo two | cat /dev/stdin; echo three >/proc/self/fd/1`, "one\ntwo\nthree\n", 0},
		{`{ sleep 0.01; echo 'x=1; echo sourced'; } | { . /dev/stdin; echo $x; }; echo 'echo run $1' | sh /dev/stdin a`, "sourced\n1\nrun a\n", 0},
		{`echo abc >f; echo b | grep -f /dev/stdin f; . /dev/zero; echo $?`, "abc\n", 2},
		{`head -c 3 /dev/zero | wc -c; head -c 5 /dev/urandom | wc -c`, "3\n5\n", 0},
		{`select x in a; do :; done; echo no`, "", 2},
		{`cat <(echo x)`, "", 2},
		{`echo 'read x; echo "got $x"
data
echo next' | sh`, "got data\nnext\n", 0},
		// The status of the command before is the one that a trap, a function, eval, a file, a
		// branch or a loop begins with.
		{`trap 'rc=$?; echo cleanup $rc; exit $rc' EXIT; false`, "cleanup 1\n", 1},
		{`trap exit EXIT; exit 3`, "", 3},
		{`trap 'false; exit' EXIT; exit 3`, "", 3},
		{`trap 'echo $?; false; exit' TERM; (exit 5); kill $$`, "0\n", 0},
		{`f() { echo $?; return $?; }; false; f`, "1\n", 0},
		{`f() { return $?; }; false; f`, "", 1},
		{`f() { return; }; false; f; echo $?; false; eval 'echo $?'; false; eval ''; echo $?`, "1\n1\n0\n", 0},
		{`echo 'echo $?' >f; : >g; false; . ./f; false; . ./g; echo $?; alias a='echo $?'; false; a`, "1\n0\n1\n", 0},
		{`if false; then :; else echo $?; fi; if false; then :; elif false; then :; fi; echo $?`, "1\n0\n", 0},
		{`false; case a in a) echo $?;; esac; false; case a in a) ;; esac; echo $?; false; case a in b) ;; esac; echo $?`, "1\n0\n0\n", 0},
		{`false; for i in a b; do echo $?; done; false; for i in; do :; done; echo $?; false; for ((i=0; i<1; i++)); do echo $?; done`, "1\n0\n0\n1\n", 0},
		// errexit does not spare a function, eval or a file whose last command was tested.
		{`set -e; f() { [ 1 = 2 ] && echo x; }; f; echo no`, "", 1},
		{`set -e; f() { ! true; }; f; echo no`, "", 1},
		{`set -e; eval 'false && true'; echo no`, "", 1},
		{`set -e; command eval 'false && true'; echo no`, "", 1},
		{`set -e; echo 'false && true' >f; . ./f; echo no`, "", 1},
		{`set -e; f() { false && true; }; f || echo a; if f; then :; fi; ! f; { f && f; }; echo b`, "a\nb\n", 0},
		{`set -e; trap : TERM; { ! kill $$; }; for i in 1; do false && true; done; echo yes`, "yes\n", 0},
		// After a loop, what counts is whether the last command of the body was tested, not the condition.
		{`printf 'a\n\n' >f; set -e; trap 'echo ERR' ERR; while read l; do [ -n "$l" ] && echo "$l"; done <f; echo done`, "a\ndone\n", 0},
		{`set -e; i=0; until [ $i = 1 ]; do i=1; false && true; done; echo $?; while [ $i = 1 ]; do i=2; false; done; echo no`, "1\n", 1},
		// Single quotes are no quotes in a word that is in double quotes.
		{`echo "${x:-'a'}" "${x:-"'a'"}" "${x:-${y:-'a  b'}}" "${x:-'$HOME'}" ${x:-'a  b'}; y=abc; echo "${y#'a'}" "${y+'z'}"; echo "${x:='q'}" "$x"`,
			"'a' 'a' 'a  b' '/root' a  b\nbc 'z'\n'q' 'q'\n", 0},
		{`false; command eval 'echo $?'; false; command exit`, "1\n", 1},
	} {
		t.Run(tt.script, func(t *testing.T) {
			stdout, stderr, status := script(t, tt.script)
			if stdout != tt.want || status != tt.status {
				t.Errorf("status %d, want %d; output:\n%s\nwant:\n%s\nerrors: %s", status, tt.status, stdout, tt.want, stderr)
			}
		})
	}
}

// TestDone checks that a command that is killed before it starts is like one
// that is killed later.
func TestDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := Run(ctx, Config{Args: []string{"sh", "-c", "echo x"}})
	if want := (Result{ExitCode: 137, Reason: Error}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestUnknownProgram(t *testing.T) {
	_, err := Run(t.Context(), Config{Args: []string{"nginx", "-g", "daemon off;"}})
	if err == nil || !strings.Contains(err.Error(), `exec: "nginx": executable file not found in $PATH`) {
		t.Errorf("got %v", err)
	}
}
