// Package translations keeps kubectl from loading its English translations, which are the texts
// that they translate: that takes longer than the initialization of any package.
//
// It must be imported by the program, and is initialized before kubectl's commands: Go orders
// packages by their import paths, once their imports are initialized. TestInitializationOrder in
// test/command fails if that changes.
package translations

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"k8s.io/kubectl/pkg/util/i18n"
)

func init() {
	if err := i18n.SetLoadTranslationsFunc(load); err != nil {
		panic(err) // a package that translates was initialized before
	}
}

// load leaves the language to kubectl unless it is English.
func load() error {
	if isEnglish(language(os.Getenv)) {
		return nil
	}
	return i18n.LoadTranslations("kubectl", nil)
}

// language returns the user's language in the order in which kubectl and gettext look for it.
func language(getenv func(string) string) string {
	return cmp.Or(getenv("LC_ALL"), getenv("LC_MESSAGES"), getenv("LANG"))
}

// isEnglish reports whether a language is English. For one that it does not know, kubectl uses English texts, too.
func isEnglish(language string) bool {
	name, _, _ := strings.Cut(language, ".")
	name, _, _ = strings.Cut(name, "_")
	return slices.Contains([]string{"", "C", "POSIX", "en"}, name)
}
