package clients

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// script is a program that writes for causes which the test knows.
type script struct {
	*fixture
	mu        sync.Mutex
	truth     map[string]string // of the writes, by when they began and their path
	conn      string            // of what follows; "" = the one of operatorAgent, over HTTP/1.1
	process   string            // of what follows: see isProcess
	agent     string            // of what follows; "" = operatorAgent
	who       user.Info         // of what follows; nil = operator
	as        string            // whom it impersonates in what follows
	forwarded string            // for whom a proxy sends what follows
	closes    bool              // the program ends its watches, not the server
	pool      bool              // the program opens a connection over HTTP/1.1 for each request
}

// tally counts the writes of a script by how well their likely cause is known.
type tally struct{ right, unknown, wrong int }

func ms(n int) { time.Sleep(time.Duration(n) * time.Millisecond) }

// write sends a write whose answer takes a while. truth is its cause, or several that are right, separated by "|";
// "" if none is.
func (s *script) write(truth, method, path string, answer string) {
	s.fail(truth, method, path, http.StatusOK, answer)
}

func (s *script) fail(truth, method, path string, status int, answer string) {
	s.expect(truth, method)
	s.request(method, path, "{}", func(w http.ResponseWriter) {
		ms(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, answer)
	})
}

// expect notes the cause of the write that begins now.
func (s *script) expect(truth, method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	began := scripted(time.Now(), method)
	s.truth[began] = strings.TrimPrefix(s.truth[began]+"|"+truth, "|")
}

func scripted(began time.Time, method string) string { return fmt.Sprint(began.UnixNano(), method) }

func (s *script) newRequest(method, path, sent string) *http.Request {
	req := httptest.NewRequestWithContext(s.withProcess(s.Context()), method, path, strings.NewReader(sent))
	req.Header.Set("User-Agent", cmp.Or(s.agent, operatorAgent))
	req.Header.Set("Content-Type", "application/json")
	if s.as != "" {
		req.Header.Set("Impersonate-User", s.as)
	}
	req.RemoteAddr = operatorAgent
	if s.conn != "" {
		req.RemoteAddr, req.ProtoMajor = s.conn, 2
	}
	if s.pool {
		req.RemoteAddr = fmt.Sprint("10.0.0.2:", time.Now().UnixNano())
	}
	if s.forwarded != "" {
		req.Header.Set("X-Forwarded-For", s.forwarded)
	}
	return req
}

func (s *script) user() user.Info {
	if s.who != nil {
		return s.who
	}
	return operator
}

func (s *script) request(method, path, sent string, answer func(http.ResponseWriter)) {
	s.clients.Handle(httptest.NewRecorder(), s.newRequest(method, path, sent), s.user(), http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		answer(w)
	}))
}

// watched opens a watch, which ends with the test or before.
func (s *script) watched(path string) (send func(typ, object string), end func()) {
	frames, sent, stop := make(chan string), make(chan struct{}), make(chan struct{})
	began, ended := make(chan struct{}), make(chan struct{})
	req, who := s.newRequest(http.MethodGet, path, ""), s.user()
	ctx, leave := context.WithCancel(req.Context())
	req = req.WithContext(ctx)
	go func() {
		defer close(ended)
		defer leave()
		s.clients.Handle(httptest.NewRecorder(), req, who, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json;stream=watch")
			w.WriteHeader(http.StatusOK)
			close(began)
			for {
				select {
				case frame := <-frames:
					io.WriteString(w, frame)
					sent <- struct{}{}
				case <-stop:
					return
				}
			}
		}))
	}()
	<-began
	end = sync.OnceFunc(func() {
		if s.closes {
			leave()
		}
		close(stop)
		<-ended
	})
	s.Cleanup(end)
	return func(typ, object string) { frames <- frame(typ, object); <-sent }, end
}

func (s *script) watch(path string) (send func(typ, object string)) {
	send, _ = s.watched(path)
	return send
}

var methods = map[string]string{"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETE"}

// runScript runs a script and counts its writes. Those whose cause is not the right one are logged.
func runScript(t *testing.T, play func(s *script)) (n tally) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{fixture: newFixture(t), truth: map[string]string{}}
		play(s)
		calls, _ := s.records()
		causes := s.causes("")
		for _, c := range calls {
			if !c.IsWrite() {
				continue
			}
			got, truth := causes[0], s.truth[scripted(c.Began, methods[c.Verb])]
			causes = causes[1:]
			isUnknown := strings.HasPrefix(got, "after ")
			switch {
			case isRight(truth, got), truth == "" && isUnknown:
				n.right++
			case isUnknown:
				n.unknown++
				t.Logf("%s %s %s: %s, is because of %q", c.Verb, c.Object, c.Subresource, got, truth)
			default:
				n.wrong++
				t.Logf("%s %s %s: WRONG because of %q, is because of %q", c.Verb, c.Object, c.Subresource, got, truth)
			}
		}
	})
	return n
}

// isRight reports whether a cause is among the right ones. One that ends with "*" stands for any event of its object.
func isRight(truth, got string) bool {
	return slices.ContainsFunc(strings.Split(truth, "|"), func(right string) bool {
		object, isPrefix := strings.CutSuffix(right, "*")
		return got == right || isPrefix && strings.HasPrefix(got, object)
	})
}

const (
	settings   = "/api/v1/namespaces/ns/configmaps"
	pods       = "/api/v1/namespaces/ns/pods"
	tenants    = "/apis/example.com/v1/tenants"
	namespaces = "/api/v1/namespaces"

	siteAdded = "Site ns/shop added 7"
	forbidden = `{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`
)

func site(version int) string  { return object("Site", "shop", "u1", fmt.Sprint(version)) }
func route(version int) string { return object("Route", "main", "r1", fmt.Sprint(version)) }
func web(version int) string   { return owned("Deployment", "web", "d1", fmt.Sprint(version)) }

// The likely causes of what programs of several kinds write. A cause that is not known is better than a wrong one.
func TestCausesOfScriptedPrograms(t *testing.T) {
	for name, test := range map[string]struct {
		play func(s *script)
		want tally
	}{
		"the woken object itself first":     {playWokenObjectFirst, tally{right: 3}},
		"an unrelated object first":         {playUnrelatedFirst, tally{right: 1, unknown: 2}},
		"a Node for a NodeClaim":            {playNodeForClaim, tally{right: 11}},
		"one of many NodeClaims":            {playSiblings, tally{right: 7}},
		"a drain":                           {playDrain, tally{right: 10}},
		"a watch that ends before":          {playWatchUntil, tally{right: 1}},
		"a watch that ends long before":     {playWatchLongBefore, tally{right: 1}},
		"a watch of a process before":       {playWatchOfProcessBefore, tally{right: 1}},
		"a watch that ends in a sync":       {playWatchEndsInSync, tally{right: 2}},
		"a watch that ends in long work":    {playWatchEndsInLongWork, tally{right: 7}},
		"a watch opened again long before":  {playWatchReopenedLongBefore, tally{right: 1}},
		"a watch opened again in a sync":    {playWatchReopened, tally{right: 3}},
		"a watch opened again in a burst":   {playWatchReopenedInBurst, tally{right: 400}},
		"a Namespace per tenant":            {playTenant, tally{right: 3, unknown: 1}},
		"GitOps":                            {playGitOps, tally{right: 1, unknown: 4}},
		"GitOps by labels":                  {playGitOpsByLabels, tally{right: 9}},
		"GitOps that prunes":                {func(s *script) { playPrune(s, 22_000) }, tally{right: 14}},
		"GitOps that prunes after long":     {func(s *script) { playPrune(s, 77_000) }, tally{right: 14}},
		"a deletion seconds later":          {func(s *script) { playDeletionLater(s, 5000) }, tally{right: 2}},
		"a deletion after a minute":         {func(s *script) { playDeletionLater(s, 61_000) }, tally{right: 2}},
		"a command that waits for a hook":   {playHook, tally{right: 4}},
		"and over HTTP/2":                   {playHookOverHTTP2, tally{right: 4}},
		"a script that waits for a hook":    {playHookOfScript, tally{right: 4}},
		"the next run of a command":         {playNextRun, tally{right: 2}},
		"a watch closed beside another one": {playWatchClosed, tally{right: 1}},
		"killed while it writes":            {playKilledInWrite, tally{right: 1}},
		"stopped in a sync":                 {playStop, tally{right: 3}},
		"stopped in its first sync":         {playStopBeforeWrite, tally{right: 1}},
		"the only watch opened again":       {playOnlyWatchReopened, tally{right: 3}},
		"the only watch of a user agent":    {playWatchOfAgentClosed, tally{right: 1}},
		"an audit":                          {playAudit, tally{right: 27}},
		"a certificate":                     {playCertificate, tally{right: 5}},
		"a new leader":                      {playNewLeader, tally{right: 8}},
		"a Secret after a status":           {playSecretAfterStatus, tally{right: 3}},
		"a timer in another namespace":      {playTimerInOtherNamespace, tally{right: 2}},
		"two Kustomizations":                {playTwoKustomizations, tally{right: 4}},
		"created after long":                {playCreatedAfterLong, tally{right: 6}},
		"a certificate renewed by a timer":  {playRenewalByTimer, tally{right: 2, unknown: 3}},
		"a certificate renewed often":       {playRenewedOften, tally{right: 5, wrong: 1}},
		"a review before":                   {playReviewBefore, tally{right: 3}},
		"a review in the sync":              {playReviewInSync, tally{right: 3}},
		"a token of another API server":     {playOtherToken, tally{right: 1}},
		"no dry run":                        {func(s *script) { playDrift(s, false) }, tally{right: 2}},
		"a dry run":                         {func(s *script) { playDrift(s, true) }, tally{right: 3}},
		"a write without effect":            {playWithoutEffect, tally{right: 3}},
		"a child and its status":            {playChildAndStatus, tally{right: 4}},
		"a collection deleted gracefully":   {func(s *script) { playDeleteCollection(s, 50, true) }, tally{right: 3}},
		"a collection deleted":              {func(s *script) { playDeleteCollection(s, 200, false) }, tally{right: 3}},
		"an owner is named":                 {playOwnerIsNamed, tally{right: 3}},
		"the event names the object":        {playEventNamesObject, tally{right: 2}},
		"a status in a sync":                {playStatusInSync, tally{right: 3}},
		"a container is called as the Site": {playContainerName, tally{right: 1, unknown: 1}},
		"another change after a pause":      {playChangeAfterPause, tally{right: 4}},
		"a version from an answer":          {playVersionFromAnswer, tally{right: 4}},
		"a hot loop":                        {func(s *script) { playHotLoop(s, 3) }, tally{right: 21}},
		"a hot loop, slower":                {func(s *script) { playHotLoop(s, 40) }, tally{right: 21}},
		"a hot loop with long syncs":        {func(s *script) { playHotLoop(s, 350) }, tally{right: 21}},
		"a hot loop of applies":             {func(s *script) { playLoopOfApplies(s, 15) }, tally{right: 78}},
		"a hot loop of applies, slower":     {func(s *script) { playLoopOfApplies(s, 150) }, tally{right: 78}},
		"a resync":                          {playResync, tally{right: 12}},
		"a name that is that of a field":    {playNameOfField, tally{right: 2}},
		"a name of two letters":             {playShortName, tally{right: 2}},
		"a second connection":               {playSecondConnection, tally{right: 1}},
		"a second process":                  {playSecondProcess, tally{right: 2}},
		"a failure of another process":      {playFailureOfAnotherProcess, tally{right: 3}},
		"a list long after":                 {playListLongAfter, tally{right: 1}},
		"a list for other work":             {func(s *script) { playLazyInformer(s, 3000) }, tally{right: 2}},
		"a list soon after other work":      {func(s *script) { playLazyInformer(s, 300) }, tally{right: 2}},
		"an admission":                      {playAdmission, tally{right: 6}},
		"an admission beside a queue":       {playAdmissionBesideQueue, tally{right: 7}},
		"a prompt admission":                {playPromptAdmission, tally{right: 5}},
		"a timer after a named status":      {playTimerAfterQueue, tally{right: 5}},
		"a refresh":                         {playRefresh, tally{right: 17}},
		"a refresh of a Secret":             {playGenerate, tally{right: 10}},
		"a refresh of what was listed":      {playRefreshOfListed, tally{right: 5}},
		"a key called as the object":        {func(s *script) { playKeyOfStore(s, false) }, tally{right: 3}},
		"such a key in a checked object":    {func(s *script) { playKeyOfStore(s, true) }, tally{right: 4}},
		"a deleted child of shared objects": {playDeletedChild, tally{right: 4}},
		"a finalizer, and a status later":   {playFinalizerAndStatus, tally{right: 3}},
		"a finalizer removed later":         {playDeletedOutside, tally{right: 2}},
		"a deletion after a status":         {playDeleteAfterStatus, tally{right: 3}},
		"a status twice":                    {playStatusTwice, tally{right: 1, unknown: 1}},
		"a Route and its Gateway":           {playRouteAndGateway, tally{right: 1, unknown: 1}},
		"names at the start":                {playNamesAtStart, tally{right: 6, unknown: 1}},
		"a new Namespace":                   {func(s *script) { playNewNamespace(s, "team-2", 30) }, tally{right: 13}},
		"a new Namespace, two letters":      {func(s *script) { playNewNamespace(s, "t2", 30) }, tally{right: 13}},
		"a status beside another worker":    {playStatusBesideWorker, tally{right: 5}},
		"a named object beside another":     {playTwoChanges, tally{right: 3, unknown: 1}},
		"a namesake during a sync":          {func(s *script) { playNamesake(s, true, 9) }, tally{right: 3}},
		"a namesake before a sync":          {func(s *script) { playNamesake(s, false, 2) }, tally{right: 2}},
		"a namesake alone":                  {playNamesakeAlone, tally{right: 2}},
		"a mounted namesake":                {playMountedNamesake, tally{right: 2}},
		"an autoscaler beside a status":     {playScalerBesideStatus, tally{right: 1}},
		"evictions by a ticker":             {playUpdater, tally{right: 8}},
		"parts by a ticker":                 {playTickerOfParts, tally{right: 3}},
		"a change before the last tick":     {playTickerAfterChange, tally{right: 5}},
		"an eviction seconds later":         {playLateEviction, tally{right: 1}},
		"deletions by a ticker":             {playTickerDeletes, tally{right: 4, wrong: 2}},
		"refused evictions by a ticker":     {playRefusedUpdater, tally{right: 4}},
		"statuses by a ticker":              {func(s *script) { playRecommender(s, 0) }, tally{right: 11}},
		"statuses by a slower ticker":       {func(s *script) { playRecommender(s, 150) }, tally{right: 11}},
		"an object twice in a sync":         {func(s *script) { playWholeSyncs(s, false) }, tally{right: 5}},
		"twice in a sync by a timer":        {func(s *script) { playWholeSyncs(s, true) }, tally{right: 5}},
		"twice by two controllers":          {func(s *script) { playWholeSyncBesideOther(s, false, false) }, tally{right: 2, wrong: 1}},
		"twice by two workers":              {func(s *script) { playWholeSyncBesideOther(s, true, false) }, tally{right: 5}},
		"again after a user's change":       {func(s *script) { playWholeSyncBesideOther(s, false, true) }, tally{right: 3}},
		"statuses after such a sync":        {playStatusAfterWholeSync, tally{right: 6}},
		"a deletion in a slow sync":         {playSlowDeletion, tally{right: 2}},
		"a deletion after its time to live": {playTTL, tally{right: 1}},
		"a deletion on request":             {playDeletionOnRequest, tally{right: 2}},
		"a user's regular changes":          {func(s *script) { playRegularChanges(s, 10_000, 4, 0) }, tally{right: 8}},
		"a user's regular changes, slower":  {func(s *script) { playRegularChanges(s, 10_000, 1500, 0) }, tally{right: 8}},
		"regular changes with long syncs":   {func(s *script) { playRegularChanges(s, 60_000, 3000, 150) }, tally{right: 8}},
		"a poll of a cache":                 {playPoll, tally{right: 5}},
		"refused evictions for a change":    {playRefusedEvictions, tally{right: 6}},
		"an update refused each 10 s":       {playFixedRetry, tally{right: 5}},
		"bindings at equal distances":       {func(s *script) { playBatchBinding(s, 0) }, tally{right: 5}},
		"bindings of Pods that have waited": {func(s *script) { playBatchBinding(s, 2) }, tally{right: 5}},
		"regular rollouts":                  {func(s *script) { playRegularRollouts(s, false) }, tally{right: 10}},
		"regular rollouts, status first":    {func(s *script) { playRegularRollouts(s, true) }, tally{right: 10}},
		"a ticker that has ended":           {playTickerAndRestart, tally{right: 4}},
		"a scheduler beside controllers":    {playSchedulerBesideControllers, tally{right: 4}},
		"a stale creation":                  {playStaleCreation, tally{right: 5}},
		"a creation of what exists":         {playCreateFirst, tally{right: 7}},
		"a stale creation beside others":    {func(s *script) { playStaleCreationBesideOthers(s, 12) }, tally{right: 8}},
		"a stale creation that fails later": {func(s *script) { playStaleCreationBesideOthers(s, 15) }, tally{right: 8}},
		"freed quota":                       {playFreedQuota, tally{right: 8}},
		"a preemption":                      {playPreemption, tally{right: 5}},
		"a slow sync":                       {playSlowSync, tally{right: 3}},
		"a slow sync beside a change":       {playSlowSyncBesideChange, tally{right: 2}},
		"slow threads":                      {playSlowThreads, tally{right: 2}},
		"slow threads for statuses":         {playSlowStatusThreads, tally{right: 2}},
		"a creation of what is old":         {playCreateOld, tally{right: 3}},
		"a start":                           {playStart, tally{right: 4}},
		"created at the start":              {playCreatedAtStart, tally{right: 2}},
		"created before the start":          {playCreatedBeforeStart, tally{right: 2}},
		"a back-off":                        {func(s *script) { playBackoff(s, 1500) }, tally{right: 10}},
		"a back-off beside others":          {func(s *script) { playBackoff(s, 50) }, tally{right: 10}},
		"a retry after a minute":            {func(s *script) { playRetryOfFailed(s, 60_040, false) }, tally{right: 2}},
		"a retry after two minutes":         {func(s *script) { playRetryOfFailed(s, 120_000, false) }, tally{right: 1, unknown: 1}},
		"a retry of several controllers":    {func(s *script) { playRetryOfFailed(s, 4000, true) }, tally{right: 4}},
		"and after a minute":                {func(s *script) { playRetryOfFailed(s, 60_040, true) }, tally{right: 4}},
		"a retry after a touch":             {playRetryAfterTouch, tally{right: 5}},
		"a retry after another's change":    {playRetryAfterOtherChanges, tally{right: 4}},
		"a conflict long after":             {playConflictLongAfter, tally{right: 1}},
		"a retry after a conflict":          {func(s *script) { playRetryAfterConflict(s, 2) }, tally{right: 3}},
		"a slow retry after a conflict":     {func(s *script) { playRetryAfterConflict(s, 150) }, tally{right: 3}},
		"a delayed retry after a conflict":  {func(s *script) { playRetryAfterConflict(s, 500) }, tally{right: 3}},
		"a retry in a later sync":           {playRetryInLaterSync, tally{right: 3}},
		"a conflict without a retry":        {playConflictWithoutRetry, tally{right: 3}},
		"a later change after a conflict":   {playChangeAfterConflict, tally{right: 2}},
		"a conflict without a cause":        {playConflictWithoutCause, tally{right: 2}},
		"many writes before":                {playManyWrites, tally{right: 160}},
		"more than are kept":                {playMoreThanKept, tally{right: 1, unknown: 3}},
		"a refused update, long after":      {playRefusedUpdate, tally{right: 2}},
		"a refused deletion, long after":    {playRefusedDeletion, tally{right: 1}},
		"a standby that takes the Lease":    {playStandby, tally{right: 3}},
		"a standby that has waited longer":  {func(s *script) { playLateStandby(s, true) }, tally{right: 3}},
		"a program that does not lead":      {func(s *script) { playLateStandby(s, false) }, tally{right: 1, unknown: 1}},
		"a standby with many Sites":         {playStandbyWithManySites, tally{right: 2, unknown: 1}},
		"a Lease created for work":          {func(s *script) { playLeaseAsWork(s, true) }, tally{right: 3}},
		"a Lease created as the first work": {func(s *script) { playLeaseAsWork(s, false) }, tally{right: 2}},
		"a Lease of a shard":                {playLeaseOfShard, tally{right: 3}},
		"a status, and another's change":    {playStatusAndOtherChange, tally{right: 3, unknown: 1}},
		"the owner of a created object":     {playCreatedOwner, tally{right: 1, unknown: 2}},
		"an owner created in the same sync": {func(s *script) { playOwnerOfSync(s, 4) }, tally{right: 2}},
		"an owner created 12 ms before":     {func(s *script) { playOwnerOfSync(s, 12) }, tally{right: 2}},
		"an owner created 25 ms before":     {func(s *script) { playOwnerOfSync(s, 25) }, tally{right: 2}},
		"an owner created 60 ms before":     {func(s *script) { playOwnerOfSync(s, 60) }, tally{right: 1, unknown: 1}},
		"an owner created in a long sync":   {playOwnerOfLongSync, tally{right: 6}},
		"owners created in parallel":        {func(s *script) { playOwnersOfSyncs(s, 4) }, tally{right: 6}},
		"owners created 12 ms before":       {func(s *script) { playOwnersOfSyncs(s, 12) }, tally{right: 6}},
		"owners created 60 ms before":       {func(s *script) { playOwnersOfSyncs(s, 60) }, tally{right: 3, unknown: 3}},
		"a read before the write":           {playReadBefore, tally{right: 2}},
		"reads all the time":                {playReadsAllTheTime, tally{right: 1, unknown: 1}},
		"late, and then prompt":             {playLateAndThenPrompt, tally{right: 41, unknown: 1}},
		"late, and then restarted":          {playLateAndThenRestarted, tally{right: 7}},
		"200 Sites listed":                  {func(s *script) { playBurst(s, 200, 1, true) }, tally{right: 600}},
		"200 Sites at once":                 {func(s *script) { playBurst(s, 200, 1, false) }, tally{right: 600}},
		"200 Sites, 10 workers":             {func(s *script) { playBurst(s, 200, 10, false) }, tally{right: 600}},
	} {
		t.Run(name, func(t *testing.T) {
			got := runScript(t, test.play)
			t.Logf("%+v", got)
			if got != test.want {
				t.Errorf("want %+v", test.want)
			}
		})
	}
}

// A controller of Routes writes the status of the Route first, then what it selects.
func playWokenObjectFirst(s *script) {
	sendSite, sendRoute, sendDeployment := s.watch(sites+"?watch=1"), s.watch(routes+"?watch=1"), s.watch(deployments+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	sendDeployment("ADDED", web(8))
	ms(10000)
	sendRoute("MODIFIED", route(20))
	ms(4)
	s.write("Route ns/main updated 20", "PATCH", routes+"/main/status", route(21))
	sendRoute("MODIFIED", route(21))
	ms(4)
	s.write("Route ns/main updated 20", "PATCH", deployments+"/web", web(22))
}

// The first write is related to no event.
func playUnrelatedFirst(s *script) {
	sendSite, sendRoute := s.watch(sites+"?watch=1"), s.watch(routes+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	ms(10000)
	sendRoute("MODIFIED", route(20))
	ms(4)
	s.write("Route ns/main updated 20", "PUT", settings+"/hosts", object("ConfigMap", "hosts", "c1", "21"))
	ms(4)
	s.write("Route ns/main updated 20", "PATCH", deployments+"/web", web(22))
}

const (
	classes = "/apis/example.com/v1/classes"
	pools   = "/apis/example.com/v1/pools"
	claims  = "/apis/example.com/v1/claims"
	nodes   = "/api/v1/nodes"
)

// clusterScoped is an object that names the class default.
func clusterScoped(kind, name string, version int, owners ...string) string {
	o := strings.Replace(object(kind, name, kind+name, fmt.Sprint(version), owners...), `"namespace":"ns",`, "", 1)
	return strings.TrimSuffix(o, "}") + `,"spec":{"class":"default"}}`
}

// together makes writes that overlap, as several workers do.
func (s *script) together(writes ...func()) {
	var all sync.WaitGroup
	for i, write := range writes {
		all.Go(func() {
			time.Sleep(time.Duration(i) * 100 * time.Microsecond) // no two writes begin at the same time
			write()
		})
	}
	all.Wait()
}

// A program with several controllers creates NodeClaims, and a Node for each: its owner is not known yet. All of them name
// the class.
func playNodeForClaim(s *script) {
	sendClass, sendPool, sendClaim := s.watch(classes+"?watch=1"), s.watch(pools+"?watch=1"), s.watch(claims+"?watch=1")
	s.watch(nodes + "?watch=1")
	sendClass("ADDED", clusterScoped("Class", "default", 2))
	sendPool("ADDED", clusterScoped("Pool", "default", 3))
	ms(3)
	s.together(
		func() {
			s.write("Class default added 2", "PATCH", classes+"/default/status", clusterScoped("Class", "default", 4))
		},
		func() { s.write("*", "PUT", classes+"/default", clusterScoped("Class", "default", 5)) },
	)
	names := []string{"default-a1b2", "default-c3d4", "default-e5f6"}
	claim := func(i, version int) string { return clusterScoped("Claim", names[i], version, "Pooldefault") }
	ms(3000)
	for i := range names { // for a Pod
		s.write("", "POST", claims, claim(i, 10+i))
		sendClaim("ADDED", claim(i, 10+i))
	}
	ms(3)
	for i, name := range names {
		s.write("Claim "+name+" *", "PATCH", claims+"/"+name, claim(i, 20+i))
		sendClaim("MODIFIED", claim(i, 20+i))
	}
	ms(40)
	for i, name := range names {
		s.write("Claim "+name+" *", "POST", nodes, clusterScopedNaming(name, "Node", "kwok-"+name+"-big", 30+i))
		ms(20)
	}
}

// clusterScopedNaming is an object that names another one, too.
func clusterScopedNaming(name, kind, object string, version int, owners ...string) string {
	o := clusterScoped(kind, object, version, owners...)
	return strings.Replace(o, `"metadata":{`, fmt.Sprintf(`"metadata":{"labels":{"hostname":%q},`, name), 1)
}

// A program with several controllers writes NodeClaims of the same NodePool, one for what has happened to that, others by timers.
func playSiblings(s *script) {
	sendClaim := s.watch(claims + "?watch=1")
	claim := func(name string, version int) string { return clusterScoped("Claim", name, version, "Pooldefault") }
	for i := range 3 {
		sendClaim("ADDED", claim(fmt.Sprint("default-", i), 2+i))
	}
	ms(3)
	s.together(
		func() { s.write("Claim default-0 added 2", "PATCH", claims+"/default-0", claim("default-0", 10)) },
		func() { s.write("Claim default-0 added 2", "PUT", claims+"/default-0/status", claim("default-0", 11)) },
	)
	ms(20_000)
	sendClaim("MODIFIED", claim("default-0", 20))
	ms(3)
	s.write("Claim default-0 updated 20", "PATCH", claims+"/default-0", claim("default-0", 21))
	s.write("", "PATCH", claims+"/default-2", claim("default-2", 22))
	ms(50_000)
	sendClaim("MODIFIED", claim("default-0", 30))
	ms(3)
	s.write("Claim default-0 updated 30", "PATCH", claims+"/default-0", claim("default-0", 31))
	s.write("", "DELETE", claims+"/default-1", claim("default-1", 32))
	ownedNode := strings.Replace(clusterScopedNaming("Pooldefault", "Node", "one", 40, "Claimdefault-1"), `{"uid"`, `{"kind":"Claim","name":"default-1","uid"`, 1)
	s.write("", "DELETE", nodes+"/one", strings.Replace(ownedNode, "Pooldefault", "default-0", 1))
}

// Several controllers of a program drain a Node after a timer: each works for what another one has marked as deleted. An old
// event of the Pod that is evicted is not the cause, nor is one of two objects that have changed at once known to be it.
func playDrain(s *script) {
	sendClaim, sendNode, sendPod := s.watch(claims+"?watch=1"), s.watch(nodes+"?watch=1"), s.watch(pods+"?watch=1")
	claim := func(version int) string { return clusterScoped("Claim", "c1", version, "Pooldefault") }
	node := func(version int) string { return clusterScopedNaming("c1", "Node", "n1", version, "Claimc1") }
	marked := func(object string) string {
		return strings.Replace(object, `"metadata":{`, `"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z",`, 1)
	}
	pod := func(version int) string { return object("Pod", "p1", "p1", fmt.Sprint(version)) }
	sendClaim("ADDED", claim(2))
	ms(3)
	s.together(
		func() { s.write("Claim c1 added 2", "PATCH", claims+"/c1", claim(3)) },
		func() { s.write("Claim c1 added 2", "PATCH", claims+"/c1/status", claim(4)) },
	)
	sendClaim("MODIFIED", claim(4))
	sendNode("ADDED", node(5))
	ms(8000)
	sendPod("MODIFIED", pod(6))
	ms(8000)
	s.write("", "PATCH", nodes+"/n1", node(7))
	sendNode("MODIFIED", node(7))
	ms(5)
	s.write("", "PATCH", claims+"/c1/status", claim(8))
	sendClaim("MODIFIED", claim(8))
	ms(5)
	s.write("", "DELETE", claims+"/c1", marked(claim(9)))
	sendClaim("MODIFIED", marked(claim(9)))
	ms(10)
	s.write("Claim c1 updated 9", "DELETE", nodes+"/n1", marked(node(10)))
	sendNode("MODIFIED", marked(node(10)))
	ms(10)
	s.write("Node n1 updated 10", "PATCH", nodes+"/n1", marked(node(11)))
	ms(10)
	s.write("", "POST", pods+"/p1/eviction", `{"kind":"Status","status":"Success"}`)
	ms(200)
	sendPod("DELETED", pod(12))
	ms(200)
	s.fail("", "POST", pods+"/p1/eviction", http.StatusNotFound, `{"kind":"Status","status":"Failure","reason":"NotFound","code":404}`)
	ms(3000)
	sendClaim("MODIFIED", marked(claim(12)))
	ms(2)
	sendNode("MODIFIED", marked(node(13)))
	ms(20)
	s.write("", "PATCH", claims+"/c1/status", marked(claim(14)))
}

// A watch ends just before its program writes, as one with a time limit does.
func playWatchUntil(s *script) {
	send, end := s.watched(sites + "?watch=1")
	send("MODIFIED", site(7))
	end()
	ms(1)
	s.write("Site ns/shop updated 7", "PATCH", sites+"/shop", site(8))
}

// Its write follows from something else, such as the user who has started it.
func playWatchLongBefore(s *script) {
	send, end := s.watched(sites + "?watch=1")
	send("MODIFIED", site(7))
	end()
	ms(30_000)
	s.write("none", "PATCH", sites+"/shop", site(8))
}

func playWatchOfProcessBefore(s *script) {
	s.conn = "10.0.0.1:4000"
	send, end := s.watched(sites + "?watch=1")
	send("MODIFIED", site(7))
	end()
	ms(20_000)
	s.conn = "10.0.0.1:5000"
	s.write("none", "PATCH", sites+"/shop", site(8))
}

func playWatchEndsInLongWork(s *script) {
	s.conn = "10.0.0.1:4000"
	send, end := s.watched(sites + "?watch=1")
	send("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	end()
	for i := range 6 {
		ms(800)
		s.write(siteAdded, "POST", services, owned("Service", fmt.Sprint("web-", i), fmt.Sprint("s", i), fmt.Sprint(9+i)))
	}
}

func playWatchReopenedLongBefore(s *script) {
	send, end := s.watched(sites + "?watch=1&resourceVersion=1")
	send("MODIFIED", site(7))
	end()
	s.watch(sites + "?watch=1&resourceVersion=7")
	ms(20_000)
	s.write("Site ns/shop updated 7", "PATCH", sites+"/shop/status", site(8))
}

func playWatchEndsInSync(s *script) {
	send, end := s.watched(sites + "?watch=1&timeoutSeconds=10")
	send("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	end()
	ms(4)
	s.write(siteAdded, "POST", services, owned("Service", "web", "s1", "9"))
}

func playWatchReopened(s *script) {
	sendDeployment := s.watch(deployments + "?watch=1")
	sendDeployment("MODIFIED", web(3))
	ms(20000)
	send, end := s.watched(sites + "?watch=1&resourceVersion=1")
	send("MODIFIED", site(7))
	ms(4)
	s.write("Site ns/shop updated 7", "PATCH", deployments+"/web", web(8))
	ms(1)
	end()
	s.watch(sites + "?watch=1&resourceVersion=7")
	ms(4)
	s.write("Site ns/shop updated 7", "POST", services, owned("Service", "web", "s1", "9"))
	ms(1)
	s.write("Site ns/shop updated 7", "PATCH", sites+"/shop/status", site(10))
}

// A watch ends while its program has the keys of many events in its queue, as each does after some minutes.
func playWatchReopenedInBurst(s *script) {
	sendSite, end := s.watched(sites + "?watch=1&resourceVersion=1")
	for i := range 200 {
		sendSite("MODIFIED", numbered("Site", i, 100+i))
	}
	for i := range 200 {
		if i == 20 {
			end()
			sendSite = s.watch(sites + "?watch=1&resourceVersion=500")
		}
		truth := fmt.Sprintf("Site ns/site-%02d updated %d", i, 100+i)
		ms(5)
		s.write(truth, "PUT", fmt.Sprintf("%s/deployment-%02d", deployments, i), numbered("Deployment", i, 1000+i))
		ms(5)
		s.write(truth, "PATCH", fmt.Sprintf("%s/site-%02d/status", sites, i), numbered("Site", i, 2000+i))
		sendSite("MODIFIED", numbered("Site", i, 2000+i))
	}
}

// An operator creates a Namespace for each tenant, and objects in it that have no owner.
func playTenant(s *script) {
	sendTenant, sendNamespace := s.watch(tenants+"?watch=1"), s.watch(namespaces+"?watch=1")
	tenant := func(version int) string {
		return fmt.Sprintf(`{"kind":"Tenant","metadata":{"name":"acme","uid":"t1","resourceVersion":"%d"}}`, version)
	}
	sendTenant("ADDED", tenant(5))
	ms(4)
	ns := `{"kind":"Namespace","metadata":{"name":"ns","uid":"n1","resourceVersion":"10","ownerReferences":[{"kind":"Tenant","name":"acme","uid":"t1"}]}}`
	s.write("Tenant acme added 5", "POST", namespaces, ns)
	sendNamespace("ADDED", ns)
	ms(4)
	s.write("Tenant acme added 5", "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/ns/rolebindings", object("RoleBinding", "admins", "rb1", "11"))
	ms(4)
	s.write("Tenant acme added 5", "POST", "/api/v1/namespaces/ns/resourcequotas", object("ResourceQuota", "quota", "q1", "12"))
	ms(20000)
	sendTenant("MODIFIED", tenant(20))
	ms(4)
	s.write("Tenant acme updated 20", "PUT", "/api/v1/namespaces/ns/resourcequotas/quota", object("ResourceQuota", "quota", "q1", "21"))
}

// A program applies objects to a Namespace that it has created, for an object in another one.
func playGitOps(s *script) {
	sendApplication := s.watch("/apis/argoproj.io/v1alpha1/namespaces/argocd/applications?watch=1")
	sendNamespace, sendConfigMap, sendDeployment := s.watch("/api/v1/namespaces?watch=1"), s.watch("/api/v1/configmaps?watch=1"), s.watch("/apis/apps/v1/deployments?watch=1")
	sendApplication("ADDED", strings.Replace(object("Application", "guestbook", "a1", "5"), `"ns"`, `"argocd"`, 1))
	ms(300)
	const truth = "Application argocd/guestbook added 5"
	ns := `{"kind":"Namespace","metadata":{"name":"ns","uid":"n1","resourceVersion":"10","labels":{"kubernetes.io/metadata.name":"ns"}}}`
	s.write(truth, "PATCH", "/api/v1/namespaces/ns", ns)
	sendNamespace("ADDED", ns)
	ms(20)
	configMap := object("ConfigMap", "settings", "c1", "11")
	s.write(truth, "PATCH", settings+"/settings", configMap)
	sendConfigMap("ADDED", configMap)
	ms(20)
	deployment := strings.Replace(object("Deployment", "web", "d1", "12"), "{", `{"mounts":"settings",`, 1)
	s.write(truth, "PATCH", deployments+"/web", deployment)
	sendDeployment("ADDED", deployment)
	ms(20)
	s.write(truth, "PATCH", services+"/web", object("Service", "web", "s1", "13"))
	ms(30000)
	s.write("", "PATCH", services+"/web2", object("Service", "web2", "s2", "33")) // for a change in Git
}

// What is applied in another namespace names the Kustomization by two labels, and the Kustomization its source.
func playGitOpsByLabels(s *script) {
	const labels = `{"kustomize.toolkit.fluxcd.io/name":"web","kustomize.toolkit.fluxcd.io/namespace":"flux-system"}`
	kustomizations := "/apis/kustomize.toolkit.fluxcd.io/v1/%skustomizations%s"
	status := fmt.Sprintf(kustomizations, "namespaces/flux-system/", "/web/status")
	in := func(namespace, o string) string { return strings.Replace(o, `"ns"`, `"`+namespace+`"`, 1) }
	kustomization := func(version int) string {
		return strings.Replace(in("flux-system", object("Kustomization", "web", "k1", fmt.Sprint(version))), "{", `{"spec":{"sourceRef":{"kind":"Source","name":"fleet"}},`, 1)
	}
	source := func(version int) string {
		return in("flux-system", object("Source", "fleet", "f1", fmt.Sprint(version)))
	}
	applied := func(kind, name string, version int) string {
		return strings.Replace(in("apps", object(kind, name, name+"-1", fmt.Sprint(version))), `"name"`, `"labels":`+labels+`,"name"`, 1)
	}
	const apps = "/api/v1/namespaces/apps/configmaps/"
	sendSource, sendKustomization := s.watch("/apis/source.toolkit.fluxcd.io/v1/sources?watch=1"), s.watch(fmt.Sprintf(kustomizations, "", "?watch=1"))
	sendConfigMap := s.watch("/api/v1/configmaps?watch=1")
	sendSource("ADDED", source(4))
	ms(3000)
	sendConfigMap("ADDED", in("apps", object("ConfigMap", "kube-root-ca.crt", "c0", "3")))
	ms(3000)

	sendKustomization("ADDED", kustomization(5))
	ms(300)
	truth := "Kustomization flux-system/web added 5"
	s.write(truth, "PATCH", status, kustomization(6))
	sendKustomization("MODIFIED", kustomization(6))
	ms(20)
	s.write(truth, "PATCH", apps+"one", applied("ConfigMap", "one", 7))
	sendConfigMap("ADDED", applied("ConfigMap", "one", 7))
	ms(20)
	s.write(truth, "PATCH", apps+"two", applied("ConfigMap", "two", 8))
	sendConfigMap("ADDED", applied("ConfigMap", "two", 8))
	ms(20)
	s.write(truth+"|Kustomization flux-system/web updated 6", "PATCH", status, kustomization(9))
	sendKustomization("MODIFIED", kustomization(9))

	ms(8000) // another commit
	sendSource("MODIFIED", source(20))
	ms(4)
	truth = "Source flux-system/fleet updated 20"
	s.write(truth, "PATCH", status, kustomization(21))
	sendKustomization("MODIFIED", kustomization(21))
	ms(400)
	s.write(truth+"|Kustomization flux-system/web updated 21", "PATCH", status, kustomization(22))
	truth += "|Kustomization flux-system/web updated 21|Kustomization flux-system/web updated 22"
	sendKustomization("MODIFIED", kustomization(22))
	ms(400)
	s.write(truth, "PATCH", apps+"one", applied("ConfigMap", "one", 23))
	sendConfigMap("MODIFIED", applied("ConfigMap", "one", 23))
	ms(30)
	s.write(truth, "PATCH", apps+"two", applied("ConfigMap", "two", 24))
	sendConfigMap("MODIFIED", applied("ConfigMap", "two", 24))
	ms(30)
	s.write(truth, "PATCH", status, kustomization(25))
}

// A timer writes the status of a constraint. Another object is called as one of the labels that the constraint requires.
func playAudit(s *script) {
	const constraints, mutators = "/apis/constraints.gatekeeper.sh/v1/requiredlabels", "/apis/mutations.gatekeeper.sh/v1/assignmetadata"
	version := 100
	constraint := func() string {
		version++
		return fmt.Sprintf(`{"kind":"RequiredLabels","metadata":{"name":"pods","uid":"c1","resourceVersion":"%d"},"spec":{"labels":["owner"]}}`, version)
	}
	sendConstraint, sendMutator := s.watch(constraints+"?watch=1&sendInitialEvents=true"), s.watch(mutators+"?watch=1")
	sendConstraint("ADDED", constraint())
	truth := "RequiredLabels pods listed 101" // as if it had not begun to work before
	audit := func() {
		ms(15_000)
		s.expect(truth, "PUT")
		truth = ""
		s.request("PUT", constraints+"/pods/status", "{}", func(w http.ResponseWriter) {
			ms(1)
			io.WriteString(w, constraint())
		})
		sendConstraint("MODIFIED", strings.Replace(constraint(), fmt.Sprint(version), fmt.Sprint(version-1), 1))
	}
	for range 6 {
		audit()
	}
	for range 3 {
		ms(2000)
		mutator := fmt.Sprintf(`{"kind":"AssignMetadata","metadata":{"name":"owner","uid":"m1","resourceVersion":"%d"}}`, version)
		sendMutator("ADDED", mutator)
		ms(4)
		s.write("AssignMetadata owner added "+fmt.Sprint(version), "PUT", mutators+"/owner/status", fmt.Sprintf(`{"kind":"AssignMetadata","metadata":{"name":"owner","uid":"m1","resourceVersion":"%d0"}}`, version))
		for range 6 {
			audit()
		}
	}
}

// A program renews the certificate in a Secret and puts it into a webhook configuration, which is not related to that and
// has existed since the program started.
func playCertificate(s *script) {
	const secrets, hooks = "/api/v1/namespaces/ns/secrets", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	hook := func(name string, version int) string {
		return fmt.Sprintf(`{"kind":"ValidatingWebhookConfiguration","metadata":{"name":%q,"uid":"u-%s","resourceVersion":"%d"}}`, name, name, version)
	}
	secret := func(version int) string { return object("Secret", "cert", "s1", fmt.Sprint(version)) }
	sendSecret, sendHook := s.watch(secrets+"?watch=1&sendInitialEvents=true"), s.watch(hooks+"?watch=1&sendInitialEvents=true")
	sendSecret("ADDED", secret(3))
	sendHook("ADDED", hook("one", 4))
	sendHook("ADDED", hook("two", 5))
	ms(5000)
	s.write("", "PUT", settings+"/other", object("ConfigMap", "other", "c1", "10")) // by a timer
	for i := range 2 {
		ms(18_000 * (1 + 3*i))
		truth := fmt.Sprint("Secret ns/cert updated ", 20+10*i)
		sendSecret("MODIFIED", secret(20+10*i))
		ms(1000) // for a key
		s.write(truth, "PUT", secrets+"/cert", secret(21+10*i))
		sendSecret("MODIFIED", secret(21+10*i))
		ms(12)
		s.write(truth, "PUT", hooks+"/"+[]string{"one", "two"}[i], hook([]string{"one", "two"}[i], 22+10*i))
	}
}

// An operator that starts again finds Sites whose last versions it has written itself. Each sync takes longer than a program
// that is not idle pauses.
func playNewLeader(s *script) {
	const found = sites + "?watch=1&sendInitialEvents=true"
	send, end := s.watched(found)
	for i := range 4 {
		send("ADDED", numbered("Site", i, 10+i))
		ms(3)
		s.write(fmt.Sprintf("Site ns/site-%02d *", i), "PATCH", fmt.Sprintf("%s/site-%02d/status", sites, i), numbered("Site", i, 20+i))
		send("MODIFIED", numbered("Site", i, 20+i))
		ms(2000)
	}
	end()
	ms(120_000)
	send = s.watch(found)
	for i := range 4 {
		send("ADDED", numbered("Site", i, 20+i))
	}
	for i := range 4 {
		ms(1200)
		configMap := object("ConfigMap", fmt.Sprint("settings-", i), fmt.Sprint("c", i), fmt.Sprint(30+i), fmt.Sprintf("u%02d", i))
		s.write(fmt.Sprintf("Site ns/site-%02d listed %d", i, 20+i), "POST", settings, configMap)
	}
}

// A Secret changes just after the status of a Site was written, and goes into a ConfigMap that is related to neither.
func playSecretAfterStatus(s *script) {
	const initial = "?watch=1&sendInitialEvents=true"
	const secrets = "/api/v1/namespaces/ns/secrets"
	sendSite, sendSecret, sendConfigMap := s.watch(sites+initial), s.watch(secrets+initial), s.watch(settings+initial)
	sendSite("ADDED", site(1))
	sendSecret("ADDED", object("Secret", "cred", "s1", "2"))
	sendConfigMap("ADDED", object("ConfigMap", "bundle", "c1", "3"))
	ms(5000)
	s.write("", "PUT", settings+"/other", object("ConfigMap", "other", "c2", "10")) // by a timer
	ms(20_000)
	sendSite("MODIFIED", site(20))
	ms(2)
	s.write("Site ns/shop updated 20", "PATCH", sites+"/shop/status", site(21))
	ms(14)
	sendSecret("MODIFIED", object("Secret", "cred", "s1", "22"))
	ms(2)
	s.write("Secret ns/cred updated 22", "PUT", settings+"/bundle", object("ConfigMap", "bundle", "c1", "23"))
}

// A timer writes a ConfigMap just after the status of a Site in another namespace was written.
func playTimerInOtherNamespace(s *script) {
	report := func(version int) string {
		return strings.Replace(object("ConfigMap", "report", "c1", fmt.Sprint(version)), `"ns"`, `"other"`, 1)
	}
	sendSite, sendConfigMap := s.watch(sites+"?watch=1"), s.watch("/api/v1/configmaps?watch=1&sendInitialEvents=true")
	sendConfigMap("ADDED", report(2))
	ms(100_000)
	sendSite("ADDED", site(7))
	ms(50)
	s.write(siteAdded, "PATCH", sites+"/shop/status", site(8))
	ms(20)
	s.write("", "PUT", "/api/v1/namespaces/other/configmaps/report", report(9))
}

// The source of one Kustomization changes, and then that of another one. What the first one applies comes just after the
// status of the second one.
func playTwoKustomizations(s *script) {
	const kustomizations = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations"
	in := func(namespace, o string) string { return strings.Replace(o, `"ns"`, `"`+namespace+`"`, 1) }
	source := func(name string, version int) string {
		return in("flux-system", object("Source", "src-"+name, "f"+name, fmt.Sprint(version)))
	}
	kustomization := func(name string, version int) string {
		return strings.Replace(in("flux-system", object("Kustomization", name, name, fmt.Sprint(version))), "{", `{"spec":{"sourceRef":{"kind":"Source","name":"src-`+name+`"}},`, 1)
	}
	applied := func(name string, version int) string {
		const labels = `"labels":{"kustomize.toolkit.fluxcd.io/name":"aaa","kustomize.toolkit.fluxcd.io/namespace":"flux-system"},`
		return strings.Replace(in("apps", object("ConfigMap", name, name+"-1", fmt.Sprint(version))), `"name"`, labels+`"name"`, 1)
	}
	sendSource, sendKustomization := s.watch("/apis/source.toolkit.fluxcd.io/v1/sources?watch=1"), s.watch(kustomizations+"?watch=1")
	s.watch("/api/v1/configmaps?watch=1")
	for i, name := range []string{"aaa", "bbb"} {
		sendSource("ADDED", source(name, 1+i))
		sendKustomization("ADDED", kustomization(name, 3+i))
	}
	ms(70_000)
	for i, name := range []string{"aaa", "bbb"} {
		ms(500)
		version := 10 + 2*i
		sendSource("MODIFIED", source(name, version))
		ms(4)
		s.write(fmt.Sprintf("Source flux-system/src-%s updated %d", name, version), "PATCH", kustomizations+"/"+name+"/status", kustomization(name, version+1))
		sendKustomization("MODIFIED", kustomization(name, version+1))
	}
	const truth = "Source flux-system/src-aaa updated 10|Kustomization flux-system/aaa updated 11"
	ms(5)
	s.write(truth, "PATCH", "/api/v1/namespaces/apps/configmaps/one", applied("one", 14))
	ms(20)
	s.write(truth, "PATCH", "/api/v1/namespaces/apps/configmaps/two", applied("two", 15))
}

// A program writes that it waits until it can create what a Site needs, more than a minute after a user has created that. The
// last status is as a timer repeats it.
func playCreatedAfterLong(s *script) {
	send := s.watch(sites + "?watch=1")
	send("ADDED", site(7))
	ms(3)
	truth := siteAdded
	for i := range 5 {
		s.write(truth, "PATCH", sites+"/shop/status", site(8+i))
		send("MODIFIED", site(8+i))
		ms(15_000)
		truth = "" // by a timer
	}
	s.write(siteAdded+"|Site ns/shop updated *", "POST", deployments, web(30))
}

// A timer renews a certificate in steps that take long. Only what they create is known not to be repeated.
func playRenewalByTimer(s *script) {
	const initial = "?watch=1&sendInitialEvents=true"
	const api, secrets = "/apis/cert-manager.io/v1/namespaces/ns/", "/api/v1/namespaces/ns/secrets"
	certificate := func(version int) string { return object("Certificate", "web", "c1", fmt.Sprint(version)) }
	request := func(version int) string {
		return object("CertificateRequest", "web-2", "r2", fmt.Sprint(version), "c1")
	}
	secret := strings.Replace(object("Secret", "web-tls", "s1", "13"), `"name"`, `"annotations":{"cert-manager.io/certificate-name":"web"},"name"`, 1)
	sendCertificate, sendRequest, sendSecret := s.watch(api+"certificates"+initial), s.watch(api+"certificaterequests"+initial), s.watch(secrets+initial)
	sendCertificate("ADDED", certificate(3))
	sendSecret("ADDED", object("Secret", "web-tls", "s1", "4"))
	ms(100_000)
	s.write("", "PATCH", api+"certificates/web/status", certificate(10))
	sendCertificate("MODIFIED", certificate(10))
	ms(2000)
	s.write("Certificate ns/web updated 10", "POST", api+"certificaterequests", request(11))
	sendRequest("ADDED", request(11))
	ms(2000)
	s.write("CertificateRequest ns/web-2 added 11", "PATCH", api+"certificaterequests/web-2/status", request(12))
	sendRequest("MODIFIED", request(12))
	ms(2000)
	s.write("CertificateRequest ns/web-2 updated 12", "PATCH", secrets+"/web-tls", secret)
	sendSecret("MODIFIED", secret)
	ms(2000)
	s.write("CertificateRequest ns/web-2 updated 12|Secret ns/web-tls updated 13", "PATCH", api+"certificates/web/status", certificate(14))
}

// A program puts a certificate into the same webhook configuration three times within a minute. The first time, it may also
// work for that as it has found it when it started.
func playRenewedOften(s *script) {
	const initial = "?watch=1&sendInitialEvents=true"
	const secrets, hooks = "/api/v1/namespaces/ns/secrets", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	hook := func(version int) string {
		return fmt.Sprintf(`{"kind":"ValidatingWebhookConfiguration","metadata":{"name":"one","uid":"h1","resourceVersion":"%d"}}`, version)
	}
	secret := func(version int) string { return object("Secret", "cert", "s1", fmt.Sprint(version)) }
	sendSecret, sendHook := s.watch(secrets+initial), s.watch(hooks+initial)
	sendSecret("ADDED", secret(3))
	sendHook("ADDED", hook(4))
	ms(5000)
	for version := 20; version <= 40; version += 10 {
		ms(20_000)
		truth := fmt.Sprint("Secret ns/cert updated ", version)
		sendSecret("MODIFIED", secret(version))
		ms(1000) // for a key
		s.write(truth, "PUT", secrets+"/cert", secret(version+1))
		sendSecret("MODIFIED", secret(version+1))
		ms(12)
		s.write(truth, "PUT", hooks+"/one", hook(version+2))
		sendHook("MODIFIED", hook(version+2))
	}
}

func playReviewBefore(s *script) {
	sendSite, sendRoute := s.watch(sites+"?watch=1"), s.watch(routes+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	ms(10000)
	s.write("none", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", `{"kind":"TokenReview","metadata":{}}`) // for its metrics
	ms(500)
	sendRoute("MODIFIED", route(20))
	ms(4)
	s.write("Route ns/main updated 20", "PATCH", deployments+"/web", web(22))
}

func playReviewInSync(s *script) {
	sendSite, sendRoute := s.watch(sites+"?watch=1"), s.watch(routes+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	ms(10000)
	sendRoute("MODIFIED", route(20))
	ms(2)
	s.write("none", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{"kind":"SelfSubjectAccessReview","metadata":{}}`)
	ms(2)
	s.write("Route ns/main updated 20", "PATCH", deployments+"/web", web(22))
}

// The subresource "token" of an aggregated API server may store an object.
func playOtherToken(s *script) {
	sendSite := s.watch(sites + "?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", sites+"/shop/token", `{"kind":"Site","apiVersion":"example.com/v1","metadata":{"namespace":"ns","name":"shop","resourceVersion":"8"}}`)
}

// A program repairs what a user has changed, after a dry run that tells what would change.
func playDrift(s *script, dryRun bool) {
	sendSite, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	sendDeployment("ADDED", web(8))
	ms(30000)
	sendDeployment("MODIFIED", web(50))
	ms(4)
	if dryRun {
		s.write("Deployment ns/web updated 50", "PATCH", deployments+"/web?dryRun=All", web(50))
		ms(4)
	}
	s.write("Deployment ns/web updated 50", "PATCH", deployments+"/web", web(51))
}

// What a program applies is as a user has just made it: its write has not made that version.
func playWithoutEffect(s *script) {
	sendDeployment := s.watch(deployments + "?watch=1")
	sendDeployment("MODIFIED", web(50))
	edited := time.Now()
	ms(4)
	s.write("Deployment ns/web updated 50", "PATCH", deployments+"/web", web(50))
	ms(4)
	s.write("Deployment ns/web updated 50", "PATCH", services+"/web", owned("Service", "web", "s1", "51"))
	ms(8000)
	s.write(fmt.Sprintf("after %v Deployment ns/web updated", time.Since(edited)), "PATCH", settings+"/other", object("ConfigMap", "other", "c9", "52"))
}

// A status subresource needs a second write.
func playChildAndStatus(s *script) {
	sendSite, sendRoute := s.watch(sites+"?watch=1"), s.watch(routes+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", routes, owned("Route", "main", "r1", "8"))
	sendRoute("ADDED", owned("Route", "main", "r1", "8"))
	ms(1)
	s.write(siteAdded, "PATCH", routes+"/main/status", owned("Route", "main", "r1", "9"))
	sendRoute("MODIFIED", owned("Route", "main", "r1", "9"))
	ms(1)
	s.write(siteAdded, "POST", deployments, web(10))
	ms(1)
	s.write(siteAdded, "PATCH", sites+"/shop/status", site(11))
}

func playDeleteCollection(s *script, n int, graceful bool) {
	sendSite, sendPod := s.watch(sites+"?watch=1"), s.watch(pods+"?watch=1")
	sendSite("ADDED", site(7))
	ms(30000)
	sendSite("MODIFIED", site(9))
	edited := time.Now()
	ms(4)
	s.expect("Site ns/shop updated 9", "DELETE")
	s.request("DELETE", pods, "", func(w http.ResponseWriter) {
		write := observe.BeginWrite()
		typ := map[bool]string{true: "MODIFIED", false: "DELETED"}[graceful]
		for i := range n {
			ms(1)
			name := fmt.Sprint("pod-", i)
			write.Stored(observe.Written{Resource: "pods", Namespace: "ns", Name: name, ResourceVersion: fmt.Sprint(100 + i), Deleted: !graceful})
			sendPod(typ, owned("Pod", name, name, fmt.Sprint(100+i)))
		}
		write.End()
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"kind":"PodList","metadata":{"resourceVersion":"99"},"items":[{"metadata":{"name":"pod-0","ownerReferences":[{"name":"shop"}]}}]}`)
	})
	ms(3000)
	s.write("", "PATCH", sites+"/shop/status", site(400)) // by a timer
	ms(3000)
	s.write(fmt.Sprintf("after %v Site ns/shop updated", time.Since(edited)), "PATCH", deployments+"/other", object("Deployment", "other", "d9", "401"))
}

// What a Request answers goes to a Secret that names the owner of the Request, the Site, and not the Request.
func playOwnerIsNamed(s *script) {
	sendSite, sendRequest := s.watch(sites+"?watch=1"), s.watch(requests+"?watch=1")
	secret := strings.Replace(object("Secret", "web-tls", "s1", "20"), `"name"`, `"annotations":{"site":"shop"},"name"`, 1)
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", requests, owned("Request", "r-1", "q1", "8"))
	sendRequest("ADDED", owned("Request", "r-1", "q1", "8"))
	ms(60)
	sendRequest("MODIFIED", owned("Request", "r-1", "q1", "9")) // answered
	ms(4)
	s.write("Request ns/r-1 updated 9", "PATCH", "/api/v1/namespaces/ns/secrets/web-tls", secret)
	ms(4)
	s.write("Request ns/r-1 updated 9", "PATCH", sites+"/shop/status", site(21))
}

// A Route names the Service that the program writes for it. The Service names nothing, and others change beside it.
func playEventNamesObject(s *script) {
	sendRoute, sendSite := s.watch(routes+"?watch=1"), s.watch(sites+"?watch=1")
	named := func(version int) string {
		return strings.Replace(route(version), "{", `{"spec":{"activeService":"web"},`, 1)
	}
	for range 3 { // Sites are changed all the time
		sendSite("MODIFIED", site(7))
		ms(2000)
	}
	sendRoute("MODIFIED", named(20))
	ms(50)
	s.write("Route ns/main updated 20", "PATCH", services+"/web", object("Service", "web", "s1", "21"))
	ms(4)
	s.write("Route ns/main updated 20", "PATCH", routes+"/main/status", named(22))
}

// A built-in controller writes the status of what a sync has made while that goes on.
func playStatusInSync(s *script) {
	sendSite, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	sendDeployment("ADDED", web(8))
	ms(10)
	sendDeployment("MODIFIED", web(9))
	ms(5)
	s.write(siteAdded, "POST", services, owned("Service", "web", "s1", "10"))
	ms(5)
	s.write(siteAdded, "PATCH", sites+"/shop/status", site(11))
}

// A Pod has a container with the name of the Site, but is that of another program.
func playContainerName(s *script) {
	sendSite, sendPod := s.watch(sites+"?watch=1"), s.watch(pods+"?watch=1")
	pod := func(version int) string {
		return strings.Replace(object("Pod", "other-1", "p1", fmt.Sprint(version), "rs1"), "{", `{"spec":{"containers":[{"name":"shop"}]},`, 1)
	}
	sendSite("MODIFIED", site(7))
	ms(20)
	sendPod("MODIFIED", pod(8))
	ms(4)
	s.write("Site ns/shop updated 7", "PATCH", sites+"/shop/status", site(9))
	ms(20_000)
	sendPod("MODIFIED", pod(20))
	ms(1000)
	s.write("Site ns/shop updated 7", "PATCH", sites+"/shop/status", site(21)) // by a timer
}

// A Deployment becomes ready while the run for the Site could still go on.
func playChangeAfterPause(s *script) {
	sendSite, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	sendDeployment("ADDED", web(8))
	ms(4)
	s.write(siteAdded, "PATCH", sites+"/shop/status", site(9))
	sendSite("MODIFIED", site(9))
	ms(40)
	sendDeployment("MODIFIED", web(10)) // ready
	ms(6)
	s.write("Deployment ns/web updated 10", "PATCH", services+"/web", owned("Service", "web", "s1", "11"))
	ms(15)
	s.write("Deployment ns/web updated 10", "PATCH", sites+"/shop/status", site(12))
}

// A sync creates an object and changes it again, without a look into its cache: that has what another controller has written.
func playVersionFromAnswer(s *script) {
	sendSite, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	sendDeployment("ADDED", web(8))
	ms(1)
	sendDeployment("MODIFIED", web(9))
	ms(7)
	s.write(siteAdded, "PATCH", sites+"/shop/status", site(10))
	sendSite("MODIFIED", site(10))
	ms(8)
	s.expect(siteAdded, "PUT")
	s.request("PUT", deployments+"/web", web(8), func(w http.ResponseWriter) {
		ms(1)
		w.WriteHeader(http.StatusConflict)
		io.WriteString(w, `{"kind":"Status","status":"Failure","reason":"Conflict","code":409}`)
	})
	ms(2)
	s.expect("Deployment ns/web added 8", "PUT") // queued the key while the sync ran
	s.request("PUT", deployments+"/web", web(9), func(w http.ResponseWriter) {
		ms(1)
		io.WriteString(w, web(11))
	})
}

// Each write of the status follows from the one before, as a time in it does.
func playHotLoop(s *script, pause int) {
	sendSite, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	sendDeployment("ADDED", web(8))
	ms(2000)
	sendDeployment("MODIFIED", web(9))
	ms(4)
	truth := "Deployment ns/web updated 9"
	for version := 10; version < 30; version++ {
		base := version - 1
		if version == 10 {
			base = 7
		}
		s.expect(truth, "PUT")
		s.request("PUT", sites+"/shop/status", site(base), func(w http.ResponseWriter) {
			ms(1)
			io.WriteString(w, site(version))
		})
		sendSite("MODIFIED", site(version))
		truth = fmt.Sprintf("Site ns/shop updated %d", version)
		ms(pause)
	}
}

// applyAll is the round of an operator that applies what it needs each time, and writes a status. It thinks before each request.
func (s *script) applyAll(truth string, think int, settings string, web, version int) {
	for _, apply := range []struct{ path, answer string }{
		{settingsOfShop, settings}, {deployments + "/web", owned("Deployment", "web", "d1", fmt.Sprint(web))}, {sites + "/shop/status", site(version)},
	} {
		ms(think)
		s.write(truth, "PATCH", apply.path, apply.answer)
	}
}

const settingsOfShop = settings + "/shop"

// An operator without a cache applies what it has applied before, and then writes a status that differs each time. It watches
// Deployments, whose controller has written a status after the first round.
func playLoopOfApplies(s *script, think int) {
	sendSite, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	config := owned("ConfigMap", "shop", "c1", "8")
	sendSite("ADDED", site(7))
	s.applyAll(siteAdded, 12, config, 9, 10)
	sendDeployment("ADDED", web(9))
	sendSite("MODIFIED", site(10))
	ms(2000)
	sendDeployment("MODIFIED", web(11))
	s.applyAll("Deployment ns/web updated 11", 12, config, 11, 12)
	sendSite("MODIFIED", site(12))
	for version := 13; version < 37; version++ {
		s.applyAll(fmt.Sprintf("Site ns/shop updated %d", version-1), think, config, 11, version)
		sendSite("MODIFIED", site(version))
	}
}

// An operator applies everything every 15 s. A user has changed a ConfigMap before, which it does not watch.
func playResync(s *script) {
	sendSite, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	sendSite("ADDED", site(7))
	s.applyAll(siteAdded, 12, owned("ConfigMap", "shop", "c1", "8"), 9, 10)
	sendDeployment("ADDED", web(9))
	sendSite("MODIFIED", site(10))
	ms(2000)
	sendDeployment("MODIFIED", web(11))
	s.applyAll("Deployment ns/web updated 11", 12, owned("ConfigMap", "shop", "c1", "8"), 11, 12)
	sendSite("MODIFIED", site(12))
	for round := range 2 {
		ms(15000)
		s.applyAll("", 12, owned("ConfigMap", "shop", "c1", fmt.Sprint(20+round)), 11, 12)
	}
}

// Each Site has a field that is called as another Site is.
func playNameOfField(s *script) {
	sendSite, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	named := func(name string, version int) string {
		return strings.Replace(object("Site", name, "u-"+name, fmt.Sprint(version)), "{", `{"status":{"canary":{},"blueGreen":{"active":"a1"}},`, 1)
	}
	deployment := object("Deployment", "blue", "d1", "8", "u-blue")
	sendSite("ADDED", named("blue", 7))
	ms(4)
	s.write("Site ns/blue added 7", "POST", deployments, deployment)
	sendDeployment("ADDED", deployment)
	ms(20000)
	sendDeployment("MODIFIED", object("Deployment", "blue", "d1", "20", "u-blue"))
	ms(50)
	sendSite("MODIFIED", named("canary", 21))
	ms(4)
	s.write("Deployment ns/blue updated 20", "PATCH", sites+"/blue/status", named("blue", 22))
}

// A Service has the name of the Site in a field for names.
func playShortName(s *script) {
	const name = "bg"
	sendSite := s.watch(sites + "?watch=1")
	sendSite("MODIFIED", object("Site", name, "u1", "7"))
	ms(50)
	service := strings.Replace(object("Service", "active", "s1", "8"), "{", `{"spec":{"siteName":"`+name+`"},`, 1)
	s.write("Site ns/"+name+" updated 7", "PATCH", services+"/active", service)
	ms(30000)
	sendSite("MODIFIED", object("Site", name, "u1", "9"))
	ms(50)
	s.write("Site ns/"+name+" updated 9", "PATCH", services+"/active", service)
}

// A connection over HTTP/2 has at most 100 requests: a program with more watches has a second one.
func playSecondConnection(s *script) {
	s.conn = "10.0.0.1:1"
	sendSite := s.watch(sites + "?watch=1")
	for i := range fullConn {
		s.watch(fmt.Sprintf("/apis/example.com/v1/namespaces/ns/others%d?watch=1", i))
	}
	s.conn = "10.0.0.1:2"
	sendSecret := s.watch("/api/v1/namespaces/ns/secrets?watch=1")
	sendSecret("MODIFIED", object("Secret", "token", "s1", "5"))
	ms(2000)
	sendSite("MODIFIED", site(7))
	ms(4)
	s.write("Site ns/shop updated 7", "POST", deployments, web(8))
}

// A user starts the same program with another command, which watches nothing.
func playSecondProcess(s *script) {
	s.conn = "10.0.0.1:1"
	sendSite := s.watch(sites + "?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	ms(20000)
	s.conn = "10.0.0.1:9"
	s.write("", "PATCH", sites+"/shop", site(9))
}

// Two processes of a program fail to write the same. What one of them has received is not the cause of what the other one
// repeats.
func playFailureOfAnotherProcess(s *script) {
	s.conn = "10.0.0.1:1"
	sendSite := s.watch(sites + "?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.expect(siteAdded, "PUT")
	s.request("PUT", deployments+"/web", owned("Deployment", "web", "", ""), func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, forbidden)
	})
	ms(20_000)
	s.conn = "10.0.0.1:9"
	s.write("", "PUT", deployments+"/web", web(9))
	s.write("", "PUT", deployments+"/other", object("Deployment", "other", "d3", "10"))
}

// A list with the API reader is not that of a watch which is opened again with a later version.
func playListLongAfter(s *script) {
	list := func() { s.request("GET", sites, "", func(w http.ResponseWriter) { io.WriteString(w, "{}") }) }
	list()
	_, end := s.watched(sites + "?watch=1&resourceVersion=5")
	ms(400000)
	list()
	ms(20000)
	end()
	s.watch(sites + "?watch=1&resourceVersion=500")
	ms(15000)
	s.write("", "POST", deployments, web(510))
}

// A program starts with what exists: it works for an object that another one names, and then for that.
func playStart(s *script) {
	sendDeployment, sendConfigMap := s.watch(deployments+"?watch=1&sendInitialEvents=true"), s.watch(settings+"?watch=1&sendInitialEvents=true")
	sendSite := s.watch(sites + "?watch=1&sendInitialEvents=true")
	sendDeployment("ADDED", web(3))
	ms(20)
	sendConfigMap("ADDED", object("ConfigMap", "settings", "c1", "2"))
	sendSite("ADDED", site(4))
	ms(20)
	s.write("ConfigMap ns/settings listed 2", "PUT", settings+"/settings", object("ConfigMap", "settings", "c1", "5"))
	ms(5)
	s.write("Site ns/shop listed 4", "PUT", deployments+"/web", strings.Replace(web(6), "{", `{"mounts":"settings",`, 1))
	ms(5)
	s.write("Site ns/shop listed 4", "PUT", services+"/web", owned("Service", "web", "s1", "7"))
	ms(2)
	s.write("Site ns/shop listed 4", "PATCH", sites+"/shop/status", site(8))
}

// A program patches what it has just created before it receives the event of that.
func playCreatedAtStart(s *script) {
	s.request("GET", settings, "", func(w http.ResponseWriter) { io.WriteString(w, "{}") })
	s.watch(settings + "?watch=1&resourceVersion=5")
	ms(20000)
	s.fail("", "POST", settings, http.StatusCreated, object("ConfigMap", "settings", "c1", "9"))
	s.write("", "PATCH", settings+"/settings", object("ConfigMap", "settings", "c1", "10"))
}

// A program restarts and patches what it had created before: that was in the list.
func playCreatedBeforeStart(s *script) {
	s.conn = "10.0.0.1:1"
	s.fail("none", "POST", settings, http.StatusCreated, object("ConfigMap", "settings", "c1", "9"))
	ms(30 * 60_000)
	s.conn = "10.0.0.1:2"
	s.request("GET", settings, "", func(w http.ResponseWriter) { io.WriteString(w, "{}") })
	s.watch(settings + "?watch=1&resourceVersion=20")
	ms(5)
	s.write("ConfigMap ns/settings listed", "PATCH", settings+"/settings", object("ConfigMap", "settings", "c1", "30"))
}

// A write that fails is repeated, each time later. Something else in the namespace changes before.
func playBackoff(s *script, before int) {
	sendSite, sendConfigMap := s.watch(sites+"?watch=1"), s.watch(settings+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	for i := range 5 {
		s.expect("Site ns/shop *", "PUT")
		s.request("PUT", deployments+"/web", owned("Deployment", "web", "", ""), func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, forbidden)
		})
		ms(2)
		s.write("Site ns/shop *", "PATCH", sites+"/shop/status", site(8+i))
		sendSite("MODIFIED", site(8+i))
		ms(2000<<i - before)
		sendConfigMap("MODIFIED", object("ConfigMap", "unrelated", "c1", fmt.Sprint(20+i)))
		ms(before)
	}
}

// A program repeats what has failed, as kopf does after a minute, without a read before. Several controllers of it may work for
// the same objects.
func playRetryOfFailed(s *script, pause int, isShared bool) {
	send := s.watch(sites + "?watch=1")
	if isShared {
		s.playShared(send)
	}
	send("ADDED", site(7))
	ms(4)
	s.create(siteAdded, http.StatusForbidden, forbidden)
	ms(pause)
	s.create(siteAdded, http.StatusCreated, web(8))
}

// create makes a write that is to create a Deployment of the Site.
func (s *script) create(truth string, status int, answer string) {
	s.expect(truth, "POST")
	s.request("POST", deployments, owned("Deployment", "web", "", ""), func(w http.ResponseWriter) {
		ms(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, answer)
	})
}

// playShared makes two writes of one object at once, for one event.
func (s *script) playShared(send func(typ, object string)) {
	other := func(version int) string { return object("Site", "other", "u0", fmt.Sprint(version)) }
	send("ADDED", other(2))
	ms(4)
	s.together(
		func() { s.write("Site ns/other added 2", "PATCH", sites+"/other", other(3)) },
		func() { s.write("Site ns/other added 2", "PATCH", sites+"/other/status", other(4)) },
	)
	ms(5000)
}

// A timer of kopf writes an annotation first, whose event wakes the worker.
func playRetryAfterTouch(s *script) {
	send := s.watch(sites + "?watch=1")
	s.playShared(send)
	send("ADDED", site(7))
	ms(4)
	s.create(siteAdded, http.StatusForbidden, forbidden)
	ms(10_000)
	s.write("", "PATCH", sites+"/shop", site(8))
	send("MODIFIED", site(8))
	ms(15)
	s.create(siteAdded, http.StatusCreated, web(9))
}

// What changes just before a repetition may be its cause.
func playRetryAfterOtherChanges(s *script) {
	send, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	s.playShared(send)
	send("ADDED", site(7))
	ms(4)
	s.create(siteAdded, http.StatusForbidden, forbidden)
	ms(4000)
	send("MODIFIED", site(8))
	sendDeployment("MODIFIED", web(9))
	ms(4)
	s.create("", http.StatusCreated, web(10))
}

// A conflict shows that the program had not seen two events. They were the last ones that it had received all the same.
func playConflictLongAfter(s *script) {
	sendSite, sendRoute := s.watch(sites+"?watch=1"), s.watch(routes+"?watch=1")
	sendRoute("MODIFIED", object("Route", "first", "r0", "5"))
	ms(70000)
	sendSite("MODIFIED", site(10))
	ms(10)
	sendRoute("MODIFIED", route(11))
	ms(3000)
	s.expect("after 3s Route ns/main updated", "PUT")
	s.request("PUT", sites+"/shop", site(6), func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		io.WriteString(w, `{"kind":"Status","status":"Failure","reason":"Conflict","code":409,"message":"the object has been modified"}`)
	})
}

// updateWeb updates the Deployment of a Site, which the program has read with a version, and has a conflict unless it makes
// another one.
func (s *script) updateWeb(truth string, read, made int) {
	s.expect(truth, "PUT")
	s.request("PUT", deployments+"/web", web(read), func(w http.ResponseWriter) {
		ms(1)
		w.Header().Set("Content-Type", "application/json")
		if made == 0 {
			w.WriteHeader(http.StatusConflict)
			io.WriteString(w, `{"kind":"Status","status":"Failure","reason":"Conflict","code":409,"message":"the object has been modified"}`)
			return
		}
		io.WriteString(w, web(made))
	})
}

// readSite reads a Site and its Deployment, each in some time.
func (s *script) readSite(took int) {
	for _, path := range []string{sites + "/shop", deployments + "/web"} {
		s.request("GET", path, "", func(w http.ResponseWriter) { ms(took); io.WriteString(w, "{}") })
	}
}

const patched = "Site ns/shop updated 60"

// patchSite sends what a program works for, a minute after the last time, which has received a Site and its Deployment.
func (s *script) patchSite() (sendSite, sendDeployment func(typ, object string)) {
	sendSite, sendDeployment = s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	sendSite("ADDED", site(7))
	sendDeployment("ADDED", web(57))
	ms(70_000)
	sendSite("MODIFIED", site(60))
	return sendSite, sendDeployment
}

// A user changes the Deployment that the program is about to write, and a controller does so then. The event of the user's change
// queues the key again, and the next sync reads both objects again.
func playRetryAfterConflict(s *script, reads int) {
	_, sendDeployment := s.patchSite()
	s.readSite(reads)
	sendDeployment("MODIFIED", web(61))
	s.updateWeb(patched, 57, 0)
	ms(1)
	sendDeployment("MODIFIED", web(63))
	s.readSite(reads)
	s.updateWeb(patched, 63, 64)
	s.write(patched, "PUT", sites+"/shop/status", site(65))
}

// The sync goes on after the conflict, with what it has read before. Before it is repeated, the program syncs for the change of the Deployment.
func playRetryInLaterSync(s *script) {
	_, sendDeployment := s.patchSite()
	s.readSite(2)
	sendDeployment("MODIFIED", web(61))
	s.updateWeb(patched, 57, 0)
	s.write(patched, "PUT", sites+"/shop/status", site(62))
	sendDeployment("MODIFIED", web(63))
	s.readSite(2)
	s.updateWeb(patched, 63, 64)
}

// The program does not try again, and works for another change later.
func playConflictWithoutRetry(s *script) {
	sendSite, sendDeployment := s.patchSite()
	s.readSite(2)
	sendDeployment("MODIFIED", web(61))
	s.updateWeb(patched, 57, 0)
	ms(20_000)
	sendSite("MODIFIED", site(70))
	s.readSite(2)
	s.updateWeb("Site ns/shop updated 70", 61, 71)
	s.write("Site ns/shop updated 70", "PUT", sites+"/shop/status", site(72))
}

// A user changes what the program is about to write. The program does not try again until a user changes that once more.
func playChangeAfterConflict(s *script) {
	_, sendDeployment := s.patchSite()
	s.readSite(2)
	sendDeployment("MODIFIED", web(61))
	s.updateWeb(patched, 57, 0)
	ms(20_000)
	sendDeployment("MODIFIED", web(70))
	s.readSite(2)
	s.updateWeb("Deployment ns/web updated 70", 70, 71)
}

// A timer has led to the write that had a conflict, and a change of the object to the next one.
func playConflictWithoutCause(s *script) {
	_, sendDeployment := s.patchSite()
	ms(65_000)
	s.readSite(2)
	s.updateWeb("", 57, 0)
	ms(10_000)
	sendDeployment("MODIFIED", web(70))
	s.readSite(2)
	s.updateWeb("Deployment ns/web updated 70", 70, 71)
}

// The events of its own writes long ago are still its own.
func playManyWrites(s *script) {
	sendSite, sendRoute := s.watch(sites+"?watch=1"), s.watch(routes+"?watch=1")
	service := func(i, j, version int) (name, o string) {
		name = fmt.Sprintf("service-%02d-%d", i, j)
		return name, object("Service", name, "s-"+name, fmt.Sprint(version), fmt.Sprintf("u%02d", i))
	}
	for i := range 30 {
		truth := fmt.Sprintf("Site ns/site-%02d added %d", i, 100+i)
		sendSite("ADDED", numbered("Site", i, 100+i))
		for j := range 4 {
			ms(4)
			name, o := service(i, j, 3000+i*10+j)
			s.write(truth, "PUT", services+"/"+name, o)
		}
		ms(4)
		s.write(truth, "PATCH", fmt.Sprintf("%s/site-%02d/status", sites, i), numbered("Site", i, 2000+i))
		sendSite("MODIFIED", numbered("Site", i, 2000+i))
		ms(20)
	}
	for i := range 10 {
		ms(2000)
		sendRoute("MODIFIED", route(5000+i))
		ms(4)
		name, o := service(i, 0, 6000+i)
		s.write(fmt.Sprint("Route ns/main updated ", 5000+i), "PATCH", services+"/"+name, o)
	}
}

// More objects change at once than a watch remembers.
func playMoreThanKept(s *script) {
	sendSite := s.watch(sites + "?watch=1")
	for i := range maxRecent + 2 {
		sendSite("MODIFIED", numbered("Site", i, 100+i))
	}
	truth := "Site ns/site-00 updated 100"
	sendDeployment := s.watch(deployments + "?watch=1")
	ms(4)
	s.write(truth, "PUT", deployments+"/deployment-00", numbered("Deployment", 0, 9000))
	sendDeployment("MODIFIED", numbered("Deployment", 0, 9000))
	ms(4)
	s.write(truth, "PATCH", sites+"/site-00/status", numbered("Site", 0, 9001))
	ms(4)
	s.write("Site ns/site-10 updated 110", "PUT", deployments+"/deployment-10", numbered("Deployment", 10, 9002))
	ms(2 * int(maxReaction/time.Millisecond))
	sendSite("MODIFIED", numbered("Site", 0, 9003))
	ms(4)
	s.write("Site ns/site-00 updated 9003", "PUT", deployments+"/deployment-00", numbered("Deployment", 0, 9004))
}

// Many objects are applied at once, or exist when the program starts. It makes three writes for each.
func playBurst(s *script, n, workers int, listed bool) {
	initial, change := "", "added"
	if listed {
		initial, change = "&sendInitialEvents=true", "listed"
	}
	sendSite, sendDeployment := s.watch(sites+"?watch=1"+initial), s.watch(deployments+"?watch=1")
	ms(5000)
	for i := range n {
		sendSite("ADDED", numbered("Site", i, 100+i))
	}
	keys := make(chan int)
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			time.Sleep(time.Duration(worker) * 10 * time.Microsecond) // no two writes begin at the same time
			for i := range keys {
				truth := fmt.Sprintf("Site ns/site-%02d %s %d", i, change, 100+i)
				ms(5 + i%3)
				s.write(truth, "POST", deployments, numbered("Deployment", i, 1000+i))
				sendDeployment("ADDED", numbered("Deployment", i, 1000+i))
				ms(5 + i%3)
				s.write(truth, "PATCH", fmt.Sprintf("%s/site-%02d/status", sites, i), numbered("Site", i, 2000+i))
				sendSite("MODIFIED", numbered("Site", i, 2000+i))
				ms(5 + i%3)
				s.write(truth, "PUT", fmt.Sprintf("%s/deployment-%02d", services, i), numbered("Deployment", i, 3000+i))
			}
		})
	}
	for i := range n {
		keys <- i
	}
	close(keys)
	all.Wait()
}

// The written object has not changed for long, and neither the request nor its answer has the object: its owner is known from its
// last version.
func playRefusedUpdate(s *script) {
	sendSite, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	sendDeployment("MODIFIED", web(3))
	ms(75_000)
	for i, method := range []string{"PUT", "PATCH"} {
		sendSite("MODIFIED", site(7+i))
		ms(4)
		s.fail(fmt.Sprint("Site ns/shop updated ", 7+i), method, deployments+"/web", http.StatusForbidden, forbidden)
		ms(20_000)
	}
}

// What the object names is known from its last version: the options of a deletion name nothing.
func playRefusedDeletion(s *script) {
	sendSite, sendSettings := s.watch(sites+"?watch=1"), s.watch(settings+"?watch=1")
	sendSettings("MODIFIED", strings.Replace(object("ConfigMap", "hosts", "c1", "3"), `"metadata":{`, `"metadata":{"labels":{"site":"shop"},`, 1))
	ms(75_000)
	sendSite("MODIFIED", site(7))
	ms(300)
	s.fail("Site ns/shop updated 7", "DELETE", settings+"/hosts", http.StatusForbidden, forbidden)
}

const (
	leases = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
	lease  = leases + "/operator"
)

// askForLease reads the Lease that another process holds, for some seconds.
func (s *script) askForLease(seconds int) {
	for range seconds {
		ms(1000)
		s.request("GET", lease, "", func(w http.ResponseWriter) { io.WriteString(w, "{}") })
	}
}

func (s *script) takeLease() {
	const now = `"2026-01-01T00:00:00.000000Z"`
	s.expect("none", "PUT")
	s.request("PUT", lease, `{"kind":"Lease","spec":{"holderIdentity":"me","acquireTime":`+now+`,"renewTime":`+now+`}}`, func(w http.ResponseWriter) {
		io.WriteString(w, object("Lease", "operator", "l1", "30"))
	})
}

// A standby receives events, and begins to work when it leads.
func playStandby(s *script) {
	sendSite := s.watch(sites + "?watch=1")
	sendSite("ADDED", site(7))
	s.askForLease(64)
	s.takeLease()
	ms(200)
	s.write(siteAdded, "POST", deployments, web(31))
	ms(4)
	s.write(siteAdded, "PATCH", sites+"/shop/status", site(32))
}

// What it has listed when it started is a cause, too. Without a new leader, or long after it, none of that is.
func playLateStandby(s *script, leads bool) {
	s.request("GET", sites, "", func(w http.ResponseWriter) { io.WriteString(w, "{}") })
	s.watch(sites + "?watch=1&resourceVersion=5")
	s.askForLease(100)
	if leads {
		s.takeLease()
	}
	ms(200)
	s.write("Site ns/shop listed", "POST", deployments, web(31))
	ms(70_000)
	s.write("", "POST", services, owned("Service", "web", "s1", "33"))
}

// A standby has received more than is kept, so that what only names the written object is not known to be the cause.
func playStandbyWithManySites(s *script) {
	sendSite, sendRoute := s.watch(sites+"?watch=1"), s.watch(routes+"?watch=1")
	sendSite("ADDED", site(7))
	for i := range keptEvents {
		sendSite("ADDED", numbered("Site", i, 100+i))
	}
	sendRoute("ADDED", route(200))
	s.askForLease(90)
	s.takeLease()
	ms(200)
	s.write(siteAdded, "POST", deployments, strings.Replace(web(300), `"metadata":{`, `"spec":{"routeName":"main"},"metadata":{`, 1))
	ms(2000)
	s.write("Site ns/site-40 added 140", "POST", deployments, object("Deployment", "forty", "d40", "301", "u40"))
}

// A program creates a Lease for its work, as for each Node; then a timer repeats other work. It may have written nothing before.
func playLeaseAsWork(s *script, hasWritten bool) {
	sendSite := s.watch(sites + "?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	if hasWritten {
		s.write(siteAdded, "POST", deployments, web(8))
	}
	ms(600_000)
	s.expect("none", "POST")
	s.request("POST", leases, `{"kind":"Lease","metadata":{"name":"node-1"},"spec":{"holderIdentity":"me"}}`, func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, object("Lease", "node-1", "l1", "30"))
	})
	ms(2000)
	s.write("", "POST", settings, owned("ConfigMap", "shop", "c1", "29"))
}

// A program that works takes over a Lease, as one for each shard.
func playLeaseOfShard(s *script) {
	sendSite := s.watch(sites + "?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", deployments, web(8))
	ms(600_000)
	s.takeLease()
	ms(2000)
	s.write("", "POST", settings, owned("ConfigMap", "shop", "c1", "29"))
}

// A user deletes the Secret of another Site: the program works for all Sites in the namespace then. It has written the status of the
// first one before, which does not wake it.
func playStatusAndOtherChange(s *script) {
	sendSite, sendSecret := s.watch(sites+"?watch=1"), s.watch(secrets+"?watch=1")
	secret := func(version int) string {
		return object("Secret", "site-other", "s1", fmt.Sprint(version), "u2")
	}
	sendSite("ADDED", object("Site", "other", "u2", "3"))
	sendSecret("ADDED", secret(4))
	ms(70_000)
	sendSite("MODIFIED", site(20))
	ms(4)
	s.write("Site ns/shop updated 20", "PATCH", sites+"/shop/status", site(21))
	sendSite("MODIFIED", site(21))
	ms(800)
	s.write("Site ns/shop updated 20|Site ns/shop updated 21", "PATCH", sites+"/shop/status", site(22))
	sendSite("MODIFIED", site(22))
	ms(12_000)
	sendSecret("DELETED", secret(30))
	ms(50)
	s.write("Secret ns/site-other deleted 30", "POST", secrets, secret(31))
	sendSecret("ADDED", secret(31))
	ms(300)
	s.write("Secret ns/site-other deleted 30", "PATCH", sites+"/shop/status", site(32))
}

// One controller creates an object, for which another one creates what it owns. Whether it is another one is not known.
func playCreatedOwner(s *script) {
	sendSite, sendRoute := s.watch(sites+"?watch=1"), s.watch(routes+"?watch=1")
	s.watch(pods + "?watch=1")
	pod := func(name string, version int) string {
		return strings.Replace(object("Pod", name, name, fmt.Sprint(version), "r1"), `"metadata":{`, `"metadata":{"labels":{"site":"shop"},`, 1)
	}
	sendSite("ADDED", site(7))
	ms(20)
	s.write(siteAdded, "POST", routes, owned("Route", "main", "r1", "8"))
	sendRoute("ADDED", owned("Route", "main", "r1", "8"))
	ms(60)
	s.write("Route ns/main added 8", "POST", pods, pod("main-1", 9))
	ms(10)
	s.write("Route ns/main added 8", "POST", pods, pod("main-2", 10))
}

// A program with one controller creates an object, and after a pause what that owns.
func playOwnerOfSync(s *script, pause int) {
	sendSite, sendRoute := s.watch(sites+"?watch=1"), s.watch(routes+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", routes, owned("Route", "main", "r1", "8"))
	sendRoute("ADDED", owned("Route", "main", "r1", "8"))
	ms(pause)
	s.write(siteAdded, "POST", pods, strings.Replace(object("Pod", "main-1", "p1", "9", "r1"), `"metadata":{`, `"metadata":{"labels":{"site":"shop"},`, 1))
}

// The sync makes other writes before it creates what the first object owns.
func playOwnerOfLongSync(s *script) {
	sendSite, sendRoute := s.watch(sites+"?watch=1"), s.watch(routes+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.write(siteAdded, "POST", routes, owned("Route", "main", "r1", "8"))
	sendRoute("ADDED", owned("Route", "main", "r1", "8"))
	for i := range 4 {
		ms(20)
		s.write(siteAdded, "POST", settings, owned("ConfigMap", fmt.Sprint("shop-", i), fmt.Sprint("c", i), fmt.Sprint(9+i)))
	}
	ms(4)
	s.write(siteAdded, "POST", pods, strings.Replace(object("Pod", "main-1", "p1", "20", "r1"), `"metadata":{`, `"metadata":{"labels":{"site":"shop"},`, 1))
}

// The workers of one controller create objects, and what these own.
func playOwnersOfSyncs(s *script, pause int) {
	sendSite, sendRoute := s.watch(sites+"?watch=1"), s.watch(routes+"?watch=1")
	var syncs []func()
	for i := range 3 {
		siteName, routeName, added := fmt.Sprint("shop", i), fmt.Sprint("main", i), fmt.Sprint("Site ns/shop", i, " added ", 10+i)
		labelled := func(kind, name string, version int, owner string) string {
			return strings.Replace(object(kind, name, name, fmt.Sprint(version), owner), `"metadata":{`, `"metadata":{"labels":{"site":"`+siteName+`"},`, 1)
		}
		syncs = append(syncs, func() {
			made := labelled("Route", routeName, 20+i, siteName)
			s.write(added, "POST", routes, made)
			sendRoute("ADDED", made)
			ms(pause)
			s.write(added, "POST", pods, labelled("Pod", routeName+"-1", 30+i, routeName))
		})
		sendSite("ADDED", object("Site", siteName, siteName, fmt.Sprint(10+i)))
	}
	ms(4)
	s.together(syncs...)
}

// A program that was idle reads at once, and writes later what it selects by labels.
func playReadBefore(s *script) {
	sendRoute, sendSite, sendSecret := s.watch(routes+"?watch=1"), s.watch(sites+"?watch=1"), s.watch(secrets+"?watch=1")
	secret := func(version int) string { return owned("Secret", "site-shop", "s1", fmt.Sprint(version)) }
	sendSite("ADDED", site(5))
	sendSecret("ADDED", secret(6))
	for i := range 2 {
		ms(70_000)
		sendRoute("MODIFIED", route(20+10*i))
		ms(15)
		for range 2 {
			s.request("GET", settings, "", func(w http.ResponseWriter) { ms(2); io.WriteString(w, "{}") })
			ms(230)
		}
		s.write(fmt.Sprint("Route ns/main updated ", 20+10*i), "PUT", secrets+"/site-shop", secret(21+10*i))
		sendSecret("MODIFIED", secret(21+10*i))
	}
}

// The reads of a program that polls do not begin its work.
func playReadsAllTheTime(s *script) {
	sendRoute, sendSite := s.watch(routes+"?watch=1"), s.watch(sites+"?watch=1")
	sendSite("ADDED", site(5))
	ms(4)
	s.write("Site ns/shop added 5", "PUT", secrets+"/site-shop", owned("Secret", "site-shop", "s1", "6"))
	poll := func(times int) {
		for range times {
			ms(250)
			s.request("GET", settings, "", func(w http.ResponseWriter) { io.WriteString(w, "{}") })
		}
	}
	poll(40)
	sendRoute("MODIFIED", route(20))
	poll(2)
	s.write("Route ns/main updated 20", "PUT", secrets+"/site-shop", owned("Secret", "site-shop", "s1", "21"))
}

// beginRuns makes the program begin to write n times, so long after an event.
func (s *script) beginRuns(sendSite func(typ, object string), n, pause int) {
	for i := range n {
		ms(5000)
		sendSite("MODIFIED", site(100+i))
		ms(pause)
		s.write(fmt.Sprint("Site ns/shop updated ", 100+i), "PUT", secrets+"/site-shop", owned("Secret", "site-shop", "s1", fmt.Sprint(1000+i)))
	}
}

// ambiguous makes a write whose cause is not known if its program is late: another object that is related has changed, too.
func (s *script) ambiguous(sendSite, sendDeployment func(typ, object string)) {
	ms(5000)
	sendDeployment("MODIFIED", web(5000))
	ms(1500)
	sendSite("MODIFIED", site(5001))
	ms(5)
	s.write("Site ns/shop updated 5001", "PUT", secrets+"/site-shop", owned("Secret", "site-shop", "s1", "5002"))
}

func playLateAndThenPrompt(s *script) {
	sendSite, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	s.beginRuns(sendSite, 6, 400)
	s.ambiguous(sendSite, sendDeployment)
	ms(60_000)
	s.beginRuns(sendSite, 34, 5)
	s.ambiguous(sendSite, sendDeployment)
}

func playLateAndThenRestarted(s *script) {
	s.conn = "10.0.0.1:1"
	sendSite, end := s.watched(sites + "?watch=1")
	s.beginRuns(sendSite, 6, 400)
	end()
	ms(5000)
	s.conn = "10.0.0.1:2"
	sendSite, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	s.ambiguous(sendSite, sendDeployment)
}

// How long a write waits until its cause has been looked up, beside many watches whose events are all recent.
func BenchmarkCause(b *testing.B) {
	for _, watches := range []int{10, 100, 300, 1000} {
		b.Run(fmt.Sprint(watches), func(b *testing.B) {
			o := observe.New(observe.Options{})
			defer o.Close()
			c := New(Config{Observer: o, OwnPath: "/ctrlplane"})
			cl := newClient("operator", c.config.Objects, new(atomic.Int64))
			for i := range watches {
				req := httptest.NewRequest("GET", fmt.Sprintf("/apis/example.com/v1/namespaces/ns/k%ds?watch=1", i), nil)
				r := newRequest(o, c.frames, cl, req, &observe.Caller{})
				r.watch.begin("application/json;stream=watch")
				cl.addWatch(r.watch)
				for j := range keptEvents {
					name := fmt.Sprintf("k%d-%d", i, j)
					r.watch.sent([]byte(frame("MODIFIED", object("K", name, "uid-"+name, fmt.Sprint(i*100+j)))))
				}
			}
			for i := range keptVersions {
				cl.written.add(ownVersion{version: fmt.Sprint(1000000 + i)})
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				var answer recording.ResponseSummary
				name := fmt.Sprint("web", i)
				answer.Metadata.Name, answer.Metadata.UID, answer.Metadata.ResourceVersion = name, name, fmt.Sprint(2000000+i)
				answer.Metadata.OwnerReferences = []recording.OwnerReference{{UID: "uid-k1-1"}}
				r := newRequest(o, c.frames, cl, httptest.NewRequest("POST", deployments, nil), &observe.Caller{})
				r.kinds = &c.kinds
				cl.likelyCause(r, answer)
			}
		})
	}
}
