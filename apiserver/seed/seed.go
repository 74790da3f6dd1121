// Package seed holds what every fresh control plane starts with: what upstream
// itself makes of an empty store, taken down once. Written before the API server
// starts, it spares a start two hundred requests; upstream's own reconciliation
// then finds what it would have made.
package seed

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// ServiceCIDRPrefix is below which the range of the Services' addresses is kept: the
// default one.
const ServiceCIDRPrefix = "/registry/servicecidrs/"

// Prefixes are the keys below which everything belongs to the seed. What depends
// on other flags, addresses or certificates does not.
var Prefixes = []string{
	"/registry/apiregistration.k8s.io/apiservices/",
	"/registry/clusterrolebindings/",
	"/registry/clusterroles/",
	"/registry/flowschemas/",
	"/registry/namespaces/",
	"/registry/priorityclasses/",
	"/registry/prioritylevelconfigurations/",
	"/registry/rolebindings/",
	"/registry/roles/",
	"/registry/serviceaccounts/",
	ServiceCIDRPrefix,
}

// Pair is a key of the store and its value.
type Pair struct {
	Key   string
	Value []byte
}

//go:embed seed.gz
var seedFile []byte

// Pairs returns the seed as made at now, each object with a UID of its own.
func Pairs(now time.Time) ([]Pair, error) {
	r, err := gzip.NewReader(bytes.NewReader(seedFile))
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

// nextField cuts a field off: its length, then itself.
func nextField(data []byte) (field, rest []byte, err error) {
	n, used := binary.Uvarint(data)
	if used <= 0 || n > uint64(len(data)-used) {
		return nil, nil, io.ErrUnexpectedEOF
	}
	return data[used : used+int(n)], data[used+int(n):], nil
}

// Pack is the reverse of Pairs, but for what Pairs makes anew.
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
