package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/endpoint"
)

// order is the body that is posted: about a kilobyte with a constraint on every field, and the same tags for both sides.
type order struct {
	Reference string   `json:"reference" pattern:"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"`
	Customer  customer `json:"customer"`
	Lines     []line   `json:"lines" minItems:"1" maxItems:"64"`
	Tags      []string `json:"tags" maxItems:"32" maxLength:"64"`
	Note      string   `json:"note" maxLength:"1024"`
	Express   bool     `json:"express"`
}

type customer struct {
	Name    string `json:"name" minLength:"1" maxLength:"128"`
	Email   string `json:"email" minLength:"3" maxLength:"254"`
	Country string `json:"country" enum:"at,ch,de,fr,it"`
}

type line struct {
	Article  string `json:"article" minLength:"1" maxLength:"64"`
	Quantity int    `json:"quantity" minimum:"1" maximum:"1000"`
	Cents    int64  `json:"cents" minimum:"0" maximum:"100000000"`
}

type receipt struct {
	ID    string `json:"id"`
	Lines int    `json:"lines"`
	Total int64  `json:"total"`
}

func (o *order) receipt() receipt {
	r := receipt{ID: o.Reference, Lines: len(o.Lines)}
	for _, l := range o.Lines {
		r.Total += l.Cents * int64(l.Quantity)
	}
	return r
}

// kilobyte returns an order of about 1,024 bytes.
func kilobyte() string {
	o := order{
		Reference: "order-2026-11-21.000017", Customer: customer{"Anna Bauer", "anna.bauer@example.com", "at"},
		Tags: []string{"spring", "returning", "newsletter"}, Express: true,
	}
	for i := range 8 {
		o.Lines = append(o.Lines, line{fmt.Sprintf("article-%04d", i*37), i + 1, int64(1999 + i*100)})
	}
	text, _ := json.Marshal(o)
	o.Note = strings.Repeat("please ring twice, ", 60)[:1024-len(text)]
	text, _ = json.Marshal(o)
	return string(text)
}

// measurePost compares an operation with a careful hand-written handler.
func measurePost(c contest) error {
	p := place()
	r := endpoint.NewRegistry()
	type in struct{ Body order }
	type out struct{ Body receipt }
	endpoint.Add(r, endpoint.Operation{
		ID: "createOrder", Method: "POST", Path: "/orders", Since: 1, Tag: "orders", Summary: "Place an order",
		Credentials: endpoint.Key, Scope: auth.Write, Status: 201,
	}, func(_ context.Context, in *in) (*out, error) { return &out{in.Body.receipt()}, nil })
	body := kilobyte()
	key := p.Fill(liveKeys)
	sent := request("POST", "/api/v1/orders", body, "X-API-Key: "+key)
	governed := apitest.Surface(p.Options(r))
	header, _, err := sample(governed, "POST", "/api/v1/orders", body, key)
	if err != nil {
		return err
	}
	return c.run(fmt.Sprintf("POST of %d bytes, validated", len(body)),
		side{name: "keepsake", handler: governed, request: sent},
		side{name: "by hand, same headers", handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			maps.Copy(w.Header(), header)
			byHand(w, r)
		}), request: sent},
		side{name: "by hand", handler: http.HandlerFunc(byHand), request: sent})
}

var (
	reference = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)
	countries = map[string]bool{"at": true, "ch": true, "de": true, "fr": true, "it": true}
)

// byHand does for one kind of request what the declaration of the operation does: media type, size, strict decoding with the
// same options, required fields, and every constraint. It has no keys, limits or versions.
func byHand(w http.ResponseWriter, r *http.Request) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		http.Error(w, "media type", http.StatusUnsupportedMediaType)
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "body", http.StatusBadRequest)
		return
	}
	var o struct {
		Reference *string   `json:"reference"`
		Customer  *customer `json:"customer"`
		Lines     *[]line   `json:"lines"`
		Tags      *[]string `json:"tags"`
		Note      *string   `json:"note"`
		Express   *bool     `json:"express"`
	}
	if bytes.Count(data, []byte{'{'})+bytes.Count(data, []byte{'['}) > 32 || json.Unmarshal(data, &o, json.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(false)) != nil {
		http.Error(w, "json", http.StatusBadRequest)
		return
	}
	if o.Reference == nil || o.Customer == nil || o.Lines == nil || o.Tags == nil || o.Note == nil || o.Express == nil {
		http.Error(w, "required", http.StatusBadRequest)
		return
	}
	whole := order{*o.Reference, *o.Customer, *o.Lines, *o.Tags, *o.Note, *o.Express}
	if !whole.valid() {
		http.Error(w, "constraint", http.StatusBadRequest)
		return
	}
	answer, err := json.Marshal(whole.receipt())
	if err != nil {
		http.Error(w, "answer", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(answer)
}

func (o *order) valid() bool {
	between := func(s string, least, most int) bool {
		n := utf8.RuneCountInString(s)
		return n >= least && n <= most
	}
	if !reference.MatchString(o.Reference) || !countries[o.Customer.Country] || !between(o.Note, 0, 1024) ||
		!between(o.Customer.Name, 1, 128) || !between(o.Customer.Email, 3, 254) ||
		len(o.Lines) < 1 || len(o.Lines) > 64 || len(o.Tags) > 32 {
		return false
	}
	for _, l := range o.Lines {
		if !between(l.Article, 1, 64) || l.Quantity < 1 || l.Quantity > 1000 || l.Cents < 0 || l.Cents > 100_000_000 {
			return false
		}
	}
	for _, t := range o.Tags {
		if !between(t, 0, 64) {
			return false
		}
	}
	return true
}
