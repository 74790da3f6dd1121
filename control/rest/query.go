package rest

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/ctrlplane/ctrlplane/internal/usage"
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
		v.Add(kindParameter, string(k))
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

// kindParameter is the parameter for a kind of records. It is repeatable.
const kindParameter = "kind"

// queryParameters are the parameters of RecordsPath.
var queryParameters = []string{"after", "controller", "sync", "notable", "reads", "causes", "limit", kindParameter, "group", "resource", "namespace", "name", "uid"}

// decodeQuery is the reverse of encodeQuery. It ignores unknown parameters.
func decodeQuery(v url.Values) (q observe.Query, err error) {
	var o observe.Object
	for name, values := range v {
		value := values[len(values)-1]
		switch name {
		case "after":
			q.After, err = parseSeq(name, value)
		case "sync":
			q.Sync, err = parseSeq(name, value)
		case "notable":
			q.Notable, err = parseBool(name, value)
		case "reads":
			q.Reads, err = parseBool(name, value)
		case "causes":
			q.Causes, err = parseBool(name, value)
		case "limit":
			q.Limit, err = parseNumber(name, value, 1)
		case "controller":
			if q.Controller = value; value == "" {
				err = usage.Errorf("parameter controller: it is empty: give a name, or leave it out")
			}
		case kindParameter:
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
		}
		if err != nil {
			return q, err
		}
	}
	if o != (observe.Object{}) {
		q.Object = &o
	}
	return q, nil
}

// parseSeq returns the number of a record or a sync in the text of a parameter.
func parseSeq(name, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, usage.Errorf("parameter %s: %q is not a number of 0 or more", name, text)
	}
	return n, nil
}

func decodeKinds(values []string) (kinds []observe.Kind, err error) {
	for _, value := range values {
		k := observe.Kind(value)
		if !slices.Contains(observe.Kinds, k) {
			return nil, usage.Errorf("parameter kind: %q is not one of %v", value, observe.Kinds)
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}
