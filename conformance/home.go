package conformance

import (
	"net/http"
	"regexp"
	"strings"
)

// homeChecks checks the start page (decisions.md, J).
func homeChecks() []promise {
	isPage := func(a *answer) {
		a.is(http.StatusOK)
		if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") || !strings.Contains(strings.ToLower(string(a.body)), "<!doctype html>") {
			a.broken("Content-Type is %q, want a page in HTML", a.header.Get("Content-Type"))
		}
	}
	return []promise{
		{"TheStartPageIsThereForEveryClient", func(c *check) {
			isPage(c.get("/").anonymous().send())
			for _, accept := range []string{
				"*/*", "text/html", "text/*", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json, text/html;q=0.1", "application/json, */*;q=0.1", "",
			} {
				isPage(c.get("/").anonymous().with("Accept", accept).send())
			}
			isPage(c.get("/").send())
		}},
		{"TheStartPageIsJSONWhereHTMLIsRefused", func(c *check) {
			for _, accept := range []string{"application/json", "application/*", "image/png", "text/plain", "text/html;q=0, */*"} {
				a := c.get("/").anonymous().with("Accept", accept).send().is(http.StatusOK).shape(map[string]string{"version": "string", "description": "string"})
				if !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
					a.broken("Content-Type is %q, want application/json", a.header.Get("Content-Type"))
				}
			}
		}},
		{"TheStartPageHasTheOtherMethodsOfAPage", func(c *check) {
			c.call(http.MethodHead, "/").anonymous().send().is(http.StatusOK)
			a := c.call(http.MethodOptions, "/").anonymous().send().is(http.StatusNoContent)
			for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
				if !strings.Contains(a.header.Get("Allow"), method) {
					a.broken("Allow is %q and lacks %s", a.header.Get("Allow"), method)
				}
			}
			for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch} {
				c.call(method, "/").anonymous().send().fails(405, "method_not_allowed")
			}
		}},
	}
}

// linkTexts match what makes a browser request an address.
var linkTexts = regexp.MustCompile(` (?:href|src|action|formaction|hx-get|hx-post)="([^"]*)"`)

// basePathChecks checks an address with a path (decisions.md, J).
func basePathChecks() []promise {
	below := func(name string, try func(c *check, path string)) promise {
		return promise{name, func(c *check) {
			path := strings.TrimSuffix(c.suite.base.Path, "/")
			if path == "" {
				c.skip("needs an address with a path, such as https://example.org/keepsake")
			}
			try(c, path)
		}}
	}
	return []promise{
		below("LinksOfPagesBeginWithThePath", func(c *check, path string) {
			for _, page := range []string{"", "/", "/docs", "/docs/errors"} {
				a := c.get(page).anonymous().with("Accept", "text/html").send().is(http.StatusOK)
				links := linkTexts.FindAllStringSubmatch(string(a.body), -1)
				if len(links) == 0 {
					a.broken("the page has no links")
				}
				for _, link := range links {
					if strings.HasPrefix(link[1], "/") && !strings.HasPrefix(link[1], path+"/") {
						a.broken("a link leads to %s", link[1])
					}
				}
			}
		}),
		below("RedirectsBeginWithThePath", func(c *check, path string) {
			a := c.get("/console/keys").anonymous().with("Accept", "text/html").send().is(http.StatusSeeOther)
			if !strings.HasPrefix(a.header.Get("Location"), path+"/") {
				a.broken("Location is %q", a.header.Get("Location"))
			}
		}),
		below("LocationsBeginWithThePath", func(c *check, _ string) {
			a := c.post(docsPath).json(fields{"text": "conformance"}).send().is(http.StatusCreated)
			c.removeDocument(a.text("id"))
			a.located(docsPath + "/" + a.text("id"))
		}),
		below("TheDescriptionNamesTheAddress", func(c *check, path string) {
			a := c.get("/openapi.json").anonymous().with("Accept-Encoding", "identity").send().is(http.StatusOK)
			if !strings.HasSuffix(strings.TrimSuffix(a.text("servers[0].url"), "/"), path) {
				a.broken("servers[0].url is %q", a.text("servers[0].url"))
			}
		}),
	}
}
