package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"keepsake/client"
	"keepsake/internal/web/api/mcp"
)

func mcpCommand(st *stage) *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Connect a desktop client to the tools for agents", Args: noArguments,
		Long: "Reads messages of the Model Context Protocol from standard input, one a line, sends them to /ai/mcp of a server and prints\n" +
			"the responses. Desktop clients start this command. Which tools they see depends on the API key; give them one that is bound\n" +
			"to a person. Without a server, the command works on the data folder with all scopes.",
		Example: "  keepsake mcp --url https://keepsake.example.com",
	}
	t := targetFlags(st, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return t.with(cmd.Context(), func(c *client.Client) error {
			signal.Ignore(syscall.SIGPIPE) // so that a client that has gone is an error of the write
			b := &bridge{send: c.Message, out: st.out}
			return b.run(cmd.Context(), st.in)
		})
	}
	return cmd
}

// bridge passes messages between a client on standard streams and a server. It goes on whatever a line contains: the client waits
// for a response under the id of each of its requests.
type bridge struct {
	send func(ctx context.Context, message []byte, headers map[string]string) ([]byte, error)
	out  io.Writer

	revision string // that initialize has negotiated; empty before
}

// maxMessage is the max length of a line in bytes, which is that of a body.
const maxMessage = 8 << 20

var errTooLong = errors.New("the message is longer than 8 MiB")

// line is a line of the client. Of one that is too long, only the ids are kept.
type line struct {
	text    []byte
	tooLong bool
	ids     []jsontext.Value
}

// run passes on messages in their order until in or ctx ends, or until its client has gone.
func (b *bridge) run(ctx context.Context, in io.Reader) error {
	lines, ended := make(chan line), make(chan error, 1)
	go func() {
		r := bufio.NewReaderSize(in, 64<<10)
		for {
			l, err := readLine(r)
			if err != nil && len(l.text) == 0 && !l.tooLong {
				ended <- err
				return
			}
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			if err != io.EOF {
				return fmt.Errorf("read a message: %w", err)
			}
			return nil
		case l := <-lines:
			switch err := b.pass(ctx, &l); {
			case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe), errors.Is(err, os.ErrClosed):
				return nil
			case err != nil:
				return fmt.Errorf("print a response: %w", err)
			}
		}
	}
}

// readLine reads a line of any length. An error with a text is that of the next line.
func readLine(r *bufio.Reader) (line, error) {
	var l line
	var scanner mcp.IDScanner
	for {
		part, err := r.ReadSlice('\n')
		if l.tooLong {
			scanner.Scan(part)
		} else if l.text = append(l.text, part...); len(bytes.TrimRight(l.text, "\r\n")) > maxMessage {
			l.tooLong = true
			scanner.Scan(l.text)
			l.text = nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if l.tooLong {
			l.ids = scanner.IDs()
			return l, err
		}
		l.text = bytes.TrimSpace(bytes.TrimPrefix(l.text, []byte("\uFEFF")))
		l.ids = mcp.FindIDs(l.text)
		return l, err
	}
}

// pass sends a message and prints its response. An error means that a response cannot be printed.
func (b *bridge) pass(ctx context.Context, l *line) error {
	if l.tooLong {
		return b.refuse(l.ids, errTooLong)
	}
	if len(l.text) == 0 {
		return nil
	}
	var m bridgeMessage
	readable := json.Unmarshal(l.text, &m) == nil // else the server explains what is wrong
	response, err := b.send(ctx, l.text, b.headers(&m))
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil && response == nil:
		return nil
	case err == nil && m.Method == "initialize":
		b.learn(response)
	}
	var compact bytes.Buffer
	if err == nil && json.Compact(&compact, response) != nil {
		err = errors.New("the server sent something else than JSON; is --url right?")
	}
	if err != nil {
		if readable && (m.Method == "" || len(l.ids) == 0) {
			return nil // a response of the client or a notification
		}
		return b.refuse(l.ids, err)
	}
	return b.print(underIDs(compact.Bytes(), l.ids)...)
}

// refuse prints an error as the response to each message of a line.
func (b *bridge) refuse(ids []jsontext.Value, err error) error {
	if len(ids) == 0 {
		return b.print(refusal(nil, err))
	}
	for _, id := range ids {
		if err := b.print(refusal(json.RawMessage(id), err)); err != nil {
			return err
		}
	}
	return nil
}

// print prints responses, one a line.
func (b *bridge) print(responses ...[]byte) error {
	for _, response := range responses {
		if _, err := b.out.Write(append(bytes.Clone(response), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// underIDs returns an error without an id, which a server sends for a line that it cannot read, under each id of the line. Any
// other response stays as it is.
func underIDs(response []byte, ids []jsontext.Value) [][]byte {
	var members struct {
		Version json.RawMessage `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   json.RawMessage `json:"error"`
	}
	if len(ids) == 0 || json.Unmarshal(response, &members) != nil || members.Error == nil || members.ID != nil && string(members.ID) != "null" {
		return [][]byte{response}
	}
	var list [][]byte
	for _, id := range ids {
		members.ID = json.RawMessage(id)
		text, err := json.Marshal(members)
		if err != nil {
			return [][]byte{response}
		}
		list = append(list, text)
	}
	return list
}

// bridgeMessage is what the bridge must know of a message.
type bridgeMessage struct {
	Method string `json:"method"`
	Params struct {
		Name string `json:"name"`
		Meta struct {
			Revision string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// headers returns the headers of a message. Since revision 2026-07-28, it says its revision itself and there is no initialize.
func (b *bridge) headers(m *bridgeMessage) map[string]string {
	headers := map[string]string{}
	switch revision := m.Params.Meta.Revision; {
	case revision != "":
		headers["MCP-Protocol-Version"], headers["Mcp-Method"] = revision, m.Method
		if m.Params.Name != "" {
			headers["Mcp-Name"] = m.Params.Name
		}
	case b.revision != "" && m.Method != "initialize":
		headers["MCP-Protocol-Version"] = b.revision
	}
	return headers
}

// learn remembers the revision that the server chose.
func (b *bridge) learn(response []byte) {
	var r struct {
		Result struct {
			Revision string `json:"protocolVersion"`
		} `json:"result"`
	}
	if json.Unmarshal(response, &r) == nil && r.Result.Revision != "" {
		b.revision = r.Result.Revision
	}
}

// The codes of JSON-RPC for errors without a status of HTTP.
const (
	invalidRequest = -32600
	internalError  = -32603
)

// refusal returns the response to a message that the server refused or that did not reach it. The code is the status of HTTP.
func refusal(id json.RawMessage, err error) []byte {
	code, message := internalError, err.Error()
	data := map[string]string{}
	if errors.Is(err, errTooLong) {
		code = invalidRequest
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		code, message = e.Status, e.Error()
		data["error"], data["requestId"] = e.Code, e.RequestID
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message, "data": data},
	})
	if err != nil {
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"The message has an invalid id."}}`)
	}
	return text
}
