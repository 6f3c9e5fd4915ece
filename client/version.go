package client

import (
	"context"
	"encoding/json"
	"time"
)

// Version is one version of the API.
type Version struct {
	Version            string     `json:"version"`
	State              string     `json:"state"` // active, deprecated, sunset, retired
	Since              time.Time  `json:"since"`
	AnnouncedAt        *time.Time `json:"announcedAt"`
	SunsetAt           *time.Time `json:"sunsetAt"`
	ReplacementVersion *string    `json:"replacementVersion"`
	MigrationGuideURL  *string    `json:"migrationGuideUrl"`
}

// Versions lists the versions of the API. It needs no key.
func (c *Client) Versions(ctx context.Context) ([]Version, error) {
	var list struct {
		Items []Version `json:"items"`
	}
	err := c.get(ctx, "/api/versions", nil, &list)
	return list.Items, err
}

// OpenAPI reads the description of the current API version. It needs no key.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	var document json.RawMessage
	err := c.get(ctx, "/openapi.json", nil, &document)
	return document, err
}
