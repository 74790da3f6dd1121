package trace

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// shop is a custom resource.
var shop = observe.Object{Group: "example.com", Resource: "shops", Kind: "Shop", Namespace: "default", Name: "s"}

// shopCall is a call of an operator to a custom resource. A write of the status that is answered with 404 has the error
// of one without the status subresource.
func shopCall(verb, subresource string, status int, wrote ...observe.Written) *observe.Called {
	c := &observe.Called{Controller: "operator", Verb: verb, Subresource: subresource, Object: shop, Status: status, Took: time.Microsecond, Wrote: wrote, Client: &observe.Caller{User: "operator"}}
	if status == 404 {
		c.Error = `shops.example.com "s" not found`
	}
	return c
}

// writtenShop is the version of the custom resource that the storage reports.
func writtenShop(version string) observe.Written {
	return observe.Written{Resource: "shops.example.com", Namespace: "default", Name: "s", ResourceVersion: version}
}

// A CustomResourceDefinition without the status subresource answers a write of the status as if the object did not
// exist. If the records show that it does, why and trace say so.
func TestMissingStatusSubresource(t *testing.T) {
	call, written := shopCall, writtenShop("7")
	removed := written
	removed.Deleted = true
	creates, fails, deletes := call("create", "", 201, written), call("update", "status", 404), call("delete", "", 200, removed)
	injected := call("update", "status", 404)
	injected.Error = observe.InjectedFault
	for name, c := range map[string]struct {
		events  []observe.Event
		options Options
		want    bool
	}{
		"exists":            {[]observe.Event{creates, fails}, Options{}, true},
		"deleted later":     {[]observe.Event{creates, fails, deletes}, Options{}, true},
		"deleted":           {[]observe.Event{creates, deletes, fails}, Options{}, false},
		"not yet created":   {[]observe.Event{fails, creates}, Options{}, false},
		"injected":          {[]observe.Event{creates, injected}, Options{}, false},
		"records dropped":   {[]observe.Event{creates, fails}, Options{Missed: 1}, false},
		"dropped long ago":  {[]observe.Event{call("patch", "", 200, written), creates, fails}, Options{Missed: 1, CompleteAfter: 1}, true},
		"another call type": {[]observe.Event{creates, call("update", "scale", 404)}, Options{}, false},
	} {
		const want = `operator failed to update Shop s status: 404: shops.example.com "s" not found, although it existed: its CRD has no status subresource`
		records := recorded(c.events...)
		tree, err := Build(records, shop, c.options)
		if err != nil {
			t.Fatal(err)
		}
		chain, err := Why(records, shop, c.options)
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{"trace": writeString(t, tree, Text, Style{}), "why": writeString(t, chain, Text, Style{})} {
			if got := strings.Join(strings.Fields(text), " "); strings.Contains(got, want) != c.want || strings.Contains(got, "CRD") != c.want {
				t.Errorf("%s, %s: want it said: %v\n%s", name, what, c.want, text)
			}
		}
	}
}

// No write of the status succeeds until the CustomResourceDefinition has been changed: that is said until then, whatever
// else was written since.
func TestMissingStatusSubresourceIsSaidAsLongAsItIsMissing(t *testing.T) {
	definition := func(wrote ...observe.Written) *observe.Called {
		return &observe.Called{Controller: "kubectl (admin)", Verb: "patch", Status: 200, Took: time.Microsecond, Wrote: wrote, Client: &observe.Caller{User: "admin"},
			Object: observe.Object{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Kind: "CustomResourceDefinition", Name: "shops.example.com"}}
	}
	definitionVersion := observe.Written{Resource: "customresourcedefinitions.apiextensions.k8s.io", Name: "shops.example.com", ResourceVersion: "9"}
	another := shopCall("update", "status", 200, observe.Written{Resource: "shops.example.com", Namespace: "default", Name: "t", ResourceVersion: "8"})
	another.Object.Name = "t"
	otherKind := shopCall("update", "status", 200)
	otherKind.Object.Resource = "sites"
	creates, fails, changes := shopCall("create", "", 201, writtenShop("7")), shopCall("update", "status", 404), shopCall("patch", "", 200, writtenShop("10"))
	refused := shopCall("patch", "", 422)
	served := shopCall("update", "status", 200, writtenShop("11"))
	removed := writtenShop("12")
	removed.Deleted = true
	deletes, again := shopCall("delete", "", 200, removed), shopCall("create", "", 201, writtenShop("13"))
	for name, c := range map[string]struct {
		events []observe.Event
		what   What
		want   string // the begin of the sentence; "" = it is not said
	}{
		"then changed":              {[]observe.Event{creates, fails, changes}, "", "Later, at 00:16:40.000"},
		"then refused":              {[]observe.Event{creates, fails, refused}, "", "Later, at 00:16:40.000"},
		"the later change":          {[]observe.Event{creates, fails, changes}, Changed, "Before, at 00:16:40.000"},
		"fails again":               {[]observe.Event{creates, fails, served, fails, changes}, "", "Later, at 00:16:40.002"},
		"succeeds":                  {[]observe.Event{creates, fails, changes, served}, "", ""},
		"succeeds without a change": {[]observe.Event{creates, fails, changes, shopCall("update", "status", 200)}, "", ""},
		"succeeds for another one":  {[]observe.Event{creates, fails, changes, another}, "", ""},
		"of another kind":           {[]observe.Event{creates, fails, changes, otherKind}, "", "Later, at 00:16:40.000"},
		"created again":             {[]observe.Event{creates, fails, deletes, again}, "", ""},
		"created again, changed":    {[]observe.Event{creates, fails, deletes, again, shopCall("patch", "", 200, writtenShop("14"))}, Changed, ""},
		"fails after that":          {[]observe.Event{creates, fails, deletes, again, fails}, "", "Later, at 00:16:40.003"},
		"definition changed":        {[]observe.Event{creates, fails, changes, definition(definitionVersion)}, "", ""},
		"definition unchanged":      {[]observe.Event{creates, fails, changes, definition()}, "", "Later, at 00:16:40.000"},
	} {
		chain, err := Why(recorded(c.events...), shop, Options{What: c.what})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(writeString(t, chain, Text, Style{})), " ")
		want := c.want + `, operator failed to update Shop s status: 404: shops.example.com "s" not found, although it existed: its CRD has no status subresource.`
		if strings.Contains(text, want) != (c.want != "") || strings.Count(text, "its CRD has") > 1 || c.want == "" && strings.Contains(text, "its CRD has") {
			t.Errorf("%s: want %q in:\n%s", name, want, text)
		}
	}
}

// A version of the API may have the subresource, and another one not.
func TestMissingStatusSubresourceOfAVersion(t *testing.T) {
	in := func(version string, c *observe.Called) *observe.Called {
		c.Version = version
		return c
	}
	creates, fails := in("v1", shopCall("create", "", 201, writtenShop("7"))), in("v1beta1", shopCall("update", "status", 404))
	for name, c := range map[string]struct {
		served string // the version in which the status was written then
		want   string
	}{
		"in another version": {"v1", "its CRD has no status subresource in version v1beta1"},
		"in this version":    {"v1beta1", "its CRD had no status subresource in version v1beta1"},
	} {
		tree, err := Build(recorded(creates, fails, in(c.served, shopCall("update", "status", 200, writtenShop("8")))), shop, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if text := writeString(t, tree, Text, Style{}); !strings.Contains(text, c.want) {
			t.Errorf("%s: want %q in:\n%s", name, c.want, text)
		}
	}
}

// Of an object that was never changed, it is said since when, and that its CRD has no status subresource.
func TestWhyOfAnUnchangedObject(t *testing.T) {
	creates, fails := shopCall("create", "", 201, writtenShop("7")), shopCall("update", "status", 404)
	const unchanged = "Shop default/s was not changed after operator created it at 00:16:39.999."
	removed := writtenShop("9")
	removed.Deleted = true
	changes, deletes, again := shopCall("patch", "", 200, writtenShop("8")), shopCall("delete", "", 200, removed), shopCall("create", "", 201, writtenShop("10"))
	for name, c := range map[string]struct {
		events  []observe.Event
		options Options
		want    string
	}{
		"created":         {[]observe.Event{creates}, Options{What: Changed}, unchanged},
		"without status":  {[]observe.Event{creates, fails}, Options{What: Changed}, unchanged + ` Later, at 00:16:40.000, operator failed to update Shop s status: 404: shops.example.com "s" not found, although it existed: its CRD has no status subresource.`},
		"created again":   {[]observe.Event{creates, changes, deletes, again}, Options{What: Changed}, "Shop default/s was not changed after operator created it at 00:16:40.002."},
		"records dropped": {[]observe.Event{creates}, Options{What: Changed, Missed: 3}, "What led to it is not known: 3 older records were dropped."},
		"deletion":        {[]observe.Event{creates}, Options{What: Deleted}, "What led to it is not known: the records begin at 00:16:40.000, with the last start of the control plane."},
	} {
		_, err := Why(recorded(c.events...), shop, c.options)
		unknown := new(UnknownChangeError)
		if !errors.As(err, &unknown) || unknown.Sentence(Style{}) != c.want || unknown.IsAnswer() != strings.HasPrefix(c.want, "Shop default/s was not changed") {
			t.Errorf("%s: got %v, %q", name, err, unknown.Sentence(Style{}))
		}
	}
}

// pageSource has all its records in one page.
type pageSource struct {
	observe.Source
	records []observe.Record
}

func (s *pageSource) Records(context.Context, observe.Query) (observe.Page, error) {
	return observe.Page{Records: s.records}, nil
}

// The error of a key that fails for this reason says so, as the operator reports only the answer.
func TestMissingStatusSubresourceOfFailingKeys(t *testing.T) {
	const reported = `cannot write the status: shops.example.com "s" not found`
	creates, fails, served := shopCall("create", "", 201, writtenShop("7")), shopCall("update", "status", 404), shopCall("update", "status", 200, writtenShop("8"))
	other := shopCall("update", "status", 404)
	other.Controller = "operator/other"
	for name, c := range map[string]struct {
		error  string
		events []observe.Event
		want   bool
	}{
		"exists":          {reported, []observe.Event{creates, fails, fails}, true},
		"does not exist":  {reported, []observe.Event{fails}, false},
		"works since":     {reported, []observe.Event{creates, fails, served}, false},
		"another failure": {`configmaps "s" not found`, []observe.Event{creates, fails}, false},
		"of another":      {reported, []observe.Event{creates, other}, false},
	} {
		now := observe.Snapshot{Controllers: []observe.Controller{{Name: "operator", Failing: []observe.FailingKey{{Key: "default/s", Error: c.error}}}}}
		if err := ExplainMissingStatus(t.Context(), &pageSource{records: recorded(c.events...)}, &now); err != nil {
			t.Fatal(err)
		}
		want := c.error
		if c.want {
			want += ", although it existed: its CRD has no status subresource"
		}
		if got := now.Controllers[0].Failing[0].Error; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
