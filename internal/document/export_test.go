package document

// Waiting is how many writes wait for the unit under way.
func (s *Service) Waiting(workspaceID string) int {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	n := 0
	if all := s.line.busy[workspaceID]; all != nil {
		for _, w := range *all {
			if w.state.Load() == waiting {
				n++
			}
		}
	}
	return n
}
