package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"keepsake/internal/base/secretfile"
)

func webhooksListenCommand(st *stage) *cobra.Command {
	var (
		address, secret, secretFile string
		status                      int
		asJSON                      bool
	)
	cmd := &cobra.Command{
		Use: "listen", Short: "Receive deliveries, verify and print them", Args: noArguments,
		Long: "Receives deliveries of webhooks on this machine, verifies their signatures and prints them. A server delivers to this\n" +
			"machine only if its setting webhooks.allowPrivate is true. A delivery with a wrong signature is answered with 400.",
		Example: "  keepsake webhooks listen --secret-file secret\n  keepsake webhooks listen --listen 127.0.0.1:9000 --status 500",
	}
	flags := cmd.Flags()
	flags.StringVar(&address, "listen", "127.0.0.1:9000", "`ADDRESS` to receive deliveries on")
	flags.StringVar(&secret, "secret", "", "`SECRET` of the webhook, whsec_…; a file is safer (default: signatures are not verified)")
	flags.StringVar(&secretFile, "secret-file", "", "`FILE` with the secret")
	flags.IntVar(&status, "status", http.StatusNoContent, "`STATUS` of the responses, to try what happens after failures")
	cmd.MarkFlagsMutuallyExclusive("secret", "secret-file")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if secretFile != "" {
			var err error
			if secret, err = secretfile.ReadToken(secretFile); err != nil {
				return fmt.Errorf("read the secret: %w", err)
			}
		}
		l := &webhookListener{st: st, status: status, asJSON: asJSON}
		if status < 200 || status > 599 {
			return usageError("--status must be between 200 and 599")
		}
		if secret != "" {
			var err error
			if l.verifier, err = standardwebhooks.NewWebhook(secret); err != nil || !strings.HasPrefix(secret, "whsec_") {
				return usageError("the secret must be the whsec_… text that the webhook was created with")
			}
		}
		inner, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", address)
		if err != nil {
			return fmt.Errorf("--listen: %w", err)
		}
		fmt.Fprintf(st.err, "Receiving deliveries at http://%s\n", inner.Addr())
		server := &http.Server{Handler: l, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second}
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(inner) }()
		select {
		case <-cmd.Context().Done():
			return server.Close()
		case err := <-ended:
			if errors.Is(err, http.ErrServerClosed) {
				return nil
			}
			return err
		}
	}
	return cmd
}

// webhookListener receives deliveries.
type webhookListener struct {
	st       *stage
	verifier *standardwebhooks.Webhook // nil: nothing is verified
	status   int
	asJSON   bool
	mu       sync.Mutex // keeps the lines of deliveries together
}

// received is a delivery, as --json prints it.
type received struct {
	ReceivedAt time.Time       `json:"receivedAt"`
	EventID    string          `json:"eventId"`
	Verified   *bool           `json:"verified"` // null: without a secret
	Error      string          `json:"error,omitempty"`
	Payload    json.RawMessage `json:"payload"`
}

const maxDelivery = 1 << 20

// ServeHTTP implements http.Handler.
func (l *webhookListener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDelivery))
	if err != nil || r.Method != http.MethodPost || !json.Valid(body) {
		http.Error(w, "not a delivery", http.StatusBadRequest)
		return
	}
	d := received{ReceivedAt: l.st.now().UTC(), EventID: r.Header.Get(standardwebhooks.HeaderWebhookID), Payload: body}
	status := l.status
	if l.verifier != nil {
		err := l.verifier.Verify(body, r.Header)
		verified := err == nil
		d.Verified = &verified
		if err != nil {
			d.Error, status = err.Error(), http.StatusBadRequest
		}
	}
	l.print(&d)
	w.WriteHeader(status)
}

func (l *webhookListener) print(d *received) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asJSON {
		var line bytes.Buffer
		e := json.NewEncoder(&line)
		e.SetEscapeHTML(false)
		if err := e.Encode(d); err == nil {
			_, _ = l.st.out.Write(line.Bytes())
		}
		return
	}
	verdict := "not verified"
	switch {
	case d.Error != "":
		verdict = "WRONG SIGNATURE: " + d.Error
	case d.Verified != nil:
		verdict = "verified"
	}
	var about struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(d.Payload, &about) // it is valid JSON; another shape has no type
	var payload bytes.Buffer
	_ = json.Indent(&payload, d.Payload, "  ", "  ")
	fmt.Fprintf(l.st.out, "%s  %s  %s  %s\n", d.ReceivedAt.UTC().Format("2006-01-02 15:04:05 UTC"), plain(about.Type), plain(d.EventID), plain(verdict))
	for line := range strings.Lines("  " + payload.String() + "\n") {
		fmt.Fprintln(l.st.out, plain(strings.TrimRight(line, "\n")))
	}
}
