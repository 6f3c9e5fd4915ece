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

// accountFields are the fields of the page, by the names that errors give them.
var accountFields = []string{"name", "currentPassword", "newPassword", "repeat"}

// accountData is what the page of the visitor's account shows.
type accountData struct {
	formState // of the last change
	Name      string
	Sessions  []OwnSession
}

func accountOf(v *visit) accountData {
	var data accountData
	if v.user.Name != nil {
		data.Name = *v.user.Name
	}
	return data
}

func showAccount(v *visit) response { return v.account(accountOf(v), http.StatusOK) }

// account shows the page with the visitor's sessions.
func (v *visit) account(data accountData, status int) response {
	var err error
	if data.Sessions, err = v.c.o.Sessions.List(v.Context(), v.visitor()); err != nil {
		return v.failProblem(err)
	}
	return response{status: status, page: accountPage(data)}
}

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
	return done(accountPath, "name")
}

// changeOwnPassword changes the visitor's password. The session goes on, and the visitor's other sessions end.
func changeOwnPassword(v *visit) response {
	data := accountOf(v)
	wanted := v.form.Get("new")
	if wanted != v.form.Get("repeat") {
		data.Field, data.Message = "repeat", "The two new passwords differ."
		return v.account(data, http.StatusBadRequest)
	}
	err := v.api().ChangePassword(v.Context(), v.form.Get("current"), wanted)
	switch e, ok := errors.AsType[*client.Error](err); {
	case ok && e.Code == problem.CodeInvalidCredentials:
		data.Field, data.Message = "currentPassword", "The current password is wrong."
		return v.account(data, http.StatusBadRequest)
	case err != nil:
		return refusedAccount(v, data, err)
	}
	return done(accountPath, "password")
}

func refusedAccount(v *visit, data accountData, err error) response {
	if !data.refuse(v, err) {
		return v.fail(err)
	}
	resp := refused(err, nil)
	page := v.account(data, resp.status)
	page.header = resp.header
	return page
}
