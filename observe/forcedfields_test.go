package observe

import (
	"reflect"
	"strconv"
	"testing"
)

// What an apply has forced is recorded with the version of its object, and with no other that the call writes, and not if a
// repeated attempt forces nothing.
func TestForcedFieldsOfAWrite(t *testing.T) {
	service := Written{Resource: "services", Namespace: "shop", Name: "web"}
	stored := func(w Written) Written { w.ResourceVersion = "7"; return w }
	var many []string
	for i := range maxForcedFields + 2 {
		many = append(many, "data.k"+strconv.Itoa(i))
	}
	for name, tc := range map[string]struct {
		attempts [][]string
		want     *ForcedFields
	}{
		"nothing":     {nil, nil},
		"a field":     {[][]string{{"data.k"}}, &ForcedFields{Managers: []string{"flux"}, Fields: []string{"data.k"}}},
		"many fields": {[][]string{many}, &ForcedFields{Managers: []string{"flux"}, Fields: many[:maxForcedFields], MoreFields: 2}},
		"not again":   {[][]string{{"data.k"}, nil}, nil},
		"no force":    {[][]string{{"data.k"}}, nil},
	} {
		var served ServedCall
		if tc.want != nil || name == "not again" {
			served.ForceConflicts()
		}
		served.Serve("kubectl (admin)", func() {
			for _, fields := range tc.attempts {
				NoteForced(func() (Written, []string, []string) { return service, []string{"flux"}, fields })
			}
			noteWrite(Written{Resource: "ipaddresses.networking.k8s.io", Name: "10.0.0.1", ResourceVersion: "6"})
			noteWrite(stored(service))
		})
		wrote, _ := served.End(nil)
		if len(wrote) != 2 || wrote[0].Forced != nil || !reflect.DeepEqual(wrote[1].Forced, tc.want) {
			t.Errorf("%s: wrote %+v", name, wrote)
			continue
		}
		if c := (Called{Wrote: wrote}); !reflect.DeepEqual(c.Forced(), tc.want) {
			t.Errorf("%s: forced %+v", name, c.Forced())
		}
	}
	NoteForced(func() (object Written, managers, fields []string) {
		t.Error("called outside of a call")
		return object, nil, nil
	})
}
