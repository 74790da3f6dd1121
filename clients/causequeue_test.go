package clients

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

const (
	queues    = "/apis/example.com/v1/namespaces/ns/queues"
	workloads = "/apis/example.com/v1/namespaces/ns/workloads"
	jobs      = "/apis/batch/v1/namespaces/ns/jobs"
)

// queue, job and workload are the objects of a program that queues Jobs, as Kueue does. A Job names its Queue with a label, and
// owns a Workload, which names the Queue in a field.
func queue(version int) string { return object("Queue", "user-queue", "q1", fmt.Sprint(version)) }

func job(name string, version int) string {
	return strings.Replace(object("Job", name, "uid-"+name, fmt.Sprint(version)), `"metadata":{`, `"metadata":{"labels":{"queue-name":"user-queue"},`, 1)
}

func workload(name string, version int) string {
	o := object("Workload", "job-"+name, "w-"+name, fmt.Sprint(version), "uid-"+name)
	o = strings.Replace(o, `{"uid":"uid-`+name+`"`, `{"kind":"Job","name":"`+name+`","uid":"uid-`+name+`"`, 1)
	return strings.Replace(o, "{", `{"spec":{"queueName":"user-queue"},`, 1)
}

// A program works for a Queue. After a pause, the first Job comes: its controller starts an informer, and polls each 100 ms until
// that has its objects.
func playLazyInformer(s *script, pause int) {
	sendQueue, sendJob := s.watch(queues+"?watch=1"), s.watch(jobs+"?watch=1")
	s.watch(workloads + "?watch=1")
	sendQueue("ADDED", queue(7))
	ms(4)
	s.write("Queue ns/user-queue added 7", "PUT", queues+"/user-queue/status", queue(8))
	sendQueue("MODIFIED", queue(8))
	ms(pause)
	sendJob("ADDED", job("sample", 20))
	ms(3)
	sendClass := s.watch("/apis/scheduling.k8s.io/v1/priorityclasses?watch=1&sendInitialEvents=true")
	sendClass("ADDED", `{"kind":"PriorityClass","metadata":{"name":"system","uid":"p1","resourceVersion":"2"}}`)
	ms(97)
	s.write("Job ns/sample added 20", "POST", workloads, workload("sample", 21))
}

const (
	statusOfQueue = queues + "/user-queue/status"
	queuedJob     = jobs + "/sample"
	itsWorkload   = workloads + "/job-sample"
)

// queueing is the program that queues Jobs: its controllers have written the same Workload at once.
type queueing struct {
	*script
	sendQueue, sendJob, sendWorkload func(typ, object string)
}

func newQueueing(s *script) *queueing {
	q := &queueing{s, s.watch(queues + "?watch=1"), s.watch(jobs + "?watch=1"), s.watch(workloads + "?watch=1")}
	q.sendQueue("ADDED", queue(2))
	ms(5000)
	q.sendJob("ADDED", job("sample", 3))
	ms(3)
	s.write("Job ns/sample added 3", "POST", workloads, workload("sample", 4))
	q.sendWorkload("ADDED", workload("sample", 4))
	ms(4)
	const truth = "Workload ns/job-sample added 4|Job ns/sample added 3"
	s.together(
		func() { s.write(truth, "PATCH", itsWorkload+"/status", workload("sample", 5)) },
		func() { s.write(truth, "PUT", itsWorkload, workload("sample", 6)) },
	)
	q.sendWorkload("MODIFIED", workload("sample", 6))
	ms(7000)
	return q
}

// admit makes the scheduler of the program admit the Workload: what has started that is not known. The event comes
// before the answer.
func (q *queueing) admit(version, answer int) {
	q.expect("", "PATCH")
	q.request("PATCH", itsWorkload+"/status", "{}", func(w http.ResponseWriter) {
		ms(10)
		q.sendWorkload("MODIFIED", workload("sample", version))
		ms(answer)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, workload("sample", version))
	})
}

// The Workload of a Job is admitted, which hands over to the controller of Jobs. The status of the Queue that the Job names is
// written meanwhile, but that comes after the sync for the Job has begun.
func playAdmission(s *script) {
	q := newQueueing(s)
	q.admit(10, 30)
	ms(1)
	s.write("", "PATCH", statusOfQueue, queue(11))
	ms(24)
	q.sendQueue("MODIFIED", queue(11))
	ms(16)
	s.write("Workload ns/job-sample updated 10", "PATCH", queuedJob, job("sample", 12))
}

// The status of the Queue is written once more, for its own event, just before the Job is.
func playAdmissionBesideQueue(s *script) {
	q := newQueueing(s)
	q.admit(10, 30)
	ms(1)
	s.write("", "PATCH", statusOfQueue, queue(11))
	ms(24)
	q.sendQueue("MODIFIED", queue(11))
	ms(2)
	s.write("Queue ns/user-queue updated 11", "PATCH", statusOfQueue, queue(12))
	ms(10)
	s.write("Workload ns/job-sample updated 10", "PATCH", queuedJob, job("sample", 13))
}

// The Job is written at once.
func playPromptAdmission(s *script) {
	q := newQueueing(s)
	q.admit(10, 4)
	ms(3)
	s.write("Workload ns/job-sample updated 10", "PATCH", queuedJob, job("sample", 11))
}

// A timer writes a Job just after the program has written the status of the Queue.
func playTimerAfterQueue(s *script) {
	q := newQueueing(s)
	s.write("", "PATCH", statusOfQueue, queue(11))
	ms(24)
	q.sendQueue("MODIFIED", queue(11))
	ms(16)
	s.write("", "PATCH", queuedJob, job("sample", 12))
}

// Another client changes the Queue and the Workload of a Job: for which of them the Job is written, and whether it is for both,
// is not known, although only the Queue has changed just before.
func playTwoChanges(s *script) {
	q := newQueueing(s)
	q.sendWorkload("MODIFIED", workload("sample", 10))
	ms(60)
	q.sendQueue("MODIFIED", queue(11))
	ms(16)
	s.write("Workload ns/job-sample updated 10", "PATCH", queuedJob, job("sample", 12))
}

// A program reports its controllers, and admits Workloads in a goroutine that is none of them. An event which a controller has
// worked for long before is not the cause, but one that comes just before may be.
func playSchedulerBesideControllers(s *script) {
	s.clients.config.ReportsPath = reportsPath
	sendJob, sendWorkload := s.watch(jobs+"?watch=1"), s.watch(workloads+"?watch=1")
	report := func(number uint64) {
		s.report(Report{Session: "s", Number: number, Controllers: []QueueReport{siteQueue()}})
	}
	report(1)
	sendJob("ADDED", job("sample", 3))
	ms(3)
	s.expect("none", "POST")
	s.send(call{"POST", workloads, operatorAgent, operator, map[string]string{SyncHeader: "s/site/4"}, http.StatusCreated, workload("sample", 4)})
	sendWorkload("ADDED", workload("sample", 4))
	ms(1000)
	sendJob("MODIFIED", job("sample", 5))
	ms(5500)
	report(2)
	sendJob("ADDED", job("urgent", 10))
	ms(26)
	s.write("after 26ms Job ns/urgent added", "PATCH", itsWorkload+"/status", workload("sample", 11))
	sendWorkload("MODIFIED", workload("sample", 11))
	ms(1000)
	report(3)
	sendWorkload("MODIFIED", workload("sample", 12))
	ms(20)
	s.write("Workload ns/job-sample updated 12", "PATCH", itsWorkload+"/status", workload("sample", 13))
	ms(20)
	s.write("Workload ns/job-sample updated 12", "POST", settings, strings.Replace(object("ConfigMap", "report", "c1", "14"), "{", `{"for":"job-sample",`, 1))
}

// A program creates the Workload of a Job. The Job changes meanwhile, so that the next sync finds the Workload missing in a
// cache which the event has not reached yet, and creates it again. The Workload is admitted, for which the Job is started.
func playStaleCreation(s *script) {
	q := &queueing{s, s.watch(queues + "?watch=1"), s.watch(jobs + "?watch=1"), s.watch(workloads + "?watch=1")}
	q.createTwice(12)
}

// The program has several controllers for the same objects.
func playStaleCreationBesideOthers(s *script, failed int) {
	newQueueing(s).createTwice(failed)
}

// createTwice makes the second creation fail after some ms: the other write begins 2 ms later than that, and takes 11 ms.
func (q *queueing) createTwice(failed int) {
	ms(5000)
	const begun = "Job ns/late added 20"
	q.sendJob("ADDED", job("late", 20))
	ms(5)
	q.expect(begun, "POST")
	q.request("POST", workloads, workload("late", 0), func(w http.ResponseWriter) {
		ms(14)
		q.sendJob("MODIFIED", job("late", 21))
		ms(2)
		q.sendWorkload("ADDED", workload("late", 22))
		ms(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, workload("late", 22))
	})
	ms(10)
	var both sync.WaitGroup
	both.Go(func() {
		q.expect("Job ns/late updated 21", "POST")
		q.request("POST", workloads, workload("late", 0), func(w http.ResponseWriter) {
			ms(failed)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusConflict)
			io.WriteString(w, `{"kind":"Status","status":"Failure","reason":"AlreadyExists","code":409,"details":{"name":"job-late"},"message":"exists"}`)
		})
	})
	both.Go(func() {
		ms(2)
		q.expect("Workload ns/job-late added 22|"+begun, "PATCH")
		q.request("PATCH", workloads+"/job-late/status", "{}", func(w http.ResponseWriter) {
			ms(10)
			q.sendWorkload("MODIFIED", workload("late", 23))
			ms(1)
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, workload("late", 23))
		})
	})
	both.Wait()
	ms(6)
	q.together(
		func() {
			q.expect("Workload ns/job-late updated 23", "PATCH")
			q.request("PATCH", jobs+"/late", "{}", func(w http.ResponseWriter) {
				ms(9)
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, job("late", 25))
			})
		},
		func() { // the goroutine that has admitted the Workload says so
			said := strings.Replace(object("Event", "late.1", "e1", "24"), "{", `{"involvedObject":{"name":"job-late"},`, 1)
			q.write("Workload ns/job-late *|Job ns/late *", "POST", "/api/v1/namespaces/ns/events", said)
		},
	)
}

// A Job waits until another one has ended, which the program finds a second later. Its last event came long before, and the
// program has been idle since.
func playFreedQuota(s *script) {
	q := &queueing{s, s.watch(queues + "?watch=1"), s.watch(jobs + "?watch=1"), s.watch(workloads + "?watch=1")}
	q.sendJob("ADDED", job("first", 10))
	ms(5)
	s.write("Job ns/first added 10", "POST", workloads, workload("first", 11))
	q.sendWorkload("ADDED", workload("first", 11))
	ms(5)
	s.write("Workload ns/job-first added 11|Job ns/first added 10", "PATCH", workloads+"/job-first/status", workload("first", 12))
	q.sendWorkload("MODIFIED", workload("first", 12))
	ms(8000)
	q.addWaiting()
	ms(42_000)
	q.sendJob("MODIFIED", job("first", 30))
	ms(2)
	s.write("Job ns/first updated 30", "PATCH", workloads+"/job-first/status", workload("first", 31))
	q.sendWorkload("MODIFIED", workload("first", 31))
	ms(980)
	const ended = "Job ns/first *|Workload ns/job-first *|after *"
	s.together(
		func() { s.write(ended, "PUT", statusOfQueue, queue(32)) },
		func() { s.write(ended, "PATCH", workloads+"/job-second/status", workload("second", 33)) },
	)
	q.sendWorkload("MODIFIED", workload("second", 33))
	ms(4)
	s.write("Workload ns/job-second updated 33", "PATCH", jobs+"/second", job("second", 34))
}

// addWaiting adds a Job whose Workload has to wait. The Job changes while that is created.
func (q *queueing) addWaiting() {
	q.sendJob("ADDED", job("second", 20))
	ms(8)
	q.expect("Job ns/second added 20", "POST")
	q.request("POST", workloads, workload("second", 0), func(w http.ResponseWriter) {
		ms(31)
		q.sendJob("MODIFIED", job("second", 21))
		ms(5)
		q.sendWorkload("ADDED", workload("second", 22))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, workload("second", 22))
	})
	ms(5)
	q.write("Workload ns/job-second added 22|Job ns/second added 20", "PATCH", workloads+"/job-second/status", workload("second", 23))
	q.sendWorkload("MODIFIED", workload("second", 23))
}

// A Job runs, and its last event came seconds before. Another Job with a higher priority comes, for which the first one is evicted.
func playPreemption(s *script) {
	q := &queueing{s, s.watch(queues + "?watch=1"), s.watch(jobs + "?watch=1"), s.watch(workloads + "?watch=1")}
	q.addWaiting()
	ms(100)
	q.sendJob("MODIFIED", job("second", 25))
	ms(6080)
	q.sendJob("ADDED", job("urgent", 30))
	ms(4)
	s.write("Job ns/urgent added 30", "POST", workloads, workload("urgent", 31))
	q.sendWorkload("ADDED", workload("urgent", 31))
	ms(3)
	s.write("Job ns/urgent *|Workload ns/job-urgent *|after *", "PATCH", workloads+"/job-second/status", workload("second", 32))
	q.sendWorkload("MODIFIED", workload("second", 32))
	ms(1)
	s.write("Workload ns/job-second updated 32", "PATCH", jobs+"/second", job("second", 33))
}

// A program takes seconds for an object before it writes, and has ended its work for another one meanwhile, which has changed first.
func playSlowSync(s *script) {
	send := s.watch(sites + "?watch=1")
	send("ADDED", site(7))
	ms(5000)
	s.write(siteAdded, "POST", deployments, web(8))
	ms(5000)
	send("ADDED", object("Site", "other", "u2", "10"))
	ms(5000)
	s.write("Site ns/other added 10", "POST", deployments, strings.ReplaceAll(strings.ReplaceAll(owned("Deployment", "other", "d2", "11"), "u1", "u2"), "shop", "other"))
	ms(3000)
	send("MODIFIED", site(12))
	ms(5000)
	s.write("Site ns/shop updated 12", "PATCH", deployments+"/web", web(13))
}

// It is told of another object while it works.
func playSlowSyncBesideChange(s *script) {
	send := s.watch(sites + "?watch=1")
	send("ADDED", site(7))
	ms(3000)
	send("ADDED", object("Site", "other", "u2", "10"))
	ms(2000)
	s.write(siteAdded, "POST", deployments, web(11))
	ms(5000)
	s.write("Site ns/other added 10", "POST", deployments, strings.ReplaceAll(strings.ReplaceAll(owned("Deployment", "other", "d2", "12"), "u1", "u2"), "shop", "other"))
}

// A program works for each object in a thread of its own, and takes seconds before it writes for one of them.
func playSlowThreads(s *script) {
	send := s.watch(sites + "?watch=1")
	send("ADDED", site(7))
	ms(2000)
	send("ADDED", object("Site", "other", "u2", "10"))
	ms(50)
	s.write("Site ns/other added 10", "POST", deployments, strings.ReplaceAll(strings.ReplaceAll(owned("Deployment", "other", "d2", "12"), "u1", "u2"), "shop", "other"))
	ms(3000)
	s.write(siteAdded, "POST", deployments, web(13))
}

// As playSlowThreads, but what each thread writes is the status of its object.
func playSlowStatusThreads(s *script) {
	send := s.watch(sites + "?watch=1")
	send("ADDED", site(7))
	ms(300)
	send("ADDED", object("Site", "other", "u2", "10"))
	ms(1000)
	s.write("Site ns/other added 10", "PATCH", sites+"/other/status", object("Site", "other", "u2", "12"))
	ms(1600)
	s.write(siteAdded, "PATCH", sites+"/shop/status", site(13))
}

// A program creates, before it patches it, what it has received for more than a minute, and another client has changed just now.
func playCreateOld(s *script) {
	sendSite, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.create(siteAdded, http.StatusCreated, web(8))
	sendDeployment("ADDED", web(8))
	ms(90000)
	const truth = "Deployment ns/web updated 20"
	sendDeployment("MODIFIED", web(20))
	ms(4)
	s.create(truth, http.StatusConflict, `{"kind":"Status","status":"Failure","reason":"AlreadyExists","code":409,"details":{"name":"web"},"message":"exists"}`)
	ms(1)
	s.write(truth, "PATCH", deployments+"/web", web(21))
}

// A program creates what it needs, and patches it if that exists, whatever it has received.
func playCreateFirst(s *script) {
	sendSite, sendDeployment := s.watch(sites+"?watch=1"), s.watch(deployments+"?watch=1")
	sendSite("ADDED", site(7))
	ms(4)
	s.create(siteAdded, http.StatusCreated, web(8))
	sendDeployment("ADDED", web(8))
	ms(5000)
	for i := range 3 {
		truth := fmt.Sprint("Site ns/shop updated ", 20+10*i)
		sendSite("MODIFIED", site(20+10*i))
		ms(4)
		s.create(truth, http.StatusConflict, `{"kind":"Status","status":"Failure","reason":"AlreadyExists","code":409,"details":{"name":"web"},"message":"exists"}`)
		ms(1)
		s.write(truth, "PATCH", deployments+"/web", web(21+10*i))
		sendDeployment("MODIFIED", web(21+10*i))
		ms(500)
	}
}
