package ui

import (
	"fmt"
	"strings"
)

// Shell is a kind of command line.
type Shell int

// The shells: what understands export, and Windows' own.
const (
	POSIX Shell = iota
	PowerShell
)

// DetectShell guesses the shell of a platform (as of runtime.GOOS) and an
// environment (as of os.Environ).
func DetectShell(goos string, environ []string) Shell {
	if goos != "windows" {
		return POSIX
	}
	for _, e := range environ {
		if strings.HasPrefix(e, "SHELL=") { // Git Bash, Cygwin
			return POSIX
		}
	}
	return PowerShell
}

// exportCommand returns the command that sets an environment variable.
func (s Shell) exportCommand(key, value string) string {
	if s == PowerShell {
		return fmt.Sprintf("$env:%s = %s", key, quotePowerShell(value))
	}
	return fmt.Sprintf("export %s=%s", key, quotePOSIX(value))
}

func quotePOSIX(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=@%+,", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// quotePowerShell escapes what ends or expands a double-quoted string, to which
// typographic quotes belong too.
func quotePowerShell(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("`$\"“”„", r) {
			b.WriteByte('`')
		}
		b.WriteRune(r)
	}
	return `"` + b.String() + `"`
}
