package shell

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func env(p *proc, args []string) int {
	rest := args[1:]
	for len(rest) > 0 {
		switch arg := rest[0]; {
		case arg == "-i" || arg == "-" || arg == "--ignore-environment":
			p.env = nil
		case arg == "-u" && len(rest) > 1:
			rest = rest[1:]
			p.env = slices.DeleteFunc(slices.Clone(p.env), func(kv string) bool { return strings.HasPrefix(kv, rest[0]+"=") })
		case arg == "--":
		case strings.HasPrefix(arg, "-S"):
			rest = append([]string{""}, append(strings.Fields(arg[2:]), rest[1:]...)...)
		case strings.HasPrefix(arg, "-"):
			return p.fail("unrecognized option: %s", arg)
		case strings.Contains(arg, "="):
			name, _, _ := strings.Cut(arg, "=")
			p.env = append(slices.DeleteFunc(slices.Clone(p.env), func(kv string) bool { return strings.HasPrefix(kv, name+"=") }), arg)
		default:
			return p.child(rest)
		}
		rest = rest[1:]
	}
	for _, kv := range p.env {
		p.print(kv + "\n")
	}
	return 0
}

func printenv(p *proc, args []string) int {
	if len(args) == 1 {
		return env(p, args)
	}
	status := 0
	for _, name := range args[1:] {
		if !slices.ContainsFunc(p.env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			status = 1
			continue
		}
		p.print(p.getenv(name) + "\n")
	}
	return status
}

// sleepTime adds up the arguments of sleep; forever is negative.
func sleepTime(args []string) (time.Duration, error) {
	if len(args) == 0 {
		return 0, fmt.Errorf("missing operand")
	}
	total := time.Duration(0)
	for _, arg := range args {
		if arg == "infinity" || arg == "inf" {
			return -1, nil
		}
		unit, number := time.Second, arg
		if n := len(arg); n > 0 {
			if u, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[arg[n-1]]; ok {
				unit, number = u, arg[:n-1]
			}
		}
		x, err := strconv.ParseFloat(number, 64)
		if err != nil || x < 0 || math.IsNaN(x) || strings.ContainsAny(number, "xXpP_") {
			return 0, fmt.Errorf("invalid number '%s'", arg)
		}
		if x*float64(unit) > float64(math.MaxInt64/2) || total > math.MaxInt64/2 {
			return -1, nil
		}
		total += time.Duration(x * float64(unit))
	}
	return total, nil
}

func sleep(p *proc, args []string) int {
	d, err := sleepTime(args[1:])
	if err != nil {
		return p.fail("%v", err)
	}
	if path.Base(args[0]) == "usleep" {
		d /= 1e6
	}
	if d < 0 {
		p.idle(func() { <-p.ctx.Done() })
	}
	p.idle(func() { p.wait(d) })
	return 0
}

// parseDate understands what date -d is mostly given.
func parseDate(s string) (time.Time, error) {
	if seconds, ok := strings.CutPrefix(s, "@"); ok {
		if n, err := strconv.ParseInt(seconds, 10, 64); err == nil {
			return time.Unix(n, 0), nil
		}
	}
	now := time.Now().UTC()
	switch s {
	case "now", "today", "":
		return now, nil
	case "yesterday":
		return now.AddDate(0, 0, -1), nil
	case "tomorrow":
		return now.AddDate(0, 0, 1), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02", time.RFC1123Z, time.RFC1123, time.UnixDate, "15:04:05", "15:04"} {
		t, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		if t.Year() == 0 {
			t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
		}
		return t, nil
	}
	fields := strings.Fields(strings.TrimSuffix(s, " ago"))
	if len(fields) == 2 {
		n, err := strconv.Atoi(fields[0])
		unit, ok := map[string]time.Duration{"second": time.Second, "sec": time.Second, "minute": time.Minute, "min": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}[strings.TrimSuffix(fields[1], "s")]
		if err == nil && ok && n > -1e6 && n < 1e6 {
			if strings.HasSuffix(s, " ago") {
				n = -n
			}
			return now.Add(time.Duration(n) * unit), nil
		}
	}
	return time.Time{}, fmt.Errorf("invalid date '%s'", s)
}

func date(p *proc, args []string) int {
	f, rest, ok := p.parseFlags(args, "uRId:r:s:D:", map[string]byte{"utc": 'u', "date": 'd', "reference": 'r', "iso-8601": 'I', "rfc-email": 'R', "rfc-2822": 'R'})
	if !ok {
		return 1
	}
	if f.has('s') {
		return p.fail("can't set date: %s", errText(syscall.EPERM))
	}
	t := time.Now()
	if f.has('d') {
		var err error
		if t, err = parseDate(f['d']); err != nil {
			return p.fail("%v", err)
		}
	}
	if f.has('r') {
		info, err := p.m.fs.stat(p.cred, p.abs(f['r']), true)
		if err != nil {
			return p.fail("%s: %s", f['r'], errText(err))
		}
		t = info.modTime
	}
	t = t.UTC() // containers have no time zone
	format := "%a %b %e %H:%M:%S %Z %Y"
	switch {
	case f.has('R'):
		format = "%a, %d %b %Y %H:%M:%S %z"
	case f['I'] == "seconds" || f['I'] == "s":
		format = "%Y-%m-%dT%H:%M:%S+00:00"
	case f.has('I'):
		format = "%Y-%m-%d"
	}
	for _, arg := range rest {
		switch {
		case strings.HasPrefix(arg, "+"):
			format = arg[1:]
		case f.has('I') && strings.HasPrefix(arg, "seconds"):
			format = "%Y-%m-%dT%H:%M:%S+00:00"
		default:
			return p.fail("invalid date '%s'", arg)
		}
	}
	p.print(strftime(format, t) + "\n")
	return 0
}

// strftime formats a time as date +format does.
func strftime(format string, t time.Time) string {
	layouts := map[byte]string{
		'Y': "2006", 'm': "01", 'd': "02", 'e': "_2", 'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'y': "06", 'B': "January", 'b': "Jan", 'h': "Jan",
		'A': "Monday", 'a': "Mon", 'Z': "MST", 'z': "-0700", 'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", 'D': "01/02/06", 'c': "Mon Jan _2 15:04:05 2006",
		'x': "01/02/06", 'X': "15:04:05", 'r': "03:04:05 PM", 'j': "002",
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		if format[i] == '-' && i+1 < len(format) {
			i++
			b.WriteString(strings.TrimLeft(t.Format(layouts[format[i]]), "0 "))
			continue
		}
		digits := 9
		if format[i] >= '1' && format[i] <= '9' && i+1 < len(format) && format[i+1] == 'N' {
			digits = int(format[i] - '0')
			i++
		}
		switch c := format[i]; c {
		case 's':
			b.WriteString(strconv.FormatInt(t.Unix(), 10))
		case 'N':
			b.WriteString(fmt.Sprintf("%09d", t.Nanosecond())[:digits])
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case '%':
			b.WriteByte('%')
		case 'u':
			b.WriteString(strconv.Itoa((int(t.Weekday())+6)%7 + 1))
		case 'w':
			b.WriteString(strconv.Itoa(int(t.Weekday())))
		default:
			if layout, ok := layouts[c]; ok {
				b.WriteString(t.Format(layout))
			} else {
				b.WriteString("%" + string([]byte{c}))
			}
		}
	}
	return b.String()
}

func hostname(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "isfdI", nil)
	if !ok {
		return 1
	}
	if len(names) > 0 {
		return p.fail("sethostname: %s", errText(syscall.EPERM))
	}
	name := p.m.cfg.Hostname
	switch {
	case f.has('i') || f.has('I'):
		for _, fields := range p.m.hosts() {
			if slices.Contains(fields[1:], name) {
				p.print(fields[0] + "\n")
				return 0
			}
		}
		p.print("127.0.0.1\n")
		return 0
	case f.has('s'):
		name, _, _ = strings.Cut(name, ".")
	}
	p.print(name + "\n")
	return 0
}

// hosts returns the lines of /etc/hosts as fields.
func (m *machine) hosts() (list [][]string) {
	for _, entry := range m.entries("/etc/hosts") {
		line, _, _ := strings.Cut(strings.Join(entry, ":"), "#")
		if fields := strings.Fields(line); len(fields) > 1 {
			list = append(list, fields)
		}
	}
	return list
}

func id(p *proc, args []string) int {
	program := path.Base(args[0])
	f, _, ok := p.parseFlags(args, "ugGnr", map[string]byte{"user": 'u', "group": 'g', "groups": 'G', "name": 'n'})
	if !ok {
		return 1
	}
	uid, gid := int(p.cred.uid), int(p.cred.gid)
	userName, hasUser := "", false
	if u, ok := p.m.userByID(uid); ok {
		userName, hasUser = u.name, true
	}
	groups := []int{gid}
	for _, g := range p.cred.groups {
		if !slices.Contains(groups, int(g)) {
			groups = append(groups, int(g))
		}
	}
	groupText := func(g int) string { return cmp.Or(p.m.groupName(g), strconv.Itoa(g)) }
	switch {
	case program == "whoami" || f.has('u') && f.has('n'):
		if !hasUser {
			return p.fail("unknown uid %d", uid)
		}
		p.print(userName + "\n")
	case f.has('u'):
		p.printf("%d\n", uid)
	case f.has('g') && f.has('n'):
		p.print(groupText(gid) + "\n")
	case f.has('g'):
		p.printf("%d\n", gid)
	case program == "groups" || f.has('G'):
		var list []string
		for _, g := range groups {
			if f.has('G') && !f.has('n') {
				list = append(list, strconv.Itoa(g))
			} else {
				list = append(list, groupText(g))
			}
		}
		p.print(strings.Join(list, " ") + "\n")
	default:
		named := func(n int, name string) string {
			if name == "" {
				return strconv.Itoa(n)
			}
			return fmt.Sprintf("%d(%s)", n, name)
		}
		var list []string
		for _, g := range groups {
			list = append(list, named(g, p.m.groupName(g)))
		}
		p.printf("uid=%s gid=%s groups=%s\n", named(uid, userName), named(gid, p.m.groupName(gid)), strings.Join(list, ","))
	}
	return 0
}

func uname(p *proc, args []string) int {
	f, _, ok := p.parseFlags(args, "asnrvmpo", nil)
	if !ok {
		return 1
	}
	if path.Base(args[0]) == "arch" {
		f = flags{'m': ""}
	}
	var list []string
	for _, part := range []struct {
		flag byte
		text string
	}{{'s', "Linux"}, {'n', p.m.cfg.Hostname}, {'r', "6.1.0-simulated"}, {'v', "#1 ctrlplane"}, {'m', "x86_64"}, {'o', "GNU/Linux"}} {
		if f.has(part.flag) || f.has('a') || len(f) == 0 && part.flag == 's' {
			list = append(list, part.text)
		}
	}
	p.print(strings.Join(list, " ") + "\n")
	return 0
}

func nproc(p *proc, _ []string) int {
	p.print("1\n")
	return 0
}

func kill(p *proc, args []string) int {
	sig, rest := syscall.SIGTERM, args[1:]
	if len(rest) > 0 && rest[0] == "-l" {
		p.print(strings.Join(signalNames[1:], " ") + "\n")
		return 0
	}
	if len(rest) > 0 && strings.HasPrefix(rest[0], "-") && len(rest[0]) > 1 && rest[0] != "--" {
		name := rest[0][1:]
		if (name == "s" || name == "n") && len(rest) > 1 {
			name, rest = rest[1], rest[1:]
		}
		var ok bool
		if sig, ok = parseSignal(name); !ok {
			p.errorf("kill: bad signal name '%s'", name)
			return 1
		}
		rest = rest[1:]
	}
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		p.errorf("kill: you need to specify whom to kill")
		return 1
	}
	status := 0
	for _, arg := range rest {
		pid, err := strconv.Atoi(arg)
		if err != nil {
			p.errorf("kill: invalid number '%s'", arg)
			status = 1
			continue
		}
		if pid <= 0 { // a process group; there is one
			for _, other := range p.m.table.list() {
				if other.pid != 1 && other.m == p.m {
					other.signal(sig)
				}
			}
			continue
		}
		target := p.m.table.find(pid)
		if target == nil {
			p.errorf("kill: can't kill pid %d: %s", pid, errText(syscall.ESRCH))
			status = 1
			continue
		}
		if pid == 1 && sig == syscall.SIGKILL && target.m.cfg.IgnoreUntrapped {
			continue // as in a container: PID 1 cannot be killed from within
		}
		target.signal(sig)
	}
	p.abortIfDone()
	return status
}

func ps(p *proc, _ []string) int {
	p.print("PID   USER     TIME  COMMAND\n")
	for _, other := range p.m.table.list() {
		user := strconv.Itoa(int(other.m.cred.uid))
		if u, ok := p.m.userByID(int(other.m.cred.uid)); ok {
			user = u.name
		}
		p.printf("%5d %-8s  0:00 %s\n", other.pid, user, strings.Join(other.commandLine(), " "))
	}
	return 0
}

// commandLine returns the arguments of a process, which exec may change.
func (p *proc) commandLine() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.args
}

// pgrep is pgrep, pkill, killall and pidof.
func pgrep(p *proc, args []string) int {
	program := path.Base(args[0])
	sig, full, rest := syscall.SIGTERM, false, args[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && len(rest[0]) > 1 {
		if s, ok := parseSignal(rest[0][1:]); ok && (program == "pkill" || program == "killall") {
			sig = s
		} else {
			full = full || strings.Contains(rest[0], "f")
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return p.fail("no pattern")
	}
	var found []string
	for _, other := range p.m.table.list() {
		command := other.commandLine()
		if other.pid == p.pid || len(command) == 0 {
			continue
		}
		name := path.Base(command[0])
		matched := slices.Contains(rest, name)
		if program == "pgrep" || program == "pkill" {
			text := name
			if full {
				text = strings.Join(command, " ")
			}
			matched = strings.Contains(text, rest[0])
		}
		if !matched {
			continue
		}
		found = append(found, strconv.Itoa(other.pid))
		if program == "pkill" || program == "killall" {
			other.signal(sig)
		}
	}
	p.abortIfDone()
	switch {
	case len(found) == 0:
		if program == "killall" {
			return p.fail("%s: no process killed", rest[0])
		}
		return 1
	case program == "pgrep":
		p.print(strings.Join(found, "\n") + "\n")
	case program == "pidof":
		slices.Reverse(found)
		p.print(strings.Join(found, " ") + "\n")
	}
	return 0
}

func timeout(p *proc, args []string) int {
	sig, rest := syscall.SIGTERM, args[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		switch {
		case (rest[0] == "-s" || rest[0] == "-k") && len(rest) > 1:
			if s, ok := parseSignal(rest[1]); ok && rest[0] == "-s" {
				sig = s
			}
			rest = rest[1:]
		case strings.HasPrefix(rest[0], "-t") && len(rest[0]) > 2:
			rest[0] = rest[0][2:]
			continue
		}
		rest = rest[1:]
	}
	if len(rest) < 2 {
		return p.fail("missing operand")
	}
	d, err := sleepTime(rest[:1])
	if err != nil {
		return p.fail("%v", err)
	}
	ctx, cancel := context.WithCancelCause(p.ctx)
	defer cancel(nil)
	if d > 0 {
		timer := time.AfterFunc(d, func() { cancel(killed(sig)) })
		defer timer.Stop()
	}
	defer p.enter()()
	run, status, err := p.find(rest[1:], p.getenv("PATH"))
	if err != nil {
		p.fail("%v", err)
		return status
	}
	c, err := p.m.newProc(ctx, p, rest[1:])
	if err != nil {
		return p.fail("can't fork: %s", errText(err))
	}
	c.fds, c.level = p.fds.dup(), p.level
	status = c.finish(func() int { return run(c, rest[1:]) })
	p.since = c.since
	p.abortIfDone()
	if ctx.Err() != nil {
		return 128 + int(sig)
	}
	return status
}

func nohup(p *proc, args []string) int {
	if len(args) < 2 {
		return p.fail("missing operand")
	}
	p.mu.Lock()
	p.ignored |= signalBits("HUP")
	p.mu.Unlock()
	return p.child(args[1:])
}

func uptime(p *proc, _ []string) int {
	up := time.Duration(0)
	if first := p.m.table.find(1); first != nil {
		up = time.Since(first.start)
	}
	p.printf(" %s up %d min,  load average: 0.00, 0.00, 0.00\n", time.Now().UTC().Format("15:04:05"), int(up.Minutes()))
	return 0
}

func tty(p *proc, _ []string) int {
	if !p.isTerminal(0) {
		p.print("not a tty\n")
		return 1
	}
	p.print("/dev/tty\n")
	return 0
}

func clearScreen(p *proc, _ []string) int {
	p.print("\x1b[H\x1b[2J")
	return 0
}

func getent(p *proc, args []string) int {
	if len(args) < 2 {
		return p.fail("missing operand")
	}
	switch args[1] {
	case "passwd", "group":
		status := 0
		for _, f := range p.m.entries("/etc/" + args[1]) {
			if len(args) == 2 || f[0] == args[2] || len(f) > 2 && f[2] == args[2] {
				p.print(strings.Join(f, ":") + "\n")
				if len(args) > 2 {
					return 0
				}
			}
		}
		if len(args) > 2 {
			status = 2
		}
		return status
	case "hosts", "ahosts":
		if len(args) < 3 {
			for _, fields := range p.m.hosts() {
				p.print(strings.Join(fields, " ") + "\n")
			}
			return 0
		}
		addresses, err := p.resolve(args[2])
		if err != nil || len(addresses) == 0 {
			return 2
		}
		p.printf("%-15s %s\n", addresses[0], args[2])
		return 0
	}
	return p.fail("unknown database: %s", args[1])
}

// errNoNetwork says why something cannot reach the network.
var errNoNetwork = errors.New("this container is simulated and has no network")

func noNetwork(p *proc, _ []string) int { return p.fail("%v", errNoNetwork) }

// resolve looks a host up: in /etc/hosts, then among the Services.
func (p *proc) resolve(host string) (addresses []string, err error) {
	for _, fields := range p.m.hosts() {
		if slices.Contains(fields[1:], host) {
			addresses = append(addresses, fields[0])
		}
	}
	if len(addresses) > 0 {
		return addresses, nil
	}
	if p.m.cfg.Lookup == nil {
		return nil, errNoNetwork
	}
	p.idle(func() { addresses, err = p.m.cfg.Lookup(p.ctx, host) })
	return addresses, err
}

func nslookup(p *proc, args []string) int {
	_, names, ok := p.parseFlags(args, "", map[string]byte{})
	if !ok {
		return 1
	}
	if len(names) == 0 {
		return p.fail("missing operand")
	}
	addresses, err := p.resolve(names[0])
	p.print("Server:\t\tsimulated\nAddress:\tsimulated\n\n")
	if err != nil || len(addresses) == 0 {
		why := ""
		if err != nil {
			why = ": " + err.Error()
		}
		p.printf("** server can't find %s: NXDOMAIN%s\n\n", names[0], why)
		return 1
	}
	for _, address := range addresses {
		p.printf("Name:\t%s\nAddress: %s\n", names[0], address)
	}
	p.print("\n")
	return 0
}

// fetch is wget and curl.
func fetch(p *proc, args []string) int {
	curl := path.Base(args[0]) == "curl"
	spec, long := "qO:T:St:cP:U:Y:n", map[string]byte{"quiet": 'q', "output-document": 'O', "timeout": 'T', "spider": 's', "no-check-certificate": 'n', "tries": 't', "header": 'U', "post-data": 'x'}
	if curl {
		spec = "sSfko:LIiX:m:H:d:w:vu:ON4"
		long = map[string]byte{"silent": 's', "show-error": 'S', "fail": 'f', "insecure": 'k', "output": 'o', "location": 'L', "max-time": 'm', "connect-timeout": 'm', "header": 'H', "request": 'X', "data": 'd', "write-out": 'w', "head": 'I', "include": 'i', "verbose": 'v', "retry": 'm', "cacert": 'm'}
	}
	f, urls, ok := p.parseFlags(args, spec, long)
	if !ok {
		return 2
	}
	if len(urls) == 0 {
		return p.fail("missing URL")
	}
	if curl && (f.has('d') || f.has('X') && f['X'] != "GET") || !curl && f.has('x') {
		return p.fail("only GET is simulated")
	}
	status := 0
	for _, url := range urls {
		if n := p.fetchOne(url, f, curl); n != 0 {
			status = n
		}
	}
	return status
}

func (p *proc) fetchOne(url string, f flags, curl bool) int {
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	if p.m.cfg.Get == nil {
		p.fail("%v", errNoNetwork)
		return 1
	}
	ctx := p.ctx
	if seconds, err := strconv.ParseFloat(cmp.Or(f['T'], f['m']), 64); err == nil && seconds > 0 && seconds < 1e6 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
		defer cancel()
	}
	code, body, err := 0, []byte(nil), error(nil)
	p.idle(func() { code, body, err = p.m.cfg.Get(ctx, url) })
	p.hold(len(body))
	defer p.hold(-len(body))
	if err != nil {
		if curl {
			if !f.has('s') || f.has('S') {
				p.errorf("curl: (7) %v", err)
			}
			return 7
		}
		return p.fail("%v", err)
	}
	if !curl && (code < 200 || code > 299) {
		return p.fail("server returned error: HTTP/1.1 %d", code)
	}
	if curl && f.has('f') && code >= 400 {
		if !f.has('s') || f.has('S') {
			p.errorf("curl: (22) The requested URL returned error: %d", code)
		}
		return 22
	}
	return p.saveBody(url, f, curl, code, body)
}

// saveBody writes what was fetched to where the options say.
func (p *proc) saveBody(url string, f flags, curl bool, code int, body []byte) int {
	name := f['o']
	if !curl {
		if f.has('s') {
			return 0 // --spider
		}
		if name = f['O']; name == "" {
			_, rest, _ := strings.Cut(url, "://")
			if name = path.Base(rest); !strings.Contains(rest, "/") || strings.HasSuffix(rest, "/") {
				name = "index.html"
			}
		}
	}
	if curl && (f.has('I') || f.has('i')) {
		p.printf("HTTP/1.1 %d\r\n\r\n", code)
	}
	var out io.Writer = p.stdout()
	if name != "" && name != "-" {
		file, err := p.create(name, syscall.O_TRUNC)
		if err != nil {
			return p.fail("can't open '%s': %s", name, errText(err))
		}
		defer file.close()
		out = file
	}
	if !f.has('I') || !curl {
		if _, err := out.Write(body); err != nil {
			return p.fail("write error: %s", errText(err))
		}
	}
	if curl && f.has('w') {
		text, _ := expandEscapes(strings.NewReplacer("%{http_code}", strconv.Itoa(code), "%{response_code}", strconv.Itoa(code), "%{size_download}", strconv.Itoa(len(body))).Replace(f['w']))
		p.print(text)
	}
	return 0
}

func base64Program(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "dDiw:", map[string]byte{"decode": 'd', "wrap": 'w'})
	if !ok {
		return 1
	}
	width := 76
	if f.has('w') {
		n, err := strconv.Atoi(f['w'])
		if err != nil || n < 0 {
			return p.fail("invalid number '%s'", f['w'])
		}
		width = n
	}
	return p.eachInput(names, func(_ string, r io.Reader) error {
		if f.has('d') || f.has('D') {
			return p.copy(p.stdout(), base64.NewDecoder(base64.StdEncoding, r))
		}
		wrapped := &wrapper{w: p.output(), width: width}
		encoder := base64.NewEncoder(base64.StdEncoding, wrapped)
		if err := p.copy(encoder, r); err != nil {
			return err
		}
		if err := encoder.Close(); err != nil {
			return err
		}
		return wrapped.finish()
	})
}

// wrapper breaks lines.
type wrapper struct {
	w interface {
		io.Writer
		Flush() error
	}
	width, at int
}

// Write implements [io.Writer].
func (w *wrapper) Write(b []byte) (int, error) {
	written := len(b)
	for len(b) > 0 {
		n := len(b)
		if w.width > 0 {
			if w.at == w.width {
				if _, err := w.w.Write([]byte("\n")); err != nil {
					return 0, err
				}
				w.at = 0
			}
			n = min(n, w.width-w.at)
		}
		if _, err := w.w.Write(b[:n]); err != nil {
			return 0, err
		}
		w.at += n
		b = b[n:]
	}
	return written, nil
}

func (w *wrapper) finish() error {
	if w.at > 0 && w.width > 0 {
		if _, err := w.w.Write([]byte("\n")); err != nil {
			return err
		}
	}
	return w.w.Flush()
}

func checksum(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "cbtsw", map[string]byte{"check": 'c', "status": 's'})
	if !ok {
		return 1
	}
	newHash := map[string]func() hash.Hash{"md5sum": md5.New, "sha1sum": sha1.New, "sha256sum": sha256.New, "sha512sum": sha512.New}[path.Base(args[0])]
	sum := func(r io.Reader) (string, error) {
		h := newHash()
		err := p.copy(h, r)
		return hex.EncodeToString(h.Sum(nil)), err
	}
	if f.has('c') {
		failed := 0
		status := p.eachInput(names, func(_ string, r io.Reader) error {
			return p.lines(r, func(line []byte, _ bool) bool {
				want, name, ok := strings.Cut(string(line), " ")
				if !ok {
					return true
				}
				name = strings.TrimLeft(name, " *")
				got := ""
				if err := p.withInput(name, func(r io.Reader) (err error) { got, err = sum(r); return err }); err != nil {
					p.fail("can't open '%s': %s", name, errText(err))
				}
				result := "OK"
				if got != want {
					result = "FAILED"
					failed++
				}
				if !f.has('s') {
					p.print(name + ": " + result + "\n")
				}
				return true
			})
		})
		if failed > 0 {
			return p.fail("WARNING: %d of the computed checksums did NOT match", failed)
		}
		return status
	}
	return p.eachInput(names, func(name string, r io.Reader) error {
		text, err := sum(r)
		if err == nil {
			p.printf("%s  %s\n", text, name)
		}
		return err
	})
}

func expr(p *proc, args []string) int {
	e := exprParser{p: p, args: args[1:]}
	v := e.or()
	if e.err == "" && (e.pos < len(e.args) || len(e.args) == 0) {
		e.err = "syntax error"
	}
	if e.err != "" {
		p.errorf("expr: %s", e.err)
		return 2
	}
	p.print(v + "\n")
	if v == "" || v == "0" {
		return 1
	}
	return 0
}

// exprParser evaluates the operands of expr.
type exprParser struct {
	p     *proc
	args  []string
	pos   int
	depth int
	err   string
}

func (e *exprParser) accept(ops ...string) string {
	if e.err == "" && e.pos < len(e.args) && slices.Contains(ops, e.args[e.pos]) {
		e.pos++
		return e.args[e.pos-1]
	}
	return ""
}

func (e *exprParser) or() string {
	v := e.and()
	for e.accept("|") != "" {
		if right := e.and(); v == "" || v == "0" {
			v = right
		}
	}
	return v
}

func (e *exprParser) and() string {
	v := e.comparison()
	for e.accept("&") != "" {
		if right := e.comparison(); v == "" || v == "0" || right == "" || right == "0" {
			v = "0"
		}
	}
	return v
}

func (e *exprParser) comparison() string {
	v := e.sum()
	for {
		op := e.accept("=", "==", "!=", "<", "<=", ">", ">=")
		if op == "" {
			return v
		}
		right := e.sum()
		n := strings.Compare(v, right)
		a, err1 := strconv.ParseInt(v, 10, 64)
		b, err2 := strconv.ParseInt(right, 10, 64)
		if err1 == nil && err2 == nil {
			n = cmp.Compare(a, b)
		}
		v = strconv.FormatInt(truth(map[string]bool{"=": n == 0, "==": n == 0, "!=": n != 0, "<": n < 0, "<=": n <= 0, ">": n > 0, ">=": n >= 0}[op]), 10)
	}
}

func (e *exprParser) number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil && e.err == "" {
		e.err = "non-integer argument"
	}
	return n
}

func (e *exprParser) sum() string {
	v := e.product()
	for {
		switch e.accept("+", "-") {
		case "+":
			v = strconv.FormatInt(e.number(v)+e.number(e.product()), 10)
		case "-":
			v = strconv.FormatInt(e.number(v)-e.number(e.product()), 10)
		default:
			return v
		}
	}
}

func (e *exprParser) product() string {
	v := e.match()
	for {
		op := e.accept("*", "/", "%")
		if op == "" {
			return v
		}
		a, b := e.number(v), e.number(e.match())
		switch {
		case op == "*":
			a *= b
		case b == 0:
			if e.err == "" {
				e.err = "division by zero"
			}
		case op == "/":
			a /= b
		default:
			a %= b
		}
		v = strconv.FormatInt(a, 10)
	}
}

func (e *exprParser) match() string {
	v := e.primary()
	for e.accept(":") != "" {
		v = e.regexp(v, e.primary())
	}
	return v
}

func (e *exprParser) regexp(s, pattern string) string {
	translated, err := translateRegexp(pattern, false)
	if err != nil {
		e.err = err.Error()
		return ""
	}
	re, err := compileRegexp(e.p, "^(?:"+translated+")")
	if err != nil {
		e.err = err.Error()
		return ""
	}
	if !re.charge(e.p, len(s)) {
		e.err = "argument too long for this regular expression in the simulation"
		return ""
	}
	m := re.re.FindStringSubmatchIndex(s)
	if re.re.NumSubexp() > 0 {
		if m == nil {
			return ""
		}
		return group(s, m, 1)
	}
	if m == nil {
		return "0"
	}
	return strconv.Itoa(len([]rune(s[m[0]:m[1]])))
}

func (e *exprParser) primary() string {
	if e.err != "" || e.pos >= len(e.args) {
		if e.err == "" {
			e.err = "syntax error"
		}
		return ""
	}
	e.p.step(1)
	arg := e.args[e.pos]
	e.pos++
	switch arg {
	case "(":
		if e.depth++; e.depth > 50 {
			e.err = "nested too deeply"
			return ""
		}
		v := e.or()
		e.depth--
		if e.accept(")") == "" && e.err == "" {
			e.err = "syntax error"
		}
		return v
	case "length":
		if e.pos < len(e.args) {
			return strconv.Itoa(len([]rune(e.next())))
		}
	case "match":
		if e.pos+1 < len(e.args) {
			s := e.next()
			return e.regexp(s, e.next())
		}
	case "index":
		if e.pos+1 < len(e.args) {
			s := e.next()
			return strconv.Itoa(strings.IndexAny(s, e.next()) + 1)
		}
	case "substr":
		if e.pos+2 < len(e.args) {
			s := []rune(e.next())
			from := e.number(e.next())
			n := e.number(e.next())
			if from < 1 || n < 1 || from > int64(len(s)) {
				return ""
			}
			return string(s[from-1 : min(int64(len(s)), from-1+min(n, int64(len(s))))])
		}
	}
	return arg
}

func (e *exprParser) next() string {
	e.pos++
	return e.args[e.pos-1]
}
