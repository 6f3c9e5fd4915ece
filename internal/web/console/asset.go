package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"path"
	"sync"

	"keepsake/internal/web/api"
)

// files are the scripts and styles of the pages. htmx.min.js is htmx 2.0.11 (Zero-Clause BSD), unchanged.
//
//go:embed asset
var files embed.FS

// assetPath is below which assets are served. The hash of all assets is part of the path, so that browsers can keep them
// forever and still get those of a new release.
const assetPath = "/console/asset/"

// assets are the files.
type assets struct {
	sum    string
	byName map[string]func() api.WebResponse // compressed by the first call, because it would take a twentieth of a start
}

// loadAssets is the same for every instance in a process.
var loadAssets = sync.OnceValues(func() (*assets, error) {
	a := &assets{byName: map[string]func() api.WebResponse{}}
	all := sha256.New()
	entries, err := files.ReadDir("asset")
	if err != nil {
		return nil, fmt.Errorf("console: read the assets: %w", err)
	}
	for _, entry := range entries {
		text, err := files.ReadFile(path.Join("asset", entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("console: read an asset: %w", err)
		}
		all.Write(text)
		a.byName[entry.Name()] = sync.OnceValue(func() api.WebResponse {
			return api.WebResponse{
				Status: http.StatusOK, Body: text, Zipped: api.Zip(text),
				Header: http.Header{
					"Content-Type":                 {mediaType(entry.Name())},
					"Content-Security-Policy":      {"default-src 'none'; frame-ancestors 'none'"},
					"Cross-Origin-Resource-Policy": {"same-origin"},
					"Cache-Control":                {"public, max-age=31536000, immutable"},
				},
			}
		})
	}
	a.sum = hex.EncodeToString(all.Sum(nil)[:8])
	return a, nil
})

// mediaType returns the type of a file. It does not depend on the machine's list of types.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		return mime.TypeByExtension(path.Ext(name))
	}
}

// asset serves a file.
func (c *Console) asset(v *visit) response {
	load, ok := c.assets.byName[v.PathValue("name")]
	if !ok {
		return v.failed(http.StatusNotFound, "There is no such file.")
	}
	file := load()
	if v.PathValue("sum") != c.assets.sum { // of another release, whose pages can still be open
		file.Header = file.Header.Clone()
		file.Header["Cache-Control"] = []string{"no-cache"}
	}
	return response{raw: &file}
}

// assetURL returns the path of a file.
func (c *Console) assetURL(name string) string { return assetPath + c.assets.sum + "/" + name }

// AssetURL returns the path of a file for other pages of the program.
func (c *Console) AssetURL(name string) string { return c.assetURL(name) }
