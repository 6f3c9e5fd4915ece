package client_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/client"
)

// uncalled are operations that the client has no method for, with the reason.
var uncalled = map[string]string{
	"search": "Search sends the query in a body, so that no proxy logs it",
}

// unsent are parameters that no method sends, with the reason.
var unsent = map[string]string{
	"changeTier.If-None-Match":        "a tier always exists",
	"putCollection.If-None-Match":     "a revision of 0 says that there were never settings",
	"putDocument.If-None-Match":       "CreateDocument refuses an existing ID",
	"revokeAPIKey.If-Match":           "DeleteAPIKey revokes a revision",
	"completeAPIKeyRotation.If-Match": "the end of a rotation does not depend on the rest of the key",
	"getQuotaUsage.window":            "quotas have periods of their own",
	"getQuotaUsage.from":              "quotas have periods of their own",
	"getQuotaUsage.to":                "quotas have periods of their own",
	"getQuotaUsage.interval":          "quotas have periods of their own",
	"getQuotaUsage.groupBy":           "quotas are of the workspace and its keys",
	"getQuotaUsage.filter":            "quotas are of the workspace and its keys",
	"getQuotaUsage.limit":             "all keys are listed",
	"getQuotaUsage.format":            "UsageTable sends it",
	"getUsageSummary.format":          "UsageTable sends it",
	"getTopUsage.format":              "UsageTable sends it",
	"getVersionUsage.format":          "UsageTable sends it",
	"listErrors.format":               "UsageTable sends it",
	"listRequests.format":             "its pages are lists",
	"every.X-Request-Id":              "the server generates one",
	"every.Accept-Version":            "the methods name the version in the path",
	"every.If-None-Match":             "the client stores no responses",
}

// elsewhere are methods that call no operation of the API's description.
var elsewhere = map[string]string{
	"OpenAPI":         "reads the description",
	"RateLimits":      "sends nothing",
	"Message":         "is for the Model Context Protocol",
	"Warnings":        "is for the socket in the data folder",
	"Listeners":       "is for the socket in the data folder",
	"RotateMasterKey": "is for the socket in the data folder",
	"StartSnapshot":   "is for the socket in the data folder",
	"Snapshot":        "is for the socket in the data folder",
	"DiscardSnapshot": "is for the socket in the data folder",
	"StartReindex":    "is for the socket in the data folder",
	"Reindexing":      "is for the socket in the data folder",
}

// sentOnce are methods that are not repeated after a response that leaves open whether the request was performed.
var sentOnce = map[string]string{
	"Login":           "a wrong password counts each time",
	"ChangePassword":  "the second attempt would have the wrong password",
	"VerifyAPIKey":    "it charges the key",
	"Message":         "the message can be any",
	"EraseSubject":    "only the first response has the receipt",
	"StartSnapshot":   "it starts a snapshot",
	"RotateMasterKey": "it creates a key",
	"StartReindex":    "it starts a rebuild",
}

// operation is an operation of the API's description.
type operation struct {
	ID         string `json:"operationId"`
	Surface    string `json:"x-surface"` // empty for the API; the client calls no other
	Parameters []struct {
		Ref  string `json:"$ref"`
		Name string `json:"name"`
		In   string `json:"in"`
	} `json:"parameters"`
}

// described is the part of the API's description that says which requests there are.
type described struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Parameters map[string]struct {
			Name string `json:"name"`
			In   string `json:"in"`
		} `json:"parameters"`
	} `json:"components"`
}

func readDescription(t *testing.T) *described {
	t.Helper()
	text, err := os.ReadFile("../openapi/v1.json")
	if err != nil {
		t.Fatal(err)
	}
	d := &described{}
	if err := json.Unmarshal(text, d); err != nil {
		t.Fatal(err)
	}
	for _, methods := range d.Paths {
		maps.DeleteFunc(methods, func(_ string, op operation) bool { return op.Surface != "" })
	}
	return d
}

// find returns the operation of a request: of all templates that match, the one with the fewest variables.
func (d *described) find(method, path string) (operation, bool) {
	segments := strings.Split(path, "/")
	var found operation
	fewest := -1
	for template, methods := range d.Paths {
		op, ok := methods[strings.ToLower(method)]
		parts := strings.Split(template, "/")
		if !ok || len(parts) != len(segments) {
			continue
		}
		variables := 0
		for i, part := range parts {
			if strings.HasPrefix(part, "{") {
				variables++
			} else if part != segments[i] {
				variables = len(parts) + 1
			}
		}
		if variables <= len(parts) && (fewest < 0 || variables < fewest) {
			found, fewest = op, variables
		}
	}
	return found, fewest >= 0
}

// parameters lists the names of the parameters that are not in the path.
func (d *described) parameters(op operation) (names []string) {
	for _, p := range op.Parameters {
		if p.Ref != "" {
			shared := d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
			p.Name, p.In = shared.Name, shared.In
		}
		if p.In != "path" {
			names = append(names, p.Name)
		}
	}
	return names
}

// recorder answers every request and remembers them.
type recorder struct {
	status   int
	mu       sync.Mutex
	requests []*http.Request
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	io.Copy(io.Discard, req.Body)
	r.mu.Lock()
	r.requests = append(r.requests, req)
	r.mu.Unlock()
	w.WriteHeader(r.status)
	io.WriteString(w, "{}")
}

// filled returns a value of a type in which everything is set but DryRun, which would make a request harmless.
func filled(of reflect.Type) reflect.Value {
	v := reflect.New(of).Elem()
	switch of {
	case reflect.TypeFor[context.Context]():
		return reflect.ValueOf(context.Background())
	case reflect.TypeFor[io.Reader]():
		return reflect.ValueOf(strings.NewReader(`{"id":"a"}`))
	case reflect.TypeFor[io.Writer]():
		return reflect.ValueOf(io.Discard)
	case reflect.TypeFor[time.Time]():
		return reflect.ValueOf(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
	case reflect.TypeFor[client.ImportRows]():
		return reflect.ValueOf(&oneRow{})
	case reflect.TypeFor[client.Report]():
		return reflect.ValueOf(client.SeriesReport)
	}
	switch of.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
		v.Elem().Set(filled(of.Elem()))
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(of.Elem())))
	case reflect.Struct:
		for i := range of.NumField() {
			if of.Field(i).IsExported() && of.Field(i).Name != "DryRun" {
				v.Field(i).Set(filled(of.Field(i).Type))
			}
		}
	}
	return v // maps, functions and changes stay empty
}

// oneRow is one row to import.
type oneRow struct{ read bool }

func (*oneRow) Header() []byte { return nil }

func (r *oneRow) Next() ([]byte, int64, error) {
	if r.read {
		return nil, 0, io.EOF
	}
	r.read = true
	return []byte("{}\n"), 1, nil
}

// clients create a client for each surface.
var clients = map[string]func(url string, options ...client.Option) (any, error){
	"primary": func(url string, options ...client.Option) (any, error) { return client.New(url, "kpsk_x", options...) },
	"ai": func(url string, options ...client.Option) (any, error) {
		return client.NewAgent(url, "kpsk_x", options...)
	},
	"backend": func(url string, options ...client.Option) (any, error) {
		return client.NewBackend(url, "secret", "kpsk_x", options...)
	},
}

// callEvery calls every method of the client of a surface and returns the requests of each.
func callEvery(t *testing.T, surface string, status int) map[string][]*http.Request {
	t.Helper()
	record := &recorder{status: status}
	server := httptest.NewServer(record)
	t.Cleanup(server.Close)
	noWait := client.Clock(time.Now, func(context.Context, time.Duration) error { return nil })
	c, err := clients[surface](server.URL, noWait, client.Retries(1))
	if err != nil {
		t.Fatal(err)
	}
	requests := map[string][]*http.Request{}
	of := reflect.ValueOf(c)
	for i := range of.NumMethod() {
		name, method := of.Type().Method(i).Name, of.Method(i)
		var in []reflect.Value
		for n := range method.Type().NumIn() {
			in = append(in, filled(method.Type().In(n)))
		}
		out := method.Call(in)
		if out[0].Kind() == reflect.Func { // an iterator
			for _, err := range out[0].Seq2() {
				out = []reflect.Value{err}
				break
			}
		}
		if err, ok := out[len(out)-1].Interface().(error); ok && status < 300 {
			t.Errorf("%s: %v", name, err)
		}
		requests[name], record.requests = record.requests, nil
	}
	return requests
}

func TestEveryOperationHasAMethod(t *testing.T) {
	t.Parallel()
	api := readDescription(t)
	sent := map[string]map[string]bool{} // names of parameters, by operation
	for name, requests := range callEvery(t, "primary", http.StatusOK) {
		if elsewhere[name] != "" {
			continue
		}
		if len(requests) == 0 {
			t.Errorf("%s sends nothing", name)
		}
		for _, r := range requests {
			op, ok := api.find(r.Method, r.URL.EscapedPath())
			if !ok {
				t.Errorf("%s: the API has no %s %s", name, r.Method, r.URL.Path)
				continue
			}
			if sent[op.ID] == nil {
				sent[op.ID] = map[string]bool{}
			}
			for parameter := range namesOf(r) {
				sent[op.ID][parameter] = true
			}
			keyed := slices.Contains(api.parameters(op), "Idempotency-Key")
			if got := r.Header.Get("Idempotency-Key") != ""; got != keyed && name != "PlanForget" {
				t.Errorf("%s: sends an Idempotency-Key: %v, and the API accepts one: %v", name, got, keyed)
			}
		}
	}
	for path, methods := range api.Paths {
		for method, op := range methods {
			if sent[op.ID] == nil {
				if uncalled[op.ID] == "" {
					own := slices.DeleteFunc(api.parameters(op), func(name string) bool { return unsent["every."+name] != "" })
					t.Errorf("no method of the client calls %s %s, with the parameters %q; add one to client/ in the file of its noun, in the manner of its neighbours: "+
						"func (c *Client) %s(ctx context.Context, …) (*…, error); or say in uncalled (client/operations_test.go) why it needs none: %q: \"…\",",
						strings.ToUpper(method), path, own, strings.ToUpper(op.ID[:1])+op.ID[1:], op.ID)
				}
				continue
			}
			known := api.parameters(op)
			for _, parameter := range known {
				if !sent[op.ID][parameter] && cmp.Or(unsent[op.ID+"."+parameter], unsent["every."+parameter]) == "" {
					t.Errorf("no method of the client sends %s of %s; add it to the method's options, or say in unsent (client/operations_test.go) why it needs none: %q: \"…\",", parameter, op.ID, op.ID+"."+parameter)
				}
			}
			for parameter := range sent[op.ID] {
				if !slices.Contains(known, parameter) {
					t.Errorf("%s: the API has no parameter %s", op.ID, parameter)
				}
			}
		}
	}
}

// namesOf returns the names of the parameters of a request.
func namesOf(r *http.Request) map[string]bool {
	names := map[string]bool{}
	query, _ := url.ParseQuery(r.URL.RawQuery)
	for name := range query {
		names[name] = true
	}
	for _, name := range []string{"If-Match", "If-None-Match", "Idempotency-Key", "X-Request-Id", "Accept-Version"} {
		if r.Header.Get(name) != "" {
			names[name] = true
		}
	}
	return names
}

func TestMethodsWithOneEffectAreRepeated(t *testing.T) {
	t.Parallel()
	once := map[string]bool{}
	for surface := range clients {
		for name, requests := range callEvery(t, surface, http.StatusServiceUnavailable) {
			switch len(requests) {
			case 0: // RateLimits
			case 1:
				once[name] = true
			default:
				if a, b := requests[0].Header.Get("Idempotency-Key"), requests[1].Header.Get("Idempotency-Key"); a != b {
					t.Errorf("%s: the retry has another Idempotency-Key", name)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(once)) {
		if sentOnce[name] == "" {
			t.Errorf("%s is not sent again after a 503; say in sentOnce (client/operations_test.go) why: %q: \"…\",", name, name)
		}
	}
	for name := range sentOnce {
		if !once[name] {
			t.Errorf("%s is sent again after a 503; remove it from sentOnce (client/operations_test.go), or send it once", name)
		}
	}
}

func TestOtherSurfacesGetTheVersionInAHeader(t *testing.T) {
	t.Parallel()
	var got []string
	for _, surface := range []string{"ai", "backend"} {
		for name, requests := range callEvery(t, surface, http.StatusOK) {
			for _, r := range requests {
				h := r.Header
				got = append(got, fmt.Sprintf("%s: %s %s, version %q, key %q, bearer %q, secret %q, idempotent %v", name, r.Method, r.URL.Path,
					h.Get("Accept-Version"), h.Get("X-API-Key"), h.Get("Authorization"), h.Get("X-Keepsake-Backend"), h.Get("Idempotency-Key") != ""))
			}
		}
	}
	slices.Sort(got)
	want := []string{
		`Context: POST /ai/context, version "1", key "", bearer "Bearer kpsk_x", secret "", idempotent false`,
		`Recall: POST /ai/recall, version "1", key "", bearer "Bearer kpsk_x", secret "", idempotent false`,
		`Remember: POST /ai/remember, version "1", key "", bearer "Bearer kpsk_x", secret "", idempotent true`,
		`ReportUsage: POST /usage, version "1", key "kpsk_x", bearer "", secret "secret", idempotent false`,
		`VerifyAPIKey: POST /verify, version "1", key "kpsk_x", bearer "", secret "secret", idempotent false`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestListsOfExceptionsHaveNoMore(t *testing.T) {
	t.Parallel()
	api := readDescription(t)
	known := map[string]bool{}
	for _, methods := range api.Paths {
		for _, op := range methods {
			known[op.ID] = true
			for _, parameter := range api.parameters(op) {
				known[op.ID+"."+parameter], known["every."+parameter] = true, true
			}
		}
	}
	methods := reflect.TypeFor[*client.Client]()
	var err error
	for _, name := range slices.Concat(slices.Collect(maps.Keys(uncalled)), slices.Collect(maps.Keys(unsent))) {
		if !known[name] {
			err = errors.Join(err, errors.New("the API has no "+name))
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(elsewhere)), slices.Collect(maps.Keys(sentOnce))) {
		if _, ok := methods.MethodByName(name); !ok {
			err = errors.Join(err, errors.New("the client has no "+name))
		}
	}
	if err != nil {
		t.Error(err)
	}
}
