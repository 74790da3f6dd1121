package clients

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// maxRefusal is how much is kept of why a request was refused, which may quote what was
// sent.
const maxRefusal = 1 << 10

// refusal says why a request was refused: the first line of the server's message, as the
// others are a comparison of objects. Of a Secret only the reason is kept: the message may
// quote a value, whether it is of the validation or of a webhook.
func refusal(c *observe.Called, answer recording.ResponseSummary) string {
	isSecret := c.Object.Group == "" && c.Object.Resource == "secrets" && c.IsWrite()
	message, _, _ := strings.Cut(strings.TrimSpace(c.Error), "\n")
	if isSecret || message == "" {
		message = fmt.Sprintf("%d %s", c.Status, cmp.Or(answer.Reason, http.StatusText(c.Status)))
	}
	return cutText(message, maxRefusal)
}

// nameRefused completes an object that was not created: the answer need not have it.
func (r *request) nameRefused() {
	o := &r.call.Object
	if o.Name == "" {
		sent := r.sentObject()
		o.Name, o.Kind = sent.Metadata.Name, cmp.Or(o.Kind, cutText(sent.Kind, maxName))
	}
	o.Name = cutText(o.Name, maxName)
}
