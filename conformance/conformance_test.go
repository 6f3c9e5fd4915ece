package conformance_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/conformance"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// TestTheAssembledProgramKeepsTheSpecification runs every check against the program with its default tiers.
func TestTheAssembledProgramKeepsTheSpecification(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	r := apptest.Start(t, disposable, apptest.Clock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }))
	target := target(r)
	target.Advance = func(d time.Duration) { ahead.Add(int64(d)) }
	run(t, target)
	left(t, target, r.Workspace)
}

// TestTheSuiteLetsRealTimePass runs every check as an operator does, against a deployment whose clock it cannot move.
func TestTheSuiteLetsRealTimePass(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "waits for half a minute until a version is sunset")
	r := apptest.Start(t, disposable)
	run(t, target(r))
	left(t, target(r), r.Workspace)
}

// TestAPoolerInSessionModeKeepsTheSpecification runs every check against a program whose connections all go through a PgBouncer
// with its default settings, which offers it 20 sessions.
func TestAPoolerInSessionModeKeepsTheSpecification(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "runs every check once more")
	s := enginetest.SharedPostgres(t)
	url := enginetest.PgBouncerURL(s.PgBouncer(t, nil), s.NewDatabase(t))
	var ahead atomic.Int64
	r := apptest.Start(t, disposable, apptest.Clock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }),
		apptest.With(func(c *config.Config) { c.DatabaseURL = url }))
	target := target(r)
	target.Advance = func(d time.Duration) { ahead.Add(int64(d)) }
	run(t, target)
	left(t, target, r.Workspace)
}

// disposable lets checks release versions.
var disposable = apptest.With(func(c *config.Config) {
	c.Lifecycle.AllowUndeclared, c.Lifecycle.AllowBackdating = true, true
	if oneLoopback {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
})

// oneLoopback says that checks cannot come from different addresses of this machine. Then they name addresses in
// X-Forwarded-For, because they would have to wait for the budget of the one.
var oneLoopback = runtime.GOOS != "linux"

func target(r *apptest.Running) conformance.Target {
	return conformance.Target{URL: r.URL, BackendURL: r.BackendURL, BackendSecret: r.Secret, Key: r.Key, Disposable: true, Proxied: oneLoopback}
}

// TestASmallTiersLimitsAreKept runs the checks that spend what a whole workspace has.
func TestASmallTiersLimitsAreKept(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t, apptest.With(func(c *config.Config) {
		tier := c.Tiers["unlimited"]
		tier.RequestsPerMinute, tier.Keys = 40, new(int64(4))
		c.Tiers["unlimited"] = tier
	}))
	report := run(t, conformance.Target{URL: r.URL, Key: r.Key, Only: "8 limits/ATiers"})
	if report.Passed != 2 {
		t.Errorf("%d of the 2 checks passed that this tier is made for", report.Passed)
	}
}

// TestTheSuiteChecksAnAddressWithAPath runs every check below the path of publicUrl.
func TestTheSuiteChecksAnAddressWithAPath(t *testing.T) {
	t.Parallel()
	only := "J "
	if testtier.All() {
		only = ""
	}
	const path = "/keepsake"
	r := apptest.Start(t, apptest.With(func(c *config.Config) { c.PublicURL = "https://keepsake.example" + path }))
	target := target(r)
	target.URL, target.Disposable, target.Only = target.URL+path+"/", false, only
	if report := run(t, target); report.Passed < 20 {
		t.Errorf("%d checks passed", report.Passed)
	}
}

// TestTheSuiteChecksTLS runs what needs connections of its own.
func TestTheSuiteChecksTLS(t *testing.T) {
	t.Parallel()
	lender := httptest.NewTLSServer(nil) // has a certificate for 127.0.0.1
	defer lender.Close()
	certificate := lender.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	for path, block := range map[string]*pem.Block{
		files.Cert: {Type: "CERTIFICATE", Bytes: certificate.Certificate[0]},
		files.Key:  {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := apptest.Start(t, apptest.With(func(c *config.Config) { c.TLS = files }))
	target := conformance.Target{URL: r.URL, Key: r.Key, Only: "bodies that are not read", HTTP: lender.Client()}
	if report := run(t, target); report.Passed != 4 {
		t.Errorf("%d of 4 checks passed", report.Passed)
	}
}

// TestASecondRunFromOneAddressPasses runs what fails logins twice, within the 15 minutes of their throttle.
func TestASecondRunFromOneAddressPasses(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t, apptest.With(func(c *config.Config) {
		anonymous := c.Tiers["anonymous"] // the checks share one address, and would wait for its minute
		anonymous.RequestsPerMinute = 10_000
		c.Tiers["anonymous"] = anonymous
	}))
	target := conformance.Target{URL: r.URL, Key: r.Key, HTTP: new(http.Client), Only: "4 endpoints: login"}
	first := run(t, target)
	if first.Passed < 8 {
		t.Errorf("of the first run %d checks passed", first.Passed)
	}
	run(t, target)
}

func run(t *testing.T, target conformance.Target) *conformance.Report {
	t.Helper()
	report := &conformance.Report{URL: target.URL}
	err := conformance.Run(context.Background(), target, conformance.ReporterFunc(func(r conformance.Result) {
		report.Report(r)
		t.Run(r.Section+"/"+r.Name, func(t *testing.T) {
			switch r.Outcome {
			case conformance.Failed:
				t.Error(strings.Join(r.Found, "\n"))
			case conformance.Skipped:
				t.Skip(r.Reason)
			}
		})
	}))
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK() {
		t.Errorf("%d checks passed and %d failed", report.Passed, report.Failed)
	}
	t.Logf("%d passed, %d failed, %d skipped", report.Passed, report.Failed, report.Skipped)
	return report
}

// left makes sure that a run leaves nothing of its own behind but revoked keys, and a suspended workspace. The run was of
// a disposable target: version 1 is gone.
func left(t *testing.T, target conformance.Target, workspace string) {
	t.Helper()
	const version = "/api/v2"
	for path, states := range map[string][]string{
		"/documents": {""}, "/memories": {""}, "/admin/users": {""}, "/developer/api-keys": {"&state=active", "&state=rotating", "&state=disabled"},
	} {
		for _, state := range states {
			req, err := http.NewRequest(http.MethodGet, target.URL+version+path+"?limit=200"+state, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-API-Key", target.Key)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			var list struct {
				Items []struct{ ID, Name, Email, WorkspaceID string }
			}
			if err := json.NewDecoder(res.Body).Decode(&list); err != nil || res.StatusCode != http.StatusOK {
				t.Errorf("%s: %d %v", path, res.StatusCode, err)
			}
			res.Body.Close()
			for _, item := range list.Items {
				if path == "/documents" || path == "/memories" || strings.HasPrefix(item.Name, "conformance") || item.WorkspaceID == workspace && strings.HasPrefix(item.Email, "conformance") {
					t.Errorf("%s: %s %q is left behind", path, item.ID, item.Name)
				}
			}
		}
	}
}

// pretender answers everything with 200, with the headers every answer has, and nothing else that was promised.
func pretender(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for _, name := range []string{"Limit", "Remaining", "Daily-Remaining", "Monthly-Remaining"} {
		h.Set("X-RateLimit-"+name, "1")
	}
	h.Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Unix()+30, 10))
	h.Set("X-Request-Id", "req_01m7zs72pees8t9b321gxp9m0v")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-API-Version", "1")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/json")
	body := `{}`
	if strings.HasSuffix(r.URL.Path, "/whoami") {
		body = `{"id":"key_x","scopes":["read","write","developer:manage","analytics:read","memory:read","memory:write","admin"]}`
	}
	_, _ = w.Write([]byte(body)) // a client that is gone is none of its business
}

// keptBySilence are the promises that something is absent: a server that says nothing keeps them.
var keptBySilence = []string{
	"HEADAnswersAsGETWithoutABody", "NoErrorShowsHowTheServiceIsMade", "AnActiveVersionAnnouncesNoEnd", "CORSIsOffUnlessConfigured",
	"TheHostIsNeverBelieved", "TheBackendServiceIsAlive", "TheBackendServiceIsReady", "AGETWithABodyIsNotConfused", "HEADWorksWhereverGETDoes",
}

// TestAServerThatOnlyPretendsPassesNothing shows that every other check is able to fail, and none hangs or panics.
func TestAServerThatOnlyPretendsPassesNothing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(pretender))
	defer server.Close()
	report := &conformance.Report{}
	err := conformance.Run(context.Background(), conformance.Target{URL: server.URL, BackendURL: server.URL, Key: "kpsk_x"}, report)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if r.Outcome == conformance.Passed && !slices.Contains(keptBySilence, r.Name) {
			t.Errorf("%s/%s passes against a server that answers {} to everything", r.Section, r.Name)
		}
	}
}

// TestATargetThatCannotBeCheckedIsAnError names what is wrong with the target rather than failing every check.
func TestATargetThatCannotBeCheckedIsAnError(t *testing.T) {
	t.Parallel()
	weak := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"id":"key_x","scopes":["read"]}`)) // as above
	}))
	defer weak.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, target := range map[string]conformance.Target{
		"not a URL":             {URL: "localhost:8080", Key: "kpsk_x"},
		"an API key":            {URL: weak.URL},
		"lacks the scope write": {URL: weak.URL, Key: "kpsk_x"},
		"does not answer":       {URL: closed.URL, Key: "kpsk_x"},
	} {
		err := conformance.Run(context.Background(), target, &conformance.Report{})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one that says %q", err, name)
		}
	}
}

// TestAReportIsATableAndJSON prints one of each outcome.
func TestAReportIsATableAndJSON(t *testing.T) {
	t.Parallel()
	report := &conformance.Report{URL: "http://x"}
	report.Report(conformance.Result{Section: "1 a", Name: "Good", Outcome: conformance.Passed})
	report.Report(conformance.Result{Section: "1 a", Name: "Bad", Outcome: conformance.Failed, Found: []string{"want 1\n  got 2"}})
	report.Report(conformance.Result{Section: "2 b", Name: "Later", Outcome: conformance.Skipped, Reason: "waits for b"})
	if report.OK() {
		t.Error("a report with a failure is not OK")
	}
	var table, text bytes.Buffer
	if err := report.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 a      1       1       0", "FAILED   1 a/Bad\n         want 1\n           got 2\n", "SKIPPED  2 b/Later: waits for b"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
	if err := report.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var back conformance.Report
	if err := json.Unmarshal(text.Bytes(), &back); err != nil || back.Failed != 1 || len(back.Results) != 3 || back.Results[1].Found[0] != "want 1\n  got 2" {
		t.Errorf("the JSON does not hold the report (%v):\n%s", err, text.String())
	}
}
