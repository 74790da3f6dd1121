package apiserver

import "strings"

// IsAggregated reports whether another API server, for an APIService, answers requests with a path.
func (s *Server) IsAggregated(path string) bool {
	parts := strings.SplitN(path, "/", 5) // /apis/GROUP/VERSION/…
	if len(parts) < 5 || parts[1] != "apis" {
		return false
	}
	service, err := s.apiServices.Get(parts[3] + "." + parts[2])
	return err == nil && service.Spec.Service != nil
}
