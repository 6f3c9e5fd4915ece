package reference

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"keepsake/internal/web/api"
)

//go:embed asset
var files embed.FS

// loadAssets reads the script and the style sheet. Their hash is in their path, so that browsers can keep them and still get
// those of a new release.
func (r *Reference) loadAssets() error {
	r.assets = map[string]api.WebResponse{}
	all := sha256.New()
	for _, name := range []string{"reference.css", "reference.js"} {
		text, err := files.ReadFile("asset/" + name)
		if err != nil {
			return fmt.Errorf("reference: read an asset: %w", err)
		}
		all.Write(text)
		media := "text/css; charset=utf-8"
		if strings.HasSuffix(name, ".js") {
			media = "text/javascript; charset=utf-8"
		}
		file := plain(http.StatusOK, media, string(text))
		file.Header.Set("Cache-Control", "public, max-age=31536000, immutable")
		r.assets[name] = file
	}
	r.sum = hex.EncodeToString(all.Sum(nil)[:8])
	return nil
}

// asset serves a file. A page of another release that is still open gets that of this one, which is not kept.
func (r *Reference) asset(v *api.Visit) api.WebResponse {
	file, ok := r.assets[v.PathValue("name")]
	if !ok {
		return api.WebResponse{Status: http.StatusNotFound}
	}
	if v.PathValue("sum") != r.sum {
		file.Header = file.Header.Clone()
		file.Header.Set("Cache-Control", "no-cache")
	}
	return file
}

func (r *Reference) assetURL(name string) string { return "/docs/asset/" + r.sum + "/" + name }
