package ui

import "io"

// Warn writes a warning. While a Progress is open, use its Warn.
func Warn(w io.Writer, mode Mode, msg string) error {
	_, err := io.WriteString(w, warning(mode, msg)+"\n")
	return err
}

func warning(m Mode, msg string) string {
	return m.caution("warning:") + " " + oneLine(msg)
}
