package shell

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// parseMode understands octal and symbolic modes.
func parseMode(s string, old fs.FileMode) (fs.FileMode, error) {
	if n, err := strconv.ParseUint(s, 8, 12); err == nil {
		return fileMode(n), nil
	}
	bits := unixMode(old)
	for clause := range strings.SplitSeq(s, ",") {
		i := 0
		who := uint32(0)
		for i < len(clause) && strings.IndexByte("ugoa", clause[i]) >= 0 {
			who |= map[byte]uint32{'u': 0o4700, 'g': 0o2070, 'o': 0o1007, 'a': 0o7777}[clause[i]]
			i++
		}
		if who == 0 {
			who = 0o7777
		}
		if i == len(clause) || strings.IndexByte("+-=", clause[i]) < 0 {
			return 0, fmt.Errorf("invalid mode '%s'", s)
		}
		op, perm := clause[i], uint32(0)
		for _, c := range clause[i+1:] {
			switch c {
			case 'r':
				perm |= 0o444
			case 'w':
				perm |= 0o222
			case 'x':
				perm |= 0o111
			case 'X':
				if old.IsDir() || bits&0o111 != 0 {
					perm |= 0o111
				}
			case 's':
				perm |= 0o6000
			case 't':
				perm |= 0o1000
			default:
				return 0, fmt.Errorf("invalid mode '%s'", s)
			}
		}
		switch op {
		case '+':
			bits |= perm & who
		case '-':
			bits &^= perm & who
		default:
			bits = bits&^(who&0o777) | perm&who
		}
	}
	return fileMode(uint64(bits)), nil
}

// recursively calls do for a file and, if asked, for all below it.
func (p *proc) recursively(name string, recursive bool, depth int, do func(name string, info fileInfo) error) error {
	p.step(4)
	info, err := p.m.fs.stat(p.cred, p.abs(name), depth == 0)
	if err == nil {
		err = do(name, info)
	}
	if err != nil {
		return fmt.Errorf("%s: %s", name, errText(err))
	}
	if !recursive || !info.IsDir() || depth > maxTree {
		return nil
	}
	entries, err := p.m.fs.readDir(p.cred, p.abs(name))
	if err != nil {
		return fmt.Errorf("%s: %s", name, errText(err))
	}
	for _, e := range entries {
		if err := p.recursively(strings.TrimSuffix(name, "/")+"/"+e.name, true, depth+1, do); err != nil {
			return err
		}
	}
	return nil
}

// filesBelow lists the files in directories, for grep -r.
func (p *proc) filesBelow(names []string) (files []string) {
	if len(names) == 0 {
		names = []string{"."}
	}
	for _, name := range names {
		if err := p.recursively(name, true, 0, func(name string, info fileInfo) error {
			if info.mode.IsRegular() {
				files = append(files, name)
			}
			return nil
		}); err != nil {
			p.fail("%v", err)
		}
	}
	return files
}

func chmod(p *proc, args []string) int {
	recursive, quiet := false, false
	var names []string
	for _, arg := range args[1:] {
		switch arg {
		case "-R", "--recursive":
			recursive = true
		case "-f":
			quiet = true
		case "-v", "-c", "--": // -x and others are modes
		default:
			names = append(names, arg)
		}
	}
	if len(names) < 2 {
		return p.fail("missing operand")
	}
	status := 0
	for _, name := range names[1:] {
		if err := p.recursively(name, recursive, 0, func(name string, info fileInfo) error {
			if info.mode&fs.ModeSymlink != 0 {
				return nil
			}
			mode, err := parseMode(names[0], info.mode)
			if err != nil {
				return err
			}
			return p.m.fs.chmod(p.cred, p.abs(name), mode)
		}); err != nil {
			if status = 1; !quiet {
				p.fail("%v", err)
			}
		}
	}
	return status
}

func chown(p *proc, args []string) int {
	f, names := p.parseFlags(args, "Rfvch", map[string]byte{"recursive": 'R'})
	if len(names) < 2 {
		return p.fail("missing operand")
	}
	owner, groupText, hasGroup := strings.Cut(strings.Replace(names[0], ".", ":", 1), ":")
	if path.Base(args[0]) == "chgrp" {
		owner, groupText, hasGroup = "", names[0], true
	}
	uid, gid := -1, -1
	if owner != "" {
		u, known := p.m.userByName(owner)
		uid = u.uid
		if !known {
			n, err := strconv.Atoi(owner)
			if err != nil || n < 0 {
				return p.fail("unknown user %s", owner)
			}
			uid = n
		}
	}
	if hasGroup && groupText != "" {
		n, known := p.m.groupByName(groupText)
		if !known {
			var err error
			if n, err = strconv.Atoi(groupText); err != nil || n < 0 {
				return p.fail("unknown group %s", groupText)
			}
		}
		gid = n
	}
	status := 0
	for _, name := range names[1:] {
		if err := p.recursively(name, f.has('R'), 0, func(name string, info fileInfo) error {
			if info.mode&fs.ModeSymlink != 0 {
				return nil
			}
			return p.m.fs.chown(p.cred, p.abs(name), uid, gid)
		}); err != nil {
			if status = 1; !f.has('f') {
				p.fail("%v", err)
			}
		}
	}
	return status
}

func stat(p *proc, args []string) int {
	f, names := p.parseFlags(args, "c:L", map[string]byte{"format": 'c', "dereference": 'L'})
	status := 0
	for _, name := range names {
		info, err := p.m.fs.stat(p.cred, p.abs(name), f.has('L'))
		if err != nil {
			status = p.fail("can't stat '%s': %s", name, errText(err))
			continue
		}
		user, group := p.owner(info)
		kind := "regular file"
		switch {
		case info.IsDir():
			kind = "directory"
		case info.mode&fs.ModeSymlink != 0:
			kind = "symbolic link"
		case info.mode&fs.ModeDevice != 0:
			kind = "character special file"
		case info.size == 0:
			kind = "regular empty file"
		}
		mtime := info.modTime.UTC().Format("2006-01-02 15:04:05.000000000 -0700")
		quoted := "'" + name + "'"
		if info.target != "" && info.mode&fs.ModeSymlink != 0 {
			quoted += " -> '" + info.target + "'"
		}
		if format, ok := f['c']; ok {
			p.print(strings.NewReplacer("%a", strconv.FormatUint(uint64(unixMode(info.mode)), 8), "%A", modeString(info.mode), "%s", strconv.FormatInt(info.size, 10),
				"%n", name, "%N", quoted, "%u", strconv.Itoa(info.uid), "%g", strconv.Itoa(info.gid), "%U", user, "%G", group, "%F", kind, "%h", strconv.Itoa(info.links),
				"%y", mtime, "%Y", strconv.FormatInt(info.modTime.Unix(), 10), "%z", mtime, "%Z", strconv.FormatInt(info.modTime.Unix(), 10), "%%", "%").Replace(format) + "\n")
			continue
		}
		p.printf("  File: %s\n  Size: %-10d\tBlocks: %-10d IO Block: 4096   %s\nAccess: (%04o/%s)  Uid: (%5d/%8s)   Gid: (%5d/%8s)\nModify: %s\n",
			name, info.size, (info.size+511)/512, kind, unixMode(info.mode), modeString(info.mode), info.uid, user, info.gid, group, mtime)
	}
	return status
}

// fileMode turns the mode bits of Unix into those of Go.
func fileMode(bits uint64) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	if bits&0o4000 != 0 {
		mode |= fs.ModeSetuid
	}
	if bits&0o2000 != 0 {
		mode |= fs.ModeSetgid
	}
	if bits&0o1000 != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

// unixMode is the reverse of fileMode.
func unixMode(mode fs.FileMode) uint32 {
	bits := uint32(mode & fs.ModePerm)
	if mode&fs.ModeSetuid != 0 {
		bits |= 0o4000
	}
	if mode&fs.ModeSetgid != 0 {
		bits |= 0o2000
	}
	if mode&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return bits
}
