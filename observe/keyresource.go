package observe

// SetKeyResources says, by the names of queues, of which resource the objects are that the keys name:
// RESOURCE[.GROUP]. An object of another resource is not such a key, and a key does not fail any more
// once its object is deleted, until a later sync fails. It applies to each queue that is created after it.
func (r *Recorder) SetKeyResources(byQueue map[string]string) {
	if r == nil {
		return
	}
	r.keyResources.Store(&byQueue)
}

// keyResource returns the resource of the objects that the keys of a queue name; "" if that is not known.
func (r *Recorder) keyResource(queue string) string {
	if r == nil {
		return ""
	}
	if all := r.keyResources.Load(); all != nil {
		return (*all)[queue]
	}
	return ""
}

// mayName reports whether a key of the queue may name an object.
func (q *queue) mayName(o *Object) bool {
	return q.keyResource == "" || o.GroupResource() == q.keyResource
}
