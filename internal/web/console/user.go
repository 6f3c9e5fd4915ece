package console

import (
	"crypto/rand"
	"net/url"
	"strings"

	"keepsake/client"
)

// roles are what users can be.
var roles = []choice{
	{"viewer", "Viewer: searches, and reads usage"},
	{"member", "Member: also writes documents, and reads and writes memories"},
	{"developer", "Developer: also manages API keys"},
	{"admin", "Admin: everything in the workspace"},
}

// roleFilters are the roles that the list of users can be limited to.
var roleFilters = []choice{{"", "All"}, {"viewer", "Viewers"}, {"member", "Members"}, {"developer", "Developers"}, {"admin", "Admins"}}

// usersData is a page of the list of users.
type usersData struct {
	Role      string
	Workspace string // whose users are listed; empty: all that the visitor can see
	Users     []client.User
	Names     map[string]string // of workspaces, by ID
	Pages     pages
}

func listUsers(v *visit) response {
	query := v.URL.Query()
	data := usersData{Role: query.Get("role"), Workspace: query.Get("workspace")}
	page, err := v.api().ListUsers(v.Context(), client.UserQuery{Role: data.Role, Workspace: data.Workspace, Limit: 50, Cursor: query.Get("cursor")})
	if err != nil {
		return v.fail(err)
	}
	data.Users = page.Items
	data.Pages = v.pages("/console/users", url.Values{"role": {data.Role}, "workspace": {data.Workspace}}, page.NextCursor)
	if data.Names, err = v.workspaceNames(); err != nil {
		return v.fail(err)
	}
	return show(usersPage(data))
}

func userPath(id string) string { return "/console/users/" + url.PathEscape(id) }

// workspaceNames returns the names of workspaces by ID, if the visitor can see them.
func (v *visit) workspaceNames() (map[string]string, error) {
	names := map[string]string{v.user.Workspace.ID: v.user.Workspace.Name}
	if !v.operates() {
		return names, nil
	}
	page, err := v.api().ListWorkspaces(v.Context(), client.WorkspaceQuery{Limit: 200})
	if err != nil {
		return nil, err
	}
	for _, w := range page.Items {
		names[w.ID] = w.Name
	}
	return names, nil
}

// userForm is the form of a new user.
type userForm struct {
	formState
	Email, Name, Role, Workspace string
	Workspaces                   []client.WorkspaceRecord // to choose from; empty: only the visitor's
}

func newUserForm(v *visit) response {
	return userFormView(v, userForm{formState: newForm(), Role: "member", Workspace: v.URL.Query().Get("workspace")}, nil)
}

// userFormView shows the form, after an error if there was one.
func userFormView(v *visit, form userForm, failed error) response {
	if v.operates() {
		page, err := v.api().ListWorkspaces(v.Context(), client.WorkspaceQuery{Limit: 200})
		if err != nil {
			return v.fail(err)
		}
		form.Workspaces = page.Items
		if form.Workspace == "" {
			form.Workspace = v.user.Workspace.ID
		}
	}
	if failed != nil {
		return refused(failed, newUserPage(form))
	}
	return show(newUserPage(form))
}

func createUser(v *visit) response {
	form := userForm{
		formState: sentForm(v), Email: strings.TrimSpace(v.form.Get("email")), Name: strings.TrimSpace(v.form.Get("name")),
		Role: v.form.Get("role"), Workspace: v.form.Get("workspace"),
	}
	created, err := v.api().CreateUser(client.WithIdempotencyKey(v.Context(), form.Once), client.NewUser{
		Email: form.Email, Name: form.Name, Role: form.Role, WorkspaceID: form.Workspace,
	})
	if err != nil {
		if form.refuse(v, err) {
			return userFormView(v, form, err)
		}
		return v.fail(err)
	}
	data := userPassword{User: created.User}
	if created.Password != nil {
		data.Text = *created.Password
	}
	return show(passwordPage(data))
}

// userPassword is a password that is shown, after a user was created or got a new one.
type userPassword struct {
	User  client.User
	Text  string // empty: it was shown before
	Reset bool
}

// userData is what the page of a user shows.
type userData struct {
	formState // of the last change
	User      client.User
	Role      string // that is chosen
	Name      string
	Workspace string // name
}

func showUser(v *visit) response { return user(v, nil, nil) }

// user shows a user, after a change that was refused if there is an error. keep puts back what was typed.
func user(v *visit, failed error, keep func(*userData)) response {
	u, err := v.api().User(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	names, err := v.workspaceNames()
	if err != nil {
		return v.fail(err)
	}
	data := userData{User: *u, Role: u.Role, Workspace: names[u.WorkspaceID]}
	if u.Name != nil {
		data.Name = *u.Name
	}
	if failed == nil {
		return show(userPage(data))
	}
	if keep != nil {
		keep(&data)
	}
	if !data.refuse(v, failed) {
		return v.fail(failed)
	}
	return refused(failed, userPage(data))
}

// changeUser changes the name and the role of a user. It sends only what differs.
func changeUser(v *visit) response {
	id, name, role := v.PathValue("id"), strings.TrimSpace(v.form.Get("name")), v.form.Get("role")
	keep := func(d *userData) { d.Name, d.Role = name, role }
	u, err := v.api().User(v.Context(), id)
	if err != nil {
		return v.fail(err)
	}
	var change client.UserChange
	if role != u.Role {
		change.Role = client.To(role)
	}
	switch {
	case name == "" && u.Name != nil:
		change.Name = client.Cleared[string]()
	case name != "" && (u.Name == nil || *u.Name != name):
		change.Name = client.To(name)
	}
	if _, err := v.api().ChangeUser(v.Context(), id, change, nil); err != nil {
		return user(v, err, keep)
	}
	return done(userPath(id), "user-saved")
}

func setUserEnabled(v *visit) response {
	id, enabled := v.PathValue("id"), v.form.Get("enabled") == "true"
	change := client.UserChange{Disabled: client.To(!enabled)}
	if _, err := v.api().ChangeUser(v.Context(), id, change, nil); err != nil {
		return user(v, err, nil)
	}
	return done(userPath(id), enabledNotice(enabled))
}

// userAction is the form of an action on a user.
type userAction struct {
	formState
	User client.User
}

func resetPasswordForm(v *visit) response {
	u, err := v.api().User(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	return show(resetPasswordPage(userAction{newForm(), *u}))
}

// resetPassword gives a user a random password, which is shown once.
func resetPassword(v *visit) response {
	password := rand.Text()
	changed, err := v.api().ChangeUser(v.Context(), v.PathValue("id"), client.UserChange{Password: client.To(password)}, nil)
	if err != nil {
		return user(v, err, nil)
	}
	return show(passwordPage(userPassword{User: *changed, Text: password, Reset: true}))
}

// createSetupLink shows a link with which a user chooses a password.
func createSetupLink(v *visit) response {
	id := v.PathValue("id")
	link, err := v.api().CreateSetupLink(v.Context(), id)
	if err != nil {
		return user(v, err, nil)
	}
	u, err := v.api().User(v.Context(), id)
	if err != nil {
		return v.fail(err)
	}
	address := ""
	if link.URL != nil {
		address = *link.URL
	}
	return show(setupLinkPage(*u, address, link.ExpiresAt))
}

func deleteUserForm(v *visit) response {
	u, err := v.api().User(v.Context(), v.PathValue("id"))
	if err != nil {
		return v.fail(err)
	}
	return show(deleteUserPage(userAction{newForm(), *u}))
}

func deleteUser(v *visit) response {
	id := v.PathValue("id")
	form := userAction{formState: sentForm(v)}
	err := v.api().DeleteUser(v.Context(), id, nil)
	if err == nil {
		return done("/console/users", "deleted")
	}
	if !form.refuse(v, err) {
		return v.fail(err)
	}
	u, missing := v.api().User(v.Context(), id)
	if missing != nil {
		return v.fail(missing)
	}
	form.User = *u
	return refused(err, deleteUserPage(form))
}

// userState is the state of a user in one word.
func userState(u client.User) string {
	if u.Disabled {
		return "disabled"
	}
	return "active"
}
