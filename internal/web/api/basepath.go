package api

import (
	"net/http"
	"net/url"
	"strings"
)

// BasePath is the path of publicUrl, such as /keepsake: every path that a browser or a client is given begins with it. It is
// empty if publicUrl has no path.
type BasePath string

// BasePathOf returns the path of a public address, which has no slash at its end.
func BasePathOf(publicURL string) BasePath {
	u, err := url.Parse(publicURL)
	if err != nil {
		return ""
	}
	return BasePath(u.Path)
}

// Path returns the public path of a path of this program. What is no path, such as an absolute address, stays as it is.
func (b BasePath) Path(path string) string {
	if !strings.HasPrefix(path, "/") {
		return path
	}
	return string(b) + path
}

// linking are the attributes of our pages that contain a path.
var linking = []string{"href", "src", "action", "formaction", "hx-get", "hx-post", "hx-push-url", "data-path"}

// HTML returns a page of this program with the public paths in its links. Templates write every attribute in double quotes,
// and escape double quotes in texts and values, so these bytes are only found where an attribute begins.
func (b BasePath) HTML(body []byte) []byte {
	if b == "" {
		return body
	}
	pairs := make([]string, 0, 2*len(linking))
	for _, name := range linking {
		pairs = append(pairs, " "+name+`="/`, " "+name+`="`+string(b)+"/")
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(body)))
}

// ownSegments are the first segments of paths of this program.
var ownSegments = map[string]bool{
	"": true, ".well-known": true, "ai": true, "api": true, "compat": true, "console": true, "docs": true, "forward-auth": true,
	"livez": true, "llms.txt": true, "memory-page": true, "metrics": true, "oauth": true, "openapi.json": true, "readyz": true,
	"usage": true, "verify": true,
}

func firstSegment(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}

// within returns the path below the base path, and reports whether there is one. If the base path begins as paths of this
// program do, such as /api, only one of these below it counts.
func (b BasePath) within(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, string(b))
	switch {
	case !ok || rest != "" && rest[0] != '/':
		return path, false
	case rest == "":
		return "/", true
	case ownSegments[firstSegment(string(b))] && !ownSegments[firstSegment(rest)]:
		return path, false
	}
	return rest, true
}

// Below serves a handler at its own paths, and at the same paths below a base path.
func Below(b BasePath, h http.Handler) http.Handler {
	if b == "" {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, ok := b.within(r.URL.Path); ok {
			target := *r.URL
			target.Path = path
			if target.RawPath != "" {
				if target.RawPath, ok = b.within(target.RawPath); !ok { // the base path itself is escaped
					target.RawPath = ""
				}
			}
			below := *r
			below.URL, below.RequestURI = &target, target.RequestURI()
			r = &below
		}
		h.ServeHTTP(w, r)
	})
}

// publicPaths completes the paths in the headers of a response.
func (b BasePath) publicPaths(h http.Header) {
	if b == "" {
		return
	}
	for _, name := range []string{"Location", "Hx-Redirect"} {
		if sent := h[name]; len(sent) == 1 {
			h[name] = []string{b.Path(sent[0])}
		}
	}
}
