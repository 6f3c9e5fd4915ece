package event

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"keepsake/internal/base/problem"
)

// Target is what a delivery needs and nothing else may read: it is stored encrypted.
type Target struct {
	URL     string   `json:"url"`
	Secrets []Secret `json:"secrets"` // newest first
}

// Secret signs deliveries.
type Secret struct {
	Text       string     `json:"text"` // whsec_…
	CreatedAt  time.Time  `json:"createdAt"`
	ValidUntil *time.Time `json:"validUntil,omitempty"` // nil: until it is rotated
}

// Hint is the start of the secret's text.
func (s *Secret) Hint() string { return s.Text[:min(len(s.Text), len(secretPrefix)+4)] }

func (s *Secret) live(now time.Time) bool { return s.ValidUntil == nil || now.Before(*s.ValidUntil) }

// Sealer encrypts with a key of the instance: *seal.DataKey.
type Sealer interface {
	Seal(plain, about []byte) []byte
	Open(sealed, about []byte) ([]byte, error)
}

const (
	secretPrefix = "whsec_"
	secretBytes  = 32
	maxURL       = 2048
)

func newSecret(random io.Reader, now time.Time) Secret {
	raw := make([]byte, secretBytes)
	if _, err := io.ReadFull(random, raw); err != nil {
		panic("event: read randomness: " + err.Error())
	}
	return Secret{Text: secretPrefix + base64.StdEncoding.EncodeToString(raw), CreatedAt: now}
}

// aboutTarget binds the ciphertext to the webhook.
func aboutTarget(w *Webhook) []byte {
	return []byte("keepsake webhook\x00" + w.WorkspaceID + "\x00" + w.ID)
}

func (w *Webhook) seal(by Sealer, t *Target) error {
	plain, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode a webhook: %w", err)
	}
	w.Sealed = by.Seal(plain, aboutTarget(w))
	return nil
}

func (w *Webhook) open(by Sealer) (*Target, error) {
	plain, err := by.Open(w.Sealed, aboutTarget(w))
	if err != nil {
		return nil, fmt.Errorf("decrypt webhook %s: %w", w.ID, err)
	}
	t := &Target{}
	if err := json.Unmarshal(plain, t); err != nil {
		return nil, fmt.Errorf("decode webhook %s: %w", w.ID, err)
	}
	return t, nil
}

// liveSecrets returns the secrets that sign now.
func (t *Target) liveSecrets(now time.Time) []Secret {
	return slices.DeleteFunc(slices.Clone(t.Secrets), func(s Secret) bool { return !s.live(now) })
}

// Request is one attempt of a delivery.
type Request struct {
	URL    string
	Header [][2]string
	Body   string
}

// request signs a delivery with every live secret, as Standard Webhooks describes.
func (t *Target) request(d *Delivery, now time.Time) (*Request, error) {
	var signatures []string
	for _, s := range t.liveSecrets(now) {
		signer, err := standardwebhooks.NewWebhook(s.Text)
		if err != nil {
			return nil, fmt.Errorf("read the secret of webhook %s: %w", d.WebhookID, err)
		}
		signature, err := signer.Sign(d.EventID, now, []byte(d.Payload))
		if err != nil {
			return nil, fmt.Errorf("sign delivery %s: %w", d.ID, err)
		}
		signatures = append(signatures, signature)
	}
	return &Request{URL: t.URL, Body: d.Payload, Header: [][2]string{
		{"Content-Type", "application/json"},
		{standardwebhooks.HeaderWebhookID, d.EventID},
		{standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10)},
		{standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " ")},
	}}, nil
}

// checkURL validates the URL of a webhook. Which addresses are allowed is checked when a delivery connects.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return problem.Validation("url", problem.Required, "url is required.")
	case len(text) > maxURL:
		return problem.Validation("url", problem.TooLong, fmt.Sprintf("url must have at most %d characters.", maxURL))
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.Opaque != "", !printable(text):
		return problem.Validation("url", problem.Format, "url must be an absolute http or https URL.")
	case u.User != nil:
		return problem.Validation("url", problem.NotAllowed, "url must not contain a user name or password. Receivers authenticate deliveries by their signature.")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return problem.Validation("url", problem.NotAllowed, "url must not contain a fragment.")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return problem.Validation("url", problem.Format, "The port of url must be between 1 and 65535.")
		}
	}
	return nil
}

// printable reports whether a text consists of ASCII characters that need no encoding in a URL.
func printable(text string) bool {
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}
