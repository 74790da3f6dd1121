// Package upstreamflags sets the command-line flags of a Kubernetes component from
// key=value arguments, without running the component's own command.
package upstreamflags

import (
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/ctrlplane/ctrlplane/internal/oneline"
	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Owned are the flags that users cannot set, because another flag does or because they would have
// no effect in one process, with what users can do instead: all flags of a section, or single ones.
type Owned struct{ Sections, Flags map[string]string }

// Table returns what to do instead of each owned flag of a component.
func (o Owned) Table(fss cliflag.NamedFlagSets) map[string]string {
	all := map[string]string{}
	for section, instead := range o.Sections {
		if set := fss.FlagSets[section]; set != nil {
			set.VisitAll(func(f *pflag.Flag) { all[f.Name] = instead })
		}
	}
	maps.Copy(all, o.Flags)
	return all
}

// Set parses each of args ("name=value", or "name" for a boolean; leading dashes are
// allowed) into the component's flags. An error names the option that the argument
// belongs to.
func Set(option string, fss cliflag.NamedFlagSets, owned Owned, args []string) error {
	if len(args) == 0 {
		return nil
	}
	table := owned.Table(fss)
	all := pflag.NewFlagSet(option, pflag.ContinueOnError)
	for _, fs := range fss.FlagSets {
		all.AddFlagSet(fs)
	}
	for _, arg := range args {
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		f := all.Lookup(name)
		if f == nil {
			return usage.Errorf("%s %s: unknown flag %q%s", option, arg, name, suggestFlag(name, all))
		}
		if instead, ok := table[name]; ok {
			return usage.Errorf("%s %s: %q cannot be set: %s", option, arg, name, instead)
		}
		if !hasValue {
			value = f.NoOptDefVal
			if value == "" {
				return usage.Errorf("%s %s: flag %q needs a value: write %s=VALUE", option, arg, name, name)
			}
		}
		if err := all.Set(name, value); err != nil {
			return usage.Errorf("%s %s: %w", option, arg, oneline.Error(err))
		}
	}
	return nil
}

func suggestFlag(name string, fs *pflag.FlagSet) string {
	var known []string
	fs.VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near, ok := suggest.Nearest(name, known); ok {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ""
}
