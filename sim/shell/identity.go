package shell

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func hostname(p *proc, args []string) int {
	f, names := p.parseFlags(args, "isfI", nil)
	if len(names) > 0 {
		return p.fail("sethostname: %s", errText(syscall.EPERM))
	}
	name := p.m.cfg.Hostname
	entry := []string{"127.0.0.1", name} // of /etc/hosts: the address, the full name, others
	for _, fields := range p.m.hosts() {
		if slices.Contains(fields[1:], name) {
			entry = fields
			break
		}
	}
	switch {
	case f.has('i') || f.has('I'):
		name = entry[0]
	case f.has('s'):
		name, _, _ = strings.Cut(name, ".")
	case f.has('f'):
		name = entry[1]
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
	f, names := p.parseFlags(args, "ugGnr", map[string]byte{"user": 'u', "group": 'g', "groups": 'G', "name": 'n'})
	uid, gid := int(p.cred.uid), int(p.cred.gid)
	userName, hasUser := "", false
	supplementary := p.cred.groups
	if len(names) > 0 {
		u, ok := p.m.userByName(names[0])
		if !ok {
			return p.fail("unknown user %s", names[0])
		}
		uid, gid, supplementary = u.uid, u.gid, nil
	}
	if u, ok := p.m.userByID(uid); ok {
		userName, hasUser = u.name, true
	}
	groups := []int{gid}
	for _, g := range supplementary {
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
	f, _ := p.parseFlags(args, "asnrvmo", nil)
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

func uptime(p *proc, args []string) int {
	p.parseFlags(args, "", nil)
	up := time.Duration(0)
	if first := p.m.table.find(1); first != nil {
		up = time.Since(first.start)
	}
	p.printf(" %s up %d min,  load average: 0.00, 0.00, 0.00\n", time.Now().UTC().Format("15:04:05"), int(up.Minutes()))
	return 0
}

func tty(p *proc, args []string) int {
	f, _ := p.parseFlags(args, "s", map[string]byte{"silent": 's', "quiet": 's'})
	text, status := "/dev/tty\n", 0
	if !p.isTerminal(0) {
		text, status = "not a tty\n", 1
	}
	if !f.has('s') {
		p.print(text)
	}
	return status
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

// user is an entry of /etc/passwd.
type user struct {
	name     string
	uid, gid int
	home     string
}

// entries returns the lines of a file such as /etc/passwd.
func (m *machine) entries(file string) (list [][]string) {
	h, err := m.fs.open(nil, file, syscall.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer h.close()
	buf := make([]byte, 64<<10)
	n, err := h.readSome(buf)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(buf[:n])) {
		list = append(list, strings.Split(strings.TrimSuffix(line, "\n"), ":"))
	}
	return list
}

func (m *machine) users() (list []user) {
	for _, f := range m.entries("/etc/passwd") {
		if len(f) < 6 {
			continue
		}
		uid, err1 := strconv.Atoi(f[2])
		gid, err2 := strconv.Atoi(f[3])
		if err1 == nil && err2 == nil {
			list = append(list, user{name: f[0], uid: uid, gid: gid, home: f[5]})
		}
	}
	return list
}

func (m *machine) userByName(name string) (user, bool) {
	for _, u := range m.users() {
		if u.name == name {
			return u, true
		}
	}
	return user{}, false
}

func (m *machine) userByID(uid int) (user, bool) {
	for _, u := range m.users() {
		if u.uid == uid {
			return u, true
		}
	}
	return user{}, false
}

// userName returns the name of a user, its ID if it has none.
func (m *machine) userName(uid int) string {
	if u, ok := m.userByID(uid); ok {
		return u.name
	}
	return strconv.Itoa(uid)
}

// groupName returns the name of a group, "" if it has none.
func (m *machine) groupName(gid int) string {
	for _, f := range m.entries("/etc/group") {
		if len(f) > 2 && f[2] == strconv.Itoa(gid) {
			return f[0]
		}
	}
	return ""
}

func (m *machine) groupByName(name string) (int, bool) {
	for _, f := range m.entries("/etc/group") {
		if len(f) > 2 && f[0] == name {
			n, err := strconv.Atoi(f[2])
			return n, err == nil
		}
	}
	return 0, false
}
