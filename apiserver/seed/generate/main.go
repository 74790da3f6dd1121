// Command generate records the seeds: for each minor version of Kubernetes it starts a
// control plane without a seed on an empty folder and reads what upstream has created
// there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/apiserver/seed"
	"github.com/ctrlplane/ctrlplane/etcd"
)

func main() {
	out := flag.String("o", "apiserver/seed", "folder to write to")
	flag.Parse()
	for _, kubernetes := range ctrlplane.KubernetesVersions() {
		if err := generateSeed(context.Background(), kubernetes, *out); err != nil {
			fmt.Fprintf(os.Stderr, "seed of %s: %v\n", kubernetes, err)
			os.Exit(1)
		}
	}
	if err := removeOthers(*out, ctrlplane.KubernetesVersions()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// removeOthers removes the seeds of versions that are not in the list: all files there are embedded.
func removeOthers(dir string, versions []string) error {
	files, err := filepath.Glob(filepath.Join(dir, seed.FileName("*")))
	for _, file := range files {
		if !slices.ContainsFunc(versions, func(v string) bool { return filepath.Base(file) == seed.FileName(v) }) {
			err = errors.Join(err, os.Remove(file))
		}
	}
	return err
}

func generateSeed(ctx context.Context, kubernetes, out string) (err error) {
	dir, err := os.MkdirTemp("", "ctrlplane-seed-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := runControlPlane(ctx, kubernetes, dir); err != nil {
		return err
	}
	pairs, err := readPairs(ctx, filepath.Join(dir, "etcd"))
	if err != nil {
		return err
	}
	data, err := seed.Pack(pairs)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d objects, %d bytes\n", kubernetes, len(pairs), len(data))
	return os.WriteFile(filepath.Join(out, seed.FileName(kubernetes)), data, 0o644)
}

// runControlPlane runs a control plane until it is settled. A control plane with flags
// for the API server does not use the seed.
func runControlPlane(ctx context.Context, kubernetes, dir string) error {
	server := &ctrlplane.Server{
		Dir:        dir,
		Kubernetes: kubernetes,
		Scheduler:  ctrlplane.SchedulerConfig{Disabled: true},
		APIServer:  ctrlplane.APIServerConfig{Args: []string{"etcd-prefix=/registry"}},
	}
	if err := server.Start(ctx); err != nil {
		return err
	}
	for {
		s, err := server.Observer().Snapshot(ctx)
		if err != nil || s.Process.Settled {
			return errors.Join(err, server.Close())
		}
	}
}

func readPairs(ctx context.Context, dir string) (pairs []seed.Pair, err error) {
	store, err := etcd.Start(ctx, etcd.Config{Dir: dir, NoSync: true})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	client, err := store.Client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for _, prefix := range seed.Prefixes {
		found, err := client.Get(ctx, prefix, clientv3.WithPrefix())
		if err != nil {
			return nil, err
		}
		for _, kv := range found.Kvs {
			pairs = append(pairs, seed.Pair{Key: string(kv.Key), Value: kv.Value})
		}
	}
	return pairs, nil
}
