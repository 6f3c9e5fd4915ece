package opensearch

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
)

// State says what is the matter with a cluster or with one of its indexes. Metrics, health and the console show it.
type State string

// The states.
const (
	Healthy     State = "ok"
	Unreachable State = "unreachable" // no connection, or no answer in time
	Denied      State = "denied"      // user, password or permission
	Full        State = "full"        // a disk is above its flood stage, or an index has all documents that it can have
	ReadOnly    State = "read_only"   // an operator has blocked writes
	Throttled   State = "throttled"   // too much work or too little memory
	Unavailable State = "unavailable" // a shard or the cluster manager is missing: red
	Missing     State = "missing"     // the index or its alias is not there
	Closed      State = "closed"      // an operator has closed the index
	Conflicting State = "conflict"    // another process was faster
	NoScripts   State = "no_scripts"  // the cluster runs no scripts of requests
	Refused     State = "refused"     // the cluster does not accept a request, as with other mappings or without scripts
	Foreign     State = "foreign"     // the prefix of the indexes is another installation's
	Unsupported State = "unsupported" // the cluster is not a version of OpenSearch that was tried
	Failed      State = "failed"      // anything else
)

// States lists all states.
var States = []State{
	Healthy, Unreachable, Denied, Full, ReadOnly, Throttled, Unavailable, Missing, Closed, Conflicting, NoScripts, Refused, Foreign, Unsupported, Failed,
}

// Error is a request that failed, or an item of a bulk. It contains no text of the request and none of the answer but a type,
// because both can quote documents.
type Error struct {
	State  State
	Status int    // 0: there was no answer
	Type   string // such as cluster_block_exception; of Foreign, the index that says so
	cause  error
}

func (e *Error) Error() string {
	if e.State == Foreign {
		return "another installation of Keepsake has the same search.opensearch.prefix: give this one a prefix of its own, or delete the index " +
			e.Type + " if the other one is gone"
	}
	if e.Status == 0 {
		return fmt.Sprintf("OpenSearch is %s: %s", e.State, e.Type)
	}
	return fmt.Sprintf("OpenSearch is %s: %s (%d)", e.State, e.Type, e.Status)
}

func (e *Error) Unwrap() error { return e.cause }

// StateOf returns the state that an error means: Healthy for nil, and Failed for errors that are not of OpenSearch.
func StateOf(err error) State {
	if err == nil {
		return Healthy
	}
	var e *Error
	if errors.As(err, &e) {
		return e.State
	}
	return Failed
}

// reported is an error as OpenSearch reports it.
type reported struct {
	Type   string     `json:"type"`
	Reason string     `json:"reason"`
	Causes []reported `json:"root_cause"`
	Cause  *reported  `json:"caused_by"`
}

// failureOf returns the failure that an answer describes.
func failureOf(status int, body []byte) *Error {
	var answer struct {
		Error reported `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error.Type == "" {
		// A proxy, the security plug-in, or a request for a document that is not there.
		return &Error{State: stateOf(status, "", ""), Status: status, Type: http.StatusText(status)}
	}
	return answer.Error.failure(status)
}

// failure names a reported error. Of an error with causes, the first one says more.
func (r *reported) failure(status int) *Error {
	if r.aboutScripts() {
		return &Error{State: NoScripts, Status: status, Type: r.Type}
	}
	kind, reason := r.Type, r.Reason
	if len(r.Causes) > 0 && !known[kind] {
		kind, reason = r.Causes[0].Type, r.Causes[0].Reason
	}
	for c := r.Cause; c != nil; c = c.Cause {
		if known[c.Type] {
			kind, reason = c.Type, c.Reason
		}
	}
	return &Error{State: stateOf(status, kind, reason), Status: status, Type: kind}
}

// aboutScripts reports whether scripts are not permitted.
func (r *reported) aboutScripts() bool {
	if strings.Contains(r.Reason, "cannot execute [inline] scripts") || strings.Contains(r.Reason, "cannot execute scripts using [") {
		return true
	}
	for i := range r.Causes {
		if r.Causes[i].aboutScripts() {
			return true
		}
	}
	return r.Cause != nil && r.Cause.aboutScripts()
}

const blocked = "cluster_block_exception"

// known are the types that decide a state by themselves.
var known = map[string]bool{
	blocked: true, "index_not_found_exception": true, "version_conflict_engine_exception": true, "circuit_breaking_exception": true,
	"rejected_execution_exception": true, "opensearch_rejected_execution_exception": true, "security_exception": true,
	"unavailable_shards_exception": true, "no_shard_available_action_exception": true, "cluster_manager_not_discovered_exception": true,
	"process_cluster_event_timeout_exception": true,
}

// stateOf decides by the status, the type, and, of a block, the reason.
func stateOf(status int, kind, reason string) State {
	switch kind {
	case blocked:
		switch {
		case strings.Contains(reason, "flood-stage"), strings.Contains(reason, "read-only / allow delete"):
			return Full
		case status == http.StatusForbidden:
			return ReadOnly
		}
		return Unavailable
	case "index_not_found_exception":
		return Missing
	case "index_closed_exception":
		return Closed
	case "circuit_breaking_exception", "rejected_execution_exception", "opensearch_rejected_execution_exception":
		return Throttled
	case "security_exception":
		return Denied
	case "unavailable_shards_exception", "no_shard_available_action_exception", "cluster_manager_not_discovered_exception",
		"process_cluster_event_timeout_exception", "search_phase_execution_exception":
		if status >= 500 {
			return Unavailable
		}
	case "illegal_argument_exception":
		if strings.Contains(reason, "number of documents in the index cannot exceed") {
			return Full
		}
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return Denied
	case status == http.StatusNotFound:
		return Missing
	case status == http.StatusConflict:
		return Conflicting
	case status == http.StatusTooManyRequests:
		return Throttled
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		return Unavailable
	case status >= 400 && status < 500:
		return Refused
	}
	return Failed
}
