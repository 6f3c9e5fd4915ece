// Package ai is the surface for agents: remembering, recalling and tools under /ai/, where only a header names the version of the API
// and an API key can be sent like an access token.
package ai

import (
	"cmp"
	"net/http"
	"strings"

	"keepsake/internal/govern/usage"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/mcp"
	"keepsake/internal/web/endpoint"
)

// Prefix is what all paths of the surface begin with.
const Prefix = "/ai/"

// paths are the operations of the API that agents get, by ID.
var paths = map[string]string{
	"createMemory":  Prefix + "remember",
	"recall":        Prefix + "recall",
	"recallContext": Prefix + "context",
}

// Operations returns the operations of the surface. They are those of the API under other paths.
func Operations(of *endpoint.Registry) *endpoint.Registry {
	r := endpoint.NewRegistry()
	r.Mount(of, paths)
	return r
}

// Described returns the description of the surface for the document of the API, whose operations are of.
func Described(of *endpoint.Registry) endpoint.Surface {
	r := Operations(of)
	mcp.Add(r, mcp.Options{})
	return endpoint.Surface{
		Name: "ai", Tag: "AI services", Operations: r,
		Description: "Remember and recall, and tools for the Model Context Protocol, for agents. Only a header names the version, and an API key " +
			"can also come in Authorization: Bearer. With the setting aiListen, these paths are at that address.",
	}
}

// New returns the surface. o are the options of the primary surface, which shares its capacity for requests.
func New(o api.Options, primary *api.API) (*api.API, error) {
	o.Surface, o.Primary = usage.AI, primary
	o.Operations = Operations(o.Operations)
	o.Address = o.AgentsAddress
	mcp.Add(o.Operations, mcp.Options{
		Release: o.Release, API: cmp.Or(o.PublicURL, primary.Address()), Agents: cmp.Or(o.PublicURL, o.Address), BasePath: api.BasePathOf(o.PublicURL),
	})
	o.Document = nil
	return api.New(o)
}

// Beside returns a handler for a listener with both surfaces: agents serves the paths under /ai/ and the metadata of its
// endpoint for tools, primary all others.
func Beside(primary, agents http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, Prefix) || strings.HasPrefix(r.URL.Path, mcp.MetadataPrefix) {
			agents.ServeHTTP(w, r)
			return
		}
		primary.ServeHTTP(w, r)
	})
}
