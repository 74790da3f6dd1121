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

// Flags returns the flags of kube-controller-manager with their current values,
// in upstream's order. A controller that was scaled has its present number of workers.
func (s *Supervisor) Flags() ([]control.Flag, error) {
	list, err := readFlags(s.config)
	for name, u := range s.units {
		if to := u.scaled.Load(); to != nil {
			for i := range list {
				if facts := upstreamFacts[name]; list[i].Name == facts.flag {
					list[i].Value = strconv.Itoa(int(facts.workers(to.config)))
				}
			}
		}
	}
	return list, err
}

// DefaultFlags returns the same flags with upstream's defaults as values.
func DefaultFlags() ([]control.Flag, error) { return readFlags(nil) }

// readFlags copies a configuration into upstream's options, and returns the values
// of their flags. Without a configuration these are the defaults.
func readFlags(component *kubectrlmgrconfig.KubeControllerManagerConfiguration) ([]control.Flag, error) {
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	all, aliases := knownControllers(nil)
	sets := o.Flags(all, app.ControllersDisabledByDefault(), aliases) // before the options are set: it resets some
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

// trimBrackets removes the brackets that pflag prints around lists.
func trimBrackets(value string) string {
	return strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
}

// configSections returns the sections of a configuration by their types.
func configSections(component *kubectrlmgrconfig.KubeControllerManagerConfiguration) map[reflect.Type]reflect.Value {
	all := map[reflect.Type]reflect.Value{}
	v := reflect.ValueOf(component).Elem()
	for i := range v.NumField() {
		all[v.Field(i).Type()] = v.Field(i)
	}
	return all
}

// fillOptions copies the sections into the options, each of which embeds a pointer
// to one. It does not replace the pointers, as the flags refer to their targets.
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
