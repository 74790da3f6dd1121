package controllers

// Workers is how many goroutines work on a queue, where the configuration says
// so; 0 if it does not.
func (s *Supervisor) Workers(controller, queue string) int {
	return int(s.workers[controller+"/"+queue])
}
