package ui

import "io"

// WriteWarning writes a warning. While a Progress is open, use its Warn.
func WriteWarning(w io.Writer, mode Mode, msg string) error {
	_, err := io.WriteString(w, formatWarning(mode, msg)+"\n")
	return err
}

func formatWarning(m Mode, msg string) string {
	return m.paintCaution("warning:") + " " + sanitizeLine(msg)
}
