package clients

import (
	"path"
	"strings"
	"unicode"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// maxText is the longest program name, and part of it the longest user agent, that is
// kept.
const maxText = 256

const unknownProgram = "unknown program"

// programFamilies are programs that users do not run themselves, by how their user agents or names begin, with the one that
// runs them.
var programFamilies = []struct{ prefix, program string }{
	{"HashiCorp/1.0 Terraform/", "Terraform"}, // its providers, also with OpenTofu
	{"terraform-provider-", "Terraform"},      // their requests for kubernetes_manifest
	{"AnsiballZ_", "ansible"},                 // how Ansible wraps a module
	{"ansible-playbook", "ansible"},           // its lookups
}

// clientName returns PROGRAM (USER), or what all without authentication are called.
func clientName(id identity) string {
	if isUnauthenticated(id.user) {
		return unauthenticatedClients
	}
	return id.program() + " (" + cleanText(id.user) + ")"
}

// program returns the name of the program of a caller.
func (id identity) program() string {
	if name := programName(id.peer); id.peer != "" && name != unknownProgram {
		return name
	}
	return programName(id.userAgent)
}

func isUnauthenticated(name string) bool { return name == "" || name == user.Anonymous }

// programName returns the program of a user agent such as "kubectl/v1.37.1 (linux/amd64)
// kubernetes/8e2d1c5". Debuggers add a number to the name of a program, which changes with
// each build. What a name begins with must not make a command of a CI service of a line that
// begins with the name, such as "::error::".
func programName(userAgent string) string {
	userAgent = cleanText(userAgent)
	for _, family := range programFamilies {
		if strings.HasPrefix(userAgent, family.prefix) {
			return family.program
		}
	}
	first, _, _ := strings.Cut(userAgent, " ")
	name, _, _ := strings.Cut(first, "/")
	if strings.HasPrefix(name, "__debug_bin") {
		name = "__debug_bin"
	}
	name = strings.TrimLeftFunc(strings.TrimSuffix(path.Base(name), ".exe"), isPunctuation)
	switch name {
	case "":
		return unknownProgram
	case "Go-http-client": // of net/http, which a program can leave as it is
		return "Go program"
	}
	return name
}

func isPunctuation(r rune) bool {
	return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// cleanText returns a text that a client has chosen without control characters, and not
// longer than is useful.
func cleanText(s string) string { return printable(s, maxText) }

// printable returns at most limit bytes of a text, without control characters.
func printable(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, words.Cut(s, limit))
	return strings.TrimSpace(s)
}
