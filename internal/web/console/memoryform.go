package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"keepsake/client"
)

// memoryLabels are the fields of a memory that people change, with their names in the form.
var memoryLabels = []choice{
	{"text", "Text"},
	{"kind", "Kind"},
	{"speaker", "Speaker"},
	{"key", "Key"},
	{"tags", "Tags"},
	{"metadata", "Metadata"},
	{"expiresAt", "Expires"},
	{"occurredAt", "Occurred"},
	{"validFrom", "Valid from"},
	{"validTo", "Valid to"},
	{"importance", "Importance"},
	{"source", "Source"},
	{"pinned", "Pinned"},
}

// memoryKindNames are the kinds of one memory.
var memoryKindNames = []choice{
	{"fact", "Fact"},
	{"preference", "Preference"},
	{"event", "Event"},
	{"instruction", "Instruction"},
	{"summary", "Summary"},
	{"turn", "Turn"},
	{"note", "Note"},
}

// memoryFields are the fields of the form. Whom a new memory is about, and what it comes from, cannot be changed later.
var memoryFields = append([]string{"subjectId", "agentId", "sessionId"}, valuesOf(memoryLabels)...)

// rareMemoryFields are folded.
var rareMemoryFields = []string{"agentId", "sessionId", "occurredAt", "validFrom", "validTo", "importance", "source", "pinned"}

// newMemoryPath is not below /console/memories/, where it would hide the subject with the ID new.
const newMemoryPath = "/console/new/memory"

// newMemoryOf returns the path of the form of a new memory about a subject.
func newMemoryOf(subjectID string) string {
	return newMemoryPath + "?" + url.Values{"subject": {subjectID}}.Encode()
}

func memoryPath(m client.Memory) string { return subjectPath(m.SubjectID) + "/" + m.ID }

// memoryForm is the form that creates or changes a memory.
type memoryForm struct {
	recordForm
	Memory *client.Memory // that is changed; nil: a new one
}

// folded reports whether the form has nothing to show in the fields that are folded.
func (f *memoryForm) folded() bool {
	return !slices.ContainsFunc(rareMemoryFields, func(name string) bool { return f.Values[name] != "" || f.about(name) })
}

// memoryValues are the fields of a memory as they stand in the form.
func memoryValues(m *client.Memory) map[string]string {
	values := map[string]string{
		"subjectId": m.SubjectID, "agentId": orEmpty(m.AgentID), "sessionId": orEmpty(m.SessionID),
		"text": m.Text, "kind": m.Kind, "speaker": orEmpty(m.Speaker), "key": orEmpty(m.Key), "source": orEmpty(m.Source),
		"tags": strings.Join(m.Tags, "\n"), "metadata": metadataText(m.Metadata),
		"expiresAt": momentText(m.ExpiresAt), "occurredAt": momentText(m.OccurredAt), "validFrom": momentText(m.ValidFrom), "validTo": momentText(m.ValidTo),
	}
	if m.Importance != nil {
		values["importance"] = strconv.FormatFloat(*m.Importance, 'g', -1, 64)
	}
	if m.Pinned {
		values["pinned"] = "true"
	}
	return values
}

func newMemoryForm(v *visit) response {
	if !v.can("memory:write") {
		return v.lacks("memory:write")
	}
	values := map[string]string{"subjectId": v.URL.Query().Get("subject"), "kind": "fact"}
	return show(memoryFormPage(memoryForm{recordForm: recordForm{formState: newForm(), Values: values}}))
}

func createMemory(v *visit) response {
	form := memoryForm{recordForm: sentRecord(v, memoryFields)}
	wanted, err := form.memory()
	if err != nil {
		return form.refused(v, err)
	}
	stored, err := v.api().CreateMemory(client.WithIdempotencyKey(v.Context(), form.Once), wanted)
	if err != nil {
		return form.refused(v, err)
	}
	if stored.Deduplicated {
		return done(memoryPath(stored.Memory), "equal")
	}
	return done(memoryPath(stored.Memory), "saved")
}

// memory reads a new memory from the form.
func (f *memoryForm) memory() (client.NewMemory, error) {
	value := f.Values
	m := client.NewMemory{
		SubjectID: strings.TrimSpace(value["subjectId"]), AgentID: strings.TrimSpace(value["agentId"]), SessionID: strings.TrimSpace(value["sessionId"]),
		Kind: value["kind"], Text: value["text"], Speaker: value["speaker"], Key: value["key"], Source: value["source"],
		Tags: linesOf(value["tags"]), Pinned: value["pinned"] != "",
	}
	var err error
	if m.Metadata, err = f.metadata(); err != nil {
		return m, err
	}
	if m.Importance, err = f.importance(); err != nil {
		return m, err
	}
	if m.OccurredAt, err = f.moment("occurredAt"); err != nil {
		return m, err
	}
	if m.ValidFrom, err = f.moment("validFrom"); err != nil {
		return m, err
	}
	if m.ValidTo, err = f.moment("validTo"); err != nil {
		return m, err
	}
	m.ExpiresAt, err = f.moment("expiresAt")
	return m, err
}

// importance reads the importance; nil if the field is empty.
func (f *memoryForm) importance() (*float64, error) {
	text := strings.TrimSpace(f.Values["importance"])
	if text == "" {
		return nil, nil
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, wrongField("importance", "Write a number from 0 to 1.")
	}
	return &value, nil
}

func changeMemoryForm(v *visit) response {
	if !v.can("memory:write") {
		return v.lacks("memory:write")
	}
	m, err := v.api().Memory(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	return show(memoryFormPage(memoryForm{recordForm{formState: newForm(), Values: memoryValues(m), Revision: m.Revision}, m}))
}

// changeMemory changes the fields that differ from what is stored, if that is the revision which the form has shown.
func changeMemory(v *visit) response {
	form := memoryForm{recordForm: sentRecord(v, memoryFields)}
	form.Revision, _ = strconv.ParseInt(v.form.Get("revision"), 10, 64)
	stored, err := v.api().Memory(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	form.Memory = stored
	change, err := form.change()
	if err == nil && stored.Revision == form.Revision && change == (client.MemoryChange{}) {
		return done(memoryPath(*stored), "unchanged")
	}
	if err == nil {
		_, err = v.api().ChangeMemory(v.Context(), stored.ID, change, &form.Revision)
	}
	if isConflict(err) {
		return form.conflict(v, err)
	}
	if err != nil {
		return form.refused(v, err)
	}
	return done(memoryPath(*stored), "saved")
}

// change returns what the form changes of the stored memory.
func (f *memoryForm) change() (change client.MemoryChange, err error) {
	m, stored := f.Memory, memoryValues(f.Memory)
	change = client.MemoryChange{
		Kind: f.text("kind", stored), Speaker: f.text("speaker", stored), Key: f.text("key", stored), Source: f.text("source", stored),
		Tags: f.tags(stored),
	}
	if f.Values["text"] != lines(stored["text"]) {
		change.Text = client.To(f.Values["text"]) // the API says that it is required
	}
	if f.Values["pinned"] != stored["pinned"] {
		change.Pinned = client.To(f.Values["pinned"] != "")
	}
	if f.Values["importance"] != stored["importance"] {
		importance, err := f.importance()
		if err != nil {
			return change, err
		}
		change.Importance = client.Cleared[float64]()
		if importance != nil {
			change.Importance = client.To(*importance)
		}
	}
	if change.Metadata, err = f.metadataChange(m.Metadata); err != nil {
		return change, err
	}
	if change.OccurredAt, err = f.momentChange("occurredAt", m.OccurredAt); err != nil {
		return change, err
	}
	if change.ValidFrom, err = f.momentChange("validFrom", m.ValidFrom); err != nil {
		return change, err
	}
	if change.ValidTo, err = f.momentChange("validTo", m.ValidTo); err != nil {
		return change, err
	}
	change.ExpiresAt, err = f.momentChange("expiresAt", m.ExpiresAt)
	return change, err
}

// conflict shows the form again beside what another change has stored.
func (f *memoryForm) conflict(v *visit, failed error) response {
	stored, err := v.api().Memory(v.Context(), f.Memory.ID)
	if err != nil {
		return v.fail(err)
	}
	f.Memory = stored
	f.collide(memoryValues(stored), stored.Revision, memoryLabels)
	if len(f.Stored) == 0 { // the other change has stored the same
		return done(memoryPath(*stored), "saved")
	}
	return refused(failed, memoryFormPage(*f))
}

func (f *memoryForm) refused(v *visit, err error) response {
	if !f.refuseRecord(v, err, memoryFields) {
		return v.fail(err)
	}
	return refused(err, memoryFormPage(*f))
}
