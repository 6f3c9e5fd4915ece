// Package console is the web console: pages on which people use the API. It holds no rule of its own. A page gets and does
// everything with requests to the API, in this process, with the credential of its visitor.
//
// The pages are templ components (*.templ); `make console` generates their Go code. Scripts and styles are in asset/.
package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"keepsake/client"
	"keepsake/internal/web/api"
)

// Options is what the console is made of.
type Options struct {
	Release   string // of the program; can be empty
	PublicURL string // of the instance; can be empty
	AgentsURL string // of the AI services, if they have a listener of their own; else empty

	// Operator returns the ID of the workspace that operates the instance. It only decides which links are shown. Can be nil.
	Operator func() string

	// Newest is the newest version of the API that can be released. It only decides which links are shown. Zero: none.
	Newest int

	Log *slog.Logger

	// SetUp sets the password of the user of a setup token, and returns the user's email. The error is a *problem.Problem if
	// the token or the password is refused.
	SetUp func(ctx context.Context, token, password string, from netip.Addr) (email string, err error)

	Sessions OwnSessions

	// Settings are what the process was started with. Only operators see them, and they contain no secret.
	Settings []Setting

	// Preview searches with settings of a collection that are not stored. The console has searched with the stored ones before, so the
	// visitor may search.
	Preview Previewer
}

// Console serves the pages.
type Console struct {
	o      Options
	assets *assets
	reads  reads
	origin *http.CrossOriginProtection
	https  bool         // PublicURL uses HTTPS
	base   api.BasePath // of PublicURL
}

// New returns the console.
func New(o Options) (*Console, error) {
	c := &Console{o: o, origin: http.NewCrossOriginProtection(), base: api.BasePathOf(o.PublicURL)}
	if public, err := url.Parse(o.PublicURL); err == nil && public.Host != "" {
		if err := c.origin.AddTrustedOrigin(public.Scheme + "://" + public.Host); err != nil {
			return nil, fmt.Errorf("console: publicUrl: %w", err)
		}
		c.https = public.Scheme == "https"
	}
	var err error
	c.assets, err = loadAssets()
	return c, err
}

// Pages returns all pages. The start page is the sign-in form, or the overview for a user who has signed in.
func (c *Console) Pages() []api.WebPage {
	list := []api.WebPage{
		c.open("GET", "/", c.home),
		c.open("GET", "/console", func(*visit) response { return redirect("/") }),
		c.open("POST", "/console/sign-in", c.signIn),
		c.open("GET", SetupPath, showSetup),
		c.open("POST", SetupPath, c.setUp),
		c.open("GET", "/console/alive", alive),
		c.open("GET", assetPath+"{sum}/{name}", c.asset),
	}
	add := func(method, path string, serve func(*visit) response) {
		list = append(list, c.open(method, path, c.signedIn(serve)))
	}
	add("POST", "/console/sign-out", signOut)
	add("GET", "/console/overview", overview)
	add("GET", "/console/checklist", showChecklist)
	add("POST", "/console/checklist", dismissChecklist)
	add("GET", "/console/usage", showUsage)
	add("GET", "/console/usage/csv", usageCSV)
	add("GET", "/console/requests", listRequests)
	add("GET", "/console/documents", listDocuments)
	add("POST", "/console/documents", searchDocuments)
	add("GET", "/console/documents/import", importForm)
	add("POST", "/console/documents/import", importDocuments)
	add("POST", "/console/documents/import/preview", previewImport)
	add("GET", "/console/documents/{id}", showDocument)
	add("GET", newDocumentPath, newDocumentForm)
	add("POST", newDocumentPath, createDocument)
	add("GET", "/console/documents/{id}/change", changeDocumentForm)
	add("POST", "/console/documents/{id}/change", changeDocument)
	add("GET", "/console/documents/{id}/delete", deleteDocumentForm)
	add("POST", "/console/documents/{id}/delete", deleteDocument)
	add("GET", "/console/collections", listCollections)
	add("POST", "/console/collections", openCollection)
	add("GET", "/console/collections/{collection}", showCollection)
	add("POST", "/console/collections/{collection}", changeCollection)
	add("POST", "/console/collections/{collection}/preview", previewCollection)
	add("GET", "/console/collections/{collection}/delete", deleteCollectionForm)
	add("POST", "/console/collections/{collection}/delete", deleteCollection)
	add("GET", "/console/memories", listSubjects)
	add("GET", "/console/memories/{subject}", showSubject)
	add("POST", "/console/memories/{subject}/recall", recallMemories)
	add("GET", "/console/memories/{subject}/copy", copySubject)
	add("GET", "/console/memories/{subject}/access", showAccessLog)
	add("GET", "/console/memories/{subject}/access/copy", copyAccessLog)
	add("GET", "/console/memories/{subject}/forget", forgetForm)
	add("POST", "/console/memories/{subject}/forget", forgetMemories)
	add("GET", "/console/memories/{subject}/erase", eraseForm)
	add("POST", "/console/memories/{subject}/erase", eraseSubject)
	add("GET", newMemoryPath, newMemoryForm)
	add("POST", newMemoryPath, createMemory)
	add("GET", "/console/memories/{subject}/{id}", showMemory)
	add("GET", "/console/memories/{subject}/{id}/change", changeMemoryForm)
	add("POST", "/console/memories/{subject}/{id}/change", changeMemory)
	add("GET", "/console/memories/{subject}/{id}/delete", deleteMemoryForm)
	add("POST", "/console/memories/{subject}/{id}/delete", deleteMemory)
	add("GET", "/console/webhooks", listWebhooks)
	add("GET", "/console/webhooks/new", newWebhookForm)
	add("POST", "/console/webhooks/new", createWebhook)
	add("GET", "/console/webhooks/{id}", showWebhook)
	add("GET", "/console/webhooks/{id}/change", changeWebhookForm)
	add("POST", "/console/webhooks/{id}/change", changeWebhook)
	add("POST", "/console/webhooks/{id}/enabled", setWebhookEnabled)
	add("POST", "/console/webhooks/{id}/ping", pingWebhook)
	add("GET", "/console/webhooks/{id}/rotate", rotateWebhookForm)
	add("POST", "/console/webhooks/{id}/rotate", rotateWebhook)
	add("GET", "/console/webhooks/{id}/delete", deleteWebhookForm)
	add("POST", "/console/webhooks/{id}/delete", deleteWebhook)
	add("GET", "/console/webhooks/{id}/deliveries/{delivery}", showDelivery)
	add("POST", "/console/webhooks/{id}/deliveries/{delivery}/replay", replayDelivery)
	add("GET", "/console/versions", listVersions)
	add("GET", "/console/versions/{n}", showVersion)
	add("GET", "/console/versions/{n}/release", releaseForm)
	add("POST", "/console/versions/{n}/release", releaseVersion)
	add("GET", "/console/versions/{n}/change", changeVersionForm)
	add("POST", "/console/versions/{n}/change", changeVersion)
	add("GET", "/console/versions/{n}/rehearse", rehearseForm)
	add("POST", "/console/versions/{n}/rehearse", rehearseSunset)
	add("GET", "/console/versions/{n}/retire", retireForm)
	add("POST", "/console/versions/{n}/retire", retireVersion)
	add("GET", accountPath, showAccount)
	add("POST", accountPath, changeAccount)
	add("POST", accountPath+"/password", changeOwnPassword)
	add("POST", accountPath+"/sessions/end", endOtherSessions)
	add("POST", accountPath+"/sessions/{id}/end", endOwnSession)
	add("GET", "/console/users", listUsers)
	add("GET", "/console/users/new", newUserForm)
	add("POST", "/console/users/new", createUser)
	add("GET", "/console/users/{id}", showUser)
	add("POST", "/console/users/{id}", changeUser)
	add("POST", "/console/users/{id}/enabled", setUserEnabled)
	add("GET", "/console/users/{id}/password", resetPasswordForm)
	add("POST", "/console/users/{id}/password", resetPassword)
	add("POST", "/console/users/{id}/setup-link", createSetupLink)
	add("GET", "/console/users/{id}/delete", deleteUserForm)
	add("POST", "/console/users/{id}/delete", deleteUser)
	add("GET", "/console/workspaces", listWorkspaces)
	add("GET", "/console/workspaces/new", newWorkspaceForm)
	add("POST", "/console/workspaces/new", createWorkspace)
	add("GET", "/console/workspaces/{id}", showWorkspace)
	add("POST", "/console/workspaces/{id}", changeWorkspace)
	add("GET", "/console/workspaces/{id}/suspend", suspendForm)
	add("POST", "/console/workspaces/{id}/suspend", setSuspended)
	add("GET", "/console/workspaces/{id}/embeddings", embeddingsForm)
	add("POST", "/console/workspaces/{id}/embeddings", setEmbeddings)
	add("POST", "/console/workspaces/{id}/search-engine", setSearchEngine)
	add("GET", "/console/tiers/{name}", changeTierForm)
	add("POST", "/console/tiers/{name}", changeTier)
	add("GET", "/console/system", showSystem)
	add("GET", "/console/audit", listAudit)
	add("POST", "/console/audit", verifyAudit)
	add("GET", "/console/connect", connect)
	add("GET", "/console/keys", listKeys)
	add("GET", "/console/keys/new", newKeyForm)
	add("POST", "/console/keys/new", createKey)
	add("GET", "/console/keys/{id}", showKey)
	add("GET", "/console/keys/{id}/use", showKeyUse)
	add("GET", "/console/keys/{id}/change", changeKeyForm)
	add("POST", "/console/keys/{id}/change", changeKey)
	add("GET", "/console/keys/{id}/rotate", rotateForm)
	add("POST", "/console/keys/{id}/rotate", rotateKey)
	add("GET", "/console/keys/{id}/revoke", revokeForm)
	add("POST", "/console/keys/{id}/revoke", revokeKey)
	add("POST", "/console/keys/{id}/complete", completeRotation)
	add("POST", "/console/keys/{id}/enabled", setKeyEnabled)
	return list
}

// visit is a request for a page.
type visit struct {
	*api.Visit
	c       *Console
	form    url.Values // of a POST
	cookies []string   // to set
	calls   []call     // that the page has sent to the API
	token   string     // the visitor's access token; empty: not signed in
	refresh string     // the token that renews the session; can be empty
	gained  bool       // a token without a scope was noticed
	user    *client.Profile
	path    string // of the page, for links back to it
	cut     bool   // the visitor's body ended early
}

// response is what a page returns.
type response struct {
	status   int
	page     templ.Component // nil for a redirection
	location string          // of a redirection
	header   http.Header     // in addition; can be nil
	raw      *api.WebResponse
}

func show(page templ.Component) response { return response{status: http.StatusOK, page: page} }

// redirect makes the browser GET a path of the console.
func redirect(path string) response { return response{status: http.StatusSeeOther, location: path} }

// policy lets a page use only what this instance serves: no inline script or style, no evaluated text, no other origin.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// maxForm is the longest form that is read, in bytes.
const maxForm = 1 << 20

// open returns a page that needs no session. Requests that change something are only accepted from pages of this instance.
func (c *Console) open(method, path string, serve func(*visit) response) api.WebPage {
	return api.WebPage{Method: method, Path: path, Serve: func(from *api.Visit) api.WebResponse {
		v := &visit{Visit: from, c: c, path: from.URL.RequestURI()}
		resp := v.checked(serve)
		if resp.raw != nil {
			return v.withCookies(*resp.raw)
		}
		return v.render(resp)
	}}
}

// checked serves a request after the checks that all pages have.
func (v *visit) checked(serve func(*visit) response) response {
	if err := v.c.origin.Check(v.Request); err != nil {
		return v.failed(http.StatusForbidden, "This request came from another site, so it was refused. Open the console and try again there.")
	}
	if v.Method == http.MethodPost {
		if !strings.HasPrefix(v.Header.Get("Content-Type"), "multipart/") { // a page that takes a file limits it
			v.Body = http.MaxBytesReader(nil, v.Body, maxForm)
		}
		if err := v.ParseForm(); err != nil {
			return v.failed(http.StatusBadRequest, "The form could not be read. Go back and send it again.")
		}
		v.form = v.PostForm
	}
	return serve(v)
}

// withCookies adds the cookies that the visit has set. A session that was renewed must reach the browser.
func (v *visit) withCookies(resp api.WebResponse) api.WebResponse {
	if len(v.cookies) > 0 {
		resp.Header = resp.Header.Clone()
		for _, cookie := range v.cookies {
			resp.Header.Add("Set-Cookie", cookie)
		}
	}
	return resp
}

// render returns a response for the browser. A page with what a user can see is never stored.
func (v *visit) render(resp response) api.WebResponse {
	h := http.Header{
		"Content-Security-Policy":    {policy},
		"Referrer-Policy":            {"same-origin"},
		"Cross-Origin-Opener-Policy": {"same-origin"},
		"Permissions-Policy":         {"camera=(), geolocation=(), microphone=()"},
		"Cache-Control":              {"no-store"},
		"Vary":                       {"Accept, Cookie"},
	}
	for name, values := range resp.header {
		h[name] = values
	}
	for _, cookie := range v.cookies {
		h.Add("Set-Cookie", cookie)
	}
	if resp.page == nil {
		h.Set("Location", resp.location)
		return api.WebResponse{Status: resp.status, Header: h}
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	var body bytes.Buffer
	if err := resp.page.Render(context.WithValue(v.Context(), visitKey{}, v), &body); err != nil {
		if v.gone() {
			return api.WebResponse{Status: http.StatusServiceUnavailable, Header: h, Body: []byte(goneText)}
		}
		v.c.o.Log.Error("rendering a page failed", "id", v.RequestID(), "error", err)
		return api.WebResponse{Status: http.StatusInternalServerError, Header: h, Body: []byte("The page could not be rendered.")}
	}
	return api.WebResponse{Status: resp.status, Header: h, Body: v.c.base.HTML(body.Bytes())}
}

type visitKey struct{}

// visitOf returns the visit for which a component is rendered.
func visitOf(ctx context.Context) *visit { return ctx.Value(visitKey{}).(*visit) }

// isFragment reports whether a script requests a part of a page.
func (v *visit) isFragment() bool { return v.Header.Get("HX-Request") == "true" }

// failed returns a page that says what went wrong.
func (v *visit) failed(status int, message string) response {
	f := failure{Message: message, Status: status, RequestID: v.RequestID()}
	if v.isFragment() {
		return response{status: status, page: failureNotice(f)}
	}
	return response{status: status, page: failurePage(f)}
}

// gone reports whether the visitor has left. What fails then is no fault of the program.
func (v *visit) gone() bool { return v.Context().Err() != nil }

// goneText is what the API says in such a response.
const goneText = "The request took too long; try again."

// watchedBody notes that the visitor's body ended early.
type watchedBody struct {
	io.ReadCloser
	v *visit
}

func (b watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // a reader returns io.EOF itself
		b.v.cut = true
	}
	return n, err
}

// failure describes an error to a person.
type failure struct {
	Message   string
	Status    int
	RequestID string
}

// fail returns a page about an error of a call.
func (v *visit) fail(err error) response {
	e, ok := errors.AsType[*client.Error](err)
	switch {
	case ok:
	case v.cut:
		return v.failed(http.StatusBadRequest, "The form was cut off. Go back and send it again.")
	case v.gone():
		return v.failed(http.StatusServiceUnavailable, goneText)
	default:
		v.c.o.Log.Error("a page could not call the API", "id", v.RequestID(), "error", err)
		return v.failed(http.StatusInternalServerError, "The page could not be shown. Try again; if it happens again, look for the request ID in the server's log.")
	}
	message := e.Error()
	if e.Status == http.StatusForbidden {
		message = v.reason(e)
	}
	resp := v.failed(e.Status, message)
	resp.header = retryHeader(e)
	return resp
}
