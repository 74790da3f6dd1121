// Package webpage makes web pages that consist of one file and load nothing.
package webpage

import (
	"crypto/sha256"
	"encoding/base64"
	"io/fs"
	"strings"
)

// ContentPolicy is the Content-Security-Policy that allows a page to use its own style and
// script, and nothing else.
func ContentPolicy(style, script string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; img-src data:; style-src " + hash(style) + "; script-src " + hash(script) + "; base-uri 'none'; form-action 'none'"
}

// Asset reads an embedded file, with normalized line ends, because the policy contains its
// hash.
func Asset(files fs.FS, name string) string {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		panic("webpage: " + err.Error()) // cannot happen: the file is embedded
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}
