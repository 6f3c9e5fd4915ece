package console

import (
	"strconv"

	"keepsake/client"
)

// engineNames name the engines of search indexes.
var engineNames = map[string]string{
	client.SearchLocal:      "each process of Keepsake",
	client.SearchOpenSearch: "OpenSearch",
}

// searchText says where the search index of a workspace is.
func searchText(w client.WorkspaceRecord) string {
	m := w.SearchMove
	if m == nil {
		return "It is in " + engineNames[w.SearchEngine] + "."
	}
	text := "It is being moved to " + engineNames[w.SearchEngine] + ". Until that is done, searches read the one in " + engineNames[m.From] + "."
	if m.Percent != nil {
		text += " " + strconv.Itoa(*m.Percent) + " % of the new one is built."
	}
	return text
}

// setSearchEngine moves the search index of a workspace.
func setSearchEngine(v *visit) response {
	id := v.PathValue("id")
	change := client.WorkspaceChange{SearchEngine: client.To(v.form.Get("engine"))}
	if _, err := v.api().ChangeWorkspace(v.Context(), id, change, nil); err != nil {
		return workspace(v, err, nil)
	}
	return done(workspacePath(id), "saved")
}
