package recording

import (
	"bytes"
	"encoding/json"
	"net/http"

	"google.golang.org/protobuf/encoding/protowire"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/observe"
)

// IsLeaseUpdate reports whether a call renews a Lease or takes it over.
func IsLeaseUpdate(c *observe.Called) bool { return c.Object.IsLease() && c.Verb == "update" }

// describeSentLease returns the holder that takes over a Lease with a request; empty if the
// request renews it, or the body cannot be read again.
func describeSentLease(req *http.Request) string {
	return readSent(req, ParseTaker)
}

// ParseTaker returns the holder of the encoded Lease with which data begins if it takes the
// Lease over: it acquires the Lease at the time at which it renews it. Empty means a renewal, or
// that the Lease is released.
func ParseTaker(data []byte) string {
	var spec struct {
		HolderIdentity         string
		AcquireTime, RenewTime string // as encoded
	}
	if bytes.HasPrefix(data, protoPrefix) {
		_, _, object := openEnvelope(data)
		eachField(object, func(n protowire.Number, fields []byte) {
			if n != 2 { // the spec
				return
			}
			eachField(fields, func(n protowire.Number, v []byte) {
				switch n {
				case 1:
					spec.HolderIdentity = string(v)
				case 3:
					spec.AcquireTime = string(v)
				case 4:
					spec.RenewTime = string(v)
				}
			})
		})
	} else {
		lease := struct{ Spec any }{&spec}
		_ = json.NewDecoder(bytes.NewReader(data)).Decode(&lease) // text that is not JSON names no holder
	}
	if spec.AcquireTime == "" || spec.AcquireTime != spec.RenewTime {
		return ""
	}
	return spec.HolderIdentity
}

// takerOf returns the holder that an update of a Lease gives it; empty if it had that one, or
// the Lease is released.
func takerOf(before, after any) string {
	was, ok := before.(*coordinationv1.Lease)
	is, also := after.(*coordinationv1.Lease)
	if !ok || !also || ptr.Equal(was.Spec.HolderIdentity, is.Spec.HolderIdentity) {
		return ""
	}
	return ptr.Deref(is.Spec.HolderIdentity, "")
}
