package console

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"keepsake/client"
)

// formState is what the form of an action has next to its fields.
type formState struct {
	Once    string // identifies the form, so that sending it twice acts once
	Field   string // that the message is about; can be empty
	Message string // why the action was refused
}

func newForm() formState { return formState{Once: rand.Text()} }

// sentForm returns the state of a form that was sent.
func sentForm(v *visit) formState { return formState{Once: v.form.Get("once")} }

// wrong reports whether the message is about a field.
func (f formState) wrong(field string) bool { return f.Message != "" && f.Field == field }

// refuse prepares a form to be shown again after an error of the API. It returns false if the form cannot change the outcome,
// because its object does not exist or the visitor may not use it.
//
// After an error of the server the form keeps its identity, because the action can have happened.
func (f *formState) refuse(v *visit, err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Status == http.StatusNotFound || e.Status == http.StatusForbidden {
		return false
	}
	f.Field, f.Message = fieldOf(e), v.reason(e)
	if e.Status < http.StatusInternalServerError {
		f.Once = rand.Text()
	}
	return true
}

// refused shows a form again with the error that f.refuse has noted.
func refused(err error, page templ.Component) response {
	resp := response{status: http.StatusInternalServerError, page: page}
	if e, ok := errors.AsType[*client.Error](err); ok {
		resp.status, resp.header = e.Status, retryHeader(e)
	}
	return resp
}

// reason tells a person why a request was refused.
func (v *visit) reason(e *client.Error) string {
	switch {
	case e.Status == http.StatusForbidden && e.Details.RequiredScope != "" && v.can(e.Details.RequiredScope):
		return "Only users of the workspace that operates this instance can do this (" + e.Details.RequiredScope + ")."
	case e.Status == http.StatusForbidden && e.Details.RequiredScope != "" && v.user != nil:
		return "Your role, " + v.user.Role + ", does not have the scope " + e.Details.RequiredScope + ", which this needs. An admin of your workspace can change your role."
	case e.Status >= http.StatusInternalServerError:
		return e.Error() + " Request ID " + v.RequestID() + "."
	default:
		return e.Error()
	}
}

// retryHeader tells programs how long to wait.
func retryHeader(e *client.Error) http.Header {
	if seconds := int64(e.RetryAfter / time.Second); seconds > 0 {
		return http.Header{"Retry-After": {strconv.FormatInt(seconds, 10)}}
	}
	return nil
}

// dateLayout is how forms write a date.
const dateLayout = "2006-01-02"

// date returns the beginning of a day of a form, in UTC. It returns nil for an empty field.
func (v *visit) date(field string) (*time.Time, error) {
	text := v.form.Get(field)
	if text == "" {
		return nil, nil
	}
	at, err := time.Parse(dateLayout, text)
	if err != nil {
		return nil, &client.Error{Status: http.StatusBadRequest, Message: "Write the date as 2027-01-31.", Details: client.Details{Field: field, Issue: "format"}}
	}
	return &at, nil
}
