package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// needs are the rules for kinds of Kubernetes whose objects are healthy to kstatus without what they need to have an effect:
// each says what an object lacks, "" if nothing is known.
var needs = map[string]func(*reasonSearch, *unstructured.Unstructured) string{
	"Service": (*reasonSearch).explainBackends,
}

// explainNeeds says what an object that is healthy to kstatus needs and does not have. It fails if that is not known.
func (s *reasonSearch) explainNeeds(u *unstructured.Unstructured) (string, error) {
	rule := needs[u.GroupVersionKind().GroupKind().String()]
	if rule == nil {
		return "", nil
	}
	text := rule(s, u)
	if text == "" {
		return "", s.err
	}
	return words.OneLine(text) + s.errorSuffix(), nil
}

// addNeeds notes what an object lacks that is healthy to kstatus.
func (s *State) addNeeds(search *reasonSearch, u *unstructured.Unstructured) error {
	if s.Status != Current || s.Doubt != "" {
		return nil
	}
	var err error
	if s.Doubt, err = search.explainNeeds(u); s.Doubt != "" {
		s.Message += ", but " + s.Doubt
	}
	return err
}
