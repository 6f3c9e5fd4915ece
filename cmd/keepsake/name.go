package main

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"keepsake/client"
	"keepsake/internal/base/id"
)

// named is a resource that commands accept by its ID or by its name.
type named struct {
	id, name string
	gone     bool // it only counts if no other has the name
}

// idOf returns the ID of the resource that text names. If text is an ID, nothing is read.
func idOf(noun string, prefix string, text string, all iter.Seq2[named, error]) (string, error) {
	if _, ok := id.Parse(prefix, text); ok {
		return text, nil
	}
	var ids, gone []string
	for r, err := range all {
		switch {
		case err != nil:
			return "", fmt.Errorf("look for the %s %q: %w", noun, text, err)
		case r.name != text:
		case r.gone:
			gone = append(gone, r.id)
		default:
			ids = append(ids, r.id)
		}
	}
	if len(ids) == 0 {
		ids = gone
	}
	switch len(ids) {
	case 0:
		return "", fmt.Errorf("there is no %s with the ID or name %q", noun, text)
	case 1:
		return ids[0], nil
	default:
		return "", fmt.Errorf("%d %ss have the name %q; give an ID: %s", len(ids), noun, text, strings.Join(ids, ", "))
	}
}

// each converts what a list yields.
func each[T any](list iter.Seq2[T, error], convert func(T) named) iter.Seq2[named, error] {
	return func(yield func(named, error) bool) {
		for item, err := range list {
			if !yield(convert(item), err) {
				return
			}
		}
	}
}

func keyID(ctx context.Context, c *client.Client, text string) (string, error) {
	return idOf("API key", id.APIKey, text, each(c.EachAPIKey(ctx, client.APIKeyQuery{Limit: 200}), func(k client.APIKey) named {
		return named{k.ID, k.Name, k.State == "revoked"}
	}))
}

// userID accepts an email address as the name.
func userID(ctx context.Context, c *client.Client, text string) (string, error) {
	return idOf("user", id.User, strings.ToLower(text), each(c.EachUser(ctx, client.UserQuery{Limit: 200}), func(u client.User) named {
		return named{u.ID, u.Email, false}
	}))
}

// workspaceID returns "" for "", which is the caller's workspace.
func workspaceID(ctx context.Context, c *client.Client, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	return idOf("workspace", id.Workspace, text, each(c.EachWorkspace(ctx, client.WorkspaceQuery{Limit: 200}), func(w client.WorkspaceRecord) named {
		return named{w.ID, w.Name, false}
	}))
}

// webhookID accepts a URL as the name.
func webhookID(ctx context.Context, c *client.Client, text string) (string, error) {
	return idOf("webhook", id.Webhook, text, each(c.EachWebhook(ctx, client.WebhookQuery{Limit: 200}), func(w client.Webhook) named {
		return named{w.ID, w.URL, false}
	}))
}

// actorID returns the ID of a user by email, or of an API key by name. "" and local stay.
func actorID(ctx context.Context, c *client.Client, text string) (string, error) {
	_, isUser := id.Parse(id.User, text)
	switch {
	case text == "", text == "local", isUser:
		return text, nil
	case strings.Contains(text, "@"):
		return userID(ctx, c, text)
	default:
		return keyID(ctx, c, text)
	}
}
