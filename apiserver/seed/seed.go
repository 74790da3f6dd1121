// Package seed holds the objects that upstream creates in an empty store. Writing them
// before the API server starts saves two hundred requests: upstream's reconciliation
// then finds that all of them exist. Command generate records them.
package seed

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// ServiceCIDRPrefix precedes the key of the ServiceCIDR, which the seed holds for the
// default range.
var ServiceCIDRPrefix = keyPrefix("networking.k8s.io", "servicecidrs")

// Prefixes precede the keys of the seed. Objects that depend on flags, addresses or
// certificates are not part of it.
var Prefixes = []string{
	keyPrefix("apiregistration.k8s.io", "apiservices"),
	keyPrefix("rbac.authorization.k8s.io", "clusterrolebindings"),
	keyPrefix("rbac.authorization.k8s.io", "clusterroles"),
	keyPrefix("flowcontrol.apiserver.k8s.io", "flowschemas"),
	keyPrefix("", "namespaces"),
	keyPrefix("scheduling.k8s.io", "priorityclasses"),
	keyPrefix("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
	keyPrefix("rbac.authorization.k8s.io", "rolebindings"),
	keyPrefix("rbac.authorization.k8s.io", "roles"),
	keyPrefix("", "serviceaccounts"),
	ServiceCIDRPrefix,
}

func keyPrefix(group, resource string) string {
	return storekeys.DefaultPrefix + "/" + storekeys.PrefixOf(group, resource) + "/"
}

// Pair is a key of the store and its value.
type Pair struct {
	Key   string
	Value []byte
}

//go:embed seed-*.gz
var files embed.FS

// FileName returns the name of the file with the seed of a minor version of Kubernetes,
// such as 1.37.
func FileName(kubernetes string) string { return "seed-" + kubernetes + ".gz" }

// Pairs returns the seed of a minor version of Kubernetes, such as 1.37. Each object has
// a new UID and is created at now.
func Pairs(kubernetes string, now time.Time) ([]Pair, error) {
	file, err := files.Open(FileName(kubernetes))
	if err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	defer file.Close()
	return unpack(file, now)
}

func unpack(file io.Reader, now time.Time) ([]Pair, error) {
	r, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	var pairs []Pair
	for len(data) > 0 {
		var key, value []byte
		for _, field := range []*[]byte{&key, &value} {
			if *field, data, err = nextField(data); err != nil {
				return nil, fmt.Errorf("seed: %w", err)
			}
		}
		if value, err = renewObject(value, now); err != nil {
			return nil, fmt.Errorf("seed: %s: %w", key, err)
		}
		pairs = append(pairs, Pair{string(key), value})
	}
	return pairs, nil
}

// nextField splits off a field, which follows its length.
func nextField(data []byte) (field, rest []byte, err error) {
	n, used := binary.Uvarint(data)
	if used <= 0 || n > uint64(len(data)-used) {
		return nil, nil, io.ErrUnexpectedEOF
	}
	return data[used : used+int(n)], data[used+int(n):], nil
}

// Pack encodes the file that Pairs reads.
func Pack(pairs []Pair) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	for _, p := range pairs {
		for _, field := range [][]byte{[]byte(p.Key), p.Value} {
			if _, err := w.Write(append(binary.AppendUvarint(nil, uint64(len(field))), field...)); err != nil {
				return nil, err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
