package clients

import "cmp"

// completeRefusedObject completes an object that was not created: the answer need not have it.
func (r *request) completeRefusedObject() {
	o := &r.call.Object
	if o.Name == "" {
		sent := r.sentObject()
		o.Name, o.Kind = sent.Metadata.Name, cmp.Or(o.Kind, cutText(sent.Kind, maxName))
	}
	o.Name = cutText(o.Name, maxName)
}
