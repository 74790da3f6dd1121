package controllers

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"

	"github.com/ctrlplane/ctrlplane/control"
)

// Flags are those of kube-controller-manager with the values that they have
// here, in upstream's order; of a controller that was scaled, what it runs with.
func (s *Supervisor) Flags() ([]control.Flag, error) {
	list, err := readFlags(s.config)
	for name, u := range s.units {
		if to := u.scaled.Load(); to != nil {
			for i := range list {
				if list[i].Name == workerFlags[name].name {
					list[i].Value = strconv.Itoa(int(workerFlags[name].get(to.config)))
				}
			}
		}
	}
	return list, err
}

// DefaultFlags are the same, with upstream's defaults for values.
func DefaultFlags() ([]control.Flag, error) { return readFlags(nil) }

// readFlags puts the configuration back into upstream's own options, and reads it
// off their flags. Without one, these have their defaults.
func readFlags(component *kubectrlmgrconfig.KubeControllerManagerConfiguration) ([]control.Flag, error) {
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	all, aliases := knownControllers(nil)
	sets := o.Flags(all, app.ControllersDisabledByDefault(), aliases) // before the values: it resets some
	if component != nil {
		fillOptions(reflect.ValueOf(o).Elem(), configSections(component.DeepCopy()))
	}
	var list []control.Flag
	for _, set := range sets.Order {
		sets.FlagSets[set].VisitAll(func(f *pflag.Flag) {
			value, byDefault := trimBrackets(f.Value.String()), trimBrackets(f.DefValue)
			if component == nil {
				value = byDefault
			}
			_, usage := pflag.UnquoteUsage(f)
			list = append(list, control.Flag{Set: set, Name: f.Name, Default: byDefault, Value: value, Usage: usage})
		})
	}
	return list, nil
}

// trimBrackets leaves out the brackets that pflag puts around lists.
func trimBrackets(value string) string {
	return strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
}

// configSections are the sections of a configuration, by their type.
func configSections(component *kubectrlmgrconfig.KubeControllerManagerConfiguration) map[reflect.Type]reflect.Value {
	all := map[reflect.Type]reflect.Value{}
	v := reflect.ValueOf(component).Elem()
	for i := range v.NumField() {
		all[v.Field(i).Type()] = v.Field(i)
	}
	return all
}

// fillOptions writes the sections into the options, each of which embeds a pointer to
// one: what the flags point into stays where it is.
func fillOptions(o reflect.Value, parts map[reflect.Type]reflect.Value) {
	for i := range o.NumField() {
		section := o.Field(i)
		if section.Kind() != reflect.Pointer || section.IsNil() || section.Elem().Kind() != reflect.Struct {
			continue
		}
		for j := range section.Elem().NumField() {
			inner := section.Elem().Field(j)
			if inner.Kind() != reflect.Pointer || inner.IsNil() {
				continue
			}
			if part, ok := parts[inner.Type().Elem()]; ok {
				inner.Elem().Set(part)
			}
		}
	}
}
