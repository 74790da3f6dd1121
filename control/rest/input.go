package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// checkParameters refuses a request with parameters that it does not have, such as a misspelled one, or that are not valid: they
// would have no effect.
func checkParameters(req *http.Request, known []string) error {
	params, err := url.ParseQuery(req.URL.RawQuery) // URL.Query leaves out what is not valid
	if err != nil {
		return usage.Errorf("parameters: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if name != timeoutParameter && !slices.Contains(known, name) {
			return usage.Errorf("parameter %s: unknown parameter: %s", name, describeParameters(known))
		}
		if n := len(params[name]); n > 1 && !isRepeatable(req.URL.Path, name) {
			return usage.Errorf("parameter %s: it is given %d times: give it once", name, n)
		}
	}
	return nil
}

// isRepeatable reports whether a request to path may have several values of a parameter.
func isRepeatable(path, parameter string) bool {
	switch parameter {
	case failingParameter:
		return true
	case kindParameter:
		return path == RecordsPath
	case nameParameter:
		return path == NodesPath || strings.HasPrefix(path, NodesPath+"/")
	}
	return false
}

func describeParameters(known []string) string {
	switch len(known) {
	case 0:
		return "this request has no parameters"
	case 1:
		return "this request has the parameter " + known[0]
	}
	return "this request has the parameters " + words.And(known)
}

// maxBodySize is the size of the longest body in JSON that is read, in bytes.
const maxBodySize = 1 << 20

// checkNoBody refuses the body of a request that has none. An empty object is none.
func checkNoBody(w http.ResponseWriter, req *http.Request, known []string) error {
	data, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBodySize))
	if err != nil {
		return usage.Errorf("request body: %w", err)
	}
	if body := string(bytes.TrimSpace(data)); body != "" && body != "{}" {
		return usage.Errorf("the request has a body, which would have no effect: %s", describeParameters(known))
	}
	return nil
}

// decodeBody decodes the one object in JSON that a body has to be. Unknown fields are errors.
func decodeBody(w http.ResponseWriter, req *http.Request, body any) error {
	decoder := json.NewDecoder(http.MaxBytesReader(w, req.Body, maxBodySize))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(body)
	if err != nil {
		return usage.Errorf("request body: %w", describeJSONError(err))
	}
	switch _, err := decoder.Token(); {
	case err == nil || errors.As(err, new(*json.SyntaxError)):
		return usage.Errorf("request body: there is more after the object: send one object")
	case !errors.Is(err, io.EOF):
		return usage.Errorf("request body: %w", err)
	}
	return nil
}

// jsonTypes are how JSON calls what a field is.
var jsonTypes = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Int: "a whole number", reflect.Float64: "a number", reflect.Slice: "a list", reflect.Struct: "an object",
}

// describeJSONError describes an error of encoding/json without the names of Go's types.
func describeJSONError(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := "the body"
		if wrong.Field != "" {
			field = "field " + strconv.Quote(strings.TrimPrefix(wrong.Field, "Change."))
		}
		return fmt.Errorf("%s has to be %s, got %s", field, jsonTypes[wrong.Type.Kind()], wrong.Value)
	}
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty: send an object in JSON")
	}
	if text, is := strings.CutPrefix(err.Error(), "json: "); is {
		return errors.New(text)
	}
	return err
}

// parseNumber returns the whole number in the text of a parameter. It is least or more.
func parseNumber(name, text string, least int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, usage.Errorf("parameter %s: %q is not a number of %d or more", name, text, least)
	}
	return n, nil
}

// parseBool returns the value of a parameter that is true or false.
func parseBool(name, text string) (bool, error) {
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, usage.Errorf("parameter %s: %q is neither true nor false", name, text)
	}
	return value, nil
}
