package rest

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/ctrlplane/ctrlplane/observe"
)

// encodeQuery returns q as URL parameters.
func encodeQuery(q observe.Query) url.Values {
	v := url.Values{}
	set := func(name, value, unset string) {
		if value != unset {
			v.Set(name, value)
		}
	}
	set("after", strconv.FormatUint(q.After, 10), "0")
	set("controller", q.Controller, "")
	set("sync", strconv.FormatUint(q.Sync, 10), "0")
	set("notable", strconv.FormatBool(q.Notable), "false")
	set("reads", strconv.FormatBool(q.Reads), "false")
	set("causes", strconv.FormatBool(q.Causes), "false")
	set("limit", strconv.Itoa(q.Limit), "0")
	for _, k := range q.Kinds {
		v.Add("kind", string(k))
	}
	if o := q.Object; o != nil {
		set("group", o.Group, "")
		set("resource", o.Resource, "")
		set("namespace", o.Namespace, "")
		set("name", o.Name, "")
		set("uid", o.UID, "")
	}
	return v
}

// decodeQuery is the reverse of encodeQuery. Unknown parameters are errors.
func decodeQuery(v url.Values) (q observe.Query, err error) {
	var o observe.Object
	for name, values := range v {
		value := values[len(values)-1]
		switch name {
		case "after":
			q.After, err = strconv.ParseUint(value, 10, 64)
		case "sync":
			q.Sync, err = strconv.ParseUint(value, 10, 64)
		case "notable":
			q.Notable, err = strconv.ParseBool(value)
		case "reads":
			q.Reads, err = strconv.ParseBool(value)
		case "causes":
			q.Causes, err = strconv.ParseBool(value)
		case "limit":
			if q.Limit, err = strconv.Atoi(value); err == nil && q.Limit < 1 {
				err = fmt.Errorf("%d is not a number of records: use 1 or more", q.Limit)
			}
		case "controller":
			q.Controller = value
		case "kind":
			q.Kinds, err = decodeKinds(values)
		case "group":
			o.Group = value
		case "resource":
			o.Resource = value
		case "namespace":
			o.Namespace = value
		case "name":
			o.Name = value
		case "uid":
			o.UID = value
		default:
			err = errors.New("unknown parameter")
		}
		if err != nil {
			return q, fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	if o != (observe.Object{}) {
		q.Object = &o
	}
	return q, nil
}

func decodeKinds(values []string) (kinds []observe.Kind, err error) {
	for _, value := range values {
		k := observe.Kind(value)
		if !slices.Contains(observe.Kinds, k) {
			return nil, fmt.Errorf("%q is not one of %v", value, observe.Kinds)
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}
