package ui

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Shell is a family of shells with the same quoting rules.
type Shell int

// The supported shells.
const (
	POSIX Shell = iota
	PowerShell
)

// DetectShell guesses the user's shell from a platform (a runtime.GOOS value) and
// an environment (in the form of os.Environ).
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
	return fmt.Sprintf("export %s=%s", key, QuotePOSIX(value))
}

// Quote quotes a word of a command, if necessary.
func (s Shell) Quote(word string) string {
	if s == PowerShell {
		if word != "" && strings.TrimFunc(word, isPlainInPowerShell) == "" {
			return word
		}
		return quotePowerShell(word)
	}
	return QuotePOSIX(word)
}

// Program returns how a command names its program: PowerShell takes a quoted word for a text
// unless the call operator precedes it.
func (s Shell) Program(path string) string {
	quoted := s.Quote(path)
	if s == PowerShell && quoted != path {
		return "& " + quoted
	}
	return quoted
}

func isPlainInPowerShell(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(`_-./\:`, r)
}

// QuoteCommand quotes a command line in a message. The quotes are not part of the command, so
// that nothing in it is escaped.
func QuoteCommand(line string) string {
	switch {
	case strings.ContainsFunc(line, unicode.IsControl):
		return strconv.Quote(line)
	case strings.Contains(line, `"`):
		return "'" + line + "'"
	}
	return `"` + line + `"`
}

// QuotePOSIX quotes a word for a POSIX shell, if necessary.
func QuotePOSIX(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=@%+,", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// quotePowerShell escapes the characters that end or expand a double-quoted
// string, which include typographic quotes.
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
