// Command clienttraffic is a proxy before a control plane that records what an operator with
// the instrument module asks and receives: its watches, its writes, and what it reports about
// its queue. The tests of package clients replay this to measure how often the likely cause
// of a write is the true one.
//
//	clienttraffic -kubeconfig FILE -out traffic.jsonl -write-kubeconfig operator.kubeconfig
//
// For an operator of several programs, -write-kubeconfig names a file for each, separated by commas: the lines have the name
// of the program, which is that of the file without its suffix.
//
// All answers are in JSON. What a Secret has is not recorded: do not watch or write any.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// line is a line of the recording. Times are since its beginning.
type line struct {
	At     time.Duration   `json:"at"`
	Watch  int             `json:"watch,omitempty"` // number of a watch, of which this is the path, a frame or the end
	Path   string          `json:"path,omitempty"`
	Frame  json.RawMessage `json:"frame,omitempty"`
	Ended  bool            `json:"ended,omitempty"`
	Method string          `json:"method,omitempty"` // of a write
	Began  time.Duration   `json:"began,omitempty"`
	Sync   string          `json:"sync,omitempty"`
	Sent   json.RawMessage `json:"sent,omitempty"`
	Status int             `json:"status,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Report json.RawMessage `json:"report,omitempty"`
	Agent  string          `json:"agent,omitempty"` // the program, if there are several
}

type recorder struct {
	begin time.Time

	mu      sync.Mutex
	out     *json.Encoder
	watches int
}

func (r *recorder) write(l line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.At = time.Since(r.begin)
	if err := r.out.Encode(l); err != nil {
		log.Fatal(err)
	}
}

func (r *recorder) newWatch(path, agent string) int {
	r.mu.Lock()
	r.watches++
	n := r.watches
	r.mu.Unlock()
	r.write(line{Watch: n, Path: path, Agent: agent})
	return n
}

// record records a request of a program and the answer to it.
func (r *recorder) record(agent string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		path := req.URL.RequestURI()
		req.Header.Set("Accept", cmp.Or(strings.ReplaceAll(req.Header.Get("Accept"), runtime.ContentTypeProtobuf, runtime.ContentTypeJSON), runtime.ContentTypeJSON))
		req.Header.Del("Accept-Encoding")
		switch {
		case req.URL.Query().Get("watch") != "":
			frames := &frames{ResponseWriter: w, recorder: r, watch: r.newWatch(path, agent)}
			next.ServeHTTP(frames, req)
			r.write(line{Watch: frames.watch, Ended: true})
		case req.Method == http.MethodGet:
			next.ServeHTTP(w, req)
		default:
			sent, err := io.ReadAll(req.Body)
			if err != nil {
				log.Print(err)
			}
			req.Body = io.NopCloser(bytes.NewReader(sent))
			answer := &answer{ResponseWriter: w}
			l := line{Method: req.Method, Path: path, Began: time.Since(r.begin), Sync: req.Header.Get("Ctrlplane-Sync"), Sent: trim(sent), Agent: agent}
			next.ServeHTTP(answer, req)
			if strings.HasPrefix(path, "/ctrlplane/") {
				l = line{Report: sent, Agent: agent}
			} else {
				l.Status, l.Answer = answer.status, trim(answer.body.Bytes())
			}
			r.write(l)
		}
	})
}

// trim returns an object in JSON without what nothing depends on; nil if there is none.
func trim(object []byte) json.RawMessage {
	var o map[string]any
	if json.Unmarshal(object, &o) != nil {
		decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(object, nil, nil) // from protobuf
		if err == nil {
			o, err = runtime.DefaultUnstructuredConverter.ToUnstructured(decoded)
		}
		if err != nil {
			return nil
		}
	}
	dropManagedFields(o)
	if inner, ok := o["object"].(map[string]any); ok {
		dropManagedFields(inner)
	}
	data, err := json.Marshal(o)
	if err != nil {
		log.Fatal(err)
	}
	return data
}

func dropManagedFields(o map[string]any) {
	if m, ok := o["metadata"].(map[string]any); ok {
		delete(m, "managedFields")
	}
}

// frames records the frames of a watch, which are lines.
type frames struct {
	http.ResponseWriter
	recorder *recorder
	watch    int
	rest     []byte
}

func (f *frames) Write(p []byte) (int, error) {
	f.rest = append(f.rest, p...)
	for {
		before, after, found := bytes.Cut(f.rest, []byte("\n"))
		if !found {
			break
		}
		f.recorder.write(line{Watch: f.watch, Frame: trim(before)})
		f.rest = bytes.Clone(after)
	}
	n, err := f.ResponseWriter.Write(p)
	f.Flush()
	return n, err
}

func (f *frames) Flush() { f.ResponseWriter.(http.Flusher).Flush() }

// answer keeps the answer to a write.
type answer struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	a.body.Write(p)
	return a.ResponseWriter.Write(p)
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig of the control plane")
	out := flag.String("out", "", "file to write")
	own := flag.String("write-kubeconfig", "", "kubeconfigs to write, for the operator's programs")
	flag.Parse()
	if err := run(*kubeconfig, *out, strings.Split(*own, ",")); err != nil {
		log.Fatal(err)
	}
}

func run(kubeconfig, out string, own []string) (err error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		return err
	}
	target, err := url.Parse(cfg.Host)
	if err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(file)
	defer func() { err = errors.Join(err, buffered.Flush(), file.Close()) }()
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.FlushInterval = transport, -1
	r := &recorder{begin: time.Now(), out: json.NewEncoder(buffered)}
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt, syscall.SIGTERM)
	for _, file := range own {
		agent := ""
		if len(own) > 1 {
			agent = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		}
		server, err := serve(file, r.record(agent, proxy))
		if err != nil {
			return err
		}
		defer server.Close()
	}
	fmt.Println("recording to", out)
	<-stopped
	r.mu.Lock() // no line is half written
	return nil
}

// serve serves a program of the operator, for which it writes a kubeconfig.
func serve(kubeconfig string, handler http.Handler) (*http.Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler} //nolint:gosec // for one operator on this machine
	go func() { _ = server.Serve(listener) }()
	return server, writeKubeconfig(kubeconfig, "http://"+listener.Addr().String())
}

func writeKubeconfig(path, server string) error {
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["proxy"] = &clientcmdapi.Cluster{Server: server}
	cfg.AuthInfos["proxy"] = &clientcmdapi.AuthInfo{}
	cfg.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy", AuthInfo: "proxy"}
	cfg.CurrentContext = "proxy"
	return clientcmd.WriteToFile(*cfg, path)
}
