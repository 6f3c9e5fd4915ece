package embedding

// Usage is what was sent on a day when a workspace asks for more.
type Usage struct {
	Texts      int64 // of all workspaces
	Own        int64 // of this workspace, those after half of the limit was used
	Workspaces int64 // that use the endpoint
	Limit      int64
}

// Kind says what texts are for.
type Kind string

// The kinds.
const (
	ForQuery    Kind = "query"
	ForMemories Kind = "memories"
)

// Grant returns how many of the wanted texts a workspace can send, and how many of these count as its own.
//
// Half of the limit is for the workspaces that come first. The other half is divided among the workspaces, so that one that sends a lot
// leaves the others their share. A tenth of the limit is for queries alone, because a back-fill can wait for the next day and a
// query cannot.
func (u Usage) Grant(kind Kind, wanted int64) (granted, own int64) {
	half, shared := u.Limit/2, u.Limit-u.Limit/2
	if kind == ForMemories {
		shared -= queryReserve(u.Limit)
	}
	share, left := shared/max(1, u.Workspaces), u.Limit-u.Texts
	if share == 0 { // more workspaces than texts: each can send one, as long as there are any
		share, left = 1, half+shared-u.Texts
	}
	free := max(0, half-u.Texts)
	granted = max(0, min(wanted, left, free+max(0, share-u.Own)))
	return granted, max(0, granted-free)
}

func queryReserve(limit int64) int64 {
	if limit < 2 {
		return 0
	}
	return max(1, limit/10)
}
