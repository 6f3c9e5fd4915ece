package console

import (
	"keepsake/client"
)

// embeddingTexts say what the states of the embeddings endpoint mean.
var embeddingTexts = map[string]string{
	"off":     "No endpoint is set. Recall compares meanings with the word vectors in the program, and sends no text anywhere.",
	"ready":   "Recall compares meanings with vectors of the endpoint, for the workspaces that use it.",
	"paused":  "The endpoint failed, so it is not asked for a while. Recall works by words until then; the server's log says why.",
	"limited": "The limit of the day, or the share of a workspace, is reached. New memories wait for vectors until the next day begins in UTC.",
}

// embeddingShare is the percentage of the texts of a day that are used.
func embeddingShare(e client.EmbeddingState) int {
	if e.Progress == nil || e.DailyTexts <= 0 {
		return 0
	}
	return int(min(100, e.Progress.TextsToday*100/e.DailyTexts))
}

// embeddingSwitch is whether a workspace uses the embeddings endpoint.
type embeddingSwitch struct {
	Workspace client.WorkspaceRecord
	Endpoint  string // the state of the endpoint
}

// embeddingSwitch reads the state of the endpoint for a workspace.
func (v *visit) embeddingSwitch(w client.WorkspaceRecord) (embeddingSwitch, error) {
	stats, err := v.api().CacheStats(v.Context())
	if err != nil {
		return embeddingSwitch{}, err
	}
	return embeddingSwitch{Workspace: w, Endpoint: stats.Embeddings.State}, nil
}

// curl is the command that changes the switch.
func (s embeddingSwitch) curl(base string) string {
	body := `{"embeddings":true}`
	if s.Workspace.Embeddings {
		body = `{"embeddings":false}`
	}
	return call{Method: "PATCH", Target: "/api/v1/admin/workspaces/" + s.Workspace.ID, Body: body}.curl(base)
}

func embeddingsForm(v *visit) response {
	w, err := v.api().WorkspaceRecord(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	data, err := v.embeddingSwitch(*w)
	if err != nil {
		return v.fail(err)
	}
	return show(embeddingsPage(data))
}

// setEmbeddings lets a workspace use the embeddings endpoint, or ends that.
func setEmbeddings(v *visit) response {
	id := v.PathValue("id")
	change := client.WorkspaceChange{Embeddings: client.To(v.form.Get("embeddings") == "true")}
	if _, err := v.api().ChangeWorkspace(v.Context(), id, change, nil); err != nil {
		return workspace(v, err, nil)
	}
	return done(workspacePath(id), "saved")
}
