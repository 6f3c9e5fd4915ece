package console

import (
	"fmt"

	"keepsake/client"
)

// openSearchClass is the colour of a state: good, none or bad.
func openSearchClass(state string) string {
	switch state {
	case "ok":
		return "state-ok"
	case "starting", "elsewhere":
		return ""
	}
	return "state-failed"
}

// clusterText says whether this process can use the cluster.
func clusterText(o client.OpenSearchState) string {
	version := "The cluster"
	if o.Version != nil {
		version = "OpenSearch " + *o.Version
	}
	switch o.State {
	case "ok":
		return version + " answers this process."
	case "starting":
		return "This process has not reached the cluster yet."
	}
	return version + " cannot be used by this process: it is " + o.State + ". keepsake doctor says what is the matter."
}

// searchesText says what searches of a workspace read.
func searchesText(w client.OpenSearchWorkspace) string {
	switch {
	case w.MovesTo != nil && *w.MovesTo == client.SearchLocal:
		return "read this index until each process has its own"
	case w.MovesTo != nil && w.MovePercent != nil:
		return fmt.Sprintf("read the processes until this index is complete: %d %%", *w.MovePercent)
	case w.MovesTo != nil:
		return "read the processes until this index is complete"
	case w.Complete != nil && !*w.Complete:
		return "get 503 until the index is built"
	}
	return "read this index"
}

// shownText says which workspaces are shown.
func shownText(o client.OpenSearchState) string {
	text := "One process at a time sends the documents of a workspace to the cluster. Of an index that is elsewhere, another process has the state."
	if more := int64(o.Total - len(o.Workspaces)); more > 0 {
		return plural(more, "workspace") + " in a better state " + map[bool]string{true: "is", false: "are"}[more == 1] + " not shown. " + text
	}
	return text
}
