package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"keepsake/client"
	"keepsake/internal/web/api"
)

// The cookies of a session. They contain the same tokens as a response to POST /api/auth/login, and the browser forgets them
// when it is closed. Scripts cannot read them, and other sites cannot send them.
const (
	accessCookie  = "keepsake-access"
	refreshCookie = "keepsake-refresh"

	// The prefixes make browsers refuse a cookie of this name that a connection without TLS, or with hostPrefix another host,
	// has set. With hostPrefix they take no cookie with a path.
	hostPrefix = "__Host-"
	pathPrefix = "__Secure-"
)

// secure reports whether the browser uses TLS, directly or to a proxy at publicUrl. The Host header does not matter: a proxy
// can change it.
func (v *visit) secure() bool { return v.TLS != nil || v.c.https }

// cookieName returns the name of a cookie as it is sent.
func (v *visit) cookieName(name string) string {
	switch {
	case !v.secure():
		return name
	case v.c.base != "":
		return pathPrefix + name
	default:
		return hostPrefix + name
	}
}

func (v *visit) cookie(name string) string {
	sent, err := v.Cookie(v.cookieName(name))
	if err != nil {
		return ""
	}
	return sent.Value
}

// setCookie sets a cookie of the session; an empty value removes it.
func (v *visit) setCookie(name, value string) {
	maxAge := 0
	if value == "" {
		maxAge = -1
	}
	v.addCookie(name, value, maxAge)
}

// keepCookie sets a cookie that outlives the session.
func (v *visit) keepCookie(name, value string, lifetime time.Duration) {
	v.addCookie(name, value, int(lifetime/time.Second))
}

func (v *visit) addCookie(name, value string, maxAge int) {
	cookie := http.Cookie{
		Name: v.cookieName(name), Value: value, Path: cmp.Or(string(v.c.base), "/"), MaxAge: maxAge, Secure: v.secure(), HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}
	v.cookies = append(v.cookies, cookie.String())
}

func (v *visit) setSession(t *client.Tokens) {
	v.token, v.refresh = t.AccessToken, t.RefreshToken
	v.setCookie(accessCookie, t.AccessToken)
	v.setCookie(refreshCookie, t.RefreshToken)
}

func (v *visit) endSession() {
	v.token = ""
	v.setCookie(accessCookie, "")
	v.setCookie(refreshCookie, "")
}

// resume signs the visitor in with the cookies. The error is a *client.Error with status 401 if there is no live session.
func (v *visit) resume() error {
	v.token, v.refresh = v.cookie(accessCookie), v.cookie(refreshCookie)
	err := error(&client.Error{Status: http.StatusUnauthorized})
	if v.token != "" {
		v.user, err = v.api().Profile(v.Context())
	}
	if v.refresh != "" && unauthorized(err) {
		err = v.renew()
	}
	if unauthorized(err) && (v.cookie(accessCookie) != "" || v.cookie(refreshCookie) != "") {
		v.endSession()
	}
	return err
}

// renew continues the session after its access token has expired. Requests that do this at the same time get the same session
// (docs/spec/login.md).
func (v *visit) renew() error {
	tokens, err := v.api().Refresh(v.Context(), v.refresh)
	if err != nil {
		return err
	}
	v.setSession(tokens)
	v.user = &tokens.User
	return nil
}

// alive tells a script that the server responds, and whether the visitor has a session. A visitor without one is no error, which
// browsers would note on every page.
func alive(v *visit) response {
	text := "session"
	switch err := v.resume(); {
	case unauthorized(err):
		text = "ended"
	case err != nil:
		return v.fail(err)
	}
	return response{raw: &api.WebResponse{Status: http.StatusOK, Body: []byte(text), Header: http.Header{
		"Content-Type": {"text/plain; charset=utf-8"}, "Content-Security-Policy": {policy}, "Cache-Control": {"no-store"},
	}}}
}

func unauthorized(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Status == http.StatusUnauthorized
}

// signedIn returns a page for users who have signed in. Others get the sign-in form, which leads back to the page.
func (c *Console) signedIn(serve func(*visit) response) func(*visit) response {
	return func(v *visit) response {
		switch err := v.resume(); {
		case unauthorized(err) && v.isFragment():
			return ended()
		case unauthorized(err):
			next := "/"
			if v.Method == http.MethodGet {
				next = "/?next=" + url.QueryEscape(v.path)
			}
			return redirect(next)
		case err != nil:
			return v.fail(err)
		}
		return serve(v)
	}
}

// ended makes a script that wants a part of a page load the sign-in form.
func ended() response {
	return response{status: http.StatusUnauthorized, page: signInNotice(), header: http.Header{"Hx-Redirect": {"/"}}}
}

// home is the start page.
func (c *Console) home(v *visit) response {
	switch err := v.resume(); {
	case unauthorized(err):
		return show(signInPage(signInForm{Next: next(v.URL.Query().Get("next"))}))
	case err != nil:
		return v.fail(err)
	}
	return overview(v)
}

// signInForm is what the sign-in form contains.
type signInForm struct {
	Email, Next, Message string
}

// next returns a path to show after signing in: of the console, never of another site, and written as it can stand in a header.
func next(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/console/") ||
		strings.ContainsFunc(u.Path+u.RawQuery, func(r rune) bool { return r == '\\' || unicode.IsControl(r) || r == utf8.RuneError }) {
		return "/"
	}
	target := url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.Query().Encode()}
	return target.String()
}

func (c *Console) signIn(v *visit) response {
	form := signInForm{Email: strings.TrimSpace(v.form.Get("email")), Next: next(v.form.Get("next"))}
	tokens, err := v.api().Login(v.Context(), form.Email, v.form.Get("password"))
	if e, ok := errors.AsType[*client.Error](err); ok {
		form.Message = e.Message
		resp := response{status: e.Status, page: signInPage(form), header: retryHeader(e)}
		if e.Status == http.StatusUnauthorized {
			form.Message = "The email address or the password is wrong."
			resp = response{status: http.StatusUnauthorized, page: signInPage(form)}
		}
		return resp
	}
	if err != nil {
		return v.fail(err)
	}
	v.setSession(tokens)
	return redirect(form.Next)
}

func signOut(v *visit) response {
	if err := v.api().Logout(v.Context()); err != nil && !unauthorized(err) {
		return v.fail(err)
	}
	v.endSession()
	return redirect("/")
}
