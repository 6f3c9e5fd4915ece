package v1

import "time"

// OpenSearchNumbers describe the indexes in OpenSearch, as a process knows them.
type OpenSearchNumbers struct {
	State      string     // of the cluster
	Since      *time.Time // when the state began
	Version    string     // empty: it was not read yet
	Total      int        // workspaces that have an index there, or get one
	Workspaces []OpenSearchWorkspace
}

// OpenSearchWorkspace describes the index of a workspace. What is not known is nil.
type OpenSearchWorkspace struct {
	ID, Name      string
	State         string
	Since         *time.Time // when the state began
	SearchedIn    string     // the engine that answers searches
	MovesTo       string     // empty: the index is not moved
	MovePercent   *int
	ChangesBehind *int64
	Complete      *bool // searches can read the index
}

// States that are not those of package opensearch.
const (
	OpenSearchStarting  = "starting"  // the process has not tried to reach the cluster yet
	OpenSearchElsewhere = "elsewhere" // another process follows the workspace
)

type openSearchView struct {
	State      string                    `json:"state" doc:"The state of the cluster: starting until this process has tried to reach it, ok, or what is the matter, such as unreachable, denied or unsupported." example:"ok"`
	Since      *time.Time                `json:"since" doc:"The time since when the cluster has been in this state; null while it is starting."`
	Version    *string                   `json:"version" doc:"The version of OpenSearch; null until it was read." example:"2.19.6"`
	Total      int                       `json:"workspaceCount" doc:"The number of workspaces whose index is in OpenSearch or is moved there."`
	Workspaces []openSearchWorkspaceView `json:"workspaces" doc:"At most 20 of these workspaces, those in the worst state first."`
}

type openSearchWorkspaceView struct {
	ID            string     `json:"id" doc:"The ID of the workspace."`
	Name          string     `json:"name" doc:"The name of the workspace."`
	State         string     `json:"state" doc:"The state of the index: ok, elsewhere if another process follows the workspace, or what is the matter, such as unreachable, full or throttled." example:"ok"`
	Since         *time.Time `json:"since" doc:"The time since when the index has been in this state; null if another process follows the workspace."`
	SearchedIn    string     `json:"searchedIn" enum:"local,opensearch" doc:"The place of the index that answers searches now."`
	MovesTo       *string    `json:"movesTo" enum:"local,opensearch" doc:"The place to which the index is being moved; null: it is not."`
	MovePercent   *int       `json:"movePercent" doc:"How much of the new index is built, in percent; null: this process does not know."`
	ChangesBehind *int64     `json:"changesBehind" doc:"The number of changes that the index lacks; null: the cluster or the database did not answer."`
	Complete      *bool      `json:"complete" doc:"Whether there is an index that searches can read; null: the cluster or the database did not answer."`
}

func viewOfOpenSearch(n *OpenSearchNumbers) *openSearchView {
	if n == nil {
		return nil
	}
	v := &openSearchView{State: n.State, Since: n.Since, Version: given(n.Version), Total: n.Total, Workspaces: []openSearchWorkspaceView{}}
	for i := range n.Workspaces {
		w := &n.Workspaces[i]
		v.Workspaces = append(v.Workspaces, openSearchWorkspaceView{
			ID: w.ID, Name: w.Name, State: w.State, Since: w.Since, SearchedIn: w.SearchedIn, MovesTo: given(w.MovesTo), MovePercent: w.MovePercent,
			ChangesBehind: w.ChangesBehind, Complete: w.Complete,
		})
	}
	return v
}

// given returns nil for an empty text.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
