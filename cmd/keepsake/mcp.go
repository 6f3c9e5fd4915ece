package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"keepsake/client"
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
			b := &bridge{send: c.Message, out: st.out}
			return b.run(cmd.Context(), st.in)
		})
	}
	return cmd
}

// bridge passes messages between a client on standard streams and a server.
type bridge struct {
	send func(ctx context.Context, message []byte, headers map[string]string) ([]byte, error)
	out  io.Writer

	revision string // that initialize has negotiated; empty before
}

// maxMessage is the max length of a line in bytes: that of a body, so that the server refuses longer ones.
const maxMessage = 8<<20 + 1

// run passes on messages in their order until in or ctx ends.
func (b *bridge) run(ctx context.Context, in io.Reader) error {
	lines, ended := make(chan []byte), make(chan error, 1)
	go func() {
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxMessage)
		for scanner.Scan() {
			select {
			case lines <- bytes.Clone(scanner.Bytes()):
			case <-ctx.Done():
				return
			}
		}
		ended <- scanner.Err()
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("read a message: %w", err)
			}
			return nil
		case line := <-lines:
			if err := b.pass(ctx, line); err != nil {
				return err
			}
		}
	}
}

// pass sends a message and prints its response.
func (b *bridge) pass(ctx context.Context, line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var m bridgeMessage
	_ = json.Unmarshal(line, &m) // the server explains what is wrong
	response, err := b.send(ctx, line, b.headers(&m))
	if err != nil {
		if ctx.Err() != nil || m.ID == nil {
			return nil // a notification has no response
		}
		response = refusal(m.ID, err)
	}
	if response == nil {
		return nil
	}
	if m.Method == "initialize" {
		b.learn(response)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, response); err != nil {
		compact.Reset()
		compact.Write(refusal(m.ID, errors.New("the server sent something else than JSON; is --url right?")))
	}
	if _, err := b.out.Write(append(compact.Bytes(), '\n')); err != nil {
		return fmt.Errorf("print a response: %w", err)
	}
	return nil
}

// bridgeMessage is what the bridge must know of a message.
type bridgeMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
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

// internalError is the code of JSON-RPC for an error without a status of HTTP.
const internalError = -32603

// refusal returns the response to a message that the server refused or that did not reach it. The code is the status of HTTP.
func refusal(id json.RawMessage, err error) []byte {
	code, message := internalError, err.Error()
	data := map[string]string{}
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
