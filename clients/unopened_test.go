package clients

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// ofShop returns an object that the Site shop owns.
func ofShop(kind string, version int) string {
	return owned(kind, fmt.Sprint("of-shop-", version), fmt.Sprint("uid-", version), fmt.Sprint(version))
}

// What a process writes after a list, before it has opened a watch, is because of what it has found, if it names that as the
// owner and cannot know it from elsewhere. Otherwise the cause is not known. "none" is a write of which that is not said.
func TestCausesBeforeTheFirstWatch(t *testing.T) {
	const unknown = "after nothing"
	create := func(s *script) { s.write("", "POST", settings, ofShop("ConfigMap", 12)) }
	status := func(s *script) { s.write("", "PATCH", sites+"/shop/status", site(13)) }
	list := func(s *script) { s.list(sites); ms(4) }
	for name, test := range map[string]struct {
		play func(s *script)
		want []string
	}{
		"no list":         {create, []string{"none"}},
		"a list":          {func(s *script) { list(s); create(s) }, []string{siteListed}},
		"its status, too": {func(s *script) { list(s); create(s); ms(20); status(s) }, []string{siteListed, siteListed}},
		"its status only": {func(s *script) { list(s); status(s) }, []string{"none"}},
		"its status only, of a program that has watched": {func(s *script) {
			_, end := s.watched(sites + "?watch=1")
			end()
			ms(70_000)
			list(s)
			status(s)
		}, []string{unknown}},
		"the object itself": {func(s *script) { list(s); s.write("", "PATCH", sites+"/shop", site(13)) }, []string{"none"}},
		"without an owner":  {func(s *script) { list(s); s.write("", "POST", settings, object("ConfigMap", "x", "c1", "12")) }, []string{"none"}},
		"a deletion":        {func(s *script) { list(s); s.write("", "DELETE", settings+"/of-shop", ofShop("ConfigMap", 12)) }, []string{"none"}},
		"of another kind":   {func(s *script) { s.list(deployments); ms(4); create(s) }, []string{"none"}},
		"of another group": {func(s *script) {
			s.list("/apis/example.org/v1/namespaces/ns/sites")
			ms(4)
			s.write("", "POST", settings, strings.Replace(ofShop("ConfigMap", 12), `{"kind":"Site"`, `{"apiVersion":"example.com/v1","kind":"Site"`, 1))
		}, []string{"none"}},
		"another namespace": {func(s *script) { s.list("/apis/example.com/v1/namespaces/other/sites"); ms(4); create(s) }, []string{"none"}},
		"all namespaces":    {func(s *script) { s.list("/apis/example.com/v1/sites"); ms(4); create(s) }, []string{siteListed}},
		"a selector":        {func(s *script) { s.list(sites + "?labelSelector=a%3Db"); ms(4); create(s) }, []string{unknown}},
		"excluded labels":   {func(s *script) { s.list(sites + "?labelSelector=a%21%3Db"); ms(4); create(s) }, []string{siteListed}},
		"in parts": {func(s *script) {
			s.list(sites + "?limit=500")
			s.list(sites + "?limit=500&continue=x")
			ms(4)
			create(s)
		}, []string{siteListed}},
		"a poll":                  {func(s *script) { list(s); ms(2000); list(s); create(s) }, []string{unknown}},
		"a pause":                 {func(s *script) { list(s); ms(2000); create(s) }, []string{unknown}},
		"much later":              {func(s *script) { list(s); ms(70_000); create(s) }, []string{"none"}},
		"read again":              {func(s *script) { list(s); s.list(sites + "/shop"); ms(4); create(s) }, []string{unknown}},
		"created since":           {func(s *script) { list(s); s.fail("", "POST", sites, 201, site(8)); ms(4); create(s) }, []string{"none", unknown}},
		"applied since":           {func(s *script) { list(s); s.fail("", "PATCH", sites+"/shop", 201, site(8)); ms(4); create(s) }, []string{"none", unknown}},
		"another process":         {func(s *script) { s.isProcess("1"); list(s); s.isProcess("2"); create(s) }, []string{"none"}},
		"another connection":      {func(s *script) { s.conn = "10.0.0.1:1"; list(s); s.conn = "10.0.0.1:2"; create(s) }, []string{"none"}},
		"the same connection":     {func(s *script) { s.conn = "10.0.0.1:1"; list(s); create(s) }, []string{siteListed}},
		"of a proxy":              {func(s *script) { s.forwarded = "10.0.0.1"; list(s); create(s) }, []string{"none"}},
		"kubectl":                 {func(s *script) { s.agent = kubectlAgent; list(s); create(s) }, []string{"none"}},
		"a watch of another kind": {func(s *script) { s.watch(deployments + "?watch=1"); list(s); create(s) }, []string{unknown}},
		"a watch of another process": {func(s *script) {
			s.isProcess("1")
			s.watch(sites+"?watch=1")("MODIFIED", site(7))
			s.isProcess("2")
			list(s)
			create(s)
		}, []string{siteListed}},
		"then a watch": {func(s *script) {
			list(s)
			create(s)
			s.watch(sites + "?watch=1&resourceVersion=5")
			ms(4)
			s.write("", "POST", services, ofShop("Service", 15))
			ms(4)
			status(s)
		}, []string{siteListed, siteListed, siteListed}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			events := 0
			synctest.Test(t, func(t *testing.T) {
				s := &script{fixture: newFixture(t), truth: map[string]string{}}
				test.play(s)
				got, events = s.causes(""), len(s.events())
			})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if events > 1 {
				t.Errorf("%d events are recorded", events)
			}
		})
	}
}

// A script of a user may list objects, too: what it has found is a cause only once the program opens a watch, which the records
// show.
func TestCausesOfScripts(t *testing.T) {
	for name, test := range map[string]struct {
		play func(s *script)
		want bool
	}{
		"never watched":   {func(*script) {}, true},
		"watches":         {func(s *script) { s.watch(deployments + "?watch=1") }, false},
		"watched before":  {func(s *script) { _, end := s.watched(deployments + "?watch=1"); end(); ms(70_000) }, false},
		"another watches": {func(s *script) { s.agent = "other"; s.watch(deployments + "?watch=1"); s.agent = "" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{fixture: newFixture(t), truth: map[string]string{}}
				s.isProcess("1")
				test.play(s)
				s.isProcess("2")
				s.list(sites)
				ms(4)
				s.write("", "POST", settings, ofShop("ConfigMap", 12))
				calls, _ := s.records()
				c := calls[len(calls)-1]
				if c.Cause == 0 || (c.Unexplained != nil) != test.want {
					t.Errorf("got cause %d, unexplained %v", c.Cause, c.Unexplained)
				}
			})
		})
	}
}

// A process works for 300 objects that it has found, one after the other.
func TestCausesOfManyBeforeTheFirstWatch(t *testing.T) {
	got := runScript(t, func(s *script) {
		s.list(sites)
		for i := range 300 {
			ms(5)
			truth := fmt.Sprintf("Site ns/site-%02d listed", i)
			uid := fmt.Sprintf(`"uid":"u%02d"`, i)
			deployment := strings.Replace(numbered("Deployment", i, 1000+i), uid, fmt.Sprintf(`"kind":"Site","name":"site-%02d",`, i)+uid, 1)
			s.write(truth, "POST", deployments, deployment)
			ms(5)
			s.write(truth, "PATCH", fmt.Sprintf("%s/site-%02d/status", sites, i), numbered("Site", i, 2000+i))
		}
	})
	if want := (tally{right: 600}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
