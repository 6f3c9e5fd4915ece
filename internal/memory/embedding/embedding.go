// Package embedding gets the vectors of texts from an embeddings endpoint. Texts with similar meanings have vectors with similar
// directions.
//
// The endpoint belongs to someone else: it can be slow, wrong, expensive or away. So a Client asks it within limits of time,
// of concurrent requests and of texts a day, checks every response, and pauses after failures. Read client.go first, then
// circuit.go and budget.go. Package openai sends the requests.
package embedding

import (
	"context"
	"errors"
	"math"
	"time"
	"unicode/utf8"
)

// Encoder sends texts to an endpoint.
type Encoder interface {
	// Encode returns one vector for each text, in their order. Its errors are of type *Error.
	Encode(ctx context.Context, texts []string) ([][]float32, error)
}

// Vector is the direction of a text, in whole numbers from -127 to 127. Its length has no meaning.
type Vector []int8

// Dimensions is the maximum length of a Vector. The rest of a longer vector is cut off.
const Dimensions = 384

// Limits of a request.
const (
	MaxBatch = 64      // texts
	MaxText  = 8 << 10 // bytes of a text; the rest of a longer one is not sent
)

// Reason says why an endpoint returned no vectors. Logs and metrics show it.
type Reason string

// The reasons.
const (
	Address     Reason = "address"     // its address is not allowed
	Connection  Reason = "connection"  // it could not be reached, or the connection was lost
	Timeout     Reason = "timeout"     // it did not respond in time
	Redirect    Reason = "redirect"    // it responded with a redirect, which is not followed
	Credentials Reason = "credentials" // it did not accept the key
	Throttled   Reason = "throttled"   // it is overloaded, or there were too many requests
	Status      Reason = "status"      // it responded with another error
	Rejected    Reason = "rejected"    // it did not accept a text, for example because it is too long
	Answer      Reason = "answer"      // its response contains no valid vectors
)

// Reasons are all reasons.
var Reasons = []Reason{Address, Connection, Timeout, Redirect, Credentials, Throttled, Status, Rejected, Answer}

// Error is why there are no vectors. It contains neither a text nor an address.
type Error struct {
	Reason     Reason
	RetryAfter time.Duration // as the endpoint said; 0 if it did not
}

func (e *Error) Error() string { return "embedding: " + string(e.Reason) }

// The errors of requests that are not sent.
var (
	ErrPaused = errors.New("embedding: paused after failures")
	ErrLimit  = errors.New("embedding: the limit of the day is reached")
)

// cut returns the part of a text that is sent.
func cut(text string) string {
	if len(text) <= MaxText {
		return text
	}
	n := MaxText
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// check returns the common length of n vectors, or 0 if they are not n vectors of one length with a direction.
func check(vectors [][]float32, n int) (size int) {
	if len(vectors) != n || n == 0 {
		return 0
	}
	size = len(vectors[0])
	for _, v := range vectors {
		if len(v) != size {
			return 0
		}
		for _, x := range v {
			if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
				return 0
			}
		}
		if largest(v) == 0 {
			return 0
		}
	}
	return size
}

// largest returns the largest magnitude of the numbers that a Vector keeps.
func largest(v []float32) (most float64) {
	for _, x := range v[:min(len(v), Dimensions)] {
		most = max(most, math.Abs(float64(x)))
	}
	return most
}

// round returns a checked vector in whole numbers.
func round(v []float32) Vector {
	most := largest(v)
	r := make(Vector, min(len(v), Dimensions))
	for i := range r {
		r[i] = int8(math.Round(float64(v[i]) / most * 127))
	}
	return r
}
