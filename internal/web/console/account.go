package console

import (
	"errors"
	"net/http"
	"strings"

	"keepsake/client"
	"keepsake/internal/base/problem"
)

// accountPath is the page on which visitors change their own name and password.
const accountPath = "/console/account"

// accountData is what the page of the visitor's account shows.
type accountData struct {
	formState // of the last change
	Name      string
	Done      string // what was changed; empty: nothing yet
}

func accountOf(v *visit) accountData {
	data := accountData{Done: map[string]string{"name": "Your name is changed.", "password": "Your password is changed. Your other sessions have ended."}[v.URL.Query().Get("changed")]}
	if v.user.Name != nil {
		data.Name = *v.user.Name
	}
	return data
}

func showAccount(v *visit) response { return show(accountPage(accountOf(v))) }

// changeAccount changes the visitor's name.
func changeAccount(v *visit) response {
	name := strings.TrimSpace(v.form.Get("name"))
	change := client.ProfileChange{Name: client.To(name)}
	if name == "" {
		change.Name = client.Cleared[string]()
	}
	if _, err := v.api().ChangeProfile(v.Context(), change, nil); err != nil {
		data := accountOf(v)
		data.Name = name
		return refusedAccount(v, data, err)
	}
	return redirect(accountPath + "?changed=name")
}

// changeOwnPassword changes the visitor's password. The session goes on, and the visitor's other sessions end.
func changeOwnPassword(v *visit) response {
	data := accountOf(v)
	wanted := v.form.Get("new")
	if wanted != v.form.Get("repeat") {
		data.Field, data.Message = "repeat", "The two new passwords differ."
		return response{status: http.StatusBadRequest, page: accountPage(data)}
	}
	err := v.api().ChangePassword(v.Context(), v.form.Get("current"), wanted)
	switch e, ok := errors.AsType[*client.Error](err); {
	case ok && e.Code == problem.CodeInvalidCredentials:
		data.Field, data.Message = "currentPassword", "The current password is wrong."
		return response{status: http.StatusBadRequest, page: accountPage(data)}
	case err != nil:
		return refusedAccount(v, data, err)
	}
	return redirect(accountPath + "?changed=password")
}

func refusedAccount(v *visit, data accountData, err error) response {
	data.Done = ""
	if !data.refuse(v, err) {
		return v.fail(err)
	}
	return refused(err, accountPage(data))
}
