package config

import (
	"net/url"
	"os"
	"regexp"
)

// indexPrefix is what an index of OpenSearch can begin with.
var indexPrefix = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// checkSearch never quotes the URL, because it can contain a password, and never the password.
func (c *Config) checkSearch() error {
	wrong := func(setting, reason string) error { return &Error{Setting: "search." + setting, Reason: reason} }
	o := &c.Search.OpenSearch
	switch c.Search.Engine {
	case "local":
	case "opensearch":
		if o.URL == "" {
			return wrong("engine", "is opensearch, but search.opensearch.url is missing")
		}
	default:
		return wrong("engine", "must be local or opensearch")
	}
	if o.URL == "" {
		if o.User != "" || o.Password != "" || o.CAFile != "" {
			return wrong("opensearch.url", "is missing beside search.opensearch.user, password or caFile")
		}
		return nil
	}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "":
		return wrong("opensearch.url", "is not an address such as https://search.internal:9200, without a password or a query")
	case o.Password != "" && o.User == "":
		return wrong("opensearch.user", "is missing beside search.opensearch.password")
	case !indexPrefix.MatchString(o.Prefix):
		return wrong("opensearch.prefix", "must have 1 to 63 lower-case letters, digits, - and _, and begin with a letter or a digit")
	}
	if o.CAFile != "" {
		if _, err := os.Stat(o.CAFile); err != nil {
			return wrong("opensearch.caFile", "cannot be read: "+err.Error())
		}
	}
	return nil
}
