package console

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"keepsake/client"
)

// subjectsData is a page of the list of subjects.
type subjectsData struct {
	Subjects []client.Subject
	Pages    pages
}

func listSubjects(v *visit) response {
	if id := strings.TrimSpace(v.URL.Query().Get("subject")); id != "" {
		return redirect(subjectPath(id))
	}
	page, err := v.api().ListSubjects(v.Context(), 50, v.URL.Query().Get("cursor"))
	if err != nil {
		return v.fail(err)
	}
	data := subjectsData{Subjects: page.Items}
	data.Pages = v.pages("/console/memories", nil, page.NextCursor)
	return show(subjectsPage(data))
}

func subjectPath(id string) string { return "/console/memories/" + url.PathEscape(id) }

// failSubject is fail for a call about a person. If there is none, the page says that nothing is stored.
func (v *visit) failSubject(id string, err error) response {
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status == http.StatusNotFound && !v.isFragment() {
		return response{status: e.Status, page: absentPage(id)}
	}
	return v.fail(err)
}

// memoryKinds are the kinds that the timeline of a subject can be limited to.
var memoryKinds = []choice{
	{"", "All"},
	{"fact", "Facts"},
	{"preference", "Preferences"},
	{"event", "Events"},
	{"instruction", "Instructions"},
	{"summary", "Summaries"},
	{"turn", "Turns"},
	{"note", "Notes"},
}

// subjectData is what the page of a subject shows.
type subjectData struct {
	Subject  client.Subject
	Kind     string
	Memories []client.Memory
	Pages    pages
	Recall   recallData
}

// recallData is the result of a question about a subject.
type recallData struct {
	SubjectID string
	Query     string
	Recalled  *client.Recalled // nil: nothing was asked
	Message   string
}

func showSubject(v *visit) response { return subject(v, recallData{}) }

func subject(v *visit, recall recallData) response {
	id, query := v.PathValue("subject"), v.URL.Query()
	s, err := v.api().Subject(v.Context(), id)
	if err != nil {
		return v.failSubject(id, err)
	}
	data := subjectData{Subject: *s, Kind: query.Get("kind"), Recall: recall}
	data.Recall.SubjectID = id
	page, err := v.api().ListMemories(v.Context(), client.MemoryQuery{SubjectID: id, Kind: data.Kind, Cursor: query.Get("cursor"), Limit: 50})
	if err != nil {
		return v.fail(err)
	}
	data.Memories = page.Items
	data.Pages = v.pages(subjectPath(id), url.Values{"kind": {data.Kind}}, page.NextCursor)
	return show(subjectPage(data))
}

// recallMemories answers a question about a subject, which is in the body of the request.
func recallMemories(v *visit) response {
	data := recallData{SubjectID: v.PathValue("subject"), Query: v.form.Get("query")}
	recalled, err := v.api().Recall(v.Context(), client.RecallQuery{SubjectID: data.SubjectID, Query: data.Query, Explain: true})
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status < http.StatusInternalServerError {
		data.Message = e.Error()
	} else if err != nil {
		return v.fail(err)
	}
	data.Recalled = recalled
	if v.isFragment() {
		return show(recallResults(data))
	}
	return subject(v, data)
}

// signal is what a part of the ranking added to a score.
type signal struct {
	Name  string
	Value float64
}

// signals lists what made up the score of a memory, without what added nothing. They add up to the score.
func signals(w *client.RecallWhy) []signal {
	var list []signal
	if w == nil {
		return nil
	}
	for _, s := range []signal{
		{"same words", w.Words},
		{"similar words", w.Related},
		{"words together", w.Together},
		{"turns before it", w.Neighbours},
		{"its session", w.Session},
		{"who spoke", w.Speaker},
		{"the time", w.Date},
		{"the kind of answer", w.Answer},
		{"similar texts", w.Meaning},
		{"how much it tells", w.Worth},
	} {
		if math.Abs(s.Value) > 0.005 {
			list = append(list, s)
		}
	}
	return list
}

// memoryData is a memory with its revisions.
type memoryData struct {
	Memory    client.Memory
	Revisions []client.MemoryRevision
	Names     map[string]string // of actors, by ID
}

func showMemory(v *visit) response {
	id := v.PathValue("id")
	memory, err := v.api().Memory(v.Context(), id)
	if err != nil {
		return v.fail(err)
	}
	history, err := v.api().MemoryHistory(v.Context(), id, 100, "")
	if err != nil {
		return v.fail(err)
	}
	names, err := v.actorNames()
	if err != nil {
		return v.fail(err)
	}
	return show(memoryPage(memoryData{*memory, history.Items, names}))
}

// deleteMemoryData is the form that deletes a memory.
type deleteMemoryData struct {
	Memory  client.Memory // as it is stored
	Message string
}

func deleteMemoryForm(v *visit) response {
	if !v.can("memory:write") {
		return v.lacks("memory:write")
	}
	memory, err := v.api().Memory(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	return show(deleteMemoryPage(deleteMemoryData{Memory: *memory}))
}

// deleteMemory deletes a memory if it is still the revision that the form has shown.
func deleteMemory(v *visit) response {
	id := v.PathValue("id")
	revision, _ := strconv.ParseInt(v.form.Get("revision"), 10, 64)
	failed := v.api().DeleteMemory(v.Context(), id, &revision)
	if failed == nil {
		return done(subjectPath(v.PathValue("subject")), "erased")
	}
	if !isConflict(failed) {
		return v.fail(failed)
	}
	memory, err := v.api().Memory(v.Context(), id)
	if err != nil {
		return v.fail(err)
	}
	return refused(failed, deleteMemoryPage(deleteMemoryData{*memory, "Someone else changed this memory. Nothing was erased. This is how it is stored now:"}))
}

// accessData is a page of the access log of a subject.
type accessData struct {
	SubjectID string
	Entries   []client.AccessEntry
	Names     map[string]string // of actors, by ID
	Pages     pages
}

func showAccessLog(v *visit) response {
	id := v.PathValue("subject")
	page, err := v.api().AccessLog(v.Context(), id, 100, v.URL.Query().Get("cursor"))
	if err != nil {
		return v.failSubject(id, err)
	}
	data := accessData{SubjectID: id, Entries: page.Items}
	if data.Names, err = v.actorNames(); err != nil {
		return v.fail(err)
	}
	data.Pages = v.pages(subjectPath(id)+"/access", nil, page.NextCursor)
	return show(accessPage(data))
}

// accessTexts say what was done with a person's memories, by action.
var accessTexts = map[string]string{
	"memory.created":          "stored",
	"memory.updated":          "changed",
	"memory.read":             "read one memory",
	"memory.listed":           "listed memories",
	"memory.recalled":         "answered a question",
	"memory.context":          "made a text for a prompt",
	"memory.history":          "read older revisions",
	"memory.exported":         "exported",
	"memory.imported":         "imported",
	"memory.forget_planned":   "previewed what to forget",
	"memory.forgotten":        "erased what was previewed",
	"memory.erased_one":       "erased one memory",
	"memory.expired":          "erased because it expired",
	"memory.embedded":         "sent texts to the embeddings endpoint",
	"subject.erased":          "erased the person",
	"subject.read":            "read the number of memories",
	"subject.listed":          "listed people",
	"subject.access_log_read": "read this access log",
}

// accessText says what an action is; "other" for one of a later release.
func accessText(action string) string {
	if text := accessTexts[action]; text != "" {
		return text
	}
	return "other"
}

// accessOutcome says how an access ended. A read of a person without memories is recorded as failed: nothing was shown.
func accessOutcome(e client.AccessEntry) string {
	if e.Outcome == "failed" && e.Count == 0 && (e.Action == "subject.read" || e.Action == "memory.exported") {
		return "not found"
	}
	return e.Outcome
}

// credentialText says which kind of credential an actor used.
func credentialText(actor *string) string {
	switch {
	case actor == nil:
		return ""
	case strings.HasPrefix(*actor, "key_"):
		return "API key"
	case strings.HasPrefix(*actor, "usr_"):
		return "signed in"
	default:
		return ""
	}
}

// forgetData is a selection of memories to forget.
type forgetData struct {
	SubjectID string
	Query     string
	Plan      *client.ForgetPlan // nil before the preview
	Memories  []client.Memory    // of the plan
	Message   string
}

// maxPreview is how many memories of a plan are shown. The plan has all their IDs.
const maxPreview = 50

func forgetForm(v *visit) response {
	return show(forgetPage(forgetData{SubjectID: v.PathValue("subject")}))
}

// forgetMemories previews what a query selects, or erases what a preview has shown.
func forgetMemories(v *visit) response {
	data := forgetData{SubjectID: v.PathValue("subject"), Query: v.form.Get("query")}
	if plan := v.form.Get("plan"); plan != "" {
		n, err := v.api().Forget(v.Context(), data.SubjectID, plan)
		if err != nil {
			return v.fail(err)
		}
		return show(forgottenPage(data.SubjectID, n))
	}
	plan, err := v.api().PlanForget(v.Context(), client.ForgetQuery{SubjectID: data.SubjectID, Query: data.Query})
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status < http.StatusInternalServerError && e.Status != http.StatusNotFound {
		data.Message = e.Error()
		return response{status: e.Status, page: forgetPage(data)}
	}
	if err != nil {
		return v.fail(err)
	}
	data.Plan = plan
	if ids := plan.MemoryIDs[:min(len(plan.MemoryIDs), maxPreview)]; len(ids) > 0 {
		page, err := v.api().ListMemories(v.Context(), client.MemoryQuery{SubjectID: data.SubjectID, IDs: ids, Limit: maxPreview})
		if err != nil {
			return v.fail(err)
		}
		data.Memories = page.Items
	}
	return show(forgetPage(data))
}

// eraseData is the form that erases a subject.
type eraseData struct {
	Subject client.Subject
	Keys    boundKeys
	Message string
}

// boundKeys are the API keys that are bound to a person. They are not erased with the person.
type boundKeys struct {
	List   []client.APIKey // without those that are revoked
	Hidden bool            // the visitor's role cannot list keys
}

// boundKeysOf lists the keys that are bound to a person.
func boundKeysOf(v *visit, subjectID string) (keys boundKeys, err error) {
	if !v.can("developer:manage") {
		return boundKeys{Hidden: true}, nil
	}
	for k, err := range v.api().EachAPIKey(v.Context(), client.APIKeyQuery{Limit: 200}) {
		if err != nil {
			return keys, err
		}
		if k.SubjectID != nil && *k.SubjectID == subjectID && k.State != "revoked" {
			keys.List = append(keys.List, k)
		}
	}
	return keys, nil
}

func eraseForm(v *visit) response { return eraseView(v, http.StatusOK, "") }

// eraseView shows the form that erases a subject.
func eraseView(v *visit, status int, message string) response {
	id := v.PathValue("subject")
	s, err := v.api().Subject(v.Context(), id)
	if err != nil {
		return v.failSubject(id, err)
	}
	keys, err := boundKeysOf(v, id)
	if err != nil {
		return v.fail(err)
	}
	return response{status: status, page: erasePage(eraseData{*s, keys, message})}
}

// eraseSubject erases a subject whose ID was typed, and shows the receipt.
func eraseSubject(v *visit) response {
	id := v.PathValue("subject")
	if v.form.Get("confirm") != id {
		return eraseView(v, http.StatusBadRequest, "Type the ID of the subject to confirm. Nothing was erased.")
	}
	keys, err := boundKeysOf(v, id) // before the erasure, because its receipt is shown once and must not be lost
	if err != nil {
		return v.fail(err)
	}
	receipt, err := v.api().EraseSubject(v.Context(), id)
	if err != nil {
		return v.failSubject(id, err)
	}
	return show(receiptPage(id, *receipt, keys))
}
