package learn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// writeModule makes the lesson's folder a Go module if the lesson has Go files. The
// module requires the modules that this program was built from, in the same versions, so
// that nothing has to be downloaded on the machine where it was built.
func writeModule(dir string, l *Lesson) error {
	if !l.hasGo() {
		return nil
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || len(info.Deps) == 0 {
		return errors.New("cannot create a Go module for the lesson: this program has no build information: build it with go build")
	}
	var mod, sum strings.Builder
	fmt.Fprintf(&mod, "module lesson\n\ngo %s\n\nrequire (\n", goVersion(info.GoVersion))
	for _, d := range info.Deps {
		if d.Sum == "" { // replaced by a folder, or in a workspace
			continue
		}
		fmt.Fprintf(&mod, "\t%s %s\n", d.Path, d.Version)
		fmt.Fprintf(&sum, "%s %s %s\n", d.Path, d.Version, d.Sum)
	}
	mod.WriteString(")\n")
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod.String()), 0o600),
		os.WriteFile(filepath.Join(dir, "go.sum"), []byte(sum.String()), 0o600))
}

func (l *Lesson) hasGo() bool {
	for _, s := range l.Steps {
		for _, p := range s.Parts {
			if c, ok := p.(*Code); ok && strings.HasSuffix(c.File, ".go") {
				return true
			}
		}
	}
	return false
}

// goVersion is the version for a go.mod: "1.26" for the toolchain "go1.26.8 X:…".
func goVersion(toolchain string) string {
	version, _, _ := strings.Cut(strings.TrimPrefix(toolchain, "go"), " ")
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
