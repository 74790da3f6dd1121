package clients

import (
	"fmt"
	"strings"
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
