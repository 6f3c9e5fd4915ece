package document

// Waiting is how many writes wait for the unit under way.
func (s *Service) Waiting(workspaceID string) int { return s.batches.Waiting(workspaceID) }
