package trace

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// clientCalls are records of calls of kubectl to a Deployment, one a second.
func clientCalls(calls ...observe.Called) (list []observe.Record) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for i := range calls {
		c := &calls[i]
		c.Controller, c.Client, c.Object = "kubectl (admin)", &observe.Caller{User: "admin"}, deployment("web")
		c.Began, c.Took = at, cmp.Or(c.Took, time.Millisecond)
		if c.Status == 0 {
			c.Status = 200
		}
		at = at.Add(time.Second)
		list = append(list, observe.Record{Seq: uint64(i + 1), Time: at, Event: c})
	}
	return list
}

func TestWhySaysWhatHappenedSince(t *testing.T) {
	written := func(version string, deleted bool) []observe.Written {
		return []observe.Written{{Resource: "deployments.apps", Namespace: "default", Name: "web", ResourceVersion: version, Deleted: deleted}}
	}
	created := observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: written("7", false)}
	deleted := observe.Called{Verb: "delete", Wrote: written("8", true)}
	refused := observe.Called{Verb: "patch", Status: 422, Error: `Deployment.apps "web" is invalid: spec.replicas: Invalid value: -1`}
	conflict := observe.Called{Verb: "update", Status: 409, Conflict: true, Error: "modified"}
	timeout := observe.Called{Verb: "update", Status: 504, Error: "request timed out"}
	busy := observe.Called{Verb: "update", Status: 429, Error: "too many requests"}
	absent := observe.Called{Verb: "delete", Status: 404, Error: "not found"}
	scaled := observe.Called{Verb: "patch", Subresource: "scale", ResourceVersion: "9", Wrote: written("9", false)}
	gone := observe.Called{Verb: "delete", Wrote: written("12", true)}
	patched := observe.Called{Verb: "patch", ResourceVersion: "8", Wrote: written("8", false)}
	status := observe.Called{Verb: "update", Subresource: "status", ResourceVersion: "10", Wrote: written("10", false)}
	statusRefused := observe.Called{Verb: "patch", Subresource: "status", Status: 409, Error: observe.InjectedFault}
	sameStatus := observe.Called{Verb: "patch", Subresource: "status", ResourceVersion: "7"} // changes nothing
	dryRefused, dryRun := observe.Called{Verb: "patch", Status: 409, Error: observe.InjectedFault, DryRun: true}, observe.Called{Verb: "patch", ResourceVersion: "7", DryRun: true}
	restored := observe.Called{Verb: observe.VerbRestore, ResourceVersion: "11", Wrote: written("11", false)}
	patchedLater := observe.Called{Verb: "patch", ResourceVersion: "13", Wrote: written("13", false)}
	removed := observe.Called{Verb: observe.VerbRestore, ResourceVersion: "12", Wrote: written("12", true)}
	later := "Later, at 12:00:01.000, kubectl (admin) "
	reverted := observe.Called{Verb: "patch", ResourceVersion: "10", Wrote: written("10", false), Unexplained: &observe.Received{}} // by an operator
	slowlyReverted := reverted
	slowlyReverted.Took = 700 * time.Millisecond
	for name, tc := range map[string]struct {
		calls    []observe.Called
		what     What
		says     []string
		saysNone string
	}{
		"created only":       {[]observe.Called{created}, "", []string{"Why Deployment default/web was created"}, "Later"},
		"deleted since":      {[]observe.Called{created, deleted}, "", []string{"was created", later + `deleted Deployment web: "why web --deleted" shows why.`}, ""},
		"deletion":           {[]observe.Called{created, deleted}, Deleted, []string{"Why Deployment default/web was deleted"}, "Later"},
		"created again":      {[]observe.Called{deleted, created}, "", []string{"was created"}, "Later"},
		"created since":      {[]observe.Called{deleted, created}, Deleted, []string{later + "created Deployment web."}, "--deleted"},
		"deleted only":       {[]observe.Called{deleted}, "", []string{"Why Deployment default/web was deleted"}, "Later"},
		"refused only":       {[]observe.Called{refused}, "", []string{"Why a write to Deployment default/web was refused (", "kubectl (admin) failed to patch Deployment web: 422: " + refused.Error}, "Later"},
		"refused since":      {[]observe.Called{created, refused}, "", []string{"was created", later + "failed to patch Deployment web: 422: " + refused.Error}, ""},
		"refused before":     {[]observe.Called{refused, created}, "", []string{"was created"}, "Later"},
		"what changed none":  {[]observe.Called{created, absent}, "", []string{"was created"}, "Later"},
		"a conflict":         {[]observe.Called{created, conflict, absent}, "", []string{later + "failed to update Deployment web: conflict: it had itself modified the object to version 7."}, ""},
		"conflict, then not": {[]observe.Called{created, conflict, scaled}, "", []string{"was created", `Later, at 12:00:02.000, kubectl (admin) scaled Deployment web: "why web --changed" shows the last change.`}, "failed"},
		"timeout only":       {[]observe.Called{timeout}, "", []string{"Why a write to Deployment default/web failed (", "kubectl (admin) failed to update Deployment web: 504: request timed out"}, "refused"},
		"timeout since":      {[]observe.Called{created, timeout}, "", []string{"was created", later + "failed to update Deployment web: 504: request timed out"}, "refused"},
		"too many requests":  {[]observe.Called{busy}, "", []string{"Why a write to Deployment default/web failed ("}, "refused"},
		"refused, not made":  {[]observe.Called{timeout, refused}, Refused, []string{"Why a write to Deployment default/web was refused (", "422: "}, "Later"},
		"failed, not made":   {[]observe.Called{refused, timeout}, "", []string{"Why a write to Deployment default/web was refused (", later + "failed to update"}, ""},
		"refused, then gone": {[]observe.Called{created, refused, deleted}, "", []string{later + "failed to patch", "Later, at 12:00:02.000, kubectl (admin) deleted"}, ""},

		"restored since":         {[]observe.Called{created, deleted, restored}, "", []string{"was created", "Later, at 12:00:02.000, kubectl (admin) restored Deployment web."}, "deleted"},
		"deleted, then restored": {[]observe.Called{deleted, restored}, Deleted, []string{"was deleted", later + "restored Deployment web."}, "--deleted"},
		"deleted after that":     {[]observe.Called{created, deleted, restored, deleted}, "", []string{"Later, at 12:00:03.000, kubectl (admin) deleted"}, "restored"},
		"created after that":     {[]observe.Called{deleted, restored, deleted, created}, "", []string{"was created"}, "Later"},
		"changed by a restore":   {[]observe.Called{created, scaled, restored}, "", []string{"was created"}, "Later"},
		"changed after a restore": {[]observe.Called{created, deleted, restored, patchedLater}, "", []string{
			"Later, at 12:00:02.000, kubectl (admin) restored Deployment web.\nLater, at 12:00:03.000, kubectl (admin) patched Deployment web: \"why web --changed\" shows the last change."}, ""},
		"removed by a restore": {[]observe.Called{created, removed}, "", []string{later + "removed Deployment web"}, "restored"},

		"changed since":                    {[]observe.Called{created, scaled, status}, "", []string{"was created", later + `scaled Deployment web: "why web --changed" shows the last change.`}, "times"},
		"changed twice":                    {[]observe.Called{created, patched, scaled, status}, "", []string{`Later changed 2 times by requests of users, last at 12:00:02.000, kubectl (admin) scaled Deployment web: "why web --changed" shows the last change.`}, ""},
		"changed, then its status":         {[]observe.Called{created, scaled, status}, Changed, []string{"Its last change by a user: at 12:00:01.000, kubectl (admin) scaled Deployment web; what follows has changed only the status since."}, "Later"},
		"changed, then reverted":           {[]observe.Called{created, scaled, reverted, status}, Changed, []string{"Its last change by a user: at 12:00:01.000, kubectl (admin) scaled Deployment web; 1.0 s after it, kubectl (admin) patched Deployment web; what follows has changed only the status since."}, "Later"},
		"created, changed, then reverted":  {[]observe.Called{created, scaled, reverted, status}, "", []string{`Later, at 12:00:01.000, kubectl (admin) scaled Deployment web; 1.0 s after it, kubectl (admin) patched Deployment web: "why web --changed" shows the last change.`}, ""},
		"refused, then reverted":           {[]observe.Called{created, scaled, refused, reverted}, "", []string{`Later, at 12:00:01.000, kubectl (admin) scaled Deployment web; 2.0 s after it, kubectl (admin) patched Deployment web: "why web --changed" shows the last change.`}, "Later, at 12:00:03"},
		"slowly reverted":                  {[]observe.Called{created, scaled, slowlyReverted}, "", []string{"kubectl (admin) scaled Deployment web; 1.0 s after it, kubectl (admin) patched Deployment web: "}, ""},
		"reverted last":                    {[]observe.Called{created, scaled, reverted}, Changed, []string{"kubectl (admin) patched Deployment web."}, "by a user"},
		"changed and deleted":              {[]observe.Called{created, scaled, gone}, "", []string{"deleted Deployment web"}, "scaled"},
		"only its status":                  {[]observe.Called{created, status}, Changed, []string{"was changed"}, "last change by a user"},
		"refused, then done":               {[]observe.Called{created, refused, scaled}, "", []string{"was created", `Later, at 12:00:02.000, kubectl (admin) scaled Deployment web: "why web --changed" shows the last change.`}, "failed"},
		"refused, then its status":         {[]observe.Called{created, refused, status}, "", []string{later + "failed to patch"}, "--changed"},
		"refused after that":               {[]observe.Called{created, scaled, refused}, "", []string{"shows the last change.\nLater, at 12:00:02.000, kubectl (admin) failed to patch"}, ""},
		"status refused":                   {[]observe.Called{created, statusRefused}, "", []string{later + "failed to patch Deployment web status"}, ""},
		"status refused, then written":     {[]observe.Called{created, statusRefused, status}, "", []string{"was created"}, "failed"},
		"status refused, then the same":    {[]observe.Called{created, statusRefused, sameStatus}, "", []string{"was created"}, "failed"},
		"status refused after that":        {[]observe.Called{created, statusRefused, status, statusRefused}, "", []string{"Later, at 12:00:03.000, kubectl (admin) failed to patch Deployment web status"}, ""},
		"refused, then its status, twice":  {[]observe.Called{created, refused, statusRefused, status}, "", []string{later + "failed to patch Deployment web: 422"}, "status"},
		"status refused, then a dry run":   {[]observe.Called{created, statusRefused, dryRun}, "", []string{later + "failed to patch Deployment web status"}, ""},
		"dry run refused":                  {[]observe.Called{created, dryRefused}, "", []string{later + "failed to patch Deployment web in a dry run: 409"}, ""},
		"dry run refused, then not":        {[]observe.Called{created, dryRefused, dryRun}, "", []string{"was created"}, "failed"},
		"dry run refused, then the status": {[]observe.Called{created, dryRefused, status}, "", []string{later + "failed to patch Deployment web in a dry run"}, ""},
		"refused, then a dry run":          {[]observe.Called{created, refused, dryRun}, "", []string{later + "failed to patch Deployment web: 422"}, ""},
		"refused, then restored":           {[]observe.Called{created, refused, deleted, restored}, "", []string{"Later, at 12:00:03.000, kubectl (admin) restored Deployment web."}, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			chain, err := Why(clientCalls(tc.calls...), deployment("web"), Options{What: tc.what, WhyDeleted: "why web --deleted", WhyChanged: "why web --changed"})
			if err != nil {
				t.Fatal(err)
			}
			checkSays(t, chain, tc.says, tc.saysNone)
		})
	}
}

// An operator undoes the change of a user, and a controller that has seen the change writes the status after that: what the
// last write follows from does not tell who has undone it.
func TestWhySaysWhoHasChangedItAfterAUser(t *testing.T) {
	const patched, undone, status = 1, 2, 3
	records := clientCalls(
		observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: deploymentWritten("7", false)},
		observe.Called{Verb: "patch", ResourceVersion: "8", Wrote: deploymentWritten("8", false)},
		observe.Called{Verb: "update", ResourceVersion: "9", Wrote: deploymentWritten("9", false)},
		observe.Called{Verb: "update", ResourceVersion: "10", Wrote: deploymentWritten("10", false), Subresource: "status"},
	)
	for n, by := range map[int]string{undone: "shop-operator", status: "rollout-operator"} {
		c := records[n].Event.(*observe.Called)
		c.Controller, c.Cause = by, uint64(10+n)
		records = append(records, observe.Record{Seq: c.Cause, Time: records[patched].Time.Add(time.Millisecond), Event: &observe.Delivered{
			Controller: by, Change: observe.Updated, Object: deployment("web"), ResourceVersion: "8",
		}})
	}
	const says = "kubectl (admin) patched Deployment web; 1.0 s after it, shop-operator updated Deployment web likely because Deployment web was updated"
	followed := append(slices.Clone(records), observe.Record{Seq: 20, Time: records[undone].Time, Event: &observe.Delivered{
		Controller: "rollout-operator", Change: observe.Updated, Object: deployment("web"), ResourceVersion: "9",
	}})
	unexplained, explained := *followed[undone].Event.(*observe.Called), *followed[status].Event.(*observe.Called)
	unexplained.Cause, unexplained.Unexplained, explained.Cause = 0, &observe.Received{}, 20
	followed[undone].Event, followed[status].Event = &unexplained, &explained
	for _, tc := range []struct {
		records        []observe.Record
		what           What
		says, saysNone string
	}{
		{records, "", "Later, at 12:00:01.000, " + says + `: "why web --changed" shows`, ""},
		{records, Changed, "Its last change by a user: at 12:00:01.000, " + says + "; what follows", ""},
		{slices.Delete(slices.Clone(records), undone, undone+1), Changed, "It began when kubectl (admin) patched Deployment web.", "by a user"},
		{followed, Changed, "rollout-operator updated Deployment web status likely because Deployment web was updated", "only the status"}, // by what has undone it
	} {
		slices.SortFunc(tc.records, func(a, b observe.Record) int { return int(a.Seq) - int(b.Seq) })
		chain, err := Why(tc.records, deployment("web"), Options{What: tc.what, WhyChanged: "why web --changed"})
		if err != nil {
			t.Fatal(err)
		}
		checkSays(t, chain, []string{tc.says}, tc.saysNone)
	}
}

// An object that was not changed after its creation may not have been for want of trying.
func TestWhyNamesRefusedChanges(t *testing.T) {
	wrote := []observe.Written{{Resource: "deployments.apps", Namespace: "default", Name: "web", ResourceVersion: "7"}}
	created := observe.Called{Verb: "create", Status: 201, ResourceVersion: "7", Wrote: wrote}
	refused := observe.Called{Verb: "patch", Status: 403, Error: "denied by a webhook"}
	timeout := observe.Called{Verb: "update", Status: 504, Error: "request timed out"}
	const unchanged = "Deployment default/web was not changed after kubectl (admin) created it at 12:00:0"
	const isRefused, isFailed = ", kubectl (admin) failed to patch Deployment web: 403: denied by a webhook.", ", kubectl (admin) failed to update Deployment web: 504: request timed out."
	for name, tc := range map[string]struct {
		calls []observe.Called
		want  string
	}{
		"created":           {[]observe.Called{created}, unchanged + "0.000."},
		"refused":           {[]observe.Called{created, refused}, unchanged + "0.000. Later, at 12:00:01.000" + isRefused},
		"refused before":    {[]observe.Called{refused, created}, unchanged + "1.000."},
		"failed and denied": {[]observe.Called{created, timeout, refused, refused}, unchanged + "0.000. Later, at 12:00:01.000" + isFailed + " Later, at 12:00:03.000" + isRefused},
	} {
		_, err := Why(clientCalls(tc.calls...), deployment("web"), Options{What: Changed})
		unknown := new(UnknownChangeError)
		if !errors.As(err, &unknown) || unknown.Sentence(Style{}) != tc.want {
			t.Errorf("%s: got %v, %q", name, err, unknown.Sentence(Style{}))
		}
	}
}

// checkSays checks that the text of a chain has all of says, and not none; "" = anything.
func checkSays(t *testing.T, chain *Chain, says []string, none string) {
	t.Helper()
	text := writeString(t, chain, Text, Style{})
	for _, want := range says {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if none != "" && strings.Contains(text, none) {
		t.Errorf("%q in:\n%s", none, text)
	}
}

// The sentence of a trace says why a write was refused, and counts it as no change.
func TestTraceSaysWhyAWriteWasRefused(t *testing.T) {
	refused := observe.Called{Verb: "create", Status: 403, Error: "exceeded quota: " + strings.Repeat("very ", 100) + "few"}
	created := observe.Called{Verb: "create", Status: 201, ResourceVersion: "7"}
	conflict := observe.Called{Verb: "update", Status: 409, Conflict: true, Error: "the object has been modified"}
	for _, tc := range []struct {
		calls []observe.Called
		says  string
	}{
		{[]observe.Called{refused}, "kubectl (admin) failed to create Deployment web: 403: exceeded quota: very "},
		{[]observe.Called{refused, refused}, "very … very "},
		{[]observe.Called{refused, refused}, "very few, followed by 1 refused write."},
		{[]observe.Called{refused, {Verb: "update", Status: 504, Error: "request timed out"}, refused}, "very few, followed by 1 refused write and 1 failed write."},
		{[]observe.Called{created, {Verb: "update", ResourceVersion: "8"}, conflict, conflict, refused}, "kubectl (admin) created Deployment web, followed by 1 more change, 2 conflicts and 1 refused write."},
		{[]observe.Called{created, {Verb: "patch", Status: 404, Error: "not found"}, {Verb: "delete", Status: 404, Error: "not found"}, refused}, "kubectl (admin) created Deployment web, followed by 1 refused write and 1 failed write."},
		{[]observe.Called{created, {Verb: "update", ResourceVersion: "8"}, refused}, "kubectl (admin) created Deployment web, followed by 1 more change and 1 refused write."},
	} {
		tree, err := Build(clientCalls(tc.calls...), deployment("web"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		text := writeString(t, tree, Text, Style{})
		sentence := strings.Split(text, "\n")[1]
		if !strings.Contains(sentence, tc.says) || len(sentence) > 400 {
			t.Errorf("no %q in:\n%s", tc.says, text)
		}
		if !strings.Contains(text, "403: "+refused.Error) {
			t.Errorf("the line of the write cuts the reason:\n%s", text)
		}
	}
}

// A long reason is cut in the middle: what it begins with says what failed, and what it ends with why.
func TestLongReasonsAreCutInTheMiddle(t *testing.T) {
	connect := `failed calling webhook "check.example.com": failed to call webhook: Post "https://checker.shop.svc:443/check?timeout=10s": ` +
		strings.Repeat("proxy: ", 20) + "dial tcp 127.0.0.1:443: connect: connection refused"
	for reason, want := range map[string]string{
		"short":                  "short",
		connect:                  `failed calling webhook "check.example.com": failed to call webhook: Post "https://checker.shop.svc:443/check?timeout=10s": proxy: proxy: … proxy: proxy: proxy: proxy: proxy: proxy: dial tcp 127.0.0.1:443: connect: connection refused`,
		strings.Repeat("é", 300): strings.Repeat("é", 140) + " … " + strings.Repeat("é", 100),
	} {
		if got := (phrases{}).shorten(reason); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The sentence says why the storage has refused a write, without what is internal to the storage.
func TestTraceSummarizesErrorsOfTheStorage(t *testing.T) {
	const begin, end = `Operation cannot be fulfilled on deployments.apps "web": `, "Precondition failed: UID in precondition: 43919c18-65b3-4ecf-b709-47f86d2ad35b, UID in object meta: c762d37c-6b75-4938-8680-35d6654a0999"
	message := begin + "StorageError: invalid object, Code: 4, Key: /registry/deployments/default/web, ResourceVersion: 0, AdditionalErrorMsg: " + end
	tree, err := Build(clientCalls(observe.Called{Verb: "update", Status: 409, Error: message}), deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := writeString(t, tree, Text, Style{})
	if want := "kubectl (admin) failed to update Deployment web: 409: " + begin + end + ".\n"; !strings.Contains(text, want) || !strings.Contains(text, message) {
		t.Errorf("no %q or %q in:\n%s", want, message, text)
	}
}

// Of a webhook behind a Service that leads to no program the sentence names the Service and says what to do, for which a long URL leaves
// no room. The program's text is that of package sim/kubelet.
func TestTraceSummarizesServicesWithoutProgram(t *testing.T) {
	const fails, service, advice = `Internal error occurred: failed calling webhook "vclusterqueue.kb.io": `, "Service kueue-system/kueue-webhook-service leads to no program", ": run the server on this machine, set the Service's type to ExternalName"
	const short = ": run the server on this machine and set the Service's type to ExternalName"
	const because, otherwise = ", because the programs of Pods do not run here", ", and service.port in the configuration to the server's port, or delete the configuration that refers to it"
	const url = `Post "https://kueue-webhook-service.kueue-system.svc:443/validate-kueue-x-k8s-io-v1beta1-clusterqueue?timeout=10s": `
	for begin, want := range map[string]string{
		fails + "failed to call webhook: ":                                          fails,
		"conversion webhook for kueue.x-k8s.io/v1beta1, Kind=ClusterQueue failed: ": "conversion webhook for kueue.x-k8s.io/v1beta1, Kind=ClusterQueue failed: ",
	} {
		tree, err := Build(clientCalls(observe.Called{Verb: "update", Status: 500, Error: begin + url + service + because + advice + otherwise}), deployment("web"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if text, want := writeString(t, tree, Text, Style{}), "failed to update Deployment web: 500: "+want+service+short+".\n"; !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// Kyverno names the object before the policy that it violates, for which the sentence has no room then.
func TestTraceSummarizesPolicies(t *testing.T) {
	const begin, end = `admission webhook "validate.kyverno.svc-fail" denied the request: `, "require-labels: autogen-check-team: 'validation error: label ''team'' is required. rule autogen-check-team failed at path /spec/template/metadata/labels/team/'"
	message := begin + "resource Deployment/default/web-of-the-shop was blocked due to the following policies " + end
	tree, err := Build(clientCalls(observe.Called{Verb: "update", Status: 400, Error: message}), deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := writeString(t, tree, Text, Style{})
	if want := "failed to update Deployment web: 400: " + begin + end + ".\n"; !strings.Contains(text, want) || !strings.Contains(text, message) {
		t.Errorf("no %q or %q in:\n%s", want, message, text)
	}
}

// Go appends a guess to the reason why the certificate of a webhook is not trusted, so that its end is not the reason.
func TestTraceSummarizesErrorsOfCertificates(t *testing.T) {
	const reason = `failed calling webhook "check.example.com": failed to call webhook: Post "https://localhost:18443/check?timeout=5s": tls: failed to verify certificate: x509: certificate signed by unknown authority`
	const hint = ` (possibly because of "crypto/rsa: verification error" while trying to verify candidate authority certificate "checker-ca")`
	tree, err := Build(clientCalls(observe.Called{Verb: "update", Status: 500, Error: reason + hint}), deployment("web"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text, want := writeString(t, tree, Text, Style{}), "failed to update Deployment web: 500: "+reason+".\n"; !strings.Contains(text, want) || !strings.Contains(text, hint) {
		t.Errorf("no %q or %q in:\n%s", want, hint, text)
	}
}

// The sentence has no room for the regular expression with which upstream's validation ends a
// message; the line of the write has all of it.
func TestTraceSummarizesInvalidNames(t *testing.T) {
	for _, problem := range slices.Concat(validation.IsDNS1123Subdomain("we@b"), validation.IsDNS1035Label("we@b"), validation.IsValidLabelValue("we@b!")) {
		message := `Deployment.apps "we@b" is invalid: metadata.name: Invalid value: "we@b": ` + problem
		tree, err := Build(clientCalls(observe.Called{Verb: "create", Status: 422, Error: message}), deployment("web"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		text := writeString(t, tree, Text, Style{})
		meaning, _, _ := strings.Cut(message, " (e.g. ")
		if sentence := strings.Split(text, "\n")[1]; !strings.HasPrefix(sentence, "kubectl (admin) failed to create Deployment web: 422: "+meaning[:120]) || strings.Contains(sentence, "regex") {
			t.Errorf("the sentence is %q", sentence)
		}
		if !strings.Contains(text, words.OneLine(message)) {
			t.Errorf("the line of the write cuts the reason:\n%s", text)
		}
	}
}
