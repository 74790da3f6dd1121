package apiserver

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// The linker compares neither the name nor the type of a variable that is linked by
// name, so this test reads them in upstream's source.
func TestUpstreamHasTheEtcdClientVariable(t *testing.T) {
	const (
		pkg  = "k8s.io/apiserver/pkg/storage/storagebackend/factory"
		want = "func(c storagebackend.TransportConfig) (*kubernetes.Client, error)"
	)
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		t.Skipf("the source of %s cannot be found: %v", pkg, err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			vars, ok := decl.(*ast.GenDecl)
			if !ok || vars.Tok != token.VAR {
				continue
			}
			for _, spec := range vars.Specs {
				v := spec.(*ast.ValueSpec)
				if v.Names[0].Name != "newETCD3Client" {
					continue
				}
				if got := types.ExprString(v.Values[0].(*ast.FuncLit).Type); got != want {
					t.Errorf("newETCD3Client is %s, want %s", got, want)
				}
				return
			}
		}
	}
	t.Errorf("%s has no variable newETCD3Client", pkg)
}

// A health check whose client cannot be created ends with the assembly that fails for it: it
// would try again for as long as the process lives.
func TestHealthCheckEndsWithoutEtcd(t *testing.T) {
	missing := errors.New("etcd did not start")
	replaced, err := replaceEtcdClient("/registry", Etcd{Endpoints: []string{"http://127.0.0.1:0"}, Connect: func() (*clientv3.Client, error) { return nil, missing }})
	if err != nil {
		t.Fatal(err)
	}
	defer replaced.undoReplacement()
	check, err := factory.CreateHealthCheck(storagebackend.Config{Type: storagebackend.StorageTypeETCD3}, make(chan struct{}))
	if err != nil {
		t.Fatal(err)
	}
	testutil.Await(t, "the client has ended", func() bool {
		return strings.HasPrefix(check().Error(), "error getting data from etcd")
	})
	if err := replaced.check(); !errors.Is(err, missing) {
		t.Errorf("got %v, want %v", err, missing)
	}
	replaced.endAssembly(true)
}

// succeedingKV is a store in which every write succeeds.
type succeedingKV struct{ clientv3.KV }

func (succeedingKV) Txn(context.Context) clientv3.Txn { return succeedingTxn{} }

type succeedingTxn struct{ clientv3.Txn }

func (t succeedingTxn) If(...clientv3.Cmp) clientv3.Txn  { return t }
func (t succeedingTxn) Then(...clientv3.Op) clientv3.Txn { return t }
func (succeedingTxn) Commit() (*clientv3.TxnResponse, error) {
	return &clientv3.TxnResponse{Header: &pb.ResponseHeader{Revision: 7}, Succeeded: true}, nil
}

// Upstream adds a slash in front of a prefix without one, and removes one at its end.
func TestWritesBelowAnyPrefixAreNoted(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	for _, prefix := range []string{"/registry", "registry", "/registry/"} {
		replaced, err := replaceEtcdClient(prefix, Etcd{Connect: func() (*clientv3.Client, error) {
			client := clientv3.NewCtxClient(t.Context())
			client.KV = succeedingKV{}
			return client, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		client, err := newETCD3Client(storagebackend.TransportConfig{})
		replaced.undoReplacement()
		if err != nil {
			t.Fatal(err)
		}
		call := &observe.Called{Verb: "create"}
		o.Recorder("c").Call(call, func() {
			if _, err := client.Kubernetes.OptimisticPut(t.Context(), "/registry/pods/default/web", nil, 0, kubernetes.PutOptions{}); err != nil {
				t.Error(err)
			}
		})
		if len(call.Wrote) != 1 || call.Wrote[0].Name != "web" {
			t.Errorf("prefix %s: wrote %v, want the Pod", prefix, call.Wrote)
		}
	}
}

func TestEtcdClientReplacement(t *testing.T) {
	upstream := newETCD3Client
	defer func() { newETCD3Client = upstream }()
	connect := func() (*clientv3.Client, error) { return clientv3.NewCtxClient(t.Context()), nil }

	replaced, err := replaceEtcdClient("/registry", Etcd{Connect: connect})
	if err != nil {
		t.Fatal(err)
	}
	if err := replaced.check(); err == nil {
		t.Error("not used: got no error")
	}
	client, err := newETCD3Client(storagebackend.TransportConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := client.Watcher.(bookmarkWatcher); !ok {
		t.Errorf("watches by a %T", client.Watcher)
	}
	if err := replaced.check(); err != nil {
		t.Error(err)
	}
	replaced.undoReplacement()
	if newETCD3Client == nil {
		t.Fatal("upstream's function was not restored")
	}

	newETCD3Client = nil // as where upstream has no such variable
	if _, err := replaceEtcdClient("/registry", Etcd{Connect: connect}); err == nil {
		t.Error("no variable: got no error")
	}
}
