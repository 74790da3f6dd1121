package shell

import (
	"path"
	"strings"
)

// sysctl prints kernel parameters that are files below /proc/sys.
func sysctl(p *proc, args []string) int {
	f, names := p.parseFlags(args, "ne", nil)
	status := 0
	for _, name := range names {
		if strings.Contains(name, "=") {
			status = p.fail("error setting key '%s': Read-only file system", name[:strings.IndexByte(name, '=')])
			continue
		}
		data, err := p.m.fs.ReadFile(path.Join("/proc/sys", strings.ReplaceAll(name, ".", "/")))
		switch {
		case err != nil && !f.has('e'):
			status = p.fail("error: '%s' is an unknown key", name)
		case err != nil:
		case f.has('n'):
			p.print(string(data))
		default:
			p.print(name + " = " + string(data))
		}
	}
	return status
}
