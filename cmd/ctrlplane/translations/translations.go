// Package translations spares a program that is used in English the loading of kubectl's
// translations, which are the same as the texts that they translate. Loading them takes more of
// a program's start than any other package. A program that imports kubectl's commands has to
// import it; that it is initialized before them follows from its import path, by which Go orders
// packages that are ready.
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
