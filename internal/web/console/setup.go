package console

import (
	"net/http"

	"keepsake/client"
	"keepsake/internal/base/problem"
)

// SetupPath is the page of a setup link. The token follows behind a #, so browsers do not send it with the address; the script
// writes it into the form.
const SetupPath = "/console/setup"

// setupForm is what the form of a setup link contains.
type setupForm struct {
	Token, Message string
	Over           bool // the link does not work, so the form is of no use
}

func showSetup(*visit) response { return show(setupPage(setupForm{})) }

// setUp sets the password that a person chose, and signs the person in.
func (c *Console) setUp(v *visit) response {
	form := setupForm{Token: v.form.Get("token")}
	email, err := c.o.SetUp(v.Context(), form.Token, v.form.Get("password"), v.Client())
	p, refused := problem.As(err)
	switch {
	case refused && p.Kind == problem.Invalid:
		form.Message = p.Message
		return response{status: http.StatusBadRequest, page: setupPage(form)}
	case refused && p.Kind == problem.Unauthenticated:
		return response{status: http.StatusUnauthorized, page: setupPage(setupForm{Message: p.Message, Over: true})}
	case refused:
		resp := v.failed(http.StatusServiceUnavailable, p.Message)
		resp.header = retryHeader(&client.Error{RetryAfter: p.RetryAfter})
		return resp
	case err != nil:
		return v.fail(err)
	}
	tokens, err := v.api().Login(v.Context(), email, v.form.Get("password"))
	if err != nil { // such as a login that has to wait; the password is set
		return show(signInPage(signInForm{Email: email, Next: "/", Message: "Your password is set. Sign in with it."}))
	}
	v.setSession(tokens)
	return redirect("/")
}
