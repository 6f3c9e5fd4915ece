package console

import "net/http"

// doneParameter is the parameter of a page that begins with a notice about what its visitor has just done. The script removes it
// from the address, so that reloading the page does not say it again.
const doneParameter = "done"

// notices say what was done, by the value of doneParameter.
var notices = map[string]string{
	"saved":           "Saved.",
	"key-saved":       "The changes of the key are saved.",
	"limits-saved":    "The limits of the key are saved.",
	"tier-saved":      "The limits of the tier are saved.",
	"user-saved":      "The user is saved.",
	"webhook-saved":   "The webhook is saved.",
	"workspace-saved": "The workspace is saved.",
	"version-saved":   "The version is saved.",

	"unchanged": "Nothing differed from what is stored, so nothing was saved.",
	"equal":     "This memory says the same, so nothing else was stored.",
	"deleted":   "Deleted.",
	"erased":    "The memory is erased.",

	"name":     "Your name is changed.",
	"password": "Your password is changed. Your other sessions have ended.",
	"session":  "The session has ended.",
	"sessions": "Your other sessions have ended.",

	"disabled": "Disabled.",
	"enabled":  "Enabled.",
	"revoked":  "The key is revoked.",
	"ended":    "The old secret has ended.",
	"sending":  "The event is being sent.",

	"suspended": "The workspace is suspended.",
	"resumed":   "The workspace works again.",

	"released":  "The next version is released.",
	"rehearsed": "The rehearsal has begun.",
	"retired":   "The version is retired.",
}

// done makes the browser GET a page of the console, which begins with a notice.
func done(path, notice string) response {
	return redirect(withParameter(path, doneParameter, notice))
}

// enabledNotice is the notice about something that can be disabled.
func enabledNotice(enabled bool) string {
	if enabled {
		return "enabled"
	}
	return "disabled"
}

// notice returns what the page says its visitor has just done; empty: nothing.
func (v *visit) notice() string {
	if v.Method != http.MethodGet || v.isFragment() {
		return ""
	}
	return notices[v.URL.Query().Get(doneParameter)]
}
